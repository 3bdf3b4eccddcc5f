"""Conditions and actions as rows of a form: flat texts, to what a rule keeps and back."""

from collections.abc import Mapping, Sequence
from typing import Any

from desk_ui import local_time
from desk_ui.automations.rule_inputs import (
    ACTION_INPUTS,
    AN_ID,
    CUSTOM_ATTRIBUTES,
    NO,
    YES,
    Input,
    inputs_of,
    kind_of,
)
from models.automations.action_params import LARGEST_ID, LAST_RESPONDING_AGENT, NOBODY, ActionName
from models.automations.condition_grammar import Kind, Operator
from models.clock import parse_time
from models.errors import Invalid

Row = dict[str, str]

# Stands for the end of a line inside one value, since a line of the field is a value of its own.
BREAK = "↵"


def of_condition(stored: Any) -> Row:
    """The row that shows a stored condition, whatever is stored."""
    one = stored if isinstance(stored, Mapping) else {}
    name = str(one.get("attribute") or "")
    key = ""
    # The longer one begins with what the shorter one is.
    for prefix in sorted(CUSTOM_ATTRIBUTES, key=len, reverse=True):
        if name.startswith(prefix):
            name, key = prefix, name.removeprefix(prefix)
            break
    operator = str(one.get("operator") or "")
    row = {"attribute": name, "key": key, "operator": operator, "joiner": str(one.get("joiner") or "and")}
    for field, values in _sides(operator, one.get("values")).items():
        row |= _written(field, values, name, operator)
    return row


def to_condition(row: Mapping[str, str]) -> dict[str, Any]:
    """What a rule keeps of a row, without its joiner; what can't be used is left for the domain to refuse."""
    attribute, operator = row.get("attribute", ""), row.get("operator", "")
    values: list[Any] = []
    sides = {one.name: _read(one, row, kind_of(attribute)) for one in inputs_of(attribute, operator)}
    if operator == Operator.ATTRIBUTE_CHANGED:
        before, after = sides.get("from", []), sides.get("to", [])
        values = [{"from": before, "to": after}] if before else after
    else:
        values = sides.get("values", [])
    name = attribute + row.get("key", "").strip() if attribute in CUSTOM_ATTRIBUTES else attribute
    if operator == Operator.DAYS_BEFORE:
        values = [_whole(one) for one in values]
    return {"attribute": name, "operator": operator, "values": values}


def of_action(stored: Any, zone: str) -> Row:
    """The row that shows a stored action, whatever is stored; times as the clocks of `zone` show them."""
    one = stored if isinstance(stored, Mapping) else {}
    name = str(one.get("name") or "")
    params = one.get("params")
    return {"name": name, **_params(name, params if isinstance(params, Sequence) else (), zone)}


def to_action(row: Mapping[str, str], zone: str) -> dict[str, Any]:
    """What a rule keeps of a row. Raises `Invalid` on the input that can't be read."""
    name = row.get("name", "")
    text, lines = row.get("text", ""), _lines(row.get("lines", ""))
    if name in (ActionName.ADD_LABEL, ActionName.REMOVE_LABEL):
        params: list[Any] = [*lines]
    elif name in (ActionName.ASSIGN_AGENT, ActionName.ASSIGN_TEAM):
        who = row.get("who", AN_ID)
        params = [_id(row.get("id", "")) if who == AN_ID else who]
    elif name == ActionName.SNOOZE_CONVERSATION:
        until = row.get("until", "").strip()
        params = [local_time.instant("until", until, zone).isoformat()] if until else []
    elif name == ActionName.CHANGE_STATUS:
        params = [row.get("status", "")]
    elif name == ActionName.CHANGE_PRIORITY:
        params = [row.get("priority", "")]
    elif name == ActionName.SEND_EMAIL_TO_TEAM:
        params = [{"team_ids": [_id(one) for one in lines], "message": text}]
    else:
        params = (
            [text.strip() if name == ActionName.SEND_WEBHOOK_EVENT else text]
            if ACTION_INPUTS.get(name)
            else []
        )
    return {"name": name, "params": params}


def _sides(operator: str, values: Any) -> dict[str, Sequence[Any]]:
    """The values of a stored condition, by the input that shows them."""
    listed = values if isinstance(values, list | tuple) else ()
    if operator != Operator.ATTRIBUTE_CHANGED:
        return {"values": listed}
    if len(listed) == 1 and isinstance(listed[0], Mapping):
        sides = {side: listed[0].get(side) for side in ("from", "to")}
        return {side: found if isinstance(found, list) else () for side, found in sides.items()}
    return {"from": (), "to": listed}


def _written(field: str, values: Sequence[Any], attribute: str, operator: str) -> Row:
    """Values as the input `field` holds them."""
    shown = next((one for one in inputs_of(attribute, operator) if one.name == field), None)
    if shown is not None and shown.kind == "picks":
        return {f"{field}.{value}": "1" for value in values}
    if shown is not None and shown.kind == "choice":
        return {field: YES if values and values[0] is True else NO}
    return {field: "\n".join(_plain(value) for value in values)}


def _read(shown: Input, row: Mapping[str, str], kind: Kind | None) -> list[Any]:
    """The values that the input `shown` holds."""
    if shown.kind == "picks":
        return [value for value, _said in shown.options if row.get(f"{shown.name}.{value}")]
    given = row.get(shown.name, "")
    if shown.kind == "choice":
        return [given != NO]
    values = _lines(given)
    return [_id(one) for one in values] if kind is Kind.ID else [*values]


def _params(name: str, params: Sequence[Any], zone: str) -> Row:
    first = params[0] if params else ""
    if name in (ActionName.ADD_LABEL, ActionName.REMOVE_LABEL):
        return {"lines": "\n".join(map(_plain, params))}
    if name in (ActionName.ASSIGN_AGENT, ActionName.ASSIGN_TEAM):
        known = first in (NOBODY, LAST_RESPONDING_AGENT)
        return {"who": str(first) if known else AN_ID, "id": "" if known else str(first)}
    if name == ActionName.SNOOZE_CONVERSATION:
        return {"until": _local(first, zone)}
    if name == ActionName.CHANGE_STATUS:
        return {"status": str(first)}
    if name == ActionName.CHANGE_PRIORITY:
        return {"priority": "none" if first is None else str(first)}
    if name == ActionName.SEND_EMAIL_TO_TEAM and isinstance(first, Mapping):
        ids = first.get("team_ids")
        listed = ids if isinstance(ids, list) else []
        return {"lines": "\n".join(map(_plain, listed)), "text": str(first.get("message", ""))}
    return {"text": str(first)}


def _local(value: Any, zone: str) -> str:
    try:
        return local_time.typed(parse_time(str(value), "until"), zone) if value else ""
    except (Invalid, OverflowError):
        return ""


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).replace("\r\n", "\n").replace("\n", BREAK)


def _lines(given: str) -> list[str]:
    return [line.strip().replace(BREAK, "\n") for line in given.split("\n") if line.strip()]


def _id(given: str) -> int | str:
    """As sources call things: by a whole number where it is one."""
    given = given.strip()
    plain = given.isascii() and given.isdigit() and str(int(given[:20])) == given
    return int(given) if plain and int(given) <= LARGEST_ID else given


def _whole(given: Any) -> Any:
    return (
        int(given)
        if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 10
        else given
    )
