"""Conversations over HTTP: what a source says of one, and how it stands."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import Field, PlainValidator, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from desk_ui.api import at_once
from desk_ui.api.fields import LARGEST_INTEGER, LONGEST_TEXT, Given, OptionalText, Shown, Text, Time
from desk_ui.api.operations import Call, Reply, operation
from desk_ui.api.paths import as_text
from models import conversations, intake, text
from models.conversations import Conversation, ConversationStatus
from models.errors import Invalid

T = TypeVar("T")


def _source_id(value: Any) -> int | str | None:
    """An id as its source writes it, a number or a text, answered as it was given."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("source_id", "must be a text or a whole number")
    if isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise PydanticCustomError("source_id", "is too large a number")
        return value
    return _told(lambda: text.required(value, "id"))


def _attributes(value: Any) -> dict[str, Any] | None:
    """An object of anything that both databases can keep."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise PydanticCustomError("attributes", "must be a JSON object")
    if len(json.dumps(value)) > LONGEST_TEXT:
        raise PydanticCustomError("attributes", "is longer than can be kept")
    for one in _texts(value):
        _told(partial(text.storable, one, "attributes", longest=LONGEST_TEXT))
    return value


def _texts(value: Any) -> Iterator[str]:
    """Every text within a JSON value, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _told(check: Callable[[], T]) -> T:
    try:
        return check()
    except Invalid as fault:
        detail = fault.detail.removeprefix(f"{fault.field} ").removesuffix(".")
        raise PydanticCustomError("unusable", "{detail}", {"detail": detail}) from None


SourceId = Annotated[
    Any,
    PlainValidator(_source_id),
    WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1, "maxLength": 200}, {"type": "integer"}]}),
]
Attributes = Annotated[Any, PlainValidator(_attributes), WithJsonSchema({"type": "object"})]
Label = Annotated[Text, StringConstraints(max_length=200)]
MOST_LABELS = 200


class ConversationGiven(Given):
    """Any of these. What has an `updated_at` older than what is known changes nothing."""

    status: ConversationStatus | None = None
    status_changed_at: Time | None = None
    created_at: Time | None = None
    updated_at: Time | None = None
    inbox_id: SourceId | None = None
    customer: OptionalText | None = None
    assignee_id: SourceId | None = None
    team_id: SourceId | None = None
    priority: SourceId | None = None
    labels: Annotated[list[Label], Field(max_length=MOST_LABELS)] | None = None
    language: OptionalText | None = None
    attributes: Attributes | None = None
    auto_reply: bool | None = None


class ConversationShown(Shown):
    """A conversation as its source told it, with since when the customer waits for an answer."""

    id: str
    source: str
    inbox_id: int | str | None
    customer: str | None
    status: ConversationStatus
    status_changed_at: Time | None
    waiting_since: Time | None
    priority: int | str | None
    assignee_id: int | str | None
    team_id: int | str | None
    labels: list[str]
    language: str | None
    attributes: dict[str, Any]
    auto_reply: bool
    created_at: Time
    updated_at: Time


def show(conversation: Conversation) -> ConversationShown:
    return ConversationShown.of(conversation, id=conversation.external_id)


@operation(
    "conversations.put",
    "PUT",
    "/conversations/<conversation:external_id>",
    scope="ingest",
    body=ConversationGiven,
    answers={201: ConversationShown, 200: ConversationShown},
    point="api.conversations.put",
)
def put(call: Call, external_id: str) -> Reply:
    """Say how a conversation stands, and let the rules hear of what changed. An unknown one is made.

    A changed `status` without `status_changed_at` takes `updated_at`, else now. An id that ends in
    `/messages` answers 405: at that address messages are listed.
    """
    given: ConversationGiven = call.body
    values = {name: getattr(given, name) for name in given.model_fields_set}
    # A truth value and a status can't be taken back to nothing, so null says nothing of them.
    known = {name: value for name, value in values.items() if value is not None or name in _NULLABLE}
    if known.get("status") is not None:
        known["status"] = ConversationStatus(known["status"]).value
    received = intake.receive_conversation(
        call.session, call.tenant, as_text(external_id, "conversation"), known, now=call.now
    )
    at_once.arm(call, received)
    return Reply(201 if received.made else 200, show(received.conversation))


_NULLABLE = frozenset(
    {"status_changed_at", "inbox_id", "customer", "assignee_id", "team_id", "priority", "language"}
)


@operation(
    "conversations.get",
    "GET",
    "/conversations/<conversation:external_id>",
    scope="read",
    answers={200: ConversationShown},
)
def get(call: Call, external_id: str) -> Reply:
    """Read one conversation."""
    found = conversations.get(call.session, call.tenant.id, as_text(external_id, "conversation"))
    return Reply(200, show(found))
