"""A rule as Chatwoot's API gives it, in the words that rules have here; nothing is judged yet."""

from collections.abc import Callable, Mapping
from typing import Any

from models.automations.action_params import NOBODY, ActionName
from models.automations.condition_grammar import (
    ATTRIBUTES,
    CUSTOM,
    CUSTOMER_CUSTOM,
    PRESENCE,
    Kind,
    Operator,
)
from models.errors import Invalid
from models.messages import Direction

_RENAMED = {"company_name": "company"}
_PREFIXES = {"conversation_attribute": CUSTOM, "contact_attribute": CUSTOMER_CUSTOM}
# Chatwoot numbers the kinds of messages so.
_DIRECTIONS = (Direction.INCOMING, Direction.OUTGOING, Direction.ACTIVITY, Direction.TEMPLATE)
_WITHOUT_PARAMS = frozenset(
    {
        ActionName.REMOVE_ASSIGNED_AGENT,
        ActionName.REMOVE_ASSIGNED_TEAM,
        ActionName.RESOLVE_CONVERSATION,
        ActionName.OPEN_CONVERSATION,
        ActionName.PENDING_CONVERSATION,
        ActionName.SNOOZE_CONVERSATION,
        ActionName.MUTE_CONVERSATION,
    }
)


def translated(given: Any) -> dict[str, Any]:
    """The fields of the rule `given`. Raises `Invalid` where it has no shape to go by."""
    if not isinstance(given, Mapping):
        raise Invalid("rule", "is no object")
    active = given.get("active")
    return {
        "name": given.get("name"),
        "description": given.get("description") or "",
        "event": given.get("event_name"),
        "active": True if active is None else active,
        "execution_delay": given.get("execution_delay"),
        "window_start": given.get("execution_window_start_minutes"),
        "window_end": given.get("execution_window_end_minutes"),
        "trigger": given.get("trigger") or None,
        "conditions": [_condition(one, place) for place, one in enumerate(_objects(given, "conditions"))],
        "actions": [_action(one) for one in _objects(given, "actions")],
    }


def _objects(given: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = given.get(name) or []
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise Invalid(name, "must be a list of objects")
    return found


def _condition(given: Mapping[str, Any], place: int) -> dict[str, Any]:
    name, operator = _attribute(given, place), given.get("filter_operator")
    values: Any = _as_list(given.get("values"))
    kind = ATTRIBUTES[name].kind if isinstance(name, str) and name in ATTRIBUTES else Kind.CUSTOM
    if operator == Operator.ATTRIBUTE_CHANGED:
        values = given.get("values")
    elif operator in tuple(PRESENCE):
        values = []
    elif name == "priority" and values == [NOBODY]:
        operator, values = _without_priority(operator), []
    elif kind is Kind.DIRECTION:
        values = [_direction(one) for one in values]
    elif kind is Kind.FLAG:
        values = [_flag(one) for one in values]
    elif operator == Operator.DAYS_BEFORE:
        values = [_whole(one) for one in values]
    joiner = given.get("query_operator")
    return {
        "attribute": name,
        "operator": operator,
        "values": values,
        "joiner": joiner.lower() if isinstance(joiner, str) and joiner else None,
    }


def _attribute(given: Mapping[str, Any], place: int) -> Any:
    name, kind = given.get("attribute_key"), given.get("custom_attribute_type")
    if not isinstance(name, str):
        return name
    if kind:
        if kind not in tuple(_PREFIXES):
            raise Invalid(
                f"conditions.{place}.attribute",
                f"has a custom_attribute_type that is not known here (condition {place + 1})",
            )
        return f"{_PREFIXES[kind]}{name}"
    return _RENAMED.get(name, name)


def _without_priority(operator: Any) -> Any:
    if operator == Operator.EQUAL_TO:
        return Operator.IS_NOT_PRESENT.value
    return Operator.IS_PRESENT.value if operator == Operator.NOT_EQUAL_TO else operator


def _direction(value: Any) -> Any:
    number = _whole(value)
    known = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < len(_DIRECTIONS)
    return _DIRECTIONS[number].value if known else value


def _flag(value: Any) -> Any:
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


def _whole(value: Any) -> Any:
    written = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18
    return int(value) if written else value


def _action(given: Mapping[str, Any]) -> dict[str, Any]:
    name = given.get("action_name")
    params = _as_list(given.get("action_params"))
    if isinstance(name, str) and name in _WITHOUT_PARAMS:
        # Chatwoot keeps whatever its page sent with them, and looks at none of it.
        params = []
    change = _PARAMS.get(name) if isinstance(name, str) else None
    return {"name": name, "params": [change(one) for one in params] if change else params}


def _member(value: Any) -> Any:
    """An id, also where it is kept with the name that belongs to it."""
    return value["id"] if isinstance(value, Mapping) and "id" in value else value


def _team(value: Any) -> Any:
    member = _member(value)
    return NOBODY if member == 0 or member == "0" else member


def _priority(value: Any) -> Any:
    return None if value == NOBODY else value


_PARAMS: Mapping[str, Callable[[Any], Any]] = {
    ActionName.ASSIGN_AGENT: _member,
    ActionName.ASSIGN_TEAM: _team,
    ActionName.CHANGE_PRIORITY: _priority,
}


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
