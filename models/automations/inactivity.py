"""Rules that wait for a conversation to be quiet: one execution, whose clock only moves forward."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from models.actors import Actor
from models.automations import episodes
from models.automations.records import ARMED, AutomationRule, Execution, Status
from models.conversations import Conversation
from models.transitions import move

ARMING = Actor.system("arming")


def heard(
    session: Session, rule: AutomationRule, known: Execution, activity_at: datetime, *, now: datetime
) -> Execution | None:
    """Take note of activity on the rule's one execution, under its lock; the execution if it waits anew.

    Nothing here touches the worker's token: who runs it looks again before the first action and after the
    last. One that waits for a person only takes note.
    """
    if known.activity_seen_at is not None and activity_at <= known.activity_seen_at:
        return None
    known.activity_seen_at = activity_at
    if known.status in ARMED:
        if known.status == Status.PENDING:
            _wait_until(known, due_after(rule, activity_at))
        return None
    if known.status == Status.EXECUTING or known.needs_review:
        return None
    known.skip_reason, known.armed_version = None, rule.armed_version
    known.lock_token, known.locked_at = None, None
    _wait_until(known, due_after(rule, activity_at))
    move(
        session,
        known,
        Status.PENDING,
        actor=ARMING,
        now=now,
        action="execution.rearmed",
        purpose="activity",
    )
    session.flush()
    return known


def moved(rule: AutomationRule, execution: Execution, conversation: Conversation) -> datetime | None:
    """The new due time where somebody did something since `execution` was armed, or None.

    Both what the row heard of and what the conversation says count: a listener may have missed it.
    """
    seen = [at for at in (execution.activity_seen_at, episodes.latest_activity(conversation)) if at]
    if not seen or rule.execution_delay is None:
        return None
    due_at = due_after(rule, max(seen))
    return due_at if due_at > execution.due_at else None


def since(execution: Execution, conversation: Conversation, began: datetime) -> datetime | None:
    """The latest activity of others since `began`, when the run began; None where there was none."""
    seen = [at for at in (execution.activity_seen_at, conversation.last_activity_at) if at and at > began]
    return max(seen) if seen else None


def due_after(rule: AutomationRule, activity_at: datetime) -> datetime:
    assert rule.execution_delay is not None
    return activity_at + timedelta(minutes=rule.execution_delay)


def _wait_until(execution: Execution, due_at: datetime) -> None:
    execution.due_at = max(execution.due_at, due_at)
    execution.lapses_from = execution.due_at
    execution.not_before = execution.next_attempt_at = None
    execution.attempts = 0
