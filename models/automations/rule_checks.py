"""What a rule may be: each field by itself, and all of them together."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from models import text
from models.automations import actions, conditions
from models.automations.records import OnFailure, Trigger
from models.errors import Invalid
from models.happenings import Event
from models.settings import Settings

SHORTEST_DELAY, LONGEST_DELAY = 10, 43_200
LAST_MINUTE = 1_439
LONGEST_DESCRIPTION = 10_000

DEFAULTS: Mapping[str, Any] = {
    "description": "",
    "conditions": [],
    "active": True,
    "execution_delay": None,
    "window_start": None,
    "window_end": None,
    "trigger": None,
    "on_failure": OnFailure.CONTINUE.value,
}
FIELDS = ("name", "event", "actions", *DEFAULTS)
# A change of any of these frees what the rule had armed.
ARMING = frozenset(
    {"active", "event", "execution_delay", "window_start", "window_end", "trigger", "conditions", "actions"}
)


def part(given: Mapping[str, Any], *, settings: Settings | None = None) -> dict[str, Any]:
    """Some fields of a rule, each judged by itself, as they are stored. Raises `Invalid` with the field."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in FIELDS:
            raise Invalid(str(name)[:80], f"is not known; a rule has {', '.join(FIELDS)}")
        if name == "actions":
            found[name] = actions.parse(value, settings=settings)
        else:
            found[name] = _CHECKS[name](value, name)
    return found


def definition(given: Mapping[str, Any]) -> dict[str, Any]:
    """All fields of a rule, of what `part` found and what is stored already, as they belong together.

    Raises `Invalid` with the field to be mended.
    """
    for name in ("name", "event", "actions"):
        if name not in given:
            raise Invalid(name, "is missing")
    values = {**DEFAULTS, **given}
    _check_trigger(values)
    _check_window(values)
    parsed = conditions.parse(
        values["conditions"],
        event=values["event"],
        execution_delay=values["execution_delay"],
        trigger=values["trigger"],
    )
    return {**values, "conditions": [one.to_json() for one in parsed]}


def _check_trigger(values: Mapping[str, Any]) -> None:
    if values["trigger"] is None:
        return
    if values["execution_delay"] is None:
        raise Invalid("trigger", "can't be inactivity without execution_delay, which says for how long")
    if values["event"] != Event.CONVERSATION_UPDATED:
        raise Invalid("trigger", "can be inactivity only with the event conversation_updated")


def _check_window(values: Mapping[str, Any]) -> None:
    start, end = values["window_start"], values["window_end"]
    if start is None and end is None:
        return
    if start is None or end is None:
        missing, other = ("window_start", "window_end") if start is None else ("window_end", "window_start")
        raise Invalid(missing, f"is needed with {other}, or neither of the two")
    if values["execution_delay"] is None:
        raise Invalid("window_start", "needs execution_delay: a rule without one acts at once, at any time")
    if start >= end:
        raise Invalid("window_end", "must be after window_start; a window lies within one day")


def _name(value: Any, field: str) -> str:
    return text.required(_is_text(value, field), field)


def _description(value: Any, field: str) -> str:
    return text.storable(_is_text(value, field), field, longest=LONGEST_DESCRIPTION)


def _is_text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise Invalid(field, "must be text")
    return value


def _one_of(kind: type[StrEnum]) -> Callable[[Any, str], str]:
    def check(value: Any, field: str) -> str:
        if not isinstance(value, str) or value not in set(kind):
            raise Invalid(field, f"must be {' or '.join(kind)}")
        return kind(value).value

    return check


def _trigger(value: Any, field: str) -> str | None:
    return None if value is None else _one_of(Trigger)(value, field)


def _conditions(value: Any, _field: str) -> list[dict[str, Any]]:
    """Each condition by itself; whether it goes with event and delay is for `definition` to say."""
    event = Event.CONVERSATION_UPDATED
    return [one.to_json() for one in conditions.parse(value, event=event, execution_delay=None, trigger=None)]


def _active(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise Invalid(field, "must be true or false")
    return value


def _minutes(least: int, most: int) -> Callable[[Any, str], int | None]:
    def check(value: Any, field: str) -> int | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise Invalid(field, f"must be a whole number of minutes, {least} to {most}, or null")
        return value

    return check


_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    "name": _name,
    "description": _description,
    "event": _one_of(Event),
    "conditions": _conditions,
    "active": _active,
    "execution_delay": _minutes(SHORTEST_DELAY, LONGEST_DELAY),
    "window_start": _minutes(0, LAST_MINUTE),
    "window_end": _minutes(0, LAST_MINUTE),
    "trigger": _trigger,
    "on_failure": _one_of(OnFailure),
}
