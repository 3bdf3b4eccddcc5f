"""The actions by name, and what each is given: one function a kind, which raises `Invalid` on `params`."""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from models import clock, endpoint_urls, mail_addresses, text
from models.conversations import ConversationStatus
from models.errors import Invalid

Params = Sequence[Any]

LONGEST_TEXT, LONGEST_LIST = 100_000, 5_000
MOST_LABELS, MOST_TEAMS = 100, 100
LARGEST_ID, LONGEST_ID = 2**63 - 1, 200
# As long as an id may be where a conversation keeps it, with its type.
LONGEST_STORED_ID = 250
NOBODY, LAST_RESPONDING_AGENT = "nil", "last_responding_agent"
PRIORITIES = ("none", "low", "medium", "high", "urgent")


class ActionName(StrEnum):
    SEND_MESSAGE = "send_message"
    ADD_PRIVATE_NOTE = "add_private_note"
    ADD_LABEL = "add_label"
    REMOVE_LABEL = "remove_label"
    ASSIGN_AGENT = "assign_agent"
    ASSIGN_TEAM = "assign_team"
    REMOVE_ASSIGNED_AGENT = "remove_assigned_agent"
    REMOVE_ASSIGNED_TEAM = "remove_assigned_team"
    RESOLVE_CONVERSATION = "resolve_conversation"
    OPEN_CONVERSATION = "open_conversation"
    PENDING_CONVERSATION = "pending_conversation"
    SNOOZE_CONVERSATION = "snooze_conversation"
    CHANGE_STATUS = "change_status"
    CHANGE_PRIORITY = "change_priority"
    MUTE_CONVERSATION = "mute_conversation"
    SEND_EMAIL_TO_TEAM = "send_email_to_team"
    SEND_EMAIL_TRANSCRIPT = "send_email_transcript"
    SEND_WEBHOOK_EVENT = "send_webhook_event"


def nothing(given: Params) -> None:
    if given:
        raise Invalid("params", "must be []")


def one_text(given: Params) -> None:
    _text(_single(given, "the text"), longest=LONGEST_TEXT)


def labels(given: Params) -> None:
    if not 1 <= len(given) <= MOST_LABELS:
        raise Invalid("params", f"must hold 1 to {MOST_LABELS} labels")
    for label in given:
        _text(label, longest=text.ID_LENGTH)


def agent(given: Params) -> None:
    """An agent's id, `nil` for nobody, or `last_responding_agent`."""
    _id(_single(given, f"an agent's id, {NOBODY} or {LAST_RESPONDING_AGENT}"))


def team(given: Params) -> None:
    """A team's id, or `nil` for none."""
    _id(_single(given, f"a team's id or {NOBODY}"))


def perhaps_a_time(given: Params) -> None:
    if given:
        value = _single(given, "until when, or nothing")
        clock.parse_time(value if isinstance(value, str) else "", "params")


def status(given: Params) -> None:
    if _single(given, "the status") not in tuple(ConversationStatus):
        raise Invalid("params", f"must hold one of {', '.join(ConversationStatus)}")


def priority(given: Params) -> None:
    value = _single(given, "the priority")
    if value is not None and value not in PRIORITIES:
        raise Invalid("params", f"must hold one of {', '.join(PRIORITIES)}, or null")


def mail_to_teams(given: Params) -> None:
    value = _single(given, 'one object {"team_ids": [...], "message": "..."}')
    if not isinstance(value, Mapping) or set(value) != {"team_ids", "message"}:
        raise Invalid("params", 'must hold one object {"team_ids": [...], "message": "..."}')
    ids = value["team_ids"]
    if not isinstance(ids, list | tuple) or not 1 <= len(ids) <= MOST_TEAMS:
        raise Invalid("params", f"must hold 1 to {MOST_TEAMS} team_ids")
    for one in ids:
        _id(one)
    _text(value["message"], longest=LONGEST_TEXT)


def addresses(given: Params) -> None:
    """One text with one mail address, or several with commas between."""
    value = _single(given, "a mail address, or several with commas between")
    mail_addresses.listed([_text(value, longest=LONGEST_LIST)], "params")


def url(given: Params) -> None:
    value = _text(_single(given, "an address"), longest=endpoint_urls.LENGTH)
    if not value.startswith(("https://", "http://")):
        raise Invalid("params", "must begin with https:// or http://")


def _single(given: Params, what: str) -> Any:
    if len(given) != 1:
        raise Invalid("params", f"must hold {what} alone")
    return given[0]


def _text(value: Any, *, longest: int) -> str:
    if not isinstance(value, str):
        raise Invalid("params", "must hold text")
    return text.required(value, "params", longest=longest)


def _id(value: Any) -> None:
    if isinstance(value, str):
        _text(value, longest=LONGEST_ID)
        if len(json.dumps(value, ensure_ascii=False)) > LONGEST_STORED_ID:
            raise Invalid("params", "holds an id that is too long to be stored")
    elif isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_ID:
        raise Invalid("params", "must hold ids only, as texts or whole numbers")
