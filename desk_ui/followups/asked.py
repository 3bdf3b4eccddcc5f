"""The task that a fired follow-up made, without its prompt, and in words how far it has come."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from flask_babel import gettext as _
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session

from desk_ui import words
from desk_ui.followups.queries import Entry, Row, Scene
from models.actors import ActorType
from models.followups.records import UNFINISHED, AgentTask, FollowUp, Status, TaskEvent, TaskStatus
from models.tenants import Tenant


@dataclass(frozen=True, slots=True)
class Task:
    """One task; the command, which holds the prompt, is never read: only a claim gives it out."""

    id: UUID
    status: str
    created_at: datetime
    updated_at: datetime
    reason: str | None = None

    def wants(self, before: datetime) -> str | None:
        """What to look at: that it failed, or waits since before `before`; None where all is well."""
        if self.status == TaskStatus.FAILED:
            return _("Task failed")
        if self.status not in UNFINISHED or self.updated_at > before:
            return None
        return _("Not taken") if self.status == TaskStatus.QUEUED else _("Not finished")


def task_of(session: Session, tenant: Tenant, followup: FollowUp) -> tuple[Task | None, list[Entry]]:
    """The task of a follow-up, and up to 100 changes of its status, oldest first; none where none is kept."""
    if followup.task_id is None:
        return None, []
    found = session.execute(
        select(AgentTask.id, AgentTask.status, AgentTask.created_at, AgentTask.updated_at).where(
            AgentTask.tenant_id == tenant.id, AgentTask.id == followup.task_id
        )
    ).one_or_none()
    if found is None:
        return None, []
    events = session.scalars(
        select(TaskEvent)
        .where(TaskEvent.tenant_id == tenant.id, TaskEvent.task_id == found.id)
        .order_by(TaskEvent.id)
        .limit(100)
    ).all()
    reason = events[-1].reason if events else None
    return Task(*found, reason), [_entry(event) for event in events]


def wanting(session: Session, scene: Scene, rows: Sequence[Row]) -> dict[UUID, Task]:
    """The tasks of these, at most a page of them, that want looking at, by the id of the follow-up."""
    made_by = {row.task_id: row.id for row in rows if row.status == Status.FIRED and row.task_id is not None}
    if not made_by:
        return {}
    query = select(AgentTask.id, AgentTask.status, AgentTask.created_at, AgentTask.updated_at).where(
        AgentTask.tenant_id == scene.tenant.id, AgentTask.id.in_(made_by)
    )
    found = [Task(*columns) for columns in session.execute(query)]
    return {made_by[task.id]: task for task in found if task.wants(scene.waiting_since)}


def _entry(event: TaskEvent) -> Entry:
    # A task's history names who did it without their kind; only the sweeps have names that stand for others.
    kind = ActorType.SYSTEM if event.actor in words.SWEEPS else ""
    return Entry(event.at, f"task.{event.to_status}", kind, event.actor, event.reason, False, {})


def merged(audited: Sequence[Entry], history: Sequence[Entry]) -> list[Entry]:
    """Both in the order of time; what is audited first where the two happened at once."""
    return sorted([*audited, *history], key=lambda entry: entry.at)


def stands(task: Task | None, now: datetime) -> Markup | str:
    """How far the task of a fired follow-up has come, in one sentence."""
    if task is None:
        return _("Its task is no longer kept.")
    when = words.ticking(task.updated_at, now)
    if task.status == TaskStatus.CANCELLED and task.reason == "opted_out":
        return Markup(_("Its task was cancelled %(when)s: the customer opted out.")) % {"when": when}
    said = {
        TaskStatus.QUEUED: _("Its task waits: no agent took it."),
        TaskStatus.DISPATCHED: _("Its task was taken %(when)s, and is not finished."),
        TaskStatus.DONE: _("Its task was done %(when)s."),
        TaskStatus.FAILED: _("Its task failed %(when)s."),
        TaskStatus.CANCELLED: _("Its task was cancelled %(when)s."),
    }[TaskStatus(task.status)]
    return Markup(said) % {"when": when}


def state(task: Task, now: datetime) -> str:
    """The same for a list of facts: `not taken, made 7 d ago`."""
    when = words.distance(task.updated_at, now)
    return {
        TaskStatus.QUEUED: _("not taken, made %(when)s", when=when),
        TaskStatus.DISPATCHED: _("taken %(when)s, not finished", when=when),
        TaskStatus.DONE: _("done %(when)s", when=when),
        TaskStatus.FAILED: _("failed %(when)s", when=when),
        TaskStatus.CANCELLED: _("cancelled %(when)s", when=when),
    }[TaskStatus(task.status)]
