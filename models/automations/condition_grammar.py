"""What a rule's conditions may say: attributes, their operators, and joiners."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

CUSTOM, CUSTOMER_CUSTOM = "custom.", "customer.custom."


class Operator(StrEnum):
    EQUAL_TO = "equal_to"
    NOT_EQUAL_TO = "not_equal_to"
    CONTAINS = "contains"
    DOES_NOT_CONTAIN = "does_not_contain"
    STARTS_WITH = "starts_with"
    IS_PRESENT = "is_present"
    IS_NOT_PRESENT = "is_not_present"
    IS_GREATER_THAN = "is_greater_than"
    IS_LESS_THAN = "is_less_than"
    DAYS_BEFORE = "days_before"
    ATTRIBUTE_CHANGED = "attribute_changed"


PRESENCE = frozenset({Operator.IS_PRESENT, Operator.IS_NOT_PRESENT})
THRESHOLDS = frozenset({Operator.IS_GREATER_THAN, Operator.IS_LESS_THAN})
_EQUALITY = frozenset({Operator.EQUAL_TO, Operator.NOT_EQUAL_TO})
_TEXTUAL = _EQUALITY | PRESENCE | {Operator.CONTAINS, Operator.DOES_NOT_CONTAIN, Operator.STARTS_WITH}


class Joiner(StrEnum):
    """What joins a condition to the next one; AND binds tighter."""

    AND = "and"
    OR = "or"


class About(StrEnum):
    """Whose attribute it is."""

    CONVERSATION = "conversation"
    CUSTOMER = "customer"
    MESSAGE = "message"


class Kind(StrEnum):
    """What values an attribute is compared with."""

    STATUS = "status"
    ID = "id"
    LABEL = "label"
    TEXT = "text"
    DIRECTION = "direction"
    FLAG = "flag"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class Attribute:
    about: About
    kind: Kind

    @property
    def operators(self) -> frozenset[Operator]:
        """Those that make sense for it. What a message or a customer is does not change with an event."""
        changes = frozenset({Operator.ATTRIBUTE_CHANGED} if self.about is About.CONVERSATION else ())
        return _OPERATORS[self.kind] | changes


_OPERATORS: Mapping[Kind, frozenset[Operator]] = {
    Kind.STATUS: _EQUALITY,
    Kind.ID: _EQUALITY | PRESENCE,
    Kind.LABEL: _EQUALITY | PRESENCE,
    Kind.TEXT: _TEXTUAL,
    Kind.DIRECTION: _EQUALITY,
    Kind.FLAG: _EQUALITY,
    Kind.CUSTOM: _TEXTUAL | THRESHOLDS | {Operator.DAYS_BEFORE},
}
_CONVERSATION = {
    "status": Kind.STATUS,
    "inbox_id": Kind.ID,
    "assignee_id": Kind.ID,
    "team_id": Kind.ID,
    "priority": Kind.TEXT,
    "labels": Kind.LABEL,
    **dict.fromkeys(("conversation_language", "browser_language", "referer", "mail_subject"), Kind.TEXT),
}
ATTRIBUTES: Mapping[str, Attribute] = {
    **{name: Attribute(About.CONVERSATION, kind) for name, kind in _CONVERSATION.items()},
    **{
        name: Attribute(About.CUSTOMER, Kind.TEXT)
        for name in ("email", "phone_number", "country_code", "city", "company")
    },
    "message_type": Attribute(About.MESSAGE, Kind.DIRECTION),
    "private_note": Attribute(About.MESSAGE, Kind.FLAG),
    "content": Attribute(About.MESSAGE, Kind.TEXT),
}
# What an episode of a delayed rule can see: a status that left ends it, and an inbox stays.
SEEN_BY_EPISODES = frozenset({"status", "inbox_id"})


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition. `joiner` leads to the next one and is None on the last.

    `values` are scalars, none for presence. For `attribute_changed` none means any change, scalars what it
    changed to, and one mapping `{"from": [...], "to": [...]}` both.
    """

    attribute: str
    operator: Operator
    values: tuple[Any, ...] = ()
    joiner: Joiner | None = None

    @property
    def about(self) -> About:
        found = attribute_of(self.attribute)
        return found.about if found else About.CONVERSATION

    def to_json(self) -> dict[str, Any]:
        """The shape that rules keep and the API shows."""
        return {
            "attribute": self.attribute,
            "operator": self.operator.value,
            "values": list(self.values),
            "joiner": self.joiner.value if self.joiner else None,
        }


def attribute_of(name: str) -> Attribute | None:
    """The attribute called `name`, custom ones (`custom.<key>`, `customer.custom.<key>`) included."""
    for prefix, about in ((CUSTOM, About.CONVERSATION), (CUSTOMER_CUSTOM, About.CUSTOMER)):
        if name.startswith(prefix):
            return Attribute(about, Kind.CUSTOM) if name.removeprefix(prefix).strip() else None
    return ATTRIBUTES.get(name)
