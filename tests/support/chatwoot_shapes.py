"""How Chatwoot writes conversations, messages and people, each place in its own form."""

from datetime import UTC, datetime
from typing import Any

TYPES = {"incoming": 0, "outgoing": 1, "activity": 2, "template": 3}


def conversation_of(one: dict[str, Any]) -> dict[str, Any]:
    """As a conversation's events and the API have it."""
    chat = [m for m in one["messages"] if m["message_type"] != "activity" and not m["private"]]
    return {
        "id": one["id"],
        "inbox_id": one["inbox_id"],
        "channel": "Channel::Api",
        "can_reply": True,
        "status": one["status"],
        "priority": one["priority"],
        "labels": list(one["labels"]),
        "additional_attributes": one["additional_attributes"],
        "custom_attributes": one["custom_attributes"],
        "messages": [pushed(one["id"], m) for m in chat[-1:]],
        "meta": {
            "sender": one["contact"],
            "assignee": {"id": one["assignee"], "type": "user"} if one["assignee"] else None,
            "assignee_type": "User" if one["assignee"] else None,
            "team": {"id": one["team"], "name": "team"} if one["team"] else None,
            "hmac_verified": False,
        },
        "waiting_since": 0,
        "snoozed_until": None,
        "unread_count": 0,
        "last_activity_at": int(one["last_activity_at"]),
        "timestamp": int(one["last_activity_at"]),
        "created_at": int(one["created_at"]),
        "updated_at": one["updated_at"],
    }


def message_of(account: str, one: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    """As a message's events have it: words and ISO times."""
    return {
        "id": message["id"],
        "content": message["content"],
        "message_type": message["message_type"],
        "content_type": "text",
        "content_attributes": message["content_attributes"],
        "private": message["private"],
        "source_id": None,
        "created_at": iso(message["created_at"]),
        "sender": message["sender"],
        "inbox": {"id": one["inbox_id"], "name": "Inbox"},
        "account": {"id": int(account), "name": "Acme"},
        "conversation": conversation_of(one),
    }


def pushed(id: int, message: dict[str, Any]) -> dict[str, Any]:
    """As the API and a conversation's events have it: numbers and whole seconds."""
    return {
        **message,
        "message_type": TYPES[message["message_type"]],
        "created_at": int(message["created_at"]),
        "conversation_id": id,
        "status": "sent",
        "source_id": None,
    }


def contact_of(id: int) -> dict[str, Any]:
    return {
        "id": 9_000 + id,
        "name": f"Customer {id}",
        "identifier": f"c-{id}",
        "email": f"c-{id}@customers.example",
        "phone_number": None,
        "additional_attributes": {"city": "Lisbon", "country_code": "PT"},
        "custom_attributes": {},
        "type": "contact",
    }


def sender_of(kind: str, conversation: dict[str, Any]) -> dict[str, Any] | None:
    if kind == "incoming":
        return {name: value for name, value in conversation["contact"].items() if name != "type"}
    return (
        {"id": 42, "name": "Agent", "email": "agent@acme.example", "type": "user"}
        if kind == "outgoing"
        else None
    )


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value
