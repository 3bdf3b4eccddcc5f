"""Agent tasks over HTTP: taken once by the agent's runtime, which then reports."""

from typing import Any
from uuid import UUID

from sqlalchemy import Select, select

from desk_ui.api import paging, rows
from desk_ui.api.fields import Given, OptionalText, Paged, Shown, Text, Time, Version, Versioned
from desk_ui.api.operations import Call, Reply, operation
from desk_ui.api.paths import as_uuid
from desk_ui.api.refusals import Refused, by_id
from models.followups import tasks
from models.followups.records import AgentTask, TaskStatus
from models.followups.tasks import ClaimRefused
from models.transactions import commit

ORDER = paging.Order("tasks", AgentTask.created_at, AgentTask.id)


class Command(Shown):
    """What is asked of the runtime, without the prompt."""

    name: str
    session_id: str | None
    agent: str
    customer: str
    origin: str
    transport: str | None


class TaskShown(Shown):
    """What a fired follow-up asks of the agent's runtime."""

    id: UUID
    tenant: str
    followup_id: UUID | None
    agent: str
    customer: str
    session_id: str | None
    command: Command
    origin: str
    transport: str | None
    status: TaskStatus
    created_at: Time
    updated_at: Time
    version: int


class TaskClaimed(TaskShown):
    """A task with its prompt, which no other call shows."""

    prompt: str


class TaskPage(Shown):
    items: list[TaskShown]
    next_cursor: str | None


class TaskFilter(Paged):
    agent: Text | None = None
    status: TaskStatus | None = None


class Report(Given):
    reason: OptionalText | None = None
    version: Version | None = None


def show(task: AgentTask, tenant: str) -> TaskShown:
    return TaskShown.of(task, tenant=tenant, **_asked(task))


def _asked(task: AgentTask) -> dict[str, Any]:
    """The command, copied field by field, so that its prompt can't slip out, and what repeats it."""
    command = Command.of(
        task,
        name=task.command["name"],
        origin=task.command["origin"],
        transport=task.command.get("transport"),
    )
    return {"command": command, "origin": command.origin, "transport": command.transport}


@operation("tasks.list", "GET", "/tasks", scope="read", query=TaskFilter, answers={200: TaskPage})
def list_tasks(call: Call) -> Reply:
    """List tasks, newest first."""
    given: TaskFilter = call.query
    query = filtered(call.tenant.id, given)
    found, cursor = paging.page(call.session, query, ORDER, limit=given.limit, cursor=given.cursor)
    return Reply(200, TaskPage(items=[show(one, call.tenant.key) for one in found], next_cursor=cursor))


def filtered(tenant_id: int, given: TaskFilter) -> Select[AgentTask]:
    """The tenant's tasks that pass the filters; each filter has an index in the list's order."""
    query = select(AgentTask).where(AgentTask.tenant_id == tenant_id)
    if given.agent is not None:
        query = query.where(AgentTask.agent == given.agent)
    if given.status is not None:
        query = query.where(AgentTask.status == given.status.value)
    return query


@operation("tasks.get", "GET", "/tasks/<id>", scope="read", answers={200: TaskShown})
def get(call: Call, id: str) -> Reply:
    """Read one task, without its prompt."""
    return Reply(200, show(tasks.get(call.session, call.tenant.id, as_uuid(id, "task")), call.tenant.key))


@operation(
    "tasks.claim",
    "POST",
    "/tasks/<id>/claim",
    # The runtime that reports holds `ingest`; a person who takes a task by hand holds `operate`.
    scope=("ingest", "operate"),
    body=Versioned,
    answers={200: TaskClaimed},
    point="api.tasks.claim",
    refused=Refused("task.claimed", "task", by_id(tasks.get, "task")),
    answers_secret=True,
    conflicts=True,
)
def claim(call: Call, id: str) -> Reply:
    """Take a queued task, once: the answer holds its prompt. A second claim is 409."""
    try:
        task = tasks.claim(
            call.session,
            call.tenant.id,
            as_uuid(id, "task"),
            actor=call.actor,
            now=call.now,
            expected_version=call.body.version,
        )
    except ClaimRefused:
        # The task became cancelled, which stays although the claim fails.
        commit(call.session, "api.tasks.claim_refused")
        raise
    prompt = task.command["message"]
    return Reply(200, TaskClaimed.of(task, tenant=call.tenant.key, prompt=prompt, **_asked(task)))


@operation(
    "tasks.done",
    "POST",
    "/tasks/<id>/done",
    scope="ingest",
    body=Report,
    answers={200: TaskShown},
    point="api.tasks.done",
    conflicts=True,
)
def done(call: Call, id: str) -> Reply:
    """Report that a claimed task is done. Saying it again changes nothing."""
    return _report(call, id, TaskStatus.DONE)


@operation(
    "tasks.failed",
    "POST",
    "/tasks/<id>/failed",
    scope="ingest",
    body=Report,
    answers={200: TaskShown},
    point="api.tasks.failed",
    conflicts=True,
)
def failed(call: Call, id: str) -> Reply:
    """Report that a claimed task failed. Saying it again changes nothing."""
    return _report(call, id, TaskStatus.FAILED)


def _report(call: Call, id: str, outcome: TaskStatus) -> Reply:
    task = tasks.report(
        call.session,
        call.tenant.id,
        as_uuid(id, "task"),
        outcome,
        reason=call.body.reason,
        actor=call.actor,
        now=call.now,
        expected_version=call.body.version,
    )
    return Reply(200, show(task, call.tenant.key))


rows.shape(AgentTask, lambda task: show(task, rows.tenant_key()))
