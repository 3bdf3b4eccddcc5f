"""The one place where an event from outside reaches the areas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from models import conversing, locks, messages, text
from models.automations import arming
from models.base import is_sqlite
from models.clock import as_utc
from models.conversations import NATIVE, Conversation, ConversationStatus
from models.declarations import Declared
from models.errors import Conflict, Invalid
from models.followups import contacts, keywords
from models.followups.policy import policies, policy_of
from models.happenings import Event, Happening
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
    source: str = NATIVE
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Received:
    """What came of something that came in. `happening` is what the areas still have to hear (`arm`)."""

    conversation: Conversation
    made: bool
    happening: Happening | None
    message: Message | None = None


def receive_message(
    session: Session, tenant: Tenant, given: IncomingMessage, *, declared: Declared, now: datetime
) -> Received:
    """Store a message once, and let it act on its conversation, and on the contact if the customer wrote it.

    Makes an unknown conversation. `made` says whether it was stored now; a repeat acts on nothing. Raises
    `Invalid`, and `Conflict` for an id that was given to other content.
    """
    message = _checked(tenant, given, now)
    conversation, new = _conversation(
        session, tenant, given.conversation_id, given.source, message.customer, message.created_at
    )
    known = messages.find(session, tenant.id, given.id, given.source)
    if known is not None:
        return Received(conversation, False, None, _repeated(known, message, given, conversation))
    message.conversation_id = conversation.id
    message.seq = given.seq if given.seq is not None else messages.next_seq(session, conversation.id)
    message.customer = message.customer or conversation.customer
    conversation.customer = conversation.customer or message.customer
    session.add(message)
    session.flush()
    conversing.take_message(session, conversation, message)
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
    return Received(conversation, True, _said(conversation, message, new), message)


def _said(conversation: Conversation, message: Message, new: bool) -> Happening:
    born = (Event.CONVERSATION_CREATED.value,) if new else ()
    return Happening(
        origin=f"message:{message.id}",
        conversation_id=conversation.id,
        events=(*born, Event.MESSAGE_CREATED.value),
        message_id=message.id,
        by_rule=message.sender.get("type") == SenderType.RULE,
    )


def receive_conversation(
    session: Session,
    tenant: Tenant,
    external_id: str,
    given: Mapping[str, Any],
    *,
    now: datetime,
    source: str = NATIVE,
    by_rule: bool = False,
) -> Received:
    """Take what a source says of a conversation: `given` holds any of `conversing.FIELDS`.

    Makes an unknown one. What is older than what is known changes nothing. Raises `Invalid`.
    """
    values = conversing.checked(given)
    born = values.get("created_at") or values.get("updated_at") or now
    conversation, new = _conversation(session, tenant, external_id, source, values.get("customer"), born)
    changed = conversing.take_news(session, conversation, values, made=new, now=now)
    session.flush()
    events = _events(changed, new)
    if not events:
        return Received(conversation, new, None)
    happening = Happening(
        origin=f"news:{uuid4()}",
        conversation_id=conversation.id,
        events=events,
        changed=changed,
        by_rule=by_rule,
    )
    return Received(conversation, new, happening)


def _events(changed: Mapping[str, Sequence[Any]], new: bool) -> tuple[str, ...]:
    if new:
        return (Event.CONVERSATION_CREATED.value,)
    if not changed:
        return ()
    to = changed["status"][1] if "status" in changed else None
    more = {
        ConversationStatus.OPEN: (Event.CONVERSATION_OPENED.value,),
        ConversationStatus.RESOLVED: (Event.CONVERSATION_RESOLVED.value,),
    }
    return (Event.CONVERSATION_UPDATED.value, *(more.get(to, ()) if to else ()))


def arm(session: Session, tenant: Tenant, happening: Happening | None, *, now: datetime) -> list[UUID]:
    """Let the areas hear of what happened; the executions that are to be run at once, after the commit.

    The same happening heard again arms nothing anew.
    """
    if happening is None:
        return []
    return arming.arm(session, tenant, happening, now=now)


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
        source=given.source,
        external_id=text.required(given.id, "id"),
        direction=given.direction,
        sender=sender,
        private=given.private,
        auto_reply=given.auto_reply,
        customer=text.required(customer, "customer") if customer is not None else None,
        writer=writer if writer != customer else None,
        agent=text.required(given.agent, "agent") if given.agent is not None else None,
        text=text.storable(given.text, "text", longest=LONGEST_TEXT),
        attributes=given.attributes,
        created_at=as_utc(given.created_at, "created_at"),
        stored_at=now,
    )


def _conversation(
    session: Session, tenant: Tenant, called: str, source: str, customer: str | None, born: datetime
) -> tuple[Conversation, bool]:
    """The conversation, locked, made if absent; whether it was made now."""
    external_id = text.required(called, "conversation_id")
    dialect = sqlite if is_sqlite(session) else postgresql
    made = (
        dialect.insert(Conversation)
        .values(
            tenant_id=tenant.id,
            source=source,
            external_id=external_id,
            customer=customer,
            status_changed_at=born,
            created_at=born,
            updated_at=born,
        )
        .on_conflict_do_nothing()
        .returning(Conversation.id)
    )
    query = select(Conversation).where(
        Conversation.tenant_id == tenant.id,
        Conversation.external_id == external_id,
        Conversation.source == source,
    )
    while True:
        new = session.scalars(made).first() is not None
        conversation = locks.one(session, query)
        # None where an erasing or the retention took it between the two: then it is made anew.
        if conversation is not None:
            return conversation, new


def _repeated(
    known: Message, message: Message, given: IncomingMessage, conversation: Conversation
) -> Message:
    same = (
        known.conversation_id == conversation.id
        and (known.direction, known.text, known.created_at, known.sender, known.private)
        == (message.direction, message.text, message.created_at, message.sender, message.private)
        and (known.auto_reply, known.agent) == (message.auto_reply, message.agent)
        and given.seq in (None, known.seq)
        and (message.customer is None or known.customer == message.customer)
    )
    if not same:
        raise Conflict("This id was given to another message.")
    return known
