"""What a message or a source's news makes of a conversation, the same in whatever order they come in."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from models import messages, text
from models.clock import as_utc
from models.conversations import Conversation, ConversationStatus
from models.errors import Invalid
from models.messages import Direction, Message, SenderType

MOST_LABELS = 200
PLAIN = ("customer", "inbox_id", "assignee_id", "team_id", "priority", "labels", "language", "attributes")
FIELDS = frozenset({*PLAIN, "auto_reply", "status", "status_changed_at", "created_at", "updated_at"})


def take_message(session: Session, conversation: Conversation, message: Message) -> None:
    """Let a message that was stored act on its conversation, whose lock the caller holds."""
    conversation.updated_at = max(conversation.updated_at, message.created_at)
    if message.direction != Direction.ACTIVITY and message.sender.get("type") != SenderType.RULE:
        known = conversation.last_activity_at
        conversation.last_activity_at = max(known, message.created_at) if known else message.created_at
    if message.answers:
        place = (message.created_at, message.seq)
        if conversation.replied_at is None or place > (conversation.replied_at, conversation.replied_seq):
            conversation.replied_at, conversation.replied_seq = place
    if message.answers or message.waits:
        _wait(session, conversation)


def _wait(session: Session, conversation: Conversation) -> None:
    """Since when the customer waits: their first message after the last reply and the last resolving."""
    conversation.waiting_since = messages.oldest_unanswered(
        session,
        conversation.id,
        replied=(conversation.replied_at, conversation.replied_seq),
        resolved_at=conversation.resolved_at,
    )


def take_news(
    session: Session, conversation: Conversation, given: Mapping[str, Any], *, made: bool, now: datetime
) -> dict[str, list[Any]]:
    """Let what a source says of a conversation act on it, under its lock; what changed, as old and new value.

    `given` holds any of `FIELDS`. News with an `updated_at` older than what is known changes nothing but when
    it was resolved. Raises `Invalid`.
    """
    values = checked(given)
    told_at: datetime | None = values.get("updated_at")
    at = told_at or now
    if values.get("status") == ConversationStatus.RESOLVED:
        _note_resolved(conversation, values.get("status_changed_at") or at)
        _wait(session, conversation)
    known = conversation.source_updated_at
    if told_at is not None and known is not None and told_at < known:
        return {}
    conversation.source_updated_at = max(told_at, known) if told_at and known else told_at or known
    changed = _take_plain(conversation, values)
    if values.get("created_at") is not None:
        conversation.created_at = values["created_at"]
    _take_status(conversation, values, at, changed, made=made)
    conversation.updated_at = at if made else max(conversation.updated_at, at)
    return changed


def _note_resolved(conversation: Conversation, at: datetime) -> None:
    known = conversation.resolved_at
    conversation.resolved_at = max(known, at) if known else at


def _take_plain(conversation: Conversation, values: Mapping[str, Any]) -> dict[str, list[Any]]:
    changed: dict[str, list[Any]] = {}
    for name in (*PLAIN, "auto_reply"):
        if name in values and values[name] != getattr(conversation, name):
            changed[name] = [getattr(conversation, name), values[name]]
            setattr(conversation, name, values[name])
    return changed


def _take_status(
    conversation: Conversation,
    values: Mapping[str, Any],
    at: datetime,
    changed: dict[str, list[Any]],
    *,
    made: bool,
) -> None:
    """The status and its clock: a clock that is given stands as it is, null included."""
    before, status = conversation.status, values.get("status", conversation.status)
    if status != before and not made:
        changed["status"] = [before, status]
    if "status_changed_at" in values:
        conversation.status_changed_at = values["status_changed_at"]
    elif made:
        conversation.status_changed_at = conversation.created_at
    elif status != before:
        conversation.status_changed_at = at
    conversation.status = status


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a source says, each field in the type that the row keeps. Raises `Invalid` with the field."""
    values = dict(given)
    for name in values:
        if name not in FIELDS:
            raise Invalid(name, f"is not known; there are {', '.join(sorted(FIELDS))}")
    for name in ("status_changed_at", "created_at", "updated_at"):
        if values.get(name) is not None:
            values[name] = as_utc(values[name], name)
    for name in ("created_at", "updated_at"):
        if name in values and values[name] is None:
            del values[name]
    if "status" in values and values["status"] not in set(ConversationStatus):
        raise Invalid("status", f"must be one of {', '.join(ConversationStatus)}")
    for name in ("customer", "language"):
        if name in values:
            values[name] = text.optional(values[name], name) or None
    for name in ("inbox_id", "assignee_id", "team_id", "priority"):
        if isinstance(values.get(name), str):
            text.required(values[name], name)
    if "labels" in values:
        values["labels"] = _labels(values["labels"] or [])
    if "attributes" in values:
        values["attributes"] = values["attributes"] or {}
    return values


def _labels(given: list[str]) -> list[str]:
    """A set, in the order in which its members were first named."""
    if len(given) > MOST_LABELS:
        raise Invalid("labels", f"holds {len(given)} labels; {MOST_LABELS} is the most")
    return list(dict.fromkeys(text.required(label, "labels").strip() for label in given))
