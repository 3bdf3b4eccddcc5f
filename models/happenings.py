"""What happened to a conversation, as the areas hear of it: plain values that can wait in a row as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self


class Event(StrEnum):
    """What can happen to a conversation, and makes a rule look at it."""

    CONVERSATION_CREATED = "conversation_created"
    CONVERSATION_UPDATED = "conversation_updated"
    CONVERSATION_OPENED = "conversation_opened"
    CONVERSATION_RESOLVED = "conversation_resolved"
    MESSAGE_CREATED = "message_created"


@dataclass(frozen=True, slots=True)
class Happening:
    """Events of one conversation that came in together.

    `origin` names what brought them, the same when heard again: a message or an inbound event. `changed`
    gives the old and the new value of each attribute that changed. `by_rule`: a rule caused it.
    """

    origin: str
    conversation_id: int
    events: Sequence[str]
    message_id: int | None = None
    changed: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    by_rule: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        return cls(**stored)
