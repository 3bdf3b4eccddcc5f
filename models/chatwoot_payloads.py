"""What Chatwoot's webhooks and API say of conversations and messages, as plain values of ours.

`id` is the message on message events and the conversation's display id on conversation events. Times are ISO,
`YYYY-MM-DD hh:mm:ss UTC`, or epoch seconds, whole or fractional, and 0 is none.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from models.chatwoot_values import clean, cut, plain, time_of, whole
from models.conversations import ConversationStatus
from models.errors import Invalid
from models.messages import Direction, SenderType

SOURCE = "chatwoot"
# Where our idempotency key stands in a message's `content_attributes`.
KEY = "recovery_desk_key"
POLLED = "conversation_polled"
CONVERSATION_EVENTS = frozenset(
    {"conversation_created", "conversation_updated", "conversation_status_changed"}
)
MESSAGE_EVENTS = frozenset({"message_created", "message_updated"})
EVENTS = CONVERSATION_EVENTS | MESSAGE_EVENTS
LONGEST_TEXT = 100_000

_DIRECTIONS = (Direction.INCOMING, Direction.OUTGOING, Direction.ACTIVITY, Direction.TEMPLATE)
_STATUSES = (
    ConversationStatus.OPEN,
    ConversationStatus.RESOLVED,
    ConversationStatus.PENDING,
    ConversationStatus.SNOOZED,
)
_BOTS = frozenset({"agent_bot", "agentbot", "captain_assistant", "captain::assistant"})


@dataclass(frozen=True, slots=True)
class Said:
    """One message. `sender` is `{type, key, name}`; `attributes` what the message's own metadata keeps."""

    id: int
    direction: str
    created_at: datetime
    text: str
    sender: Mapping[str, str]
    private: bool
    auto_reply: bool
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class News:
    """What one event says. `given` are the fields of the conversation that it names, for `intake`.

    `told_at` is when its state was so, `status_changed` whether it says that the status has just changed.
    """

    event: str
    conversation_id: str
    given: Mapping[str, Any]
    messages: Sequence[Said]
    told_at: datetime | None
    status_changed: bool

    @property
    def customer(self) -> str | None:
        found: str | None = self.given.get("customer")
        return found


def document_of(raw: bytes) -> dict[str, Any]:
    """The JSON object in `raw`, its fractions kept exact. Raises `Invalid` on `body`."""
    try:
        document = json.loads(raw.decode("utf-8"), parse_float=Decimal, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Invalid("body", "is not JSON") from None
    if not isinstance(document, dict):
        raise Invalid("body", "is not a JSON object")
    return document


def _no_number(name: str) -> None:
    raise ValueError(name)


def news_of(document: Mapping[str, Any]) -> News:
    """What a document of one of `EVENTS`, or a reading of ours (`POLLED`), says. Raises `Invalid`."""
    event = document.get("event")
    if event in CONVERSATION_EVENTS:
        return _news(str(event), document, ())
    if event == POLLED:
        found = _list(document, "messages")
        return _news(POLLED, _table(document, "conversation"), [_message(one, document) for one in found])
    if event in MESSAGE_EVENTS:
        conversation = document.get("conversation")
        said = _message(document, document)
        if not isinstance(conversation, Mapping):
            conversation = {"id": document.get("conversation_id")}
        return _news(str(event), conversation, (said,))
    raise Invalid("event", "is none that is taken here")


def _news(event: str, document: Mapping[str, Any], messages: Sequence[Said]) -> News:
    given = _conversation(document)
    changed = _changed(document.get("changed_attributes"))
    return News(
        event=event,
        conversation_id=str(whole(document.get("id"), "conversation.id")),
        given=given,
        messages=messages,
        told_at=given.get("updated_at"),
        status_changed="status" in given and _status(changed.get("status")) == given["status"],
    )


def _conversation(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the document names; of what it leaves out nothing is said."""
    given: dict[str, Any] = {}
    if (status := _status(document.get("status"))) is not None:
        given["status"] = status
    for name in ("created_at", "updated_at"):
        if (at := time_of(document.get(name), name)) is not None:
            given[name] = at
    if (inbox := _inbox(document)) is not None:
        given["inbox_id"] = inbox
    if "priority" in document:
        given["priority"] = plain(document["priority"])
    if isinstance(document.get("labels"), Sequence) and not isinstance(document["labels"], str):
        given["labels"] = [
            cut(clean(one)) for one in document["labels"] if isinstance(one, str) and one.strip()
        ]
    _people(document, given)
    _attributes(document, given)
    return given


def _inbox(document: Mapping[str, Any]) -> Any:
    inbox = document.get("inbox")
    nested = inbox.get("id") if isinstance(inbox, Mapping) else None
    return plain(document.get("inbox_id", nested))


def _people(document: Mapping[str, Any], given: dict[str, Any]) -> None:
    """Customer, assignee and team, which stand in `meta`; the small form in messages names one assignee."""
    meta = document.get("meta")
    if not isinstance(meta, Mapping):
        if "assignee_id" in document:
            given["assignee_id"] = plain(document["assignee_id"])
        return
    given["assignee_id"] = None if _is_bot(meta.get("assignee_type")) else _id_of(meta.get("assignee"))
    given["team_id"] = _id_of(meta.get("team"))
    if (customer := customer_of(meta.get("sender"))) is not None:
        given["customer"] = customer


def _attributes(document: Mapping[str, Any], given: dict[str, Any]) -> None:
    meta = document.get("meta")
    contact = meta.get("sender") if isinstance(meta, Mapping) else None
    more = document.get("additional_attributes")
    if not isinstance(more, Mapping):
        more = {}
    if not more and not isinstance(contact, Mapping) and "custom_attributes" not in document:
        return
    language = more.get("conversation_language")
    given["language"] = cut(clean(language)) if isinstance(language, str) else None
    given["auto_reply"] = more.get("auto_reply") is True
    browser = more.get("browser")
    found = {
        "browser_language": more.get("browser_language")
        or (browser.get("browser_language") if isinstance(browser, Mapping) else None),
        "referer": more.get("referer"),
        "mail_subject": more.get("mail_subject"),
        "custom": document.get("custom_attributes"),
        "customer": _contact(contact) if isinstance(contact, Mapping) else None,
    }
    given["attributes"] = {name: clean(value) for name, value in found.items() if value}


def _contact(contact: Mapping[str, Any]) -> dict[str, Any]:
    """What conditions may ask of the customer."""
    more = contact.get("additional_attributes")
    more = more if isinstance(more, Mapping) else {}
    found = {
        "name": contact.get("name"),
        "email": contact.get("email"),
        "phone_number": contact.get("phone_number"),
        "country_code": more.get("country_code"),
        "city": more.get("city"),
        "company": more.get("company_name"),
        "custom": contact.get("custom_attributes"),
    }
    return {name: value for name, value in found.items() if value}


def _message(document: Mapping[str, Any], whole_document: Mapping[str, Any]) -> Said:
    direction = _direction(document.get("message_type"))
    marks = marks_of(document.get("content_attributes"))
    created_at = time_of(document.get("created_at"), "created_at")
    if created_at is None:
        raise Invalid("created_at", "is missing")
    content = document.get("content")
    mail = marks.get("email")
    kept = {name: marks[name] for name in (KEY, "automation_rule_id", "deleted") if marks.get(name)}
    told_at = time_of(document.get("updated_at"), "updated_at") or _told_at(document.get("conversation"))
    if told_at is not None:
        kept["told_at"] = told_at.isoformat()
    return Said(
        id=whole(document.get("id"), "id"),
        direction=direction,
        created_at=created_at,
        text=clean(content)[:LONGEST_TEXT] if isinstance(content, str) else "",
        sender=_sender(document, whole_document, direction, marks),
        private=document.get("private") is True,
        auto_reply=isinstance(mail, Mapping) and mail.get("auto_reply") is True,
        attributes=clean(kept),
    )


def _sender(
    document: Mapping[str, Any], outer: Mapping[str, Any], direction: str, marks: Mapping[str, Any]
) -> dict[str, str]:
    """Who wrote it. What a rule sent, one of ours or of Chatwoot's own, is a rule's, and arms nothing."""
    sender = document.get("sender")
    sender = sender if isinstance(sender, Mapping) else {}
    named = {"name": cut(clean(sender["name"]))} if isinstance(sender.get("name"), str) else {}
    if direction == Direction.INCOMING:
        customer = customer_of(sender) or _customer_around(document) or _customer_around(outer)
        return {"type": SenderType.CUSTOMER.value, **({"key": customer} if customer else {}), **named}
    if marks.get(KEY) or marks.get("automation_rule_id"):
        return {"type": SenderType.RULE.value, **named}
    if direction != Direction.OUTGOING:
        return {"type": SenderType.SYSTEM.value, **named}
    kind = sender.get("type") or document.get("sender_type")
    key = {"key": str(plain(sender["id"]))} if plain(sender.get("id")) is not None else {}
    if _is_bot(kind):
        return {"type": SenderType.BOT.value, **key, **named}
    # A person who answered on the channel itself, such as with their phone, is no user of Chatwoot's.
    if sender or marks.get("external_echo"):
        return {"type": SenderType.AGENT.value, **key, **named}
    return {"type": SenderType.SYSTEM.value}


def customer_of(contact: Any) -> str | None:
    """How we call a contact: by the `identifier` that their company gave them, else by Chatwoot's own id."""
    if not isinstance(contact, Mapping):
        return None
    identifier = contact.get("identifier")
    if isinstance(identifier, str) and identifier.strip():
        return cut(clean(identifier.strip()))
    number = plain(contact.get("id"))
    # Marked as Chatwoot's, so that it is never taken for a number that the company itself gave somebody.
    return f"{SOURCE}:{number}" if number is not None else None


def _customer_around(document: Mapping[str, Any]) -> str | None:
    conversation = document.get("conversation")
    meta = conversation.get("meta") if isinstance(conversation, Mapping) else None
    return customer_of(meta.get("sender")) if isinstance(meta, Mapping) else None


def _told_at(conversation: Any) -> datetime | None:
    at = conversation.get("updated_at") if isinstance(conversation, Mapping) else None
    return time_of(at, "conversation.updated_at")


def marks_of(value: Any) -> Mapping[str, Any]:
    """`content_attributes`, an object or its JSON as text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}


def _changed(value: Any) -> dict[str, Any]:
    """The new value of each attribute that changed: a list of `{name: {previous_value, current_value}}`."""
    tables = value if isinstance(value, list) else [value]
    return {
        name: change.get("current_value")
        for table in tables
        if isinstance(table, Mapping)
        for name, change in table.items()
        if isinstance(change, Mapping)
    }


def _direction(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_DIRECTIONS):
        return _DIRECTIONS[value].value
    if isinstance(value, str) and value in set(Direction):
        return value
    raise Invalid("message_type", f"must be one of {', '.join(_DIRECTIONS)}, or 0 to 3")


def _status(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_STATUSES):
        return _STATUSES[value].value
    if isinstance(value, str) and value in set(ConversationStatus):
        return value
    raise Invalid("status", f"must be one of {', '.join(_STATUSES)}, or 0 to 3")


def _id_of(value: Any) -> Any:
    return plain(value.get("id")) if isinstance(value, Mapping) else None


def _is_bot(kind: Any) -> bool:
    return isinstance(kind, str) and kind.casefold() in _BOTS


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    if not isinstance(found, Mapping):
        raise Invalid(name, "is not an object")
    return found


def _list(document: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = document.get(name)
    if not isinstance(found, list):
        raise Invalid(name, "is not a list")
    return [one for one in found if isinstance(one, Mapping)]
