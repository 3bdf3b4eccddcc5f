"""Episodes: the stretch in which the reason for an execution stands, its key, and the anchor of its clock."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy.orm import Session

from models import messages
from models.automations.records import AutomationRule, Execution, Trigger
from models.clock import micros
from models.conversations import Conversation
from models.messages import Direction, Message

INACTIVITY_KEY = "inactivity"


class Kind(StrEnum):
    """What an episode is a stretch of; the word that its key begins with."""

    STATUS = "status"
    AWAITING_AGENT = "awaiting_agent"
    REPLY_CHASE = "reply_chase"
    INACTIVITY = "inactivity"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Episode:
    """The key when arming, and the time from which the rule's delay counts."""

    key: str
    anchor: datetime


def kind_of(key: str) -> Kind:
    """The kind of the episode that `key` names."""
    return Kind(key.partition(":")[0])


def begun(
    session: Session, rule: AutomationRule, conversation: Conversation, message: Message | None
) -> Episode | None:
    """The episode in which `rule` is armed now, or None where its clock is not known."""
    if rule.trigger == Trigger.INACTIVITY:
        anchor = latest_activity(conversation)
        return Episode(INACTIVITY_KEY, anchor) if anchor else None
    if message is None:
        changed_at = conversation.status_changed_at
        return Episode(_status_key(changed_at), changed_at) if changed_at else None
    if message.direction == Direction.INCOMING:
        since = conversation.waiting_since or message.created_at
        return Episode(_awaiting_key(since), since)
    before = messages.greatest_incoming(session, conversation.id, below=message.seq)
    return Episode(f"{Kind.REPLY_CHASE}:{before}", message.created_at)


def current(session: Session, execution: Execution, conversation: Conversation) -> str | None:
    """The key that the episode of `execution` has now; another than its own means that it moved.

    None where the message that armed it is gone, or the status's clock is not known any more.
    """
    kind = kind_of(execution.episode_key)
    if kind in (Kind.INACTIVITY, Kind.EVENT):
        return execution.episode_key
    if kind is Kind.STATUS:
        changed_at = conversation.status_changed_at
        return _status_key(changed_at) if changed_at else None
    if execution.message_id is None or session.get(Message, execution.message_id) is None:
        return None
    if kind is Kind.AWAITING_AGENT:
        return _awaiting_key(conversation.waiting_since)
    return f"{Kind.REPLY_CHASE}:{messages.greatest_incoming(session, conversation.id)}"


def latest_activity(conversation: Conversation) -> datetime | None:
    """When somebody last did something in the conversation, as far as it tells: what it began with counts."""
    return conversation.last_activity_at or conversation.created_at


def _status_key(changed_at: datetime) -> str:
    return f"{Kind.STATUS}:{micros(changed_at)}"


def _awaiting_key(since: datetime | None) -> str:
    return f"{Kind.AWAITING_AGENT}:{micros(since) if since else 0}"
