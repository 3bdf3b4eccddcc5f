"""Messages that a source tells of: late ones as if they had been in time, and old ones as history."""

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
    said: Said,
    conversation: Conversation,
    *,
    declared: Declared,
    now: datetime,
) -> list[Happening]:
    """Store a message, or let a stored one read as it does now; what the areas have to hear of it.

    The caller holds the conversation's lock.
    """
    known = messages.find(session, tenant.id, str(said.id), event.source)
    if known is not None:
        _take_change(known, said)
        return []
    later = _later(session, conversation, said)
    history = event.event == POLLED and _is_history(session, event, said, conversation)
    given = _incoming(event, said, conversation)
    received = intake.receive_message(session, tenant, given, declared=declared, now=now)
    if history or received.happening is None:
        return []
    if not later:
        return [received.happening]
    # What came after it was heard without it: the areas hear all of it in its order, as if none had been
    # late. Once something that a later one began may have run, nothing is begun anew by what is over.
    if now - said.created_at >= NOTHING_RAN_WITHIN:
        return []
    return [received.happening, *(_heard_again(conversation, message) for message in later)]


def _later(session: Session, conversation: Conversation, said: Said) -> list[Message]:
    query = select(Message).where(Message.conversation_id == conversation.id, Message.seq > said.id)
    chosen = query.where(Message.direction != Direction.ACTIVITY.value).order_by(Message.seq)
    return list(session.scalars(chosen.limit(MOST_HEARD_AGAIN)))


def _is_history(session: Session, event: InboundEvent, said: Said, conversation: Conversation) -> bool:
    """Whether a message that we read is from before the conversation was watched, and begins nothing now."""
    last = session.scalar(select(func.max(Message.seq)).where(Message.conversation_id == conversation.id))
    if last is not None and said.id > last:
        return False
    watched = session.scalar(
        select(func.min(InboundEvent.received_at)).where(
            InboundEvent.tenant_id == event.tenant_id,
            InboundEvent.source == event.source,
            InboundEvent.conversation == event.conversation,
        )
    )
    return watched is None or said.created_at < watched - MADE_TOGETHER


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
