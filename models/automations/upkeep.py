"""What the sweep does besides running: it says which runs were abandoned, and purges what is long over."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Select, delete, select
from sqlalchemy.orm import Session

from models import audit, bulk, conversations, locks, retention
from models.automations import settling
from models.automations.claiming import STALE_LOCK
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
        ids = list(session.scalars(_silent(now).limit(min(BATCH, limit - marked))))
        for id in ids:
            seen = session.get_one(Execution, id)
            conversation = conversations.lock(session, seen.conversation_id)
            execution = locks.one(session, select(Execution).where(Execution.id == id))
            if execution is not None and _is_silent(execution, now):
                mark(session, execution, conversation, now)
                marked += 1
        commit(session, "executions.abandon")
        if not ids:
            break
    return marked


def _silent(now: datetime) -> Select[UUID]:
    return (
        select(Execution.id)
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
    """Delete what has been over for longer than is kept, in batches; how many. Never what needs a person."""
    kept_for = timedelta() if retention.faults(declared) else retention.period(declared, "executions")
    if not kept_for:
        return 0
    purged = 0
    # One status at a time, since then both databases go by the index in the order that is asked for.
    for status in sorted(TERMINAL):
        while purged < limit:
            gone = _purge(session, status, now - kept_for, min(BATCH, limit - purged))
            commit(session, "executions.purge")
            purged += gone
            if not gone:
                break
    return purged


def _purge(session: Session, status: Status, before: datetime, most: int) -> int:
    old = (
        select(Execution.id)
        .where(
            Execution.status == status.value,
            Execution.updated_at < before,
            Execution.needs_review.is_(False),
        )
        .order_by(Execution.updated_at, Execution.id)
        .limit(most)
    )
    statement = delete(Execution).where(Execution.id.in_(old))
    return bulk.execute_unaudited(session, statement.execution_options(synchronize_session=False))
