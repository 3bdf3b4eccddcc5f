"""The rules of the demo data, and what is said in its conversations."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class Inbox(IntEnum):
    """Each rule looks at one inbox, so that a conversation is waited on for one reason."""

    UNANSWERED = 1
    CHASED = 2
    QUIET = 3
    DAY = 4
    NIGHT = 5
    TOLD = 6


def _is(attribute: str, value: object, joiner: str | None = None) -> dict[str, Any]:
    return {"attribute": attribute, "operator": "equal_to", "values": [value], "joiner": joiner}


def _do(name: str, *params: Any) -> dict[str, Any]:
    return {"name": name, "params": list(params)}


def _in_window(inbox: Inbox, start: int, end: int) -> dict[str, Any]:
    return {
        "event": "conversation_updated",
        "execution_delay": 30,
        "window_start": start,
        "window_end": end,
        "conditions": [_is("inbox_id", inbox.value, "and"), _is("status", "pending")],
        "actions": [_do("assign_team", 7), _do("add_private_note", "Waits for more than half an hour.")],
    }


RULES: Mapping[str, Mapping[str, Any]] = {
    "Unanswered for two hours": {
        "description": "Nobody has answered the customer: say that we have not forgotten them.",
        "event": "message_created",
        "execution_delay": 120,
        "conditions": [_is("inbox_id", Inbox.UNANSWERED.value, "and"), _is("message_type", "incoming")],
        "actions": [
            _do("add_label", "late"),
            _do("send_message", "We have not forgotten you, and answer before the end of the day."),
            _do("change_priority", "high"),
        ],
    },
    "Chase after a day": {
        "description": "The customer was asked something and has not replied.",
        "event": "message_created",
        "execution_delay": 1_440,
        "on_failure": "stop",
        "conditions": [
            _is("inbox_id", Inbox.CHASED.value, "and"),
            _is("status", "open", "and"),
            _is("message_type", "outgoing"),
        ],
        "actions": [
            _do("send_message", "Just checking whether the code arrived."),
            _do("snooze_conversation"),
        ],
    },
    "Close what is quiet": {
        "event": "conversation_updated",
        "execution_delay": 4_320,
        "trigger": "inactivity",
        "conditions": [_is("inbox_id", Inbox.QUIET.value, "and"), _is("status", "open")],
        "actions": [_do("add_label", "closed quietly"), _do("resolve_conversation")],
    },
    "Give to the day team": _in_window(Inbox.DAY, 480, 1_200),
    "Give to the evening team": _in_window(Inbox.NIGHT, 1_200, 1_439),
    "Tell the warehouse": {
        "event": "conversation_updated",
        "execution_delay": 10,
        "conditions": [_is("inbox_id", Inbox.TOLD.value)],
        # A name that never leads anywhere.
        "actions": [
            _do("send_webhook_event", "https://hooks.example.com/warehouse"),
            _do("add_label", "told"),
        ],
    },
}
QUESTIONS = (
    "Where is my parcel? It was due yesterday.",
    "The code for my login does not arrive.",
    "Can I still change the address of my order?",
    "The sofa came without its legs.",
    "When will size M be back?",
)
ANSWER = "It is on its way, I have just asked the carrier."
SENT_CODE = "I have sent you a new code. Has it arrived?"
