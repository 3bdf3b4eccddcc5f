"""Executions over HTTP: what rules wait on, what they did, and what a person does with one."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from desk_ui.api import paging, rows
from desk_ui.api.fields import Given, OptionalText, Paged, Shown, Text, Time, Version, Versioned
from desk_ui.api.operations import Call, Reply, operation
from desk_ui.api.paths import as_uuid
from desk_ui.api.refusals import Refused, by_id
from jobs import wake
from models.automations import ledger, operating, refusals
from models.automations.records import ActionRun, ActionState, Execution, Skip, Status
from models.base import db
from models.conversations import Conversation
from models.errors import Invalid
from models.messages import Message
from models.transactions import after_commit

ORDER = paging.Order("executions", Execution.created_at, Execution.id)
_SUBJECT = by_id(operating.get, "execution")


class ExecutionShown(Shown):
    """One rule waiting on one episode of one conversation, and what came of it."""

    id: UUID
    rule_id: UUID
    conversation_id: str | None
    message_id: str | None
    episode_key: str
    due_at: Time
    not_before: Time | None
    status: Status
    skip_reason: Skip | None
    needs_review: bool
    created_at: Time
    updated_at: Time
    version: int


class ActionShown(Shown):
    """One action of the run, in the state that a person reads."""

    position: int
    name: str
    state: ActionState
    error: str | None
    receipt: str | None
    idempotency_key: str
    started_at: Time | None
    finished_at: Time | None


class ExecutionWhole(ExecutionShown):
    """An execution with the actions of its present run, none before it ran."""

    actions: list[ActionShown]


class ExecutionPage(Shown):
    items: list[ExecutionShown]
    next_cursor: str | None


class ExecutionFilter(Paged):
    rule: Text | None = None
    status: Status | None = None
    needs_review: Literal["true", "false"] | None = None
    conversation: Text | None = None


class Reasoned(Versioned):
    reason: OptionalText | None = None


Note = Annotated[str, Field(max_length=ledger.LENGTH)]


class Settlement(Given):
    unknown: Annotated[
        dict[str, Literal["done", "failed"]],
        Field(description="By position, what became of each action whose end is unknown."),
    ] = {}
    note: Note | None = None
    version: Version | None = None


class Rearming(Given):
    include_unknown: Annotated[
        list[int], Field(description="Positions of unknown actions to do all the same: maybe twice.")
    ] = []
    reason: Note | None = None
    version: Version | None = None


def shown(session: Session, executions: Sequence[Execution]) -> list[ExecutionShown]:
    """The shapes of `executions`, with the ids that their sources know."""
    called = _external(session, Conversation, {one.conversation_id for one in executions})
    said = _external(session, Message, {one.message_id for one in executions if one.message_id})
    return [
        ExecutionShown.of(
            one,
            conversation_id=called.get(one.conversation_id),
            message_id=said.get(one.message_id) if one.message_id else None,
        )
        for one in executions
    ]


def _external(
    session: Session, model: type[Conversation] | type[Message], ids: set[int]
) -> Mapping[int, str]:
    query = select(model.id, model.external_id).where(model.id.in_(sorted(ids)))
    return {row.id: row.external_id for row in session.execute(query)}


def whole(session: Session, execution: Execution, now: Any) -> ExecutionWhole:
    [base] = shown(session, [execution])
    abandoned = refusals.is_abandoned(execution, now)
    actions = [_action(run, abandoned) for run in ledger.of(session, execution)]
    return ExecutionWhole(**base.model_dump(), actions=actions)


def _action(run: ActionRun, abandoned: bool) -> ActionShown:
    return ActionShown.of(run, state=ledger.reads_as(run, abandoned=abandoned))


@operation(
    "executions.list",
    "GET",
    "/executions",
    scope="read",
    query=ExecutionFilter,
    answers={200: ExecutionPage},
)
def list_executions(call: Call) -> Reply:
    """List executions, newest first."""
    given: ExecutionFilter = call.query
    found, cursor = paging.page(
        call.session, filtered(call, given), ORDER, limit=given.limit, cursor=given.cursor
    )
    return Reply(200, ExecutionPage(items=shown(call.session, found), next_cursor=cursor))


def filtered(call: Call, given: ExecutionFilter) -> Select[Execution]:
    query = select(Execution).where(Execution.tenant_id == call.tenant.id)
    if given.rule is not None:
        query = query.where(Execution.rule_id == _uuid(given.rule))
    if given.status is not None:
        query = query.where(Execution.status == given.status.value)
    if given.needs_review is not None:
        query = query.where(Execution.needs_review.is_(given.needs_review == "true"))
    if given.conversation is not None:
        called = select(Conversation.id).where(
            Conversation.tenant_id == call.tenant.id, Conversation.external_id == given.conversation
        )
        query = query.where(Execution.conversation_id.in_(called))
    return query


def _uuid(given: str) -> UUID:
    try:
        return UUID(given)
    except ValueError:
        raise Invalid("rule", "must be a UUID") from None


@operation("executions.get", "GET", "/executions/<id>", scope="read", answers={200: ExecutionWhole})
def get(call: Call, id: str) -> Reply:
    """Read one execution with its actions."""
    found = operating.get(call.session, call.tenant.id, as_uuid(id, "execution"))
    return Reply(200, whole(call.session, found, call.now))


@operation(
    "executions.cancel",
    "POST",
    "/executions/<id>/cancel",
    scope="operate",
    body=Reasoned,
    answers={200: ExecutionWhole},
    point="api.executions.cancel",
    refused=Refused("execution.cancelled", "execution", _SUBJECT),
    conflicts=True,
)
def cancel(call: Call, id: str) -> Reply:
    """Skip one that waits. Doing it again changes nothing."""
    done = operating.cancel(
        call.session,
        call.tenant.id,
        as_uuid(id, "execution"),
        actor=call.actor,
        now=call.now,
        reason=call.body.reason,
        expected_version=call.body.version,
    )
    return Reply(200, whole(call.session, done, call.now))


@operation(
    "executions.reclaim",
    "POST",
    "/executions/<id>/reclaim",
    scope="operate",
    body=Reasoned,
    answers={200: ExecutionWhole},
    point="api.executions.reclaim",
    refused=Refused("execution.reclaimed", "execution", _SUBJECT),
    conflicts=True,
)
def reclaim(call: Call, id: str) -> Reply:
    """Take one from a worker that said nothing for 15 minutes before its first action: it is due now."""
    done = operating.reclaim(
        call.session,
        call.tenant.id,
        as_uuid(id, "execution"),
        actor=call.actor,
        now=call.now,
        reason=call.body.reason,
        expected_version=call.body.version,
    )
    return Reply(200, whole(call.session, done, call.now))


@operation(
    "executions.drop",
    "POST",
    "/executions/<id>/drop",
    scope="operate",
    body=Reasoned,
    answers={200: ExecutionWhole},
    point="api.executions.drop",
    refused=Refused("execution.dropped", "execution", _SUBJECT),
    conflicts=True,
)
def drop(call: Call, id: str) -> Reply:
    """Give an abandoned run up as it is."""
    done = operating.drop(
        call.session,
        call.tenant.id,
        as_uuid(id, "execution"),
        actor=call.actor,
        now=call.now,
        reason=call.body.reason,
        expected_version=call.body.version,
    )
    return Reply(200, whole(call.session, done, call.now))


@operation(
    "executions.settle",
    "POST",
    "/executions/<id>/settle",
    scope="operate",
    body=Settlement,
    answers={200: ExecutionWhole},
    point="api.executions.settle",
    refused=Refused("execution.settled", "execution", _SUBJECT),
    conflicts=True,
)
def settle(call: Call, id: str) -> Reply:
    """Say of each action whose end is unknown whether it was done, and close the run."""
    given: Settlement = call.body
    done = operating.settle(
        call.session,
        call.tenant.id,
        as_uuid(id, "execution"),
        {_position(key): value for key, value in given.unknown.items()},
        actor=call.actor,
        now=call.now,
        note=given.note,
        expected_version=given.version,
    )
    return Reply(200, whole(call.session, done, call.now))


def _position(key: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) < 6):
        raise Invalid(f"unknown.{key[:20]}", "is no position: a whole number, 0 for the first action")
    return int(key)


@operation(
    "executions.rearm",
    "POST",
    "/executions/<id>/rearm",
    scope="operate",
    body=Rearming,
    answers={200: ExecutionWhole},
    point="api.executions.rearm",
    refused=Refused("execution.rearmed", "execution", _SUBJECT),
    conflicts=True,
)
def rearm(call: Call, id: str) -> Reply:
    """Let a skipped one wait again, or do what is left of a run that needs review.

    Of a run the waiting and the failed actions are done, under the same keys; an unknown one only where
    `include_unknown` names it, since it may then be had twice. A run whose reason does not stand any more
    goes on only with a `reason`.
    """
    given: Rearming = call.body
    done = operating.rearm(
        call.session,
        call.tenant.id,
        as_uuid(id, "execution"),
        include_unknown=frozenset(given.include_unknown),
        reason=given.reason,
        actor=call.actor,
        now=call.now,
        expected_version=given.version,
    )
    after_commit(call.session, f"executions:{id}", lambda: wake.wake_executions([done.id]))
    return Reply(200, whole(call.session, done, call.now))


rows.shape(Execution, lambda execution: shown(db.session(), [execution])[0])
