"""Messages over HTTP: stored once, whoever wrote them."""

from typing import Annotated

from pydantic import Field
from sqlalchemy import select

from desk_ui.api import at_once, paging
from desk_ui.api.fields import Given, Integer, LongText, OptionalText, Paged, Shown, Text, Time
from desk_ui.api.operations import Call, Reply, operation
from desk_ui.api.paths import as_text
from models import conversations, intake
from models.errors import NotFound
from models.intake import IncomingMessage
from models.messages import Direction, Message, SenderType

ORDER = paging.Order("messages", Message.created_at, Message.id)


class SenderGiven(Given):
    type: SenderType | None = None
    key: OptionalText | None = None
    name: OptionalText | None = None


class SenderShown(Shown):
    """Who wrote it: the customer, a person of ours (`agent`), or software."""

    type: SenderType
    key: str | None
    name: str | None


class MessageGiven(Given):
    id: Text
    conversation_id: Annotated[Text, Field(description="The id that the source gives the conversation.")]
    direction: Direction
    created_at: Time
    seq: Integer | None = None
    text: LongText | None = None
    sender: SenderGiven | None = None
    private: bool = False
    auto_reply: bool = False
    customer: Text | None = None
    agent: Text | None = None


class MessageShown(Shown):
    """A message as the source told it."""

    id: str
    conversation_id: str
    direction: Direction
    created_at: Time
    seq: int
    text: str
    sender: SenderShown
    private: bool
    auto_reply: bool
    customer: str | None
    agent: str | None


class MessagePage(Shown):
    items: list[MessageShown]
    next_cursor: str | None


def show(message: Message, conversation: str) -> MessageShown:
    sender = message.sender
    return MessageShown.of(
        message,
        id=message.external_id,
        conversation_id=conversation,
        sender=SenderShown(type=SenderType(sender["type"]), key=sender.get("key"), name=sender.get("name")),
    )


@operation(
    "messages.receive",
    "POST",
    "/messages",
    scope="ingest",
    body=MessageGiven,
    answers={201: MessageShown, 200: MessageShown},
    point="api.messages.receive",
    conflicts=True,
)
def receive(call: Call) -> Reply:
    """Store a message, and let it act on its conversation, the contact and the rules.

    An unknown conversation is made. The same `id` with the same content answers 200 and acts on nothing.
    """
    given: MessageGiven = call.body
    incoming = IncomingMessage(
        id=given.id,
        conversation_id=given.conversation_id,
        direction=given.direction.value,
        created_at=given.created_at,
        seq=given.seq,
        text=given.text or "",
        sender=given.sender.model_dump(mode="json", exclude_none=True) if given.sender else {},
        private=given.private,
        auto_reply=given.auto_reply,
        customer=given.customer,
        agent=given.agent,
    )
    received = intake.receive_message(
        call.session, call.tenant, incoming, declared=call.declared, now=call.now
    )
    assert received.message is not None
    at_once.arm(call, received)
    return Reply(201 if received.made else 200, show(received.message, given.conversation_id))


@operation(
    "messages.list",
    "GET",
    "/conversations/<anything:external_id>/messages",
    scope="read",
    query=Paged,
    answers={200: MessagePage},
)
def list_messages(call: Call, external_id: str) -> Reply:
    """List a conversation's messages, newest first."""
    given: Paged = call.query
    conversation = conversations.find(call.session, call.tenant.id, as_text(external_id, "conversation"))
    if conversation is None:
        raise NotFound("conversation")
    query = select(Message).where(Message.conversation_id == conversation.id)
    found, cursor = paging.page(call.session, query, ORDER, limit=given.limit, cursor=given.cursor)
    items = [show(one, conversation.external_id) for one in found]
    return Reply(200, MessagePage(items=items, next_cursor=cursor))
