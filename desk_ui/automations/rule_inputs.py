"""The inputs of a rule's form: what can be chosen, and what fits an attribute, an operator or an action."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from desk_ui.translating import lazy_gettext as _l
from models.automations.action_params import LAST_RESPONDING_AGENT, NOBODY, PRIORITIES, ActionName
from models.automations.condition_grammar import (
    ATTRIBUTES,
    CUSTOM,
    CUSTOMER_CUSTOM,
    PRESENCE,
    THRESHOLDS,
    About,
    Attribute,
    Joiner,
    Kind,
    Operator,
    attribute_of,
)
from models.conversations import ConversationStatus
from models.messages import Direction

Options = Sequence[tuple[str, Any]]

LONGEST_TEXT, LONGEST_LINES = 100_000, 20_000
AN_ID = "id"


@dataclass(frozen=True, slots=True)
class Input:
    """One input. `kind` is a type of input, or `lines` (one value in each), `textarea`, `choice`, `picks`."""

    name: str
    label: Any
    kind: str = "text"
    hint: Any = ""
    options: Options = ()
    longest: int = 200


UNITS: Options = (("m", _l("minutes")), ("h", _l("hours")), ("d", _l("days")))
MINUTES = {"m": 1, "h": 60, "d": 1_440}
JOINERS: Options = ((Joiner.AND.value, _l("and")), (Joiner.OR.value, _l("or")))
STATUSES: Options = (
    (ConversationStatus.OPEN.value, _l("open")),
    (ConversationStatus.PENDING.value, _l("pending")),
    (ConversationStatus.SNOOZED.value, _l("snoozed")),
    (ConversationStatus.RESOLVED.value, _l("resolved")),
)
DIRECTIONS: Options = (
    (Direction.INCOMING.value, _l("incoming, from the customer")),
    (Direction.OUTGOING.value, _l("outgoing, from us")),
    (Direction.TEMPLATE.value, _l("a template that was sent")),
    (Direction.ACTIVITY.value, _l("an activity of the system")),
)
YES, NO = "yes", "no"
FLAGS: Options = ((YES, _l("a private note")), (NO, _l("public")))
ATTRIBUTE_GROUPS: Sequence[tuple[Any, Options]] = (
    (
        _l("Conversation"),
        (
            ("status", _l("Status")),
            ("inbox_id", _l("Inbox")),
            ("assignee_id", _l("Assigned agent")),
            ("team_id", _l("Team")),
            ("priority", _l("Priority")),
            ("labels", _l("Labels")),
            ("conversation_language", _l("Language")),
            ("browser_language", _l("Browser's language")),
            ("referer", _l("Page it came from")),
            ("mail_subject", _l("Mail subject")),
            (CUSTOM, _l("A field of your own")),
        ),
    ),
    (
        _l("Message"),
        (
            ("message_type", _l("Kind of message")),
            ("private_note", _l("Private or public")),
            ("content", _l("Text of the message")),
        ),
    ),
    (
        _l("Customer"),
        (
            ("email", _l("Mail address")),
            ("phone_number", _l("Phone number")),
            ("country_code", _l("Country code")),
            ("city", _l("City")),
            ("company", _l("Company")),
            (CUSTOMER_CUSTOM, _l("A field of your own, of the customer")),
        ),
    ),
)
CUSTOM_ATTRIBUTES = (CUSTOM, CUSTOMER_CUSTOM)
OPERATORS: Mapping[Operator, Any] = {
    Operator.EQUAL_TO: _l("is"),
    Operator.NOT_EQUAL_TO: _l("is not"),
    Operator.CONTAINS: _l("contains"),
    Operator.DOES_NOT_CONTAIN: _l("does not contain"),
    Operator.STARTS_WITH: _l("begins with"),
    Operator.IS_PRESENT: _l("is set"),
    Operator.IS_NOT_PRESENT: _l("is not set"),
    Operator.IS_GREATER_THAN: _l("is greater than, or after"),
    Operator.IS_LESS_THAN: _l("is less than, or before"),
    Operator.DAYS_BEFORE: _l("lies more days back than"),
    Operator.ATTRIBUTE_CHANGED: _l("just changed"),
}
OF_LABELS = {Operator.EQUAL_TO: _l("hold one of"), Operator.NOT_EQUAL_TO: _l("hold none of")}
ACTION_GROUPS: Sequence[tuple[Any, Options]] = (
    (
        _l("Write"),
        (
            (ActionName.SEND_MESSAGE.value, _l("Send a message to the customer")),
            (ActionName.ADD_PRIVATE_NOTE.value, _l("Add a private note")),
            (ActionName.SEND_EMAIL_TO_TEAM.value, _l("Mail a team")),
            (ActionName.SEND_EMAIL_TRANSCRIPT.value, _l("Mail the transcript")),
            (ActionName.SEND_WEBHOOK_EVENT.value, _l("Tell another system")),
        ),
    ),
    (
        _l("Sort"),
        (
            (ActionName.ADD_LABEL.value, _l("Add labels")),
            (ActionName.REMOVE_LABEL.value, _l("Remove labels")),
            (ActionName.ASSIGN_AGENT.value, _l("Assign an agent")),
            (ActionName.REMOVE_ASSIGNED_AGENT.value, _l("Remove the assigned agent")),
            (ActionName.ASSIGN_TEAM.value, _l("Assign a team")),
            (ActionName.REMOVE_ASSIGNED_TEAM.value, _l("Remove the assigned team")),
            (ActionName.CHANGE_PRIORITY.value, _l("Set the priority")),
        ),
    ),
    (
        _l("Status"),
        (
            (ActionName.OPEN_CONVERSATION.value, _l("Open the conversation")),
            (ActionName.RESOLVE_CONVERSATION.value, _l("Resolve the conversation")),
            (ActionName.PENDING_CONVERSATION.value, _l("Set the conversation to pending")),
            (ActionName.SNOOZE_CONVERSATION.value, _l("Snooze the conversation")),
            (ActionName.CHANGE_STATUS.value, _l("Set the status")),
            (ActionName.MUTE_CONVERSATION.value, _l("Mute the conversation")),
        ),
    ),
)
_ANY_OF = _l("One in each line; one of them is enough.")
_LABELS = Input("lines", _l("Labels"), "lines", _l("One in each line."), longest=LONGEST_LINES)
_TEXT = Input("text", _l("Text"), "textarea", longest=LONGEST_TEXT)
ACTION_INPUTS: Mapping[str, tuple[Input, ...]] = {
    ActionName.SEND_MESSAGE: (_TEXT,),
    ActionName.ADD_PRIVATE_NOTE: (_TEXT,),
    ActionName.ADD_LABEL: (_LABELS,),
    ActionName.REMOVE_LABEL: (_LABELS,),
    ActionName.ASSIGN_AGENT: (
        Input(
            "who",
            _l("Whom"),
            "choice",
            options=(
                (AN_ID, _l("the agent with this id")),
                (LAST_RESPONDING_AGENT, _l("who answered last")),
                (NOBODY, _l("nobody")),
            ),
        ),
        Input(
            "id", _l("Agent's id"), hint=_l("As the source of the conversation calls them; else left empty.")
        ),
    ),
    ActionName.ASSIGN_TEAM: (
        Input(
            "who", _l("Which"), "choice", options=((AN_ID, _l("the team with this id")), (NOBODY, _l("none")))
        ),
        Input("id", _l("Team's id"), hint=_l("As the source of the conversation calls it; else left empty.")),
    ),
    ActionName.SNOOZE_CONVERSATION: (
        Input("until", _l("Until"), "datetime-local", _l("Empty: until somebody opens it again.")),
    ),
    ActionName.CHANGE_STATUS: (Input("status", _l("Status"), "choice", options=STATUSES),),
    ActionName.CHANGE_PRIORITY: (
        Input("priority", _l("Priority"), "choice", options=tuple((one, _l(one)) for one in PRIORITIES)),
    ),
    ActionName.SEND_EMAIL_TO_TEAM: (
        Input(
            "lines",
            _l("Teams, by id"),
            "lines",
            _l("One in each line. Their mail addresses stand in desk.toml, under [teams]."),
            longest=LONGEST_LINES,
        ),
        _TEXT,
    ),
    ActionName.SEND_EMAIL_TRANSCRIPT: (
        Input("text", _l("Mail addresses"), hint=_l("Several with commas between."), longest=5_000),
    ),
    ActionName.SEND_WEBHOOK_EVENT: (
        Input("text", _l("Address"), "url", _l("Begins with https://."), longest=2_000),
    ),
}


def operators_of(attribute: str) -> Options:
    """The operators that fit, in the order in which they are wanted most."""
    found = _attribute(attribute)
    labels = found is not None and found.kind is Kind.LABEL
    known = found.operators if found is not None else frozenset()
    return tuple(
        (one.value, OF_LABELS.get(one, said) if labels else said)
        for one, said in OPERATORS.items()
        if one in known
    )


def inputs_of(attribute: str, operator: str) -> tuple[Input, ...]:
    """What a condition is compared with: no input, one, or two for what just changed."""
    found = _attribute(attribute)
    if found is None or operator in PRESENCE:
        return ()
    if operator == Operator.ATTRIBUTE_CHANGED:
        return (
            _values(found, "from", _l("From"), _l("Empty: whatever it was.")),
            _values(found, "to", _l("To"), _l("Empty: whatever it is now.")),
        )
    if operator == Operator.DAYS_BEFORE:
        return (Input("values", _l("Days"), "number"),)
    if operator in THRESHOLDS:
        return (Input("values", _l("Number or date"), hint=_l("Such as 3, or 2031-08-14."), longest=1_000),)
    none_of = operator in (Operator.NOT_EQUAL_TO, Operator.DOES_NOT_CONTAIN)
    return (
        _values(found, "values", _l("Values"), _l("One in each line; none of them.") if none_of else _ANY_OF),
    )


def kind_of(attribute: str) -> Kind | None:
    found = _attribute(attribute)
    return found.kind if found else None


def _attribute(chosen: str) -> Attribute | None:
    """Of what the form's select gives, where a field of one's own is named beside it."""
    if chosen in CUSTOM_ATTRIBUTES:
        about = About.CUSTOMER if chosen == CUSTOMER_CUSTOM else About.CONVERSATION
        return Attribute(about, Kind.CUSTOM)
    return ATTRIBUTES.get(chosen) or attribute_of(chosen)


def _values(found: Attribute, name: str, label: Any, hint: Any) -> Input:
    if found.kind is Kind.STATUS:
        return Input(name, label, "picks", options=STATUSES)
    if found.kind is Kind.DIRECTION:
        return Input(name, label, "picks", options=DIRECTIONS)
    if found.kind is Kind.FLAG:
        return Input(name, label, "choice", options=FLAGS)
    return Input(name, label, "lines", hint, longest=LONGEST_LINES)
