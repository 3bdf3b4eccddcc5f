"""Agent tasks: taken once by the agent's runtime, which then reports how it went."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from models import locks, text
from models.actors import Actor
from models.errors import Conflict, NotFound, OptedOut
from models.followups.records import AgentTask, Contact, ContactState, TaskEvent, TaskStatus
from models.transitions import check_version

MOVES = {
    TaskStatus.QUEUED: frozenset({TaskStatus.DISPATCHED, TaskStatus.CANCELLED}),
    TaskStatus.DISPATCHED: frozenset({TaskStatus.DONE, TaskStatus.FAILED}),
}


class ClaimRefused(OptedOut):
    """The customer opted out before the claim: the task is cancelled, which the caller must commit."""


def get(session: Session, tenant_id: int, task_id: UUID) -> AgentTask:
    """Raises `NotFound`."""
    task = session.scalars(_query(tenant_id, task_id)).one_or_none()
    if task is None:
        raise NotFound("task")
    return task


def claim(
    session: Session,
    tenant_id: int,
    task_id: UUID,
    *,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> AgentTask:
    """Move a queued task to dispatched, exactly once, under the contact's lock; its prompt goes with it.

    Raises `Conflict` where it was taken, and `ClaimRefused` where the customer opted out since: the task is
    cancelled then, and that must be committed although the claim fails.
    """
    customer = get(session, tenant_id, task_id).customer
    contact = locks.one(
        session, select(Contact).where(Contact.tenant_id == tenant_id, Contact.customer == customer)
    )
    task = _locked(session, tenant_id, task_id)
    check_version(task, expected_version, "task")
    closed = contact is None or contact.state == ContactState.REVOKED
    if closed and task.status == TaskStatus.QUEUED:
        move_task(session, task, TaskStatus.CANCELLED, actor=actor, reason="opted_out", now=now)
    if closed and task.status == TaskStatus.CANCELLED:
        raise ClaimRefused
    if task.status != TaskStatus.QUEUED:
        raise Conflict(f"This task is {task.status} already, so it can't be claimed.", current=task)
    move_task(session, task, TaskStatus.DISPATCHED, actor=actor, reason=None, now=now)
    return task


def report(
    session: Session,
    tenant_id: int,
    task_id: UUID,
    outcome: TaskStatus,
    *,
    reason: str | None = None,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> AgentTask:
    """The runtime says that a dispatched task is done or failed; saying it again changes nothing.

    Raises `Conflict` from any other state.
    """
    task = _locked(session, tenant_id, task_id)
    check_version(task, expected_version, "task")
    if task.status == outcome:
        return task
    if outcome not in MOVES.get(TaskStatus(task.status), frozenset()):
        raise Conflict(f"This task is {task.status}, so it can't become {outcome.value}.", current=task)
    move_task(session, task, outcome, actor=actor, reason=text.optional(reason, "reason"), now=now)
    return task


def move_task(
    session: Session, task: AgentTask, to: TaskStatus, *, actor: Actor, reason: str | None, now: datetime
) -> None:
    """Move a locked task and write its history; a move that the table lacks raises `ValueError`."""
    if to not in MOVES.get(TaskStatus(task.status), frozenset()):
        raise ValueError(f"a task may not move from {task.status} to {to.value}")
    session.add(
        TaskEvent(
            tenant_id=task.tenant_id,
            task_id=task.id,
            from_status=task.status,
            to_status=to.value,
            actor=actor.label,
            reason=reason,
            at=now,
        )
    )
    task.status = to.value
    task.version += 1
    task.updated_at = now


def command(
    *, session_id: str | None, agent: str, customer: str, reason: str, transport: str | None, now: datetime
) -> dict[str, Any]:
    """What a fired follow-up asks of the runtime. `message` is the prompt, which only a claim returns."""
    return {
        "name": "scheduled_followup",
        "session_id": session_id,
        "agent": agent,
        "customer": customer,
        "message": prompt(reason, now),
        "origin": "scheduled",
        "transport": transport,
    }


def prompt(reason: str, now: datetime) -> str:
    """What the agent is told: that it follows up as agreed, why, and what time it is."""
    return (
        "You agreed to follow up with this customer, and the time has come. "
        f"The reason that was noted: {reason}\n"
        f"It is now {now:%Y-%m-%d %H:%M} UTC. Write one short message to the customer, as agreed."
    )


def _query(tenant_id: int, task_id: UUID) -> Select[AgentTask]:
    return select(AgentTask).where(AgentTask.tenant_id == tenant_id, AgentTask.id == task_id)


def _locked(session: Session, tenant_id: int, task_id: UUID) -> AgentTask:
    task = locks.one(session, _query(tenant_id, task_id))
    if task is None:
        raise NotFound("task")
    return task
