"""What becomes of a claimed execution before its first action: of the checks, the first decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import inboxes
from models.automations import conditions, episodes, inactivity, windows
from models.automations.conditions import Scene
from models.automations.records import AutomationRule, Execution, Skip, Trigger
from models.conversations import Conversation
from models.declarations import Declared
from models.messages import Message
from models.tenants import Feature, Tenant

LATENESS_CAP = timedelta(days=3)


class Step(StrEnum):
    """What is to be done with the row."""

    RUN = "run"
    SKIP = "skip"
    WAIT = "wait"
    LEAVE = "leave"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Decision:
    """The step, with the reason of a skip, and what to wait for: a window, or a clock that moved on."""

    step: Step
    reason: Skip | None = None
    not_before: datetime | None = None
    due_at: datetime | None = None


RUN = Decision(Step.RUN)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a decision looks at, read under the locks."""

    tenant: Tenant
    execution: Execution
    rule: AutomationRule | None
    conversation: Conversation | None


def decide(session: Session, facts: Facts, *, declared: Declared, now: datetime) -> Decision:
    """The first check that applies, in the order of the specification: feature, lateness, clock, window, and
    then what `standing` says."""
    execution, rule = facts.execution, facts.rule
    if not execution.at_once and not facts.tenant.has(Feature.DELAYED_AUTOMATIONS):
        return Decision(Step.LEAVE)
    if execution.resumed:
        # A person was shown what follows, and decided.
        return RUN
    if rule is not None and rule.armed_version != execution.armed_version:
        return Decision(Step.FREE)
    if execution.lapses_from < now - LATENESS_CAP:
        return Decision(Step.SKIP, Skip.EXPIRED)
    if rule is not None and facts.conversation is not None:
        later = _later(facts, rule, facts.conversation, declared, now)
        if later is not None:
            return later
    reason = standing(session, facts, now=now)
    return RUN if reason is None else Decision(Step.SKIP, reason)


def _later(
    facts: Facts, rule: AutomationRule, conversation: Conversation, declared: Declared, now: datetime
) -> Decision | None:
    """Whether it has to wait: because its clock moved on, or because the rule's window is closed."""
    if rule.trigger == Trigger.INACTIVITY:
        due_at = inactivity.moved(rule, facts.execution, conversation)
        if due_at is not None and due_at > now:
            return Decision(Step.WAIT, due_at=due_at)
    if rule.window_start is None or rule.window_end is None:
        return None
    zone = inboxes.zone(declared, conversation.inbox_id, facts.tenant)
    opens = windows.next_start(now, rule.window_start, rule.window_end, zone)
    return Decision(Step.WAIT, not_before=opens) if opens else None


def standing(session: Session, facts: Facts, *, now: datetime) -> Skip | None:
    """Why the execution's reason does not stand any more, or None while it does: rule, conversation, episode
    and conditions, as they are now."""
    execution, rule, conversation = facts.execution, facts.rule, facts.conversation
    if rule is None or not rule.active:
        return Skip.RULE_INACTIVE
    if conversation is None:
        return Skip.CONVERSATION_GONE
    if episodes.current(session, execution, conversation) != execution.episode_key:
        return Skip.EPISODE_MOVED
    if execution.at_once:
        # It was judged as it was armed, a moment ago, and the change that it heard of is known only there.
        return None
    message = session.get(Message, execution.message_id) if execution.message_id else None
    parsed = conditions.parse(
        rule.conditions, event=rule.event, execution_delay=rule.execution_delay, trigger=rule.trigger
    )
    said = () if message is not None else messages_of(session, rule, conversation)
    scene = Scene.of(conversation, message=message, messages=said, changed=None, now=now)
    return None if conditions.matches(parsed, scene) else Skip.CONDITIONS_CHANGED


def messages_of(session: Session, rule: AutomationRule, conversation: Conversation) -> Sequence[Message]:
    """What a rule that hears of conversations may ask of; one that waits on a status asks no messages."""
    if rule.execution_delay is not None and rule.trigger != Trigger.INACTIVITY:
        return ()
    query = select(Message).where(Message.conversation_id == conversation.id)
    return session.scalars(query.order_by(Message.created_at, Message.id)).all()


def facts_of(session: Session, execution: Execution) -> Facts:
    """What is known now, read without locks: for a page that shows what would be decided."""
    return Facts(
        tenant=session.get_one(Tenant, execution.tenant_id),
        execution=execution,
        rule=session.get(AutomationRule, execution.rule_id),
        conversation=session.get(Conversation, execution.conversation_id),
    )
