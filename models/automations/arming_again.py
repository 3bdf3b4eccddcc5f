"""A newer message takes the place of the one that armed an execution: one run for each episode."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import audit
from models.actors import Actor
from models.automations.claiming import STALE_LOCK
from models.automations.records import (
    BY_OPERATOR,
    ActionRun,
    ActionState,
    AutomationRule,
    Execution,
    Status,
)
from models.messages import Message
from models.transitions import move

ARMING = Actor.system("arming")


def arm(
    session: Session,
    rule: AutomationRule,
    known: Execution,
    message: Message,
    due_at: datetime,
    *,
    now: datetime,
) -> Execution | None:
    """Let `known`, whose lock is held, wait anew on `message`; None where it is left alone.

    It is left alone by a message that is not newer, once it began to act, while a worker lives on it, and
    when a person ended it.
    """
    if not _may(session, known, message, now):
        return None
    before, reason = known.status, known.skip_reason
    known.message_id, known.message_seq, known.message_at = message.id, message.seq, message.created_at
    known.due_at, known.lapses_from, known.armed_version = due_at, due_at, rule.armed_version
    known.not_before, known.next_attempt_at, known.attempts = None, None, 0
    known.lock_token, known.locked_at, known.skip_reason = None, None, None
    detail = {"message": str(message.id), **({"reason_before": reason} if reason else {})}
    if before == Status.PENDING:
        _note(session, known, detail, now)
    else:
        move(
            session,
            known,
            Status.PENDING,
            actor=ARMING,
            now=now,
            action="execution.rearmed",
            purpose="newer_message",
            detail=detail,
        )
    session.flush()
    return known


def _note(session: Session, known: Execution, detail: dict[str, str], now: datetime) -> None:
    """It waits as before, on another message: no change of state."""
    known.version += 1
    known.updated_at = now
    audit.append(
        session,
        tenant_id=known.tenant_id,
        actor=ARMING,
        action="execution.rearmed",
        resource=("execution", str(known.id)),
        now=now,
        purpose="newer_message",
        detail=detail,
    )


def _may(session: Session, known: Execution, message: Message, now: datetime) -> bool:
    if known.message_seq is None or known.message_at is None:
        return False
    if message.seq <= known.message_seq or message.created_at < known.message_at:
        return False
    if known.status in (Status.EXECUTING, Status.EXECUTED):
        return False
    if known.status == Status.SKIPPED and known.skip_reason in BY_OPERATOR:
        return False
    if known.status == Status.PROCESSING and (known.locked_at or now) >= now - STALE_LOCK:
        return False
    if known.resumed:
        # A person let it go on as they saw it, and it is not judged again.
        return False
    begun = select(ActionRun.id).where(
        ActionRun.execution_id == known.id, ActionRun.state != ActionState.WAITING.value
    )
    return session.scalars(begun.limit(1)).first() is None
