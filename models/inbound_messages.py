"""Messages that a source tells of: late ones as if they had been in time, and old ones as history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import intake, messages
from models.chatwoot_payloads import POLLED, Said
from models.conversations import Conversation
from models.declarations import Declared
from models.happenings import Event, Happening
from models.inbound_events import InboundEvent
from models.inbound_order import NOTHING_RAN_WITHIN
from models.intake import IncomingMessage
from models.messages import Direction, Message, SenderType
from models.tenants import Tenant

MOST_HEARD_AGAIN = 50
# A message and its conversation are made at one time, and told of separately.
MADE_TOGETHER = timedelta(minutes=1)


def take(
    session: Session,
    tenant: Tenant,
    event: InboundEvent,
    told: Sequence[Said],
    conversation: Conversation,
    *,
    declared: Declared,
    now: datetime,
) -> list[Happening]:
    """Store messages, or let stored ones read as they do now; what the areas have to hear of them.

    The caller holds the conversation's lock.
    """
    begins = _beginning(session, event, conversation) if event.event == POLLED else None
    found: list[Happening] = []
    for said in sorted(told, key=lambda one: one.id):
        known = messages.find(session, tenant.id, str(said.id), event.source)
        if known is not None:
            _take_change(known, said)
            continue
        later = _later(session, conversation, said)
        given = _incoming(event, said, conversation)
        received = intake.receive_message(session, tenant, given, declared=declared, now=now)
        if received.happening is not None and (begins is None or begins.holds(said)):
            found += _heard(received.happening, said, later, conversation, now)
    return found


def _heard(
    happening: Happening, said: Said, later: Sequence[Message], conversation: Conversation, now: datetime
) -> list[Happening]:
    """What came after it was heard without it: the areas hear all of it in its order, as if none were late.

    Once something that a later one began may have run, nothing is begun anew by what is over.
    """
    if not later:
        return [happening]
    if now - said.created_at >= NOTHING_RAN_WITHIN:
        return []
    return [happening, *(_heard_again(conversation, message) for message in later)]


@dataclass(frozen=True, slots=True)
class _Beginning:
    """From where on messages that we read ourselves are news; what is before is history, and begins nothing.

    `last` is the newest that was known before, `watched` when the conversation was first told of.
    """

    last: int | None
    watched: datetime | None

    def holds(self, said: Said) -> bool:
        if self.last is not None and said.id > self.last:
            return True
        return self.watched is not None and said.created_at >= self.watched - MADE_TOGETHER


def _beginning(session: Session, event: InboundEvent, conversation: Conversation) -> _Beginning:
    last = select(func.max(Message.seq)).where(Message.conversation_id == conversation.id)
    watched = select(func.min(InboundEvent.received_at)).where(
        InboundEvent.tenant_id == event.tenant_id,
        InboundEvent.source == event.source,
        InboundEvent.conversation == event.conversation,
    )
    return _Beginning(session.scalar(last), session.scalar(watched))


def _later(session: Session, conversation: Conversation, said: Said) -> list[Message]:
    query = select(Message).where(Message.conversation_id == conversation.id, Message.seq > said.id)
    chosen = query.where(Message.direction != Direction.ACTIVITY.value).order_by(Message.seq)
    return list(session.scalars(chosen.limit(MOST_HEARD_AGAIN)))


def _heard_again(conversation: Conversation, message: Message) -> Happening:
    """As when it came in: what runs at once knows it by its origin, and does not run again."""
    return Happening(
        origin=f"message:{message.id}",
        conversation_id=conversation.id,
        events=(Event.MESSAGE_CREATED.value,),
        message_id=message.id,
        by_rule=message.sender.get("type") == SenderType.RULE,
    )


def _incoming(event: InboundEvent, said: Said, conversation: Conversation) -> IncomingMessage:
    return IncomingMessage(
        id=str(said.id),
        conversation_id=conversation.external_id,
        direction=said.direction,
        created_at=said.created_at,
        seq=said.id,
        text=said.text,
        sender=dict(said.sender),
        private=said.private,
        auto_reply=said.auto_reply,
        customer=conversation.customer,
        source=event.source,
        attributes=dict(said.attributes),
    )


def _take_change(known: Message, said: Said) -> None:
    """Let a stored message read as it does at its source now; what was told later never gives way."""
    told_at, known_at = said.attributes.get("told_at", ""), known.attributes.get("told_at", "")
    if told_at < known_at or (said.text, said.private) == (known.text, known.private):
        return
    known.text, known.private = said.text, said.private
    known.attributes = {**known.attributes, **said.attributes}
