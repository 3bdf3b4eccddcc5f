"""Retention: what is over for long is deleted, and a promise that would be kept absurdly late lapses.

Follow-ups, tasks and outcomes go after `[retention] followups` (90 days unless declared); messages, and
conversations without any, only where `[retention] messages` is declared. Contacts, opt-outs and their events
stay: consent is not forgotten by time.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, select
from sqlalchemy.orm import Session

from models import audit, bulk
from models.actors import Actor
from models.conversations import Conversation
from models.declarations import Declared
from models.followups.policy import longest_window
from models.followups.records import TERMINAL, AgentTask, FollowUp, Outcome, Status, TaskEvent, TaskStatus
from models.followups.tasks import move_task
from models.messages import Message
from models.retention import faults, period
from models.sweeping import Counts
from models.tenants import Tenant
from models.transactions import commit, rollback

ACTOR = Actor.system("retention")
BATCH = 500
# A dispatched task may have reached the customer: nothing takes it back, and its prompt is not kept forever.
OVER = (TaskStatus.DISPATCHED, TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.CANCELLED)


def purge(session: Session, *, declared: Declared, now: datetime, limit: int) -> Counts:
    """Delete up to `limit` rows that are strictly older than their retention, in batches.

    Counts `purged`, `lapsed` (pending follow-ups and queued tasks, which leave their event or history),
    `tasks`, `outcomes`, `messages`, `conversations`. A faulty `[retention]` purges nothing, and counts as an
    error: what was to be kept longer must not be lost to a typing error.
    """
    counts = Counts(
        own=dict.fromkeys(("purged", "lapsed", "tasks", "outcomes", "messages", "conversations"), 0)
    )
    wrong = faults(declared)
    tenant_ids = list(session.scalars(select(Tenant.id).order_by(Tenant.id)))
    for fault in wrong:
        counts.failed(tenant_ids[0], fault.path, ValueError(str(fault)))
    for tenant_id in () if wrong else tenant_ids:
        for step, cutoff in _steps(declared, now):
            fired_before = min(cutoff, now - longest_window(declared))
            _in_batches(_Purge(session, tenant_id, cutoff, fired_before, now, counts), step, limit)
    counts.capped = counts.examined >= limit
    commit(session, "followups.retention.end")
    return counts


@dataclass
class _Purge:
    """One tenant's rows older than one cutoff. Fired ones stay while a frequency ceiling counts them."""

    session: Session
    tenant_id: int
    cutoff: datetime
    fired_before: datetime
    now: datetime
    counts: Counts


Step = Callable[[_Purge, int], int]


def _steps(declared: Declared, now: datetime) -> Iterable[tuple[Step, datetime]]:
    own = {"followups": (_terminal, _lapse, _tasks, _lapse_tasks, _outcomes), "messages": (_messages, _empty)}
    for name, steps in own.items():
        kept = period(declared, name)
        if kept is not None:
            for step in steps:
                yield step, now - kept


def _in_batches(run: _Purge, step: Step, limit: int) -> None:
    """Repeat `step` until it finds less than a batch; each batch is a transaction."""
    while (room := min(BATCH, limit - run.counts.examined)) > 0:
        found = step(run, room)
        if not found:
            rollback(run.session)
            return
        run.counts.examined += found
        run.counts.changed += found
        commit(run.session, "followups.retention.batch")
        if found < room:
            return


def _terminal(run: _Purge, size: int) -> int:
    total = 0
    for status in sorted(TERMINAL):
        old = (
            select(FollowUp.id)
            .where(
                FollowUp.tenant_id == run.tenant_id,
                FollowUp.status == status,
                FollowUp.updated_at < (run.fired_before if status is Status.FIRED else run.cutoff),
            )
            .order_by(FollowUp.updated_at, FollowUp.id)
            .limit(size - total)
            .with_for_update(skip_locked=True)
        )
        ids = list(run.session.scalars(old))
        if ids:
            gone = delete(FollowUp).where(FollowUp.tenant_id == run.tenant_id, FollowUp.id.in_(ids))
            bulk.execute_unaudited(run.session, gone.execution_options(synchronize_session=False))
        total += len(ids)
    run.counts.add("purged", total)
    return total


def _lapse(run: _Purge, size: int) -> int:
    """Pending ones that are long past: each leaves an event, since its promise was not kept."""
    old = (
        select(FollowUp.id, FollowUp.agent, FollowUp.arm)
        .where(
            FollowUp.tenant_id == run.tenant_id,
            FollowUp.status == Status.PENDING,
            FollowUp.at < run.cutoff,
        )
        .order_by(FollowUp.at, FollowUp.id)
        .limit(size)
        .with_for_update(skip_locked=True)
    )
    rows = run.session.execute(old).all()
    if rows:
        gone = delete(FollowUp).where(
            FollowUp.tenant_id == run.tenant_id,
            FollowUp.status == Status.PENDING,
            FollowUp.id.in_([row.id for row in rows]),
        )
        bulk.execute_audited(
            run.session,
            gone.execution_options(synchronize_session=False),
            changed=[("followup", run.tenant_id, str(row.id)) for row in rows],
        )
        audit.append_many(
            run.session,
            [_lapsed(row) for row in rows],
            tenant_id=run.tenant_id,
            actor=ACTOR,
            now=run.now,
        )
    run.counts.add("lapsed", len(rows))
    return len(rows)


def _lapsed(row: Any) -> dict[str, Any]:
    return {
        "action": "followup.lapsed",
        "resource_type": "followup",
        "resource_id": str(row.id),
        "purpose": "retention",
        "detail": {"from": Status.PENDING.value, "to": None, "agent": row.agent, "arm": row.arm},
    }


def _tasks(run: _Purge, size: int) -> int:
    total = 0
    for status in OVER:
        old = (
            select(AgentTask.id)
            .where(
                AgentTask.tenant_id == run.tenant_id,
                AgentTask.status == status,
                # Created first: the index goes by it, and what changed since must be older still.
                AgentTask.created_at < run.cutoff,
                AgentTask.updated_at < run.cutoff,
            )
            .order_by(AgentTask.created_at, AgentTask.id)
            .limit(size - total)
            .with_for_update(skip_locked=True)
        )
        ids = list(run.session.scalars(old))
        if ids:
            events = delete(TaskEvent).where(TaskEvent.tenant_id == run.tenant_id, TaskEvent.task_id.in_(ids))
            run.session.execute(events.execution_options(synchronize_session=False))
            gone = delete(AgentTask).where(AgentTask.id.in_(ids))
            run.session.execute(gone.execution_options(synchronize_session=False))
        total += len(ids)
    run.counts.add("tasks", total)
    return total


def _lapse_tasks(run: _Purge, size: int) -> int:
    """Tasks that nobody took in all that time: cancelled with their history, purged a retention later."""
    old = (
        select(AgentTask)
        .where(
            AgentTask.tenant_id == run.tenant_id,
            AgentTask.status == TaskStatus.QUEUED,
            AgentTask.created_at < run.cutoff,
        )
        .order_by(AgentTask.created_at, AgentTask.id)
        .limit(size)
        .with_for_update(skip_locked=True)
        .execution_options(populate_existing=True)
    )
    tasks = run.session.scalars(old).all()
    for task in tasks:
        move_task(run.session, task, TaskStatus.CANCELLED, actor=ACTOR, reason="lapsed", now=run.now)
    run.counts.add("lapsed", len(tasks))
    return len(tasks)


def _outcomes(run: _Purge, size: int) -> int:
    old = (
        select(Outcome.id)
        .where(Outcome.tenant_id == run.tenant_id, Outcome.created_at < run.cutoff)
        .order_by(Outcome.created_at)
        .limit(size)
    )
    return _delete(run, "outcomes", Outcome, old)


def _messages(run: _Purge, size: int) -> int:
    old = (
        select(Message.id)
        .where(Message.tenant_id == run.tenant_id, Message.stored_at < run.cutoff)
        .order_by(Message.stored_at)
        .limit(size)
    )
    return _delete(run, "messages", Message, old)


def _empty(run: _Purge, size: int) -> int:
    """Conversations that nothing happened in for as long, and of which no message is left."""
    # A scalar, since PostgreSQL would turn NOT EXISTS into a join with all messages.
    first = select(Message.id).where(Message.conversation_id == Conversation.id).limit(1)
    empty = first.scalar_subquery().is_(None)
    old = (
        select(Conversation.id)
        .where(Conversation.tenant_id == run.tenant_id, Conversation.updated_at < run.cutoff, empty)
        .order_by(Conversation.updated_at)
        .limit(size)
        .with_for_update(skip_locked=True)
    )
    # Asked again with the lock held: a message may have come in between.
    return _delete(run, "conversations", Conversation, old, empty)


def _delete(run: _Purge, name: str, model: Any, old: Select[Any], *conditions: ColumnElement[bool]) -> int:
    ids = list(run.session.scalars(old))
    if ids:
        gone = delete(model).where(model.tenant_id == run.tenant_id, model.id.in_(ids), *conditions)
        run.session.execute(gone.execution_options(synchronize_session=False))
    run.counts.add(name, len(ids))
    return len(ids)
