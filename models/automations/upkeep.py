"""What the sweep does besides running: it says which runs were abandoned, and purges what is long over."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Select, delete, select
from sqlalchemy.orm import Session

from models import audit, bulk, conversations, locks, retention
from models.automations import settling
from models.automations.claiming import STALE_LOCK
from models.automations.judging import LATENESS_CAP
from models.automations.records import TERMINAL, Execution, Status
from models.conversations import Conversation
from models.declarations import Declared
from models.transactions import commit

BATCH = 500


def mark_abandoned(session: Session, *, now: datetime, limit: int) -> int:
    """Let runs that nobody said anything of for too long need a person, in batches; how many were found now.

    No machine takes them again. Should the worker only have been slow, it goes on and settles them itself.
    """
    marked = 0
    while marked < limit:
        found = session.execute(_silent(now).limit(min(BATCH, limit - marked))).all()
        # In the order in which a worker locks several conversations, or the two would wait for each other.
        for id, conversation_id in sorted(found, key=lambda row: row.conversation_id):
            conversation = conversations.lock(session, conversation_id)
            execution = locks.one(session, select(Execution).where(Execution.id == id))
            if execution is not None and _is_silent(execution, now):
                mark(session, execution, conversation, now)
                marked += 1
        commit(session, "executions.abandon")
        if not found:
            break
    return marked


def _silent(now: datetime) -> Select[UUID, int]:
    return (
        select(Execution.id, Execution.conversation_id)
        .where(
            Execution.status == Status.EXECUTING.value,
            Execution.locked_at < now - STALE_LOCK,
            Execution.needs_review.is_(False),
        )
        .order_by(Execution.locked_at, Execution.id)
    )


def _is_silent(execution: Execution, now: datetime) -> bool:
    held = execution.locked_at is not None and execution.locked_at < now - STALE_LOCK
    return execution.status == Status.EXECUTING and held and not execution.needs_review


def mark(session: Session, execution: Execution, conversation: Conversation | None, now: datetime) -> None:
    """Let one abandoned run, which the caller has locked, need a person."""
    execution.needs_review = True
    execution.version += 1
    execution.updated_at = now
    audit.append(
        session,
        tenant_id=execution.tenant_id,
        actor=settling.WORKER,
        action="execution.needs_review",
        resource=("execution", str(execution.id)),
        now=now,
        purpose="abandoned",
        detail={"run": execution.run},
    )
    settling.tell(session, execution, conversation, "execution.needs_review", now)


def purge(session: Session, *, declared: Declared, now: datetime, limit: int) -> int:
    """Delete what has been over for longer than is kept, in batches; how many. Never what needs a person, nor
    what would run, were it armed again.
    """
    kept_for = timedelta() if retention.faults(declared) else retention.period(declared, "executions")
    if not kept_for:
        return 0
    purged = 0
    # One status at a time, since then both databases go by the index in the order that is asked for.
    for status in sorted(TERMINAL):
        while purged < limit:
            gone = _purge(session, status, kept_for, min(BATCH, limit - purged), now)
            commit(session, "executions.purge")
            purged += gone
            if not gone:
                break
    return purged


def _purge(session: Session, status: Status, kept_for: timedelta, most: int, now: datetime) -> int:
    # The episode is heard of for as long as it lasts: the row is what says that it was run, or ended by a
    # person, until one armed anew would be too late anyway.
    too_late = now - LATENESS_CAP
    old = (
        select(Execution.id)
        .where(
            Execution.status == status.value,
            Execution.updated_at < min(now - kept_for, too_late),
            Execution.needs_review.is_(False),
        )
        .order_by(Execution.updated_at, Execution.id)
        .limit(most)
    )
    if status is Status.SKIPPED:
        # By a person perhaps long before it was due.
        old = old.where(Execution.due_at < too_late)
    statement = delete(Execution).where(Execution.id.in_(old))
    return bulk.execute_unaudited(session, statement.execution_options(synchronize_session=False))
