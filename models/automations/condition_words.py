"""A condition as a sentence that a person reads."""

from collections.abc import Mapping, Sequence
from typing import Any

from models.automations import comparing
from models.automations.condition_grammar import (
    CUSTOM,
    CUSTOMER_CUSTOM,
    Condition,
    Kind,
    Operator,
    attribute_of,
)

NAMES = {
    "status": "the status",
    "inbox_id": "the inbox",
    "assignee_id": "the assignee",
    "team_id": "the team",
    "priority": "the priority",
    "labels": "the labels",
    "conversation_language": "the language",
    "browser_language": "the browser's language",
    "referer": "the page it came from",
    "mail_subject": "the subject",
    "email": "the customer's mail address",
    "phone_number": "the customer's phone number",
    "country_code": "the customer's country",
    "city": "the customer's city",
    "company": "the customer's company",
    "message_type": "the message",
    "private_note": "the message",
    "content": "the message's text",
}
_QUOTED = frozenset({Kind.TEXT, Kind.CUSTOM})
_VERBS = {
    Operator.CONTAINS: "contains",
    Operator.DOES_NOT_CONTAIN: "does not contain",
    Operator.STARTS_WITH: "begins with",
}


def sentence(condition: Condition) -> str:
    """What `condition` asks, such as `the status is open or pending`."""
    kind = _kind(condition)
    name, values = name_of(condition.attribute), condition.values
    operator = condition.operator
    if operator is Operator.ATTRIBUTE_CHANGED:
        return _changed(name, kind, values)
    if operator in (Operator.IS_PRESENT, Operator.IS_NOT_PRESENT):
        return f"{name} {_be(kind)} {'' if operator is Operator.IS_PRESENT else 'not '}set"
    if operator is Operator.DAYS_BEFORE:
        return f"{name} lies more than {_one(values)} days back"
    if operator in (Operator.IS_GREATER_THAN, Operator.IS_LESS_THAN):
        return f"{name} is {_than(operator, _first(values))} {_one(values)}"
    if operator in _VERBS:
        return f"{name} {_VERBS[operator]} {_any(kind, values)}"
    return _equal(name, kind, values, negated=operator is Operator.NOT_EQUAL_TO)


def name_of(attribute: str) -> str:
    """An attribute in words."""
    if attribute.startswith(CUSTOMER_CUSTOM):
        return f"the customer's {attribute.removeprefix(CUSTOMER_CUSTOM)}"
    return NAMES.get(attribute) or attribute.removeprefix(CUSTOM)


def _kind(condition: Condition) -> Kind:
    found = attribute_of(condition.attribute)
    return found.kind if found else Kind.CUSTOM


def _equal(name: str, kind: Kind, values: Sequence[Any], *, negated: bool) -> str:
    if kind is Kind.LABEL:
        among = "none" if negated else "one"
        held = f"{among} of {_listed(kind, values, ', ')}" if len(values) > 1 else _listed(kind, values, "")
        return f"{name} {'do not hold' if negated and len(values) == 1 else 'hold'} {held}"
    if kind is Kind.FLAG:
        private = (_first(values) is True) is not negated
        return f"{name} is {'' if private else 'not '}a private note"
    if negated and len(values) > 1:
        return f"{name} is neither {_listed(kind, values, ' nor ')}"
    return f"{name} is {'not ' if negated else ''}{_any(kind, values)}"


def _changed(name: str, kind: Kind, values: Sequence[Any]) -> str:
    first = _first(values)
    asked = first if isinstance(first, Mapping) else {"to": values}
    told = f"{name} changed"
    if asked.get("from"):
        told += f" from {_any(kind, asked['from'])}"
    if asked.get("to"):
        told += f" to {_any(kind, asked['to'])}"
    return told


def _be(kind: Kind) -> str:
    return "are" if kind is Kind.LABEL else "is"


def _than(operator: Operator, value: Any) -> str:
    dated = comparing.number(value) is None
    if operator is Operator.IS_GREATER_THAN:
        return "after" if dated else "greater than"
    return "before" if dated else "less than"


def _any(kind: Kind, values: Sequence[Any]) -> str:
    return _listed(kind, values, " or ")


def _listed(kind: Kind, values: Sequence[Any], between: str) -> str:
    return between.join(f"“{_plain(one)}”" if kind in _QUOTED else _plain(one) for one in values)


def _first(values: Sequence[Any]) -> Any:
    return values[0] if values else None


def _one(values: Sequence[Any]) -> str:
    return _plain(_first(values))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
