"""The one place where an event from outside reaches the areas."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from models import locks, messages, text
from models.base import is_sqlite
from models.clock import as_utc
from models.conversations import Conversation
from models.declarations import Declared
from models.errors import Conflict, Invalid
from models.followups import contacts, keywords
from models.followups.policy import policies, policy_of
from models.messages import Direction, Message, SenderType
from models.tenants import Tenant

LONGEST_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message as a source tells it; times are the source's and are taken as given."""

    id: str
    conversation_id: str
    direction: str
    created_at: datetime
    seq: int | None = None
    text: str = ""
    sender: dict[str, Any] = field(default_factory=dict)
    private: bool = False
    auto_reply: bool = False
    customer: str | None = None
    agent: str | None = None


def receive_message(
    session: Session, tenant: Tenant, given: IncomingMessage, *, declared: Declared, now: datetime
) -> tuple[Message, bool]:
    """Store a message once, and let it act on the contact if the customer wrote it.

    Makes an unknown conversation. Returns the message and whether it was stored now; a repeat acts on
    nothing. Raises `Invalid`, and `Conflict` for an id that was given to other content.
    """
    message = _checked(tenant, given, now)
    conversation = _conversation(session, tenant, given, message)
    known = messages.find(session, tenant.id, given.id)
    if known is not None:
        return _repeated(known, message, conversation), False
    message.conversation_id = conversation.id
    message.customer = message.customer or conversation.customer
    conversation.customer = conversation.customer or message.customer
    conversation.updated_at = max(conversation.updated_at, message.created_at)
    session.add(message)
    session.flush()
    if message.from_customer and message.customer:
        contacts.heard(
            session,
            tenant,
            message.customer,
            created_at=message.created_at,
            opts_out=keywords.holds(message.text, _keywords(declared, message.agent)),
            auto_reply=message.auto_reply,
            now=now,
        )
    return message, True


def _keywords(declared: Declared, agent: str | None) -> tuple[keywords.Keyword, ...]:
    """The opt-out words of `agent`, or of every agent where the message names none."""
    if agent is not None:
        return policy_of(declared, agent).keywords
    return tuple(key for parsed in policies(declared).values() for key in parsed.keywords)


def _checked(tenant: Tenant, given: IncomingMessage, now: datetime) -> Message:
    if given.direction not in set(Direction):
        raise Invalid("direction", f"must be one of {', '.join(Direction)}")
    sender = {key: value for key, value in given.sender.items() if value is not None}
    if not sender.get("type"):
        incoming = given.direction == Direction.INCOMING
        sender["type"] = (SenderType.CUSTOMER if incoming else SenderType.SYSTEM).value
    if sender["type"] not in set(SenderType):
        raise Invalid("sender.type", f"must be one of {', '.join(SenderType)}")
    for name in ("key", "name"):
        text.optional(sender.get(name), f"sender.{name}")
    writer = sender.get("key") if sender["type"] == SenderType.CUSTOMER else None
    customer = given.customer if given.customer is not None else writer
    return Message(
        tenant_id=tenant.id,
        external_id=text.required(given.id, "id"),
        seq=given.seq,
        direction=given.direction,
        sender=sender,
        private=given.private,
        auto_reply=given.auto_reply,
        customer=text.required(customer, "customer") if customer is not None else None,
        writer=writer if writer != customer else None,
        agent=text.required(given.agent, "agent") if given.agent is not None else None,
        text=text.storable(given.text, "text", longest=LONGEST_TEXT),
        created_at=as_utc(given.created_at, "created_at"),
        stored_at=now,
    )


def _conversation(session: Session, tenant: Tenant, given: IncomingMessage, message: Message) -> Conversation:
    """The conversation, locked, made if absent."""
    external_id = text.required(given.conversation_id, "conversation_id")
    dialect = sqlite if is_sqlite(session) else postgresql
    made = (
        dialect.insert(Conversation)
        .values(
            tenant_id=tenant.id,
            external_id=external_id,
            customer=message.customer,
            created_at=message.created_at,
            updated_at=message.created_at,
        )
        .on_conflict_do_nothing()
    )
    query = select(Conversation).where(
        Conversation.tenant_id == tenant.id, Conversation.external_id == external_id
    )
    while True:
        session.execute(made)
        conversation = locks.one(session, query)
        # None where an erasing or the retention took it between the two: then it is made anew.
        if conversation is not None:
            return conversation


def _repeated(known: Message, given: Message, conversation: Conversation) -> Message:
    same = (
        known.conversation_id == conversation.id
        and (known.direction, known.text, known.created_at, known.sender, known.private)
        == (given.direction, given.text, given.created_at, given.sender, given.private)
        and (known.seq, known.auto_reply, known.agent) == (given.seq, given.auto_reply, given.agent)
        and (given.customer is None or known.customer == given.customer)
    )
    if not same:
        raise Conflict("This id was given to another message.")
    return known
