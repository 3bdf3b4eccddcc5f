"""A rule as it is being written: what was typed, as texts, with rows that are added, removed and moved."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from desk_ui.automations import rule_rows as rows
from desk_ui.automations.rule_inputs import MINUTES
from desk_ui.automations.rule_rows import Row
from desk_ui.automations.rule_words import hour
from models.automations.actions import MOST_ACTIONS
from models.automations.condition_parsing import MOST_CONDITIONS
from models.automations.records import AutomationRule, OnFailure, Trigger
from models.automations.rule_checks import FIELDS
from models.happenings import Event

NAMES = ("name", "description", "event", "delay", "unit", "quiet", "from", "until", "on_failure")
# How many rows a form may hold is one more than a rule may, so that the fault is told.
MOST = {"c": MOST_CONDITIONS + 1, "a": MOST_ACTIONS + 1}
LONGEST = 200_000


@dataclass(frozen=True)
class Draft:
    """`fields` by their names; each condition and action a row of texts. `focus` is the id to go on at."""

    fields: Mapping[str, str]
    conditions: tuple[Row, ...] = ()
    actions: tuple[Row, ...] = ()
    focus: str = field(default="", compare=False)

    @classmethod
    def new(cls) -> Self:
        """A beginning that shows how a rule is put together, and does no harm."""
        fields = {"event": Event.MESSAGE_CREATED.value, "delay": "2", "unit": "h"}
        incoming = {"attribute": "message_type", "operator": "equal_to", "values.incoming": "1"}
        return cls(
            {**dict.fromkeys(NAMES, ""), **fields, "on_failure": OnFailure.CONTINUE.value},
            ({**incoming, "joiner": "and"},),
            ({"name": "add_label"},),
        )

    @classmethod
    def of_rule(cls, rule: AutomationRule, zone: str) -> Self:
        """What the form shows of a stored rule at first; its times are those of `zone`."""
        delay, unit = _delay(rule.execution_delay)
        fields = {
            "name": rule.name,
            "description": rule.description,
            "event": rule.event,
            "delay": delay,
            "unit": unit,
            "quiet": "1" if rule.trigger == Trigger.INACTIVITY else "",
            "from": "" if rule.window_start is None else hour(rule.window_start),
            "until": "" if rule.window_end is None else hour(rule.window_end),
            "on_failure": rule.on_failure,
        }
        return cls(
            fields,
            tuple(rows.of_condition(one) for one in _listed(rule.conditions)),
            tuple(rows.of_action(one, zone) for one in _listed(rule.actions)),
        )

    @classmethod
    def of_form(cls, form: Mapping[str, str]) -> Self:
        """What was typed."""
        fields = {name: _text(form.get(name, "")) for name in NAMES}
        return cls(fields, _rows(form, "c"), _rows(form, "a"))

    def flat(self) -> dict[str, str]:
        """All of it as a form sends it."""
        found = {**self.fields, "c": str(len(self.conditions)), "a": str(len(self.actions))}
        for letter, listed in (("c", self.conditions), ("a", self.actions)):
            for number, row in enumerate(listed):
                found |= {f"{letter}{number}.{name}": value for name, value in row.items()}
        return found

    def after(self, act: str) -> Self:
        """The same after `c.add`, `a.remove.2`, `c.up.1`, `c.down.0`; anything else changes nothing."""
        letter, _dot, rest = act.partition(".")
        verb, _dot, place = rest.partition(".")
        number = int(place) if place.isascii() and place.isdigit() and len(place) < 4 else -1
        listed = {"c": self.conditions, "a": self.actions}.get(letter)
        if listed is None:
            return self
        if verb == "add":
            return self._added(letter, listed)
        if not 0 <= number < len(listed):
            return self
        if verb == "remove":
            left = listed[:number] + listed[number + 1 :]
            focus = f"{letter}{min(number, len(left) - 1)}-remove" if left else f"{letter}-add"
            return self._with(letter, left, focus)
        if verb in ("up", "down"):
            return self._moved(letter, listed, number, number + (1 if verb == "down" else -1), verb)
        if verb == "fit":
            return replace(self, focus=f"{letter}{number}-{'operator' if letter == 'c' else 'name'}")
        return self

    def _added(self, letter: str, listed: tuple[Row, ...]) -> Self:
        if len(listed) >= MOST[letter]:
            return self
        new = {"attribute": "status", "operator": "equal_to", "joiner": "and"}
        added = (*listed, new if letter == "c" else {"name": "add_label"})
        first = "attribute" if letter == "c" else "name"
        return self._with(letter, added, f"{letter}{len(listed)}-{first}")

    def _moved(self, letter: str, listed: tuple[Row, ...], number: int, to: int, verb: str) -> Self:
        """What joins two conditions belongs to their places, and stays."""
        if not 0 <= to < len(listed):
            return self
        moved = list(listed)
        moved[number], moved[to] = moved[to], moved[number]
        if letter == "c":
            for place in (number, to):
                moved[place] = {**moved[place], "joiner": listed[place].get("joiner", "and")}
        at_end = to in (0, len(listed) - 1)
        button = {"up": "down", "down": "up"}[verb] if at_end else verb
        return self._with(letter, tuple(moved), f"{letter}{to}-{button}")

    def _with(self, letter: str, listed: tuple[Row, ...], focus: str) -> Self:
        if letter == "c":
            return replace(self, conditions=listed, focus=focus)
        return replace(self, actions=listed, focus=focus)


def seen(rule: AutomationRule) -> str:
    """What a form carries of the rule that it shows, to tell later which parts of it somebody changed."""
    return " ".join(f"{name}:{_sign(getattr(rule, name))}" for name in FIELDS)


def changed_since(rule: AutomationRule, given: str) -> list[str]:
    """The fields of `rule` that are not as they were when `seen` said `given`."""
    before = dict(one.split(":", 1) for one in given.split() if ":" in one)
    return [name for name in FIELDS if name in before and before[name] != _sign(getattr(rule, name))]


def _sign(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def _delay(minutes: int | None) -> tuple[str, str]:
    if minutes is None:
        return "", "h"
    unit = next(name for name in ("d", "h", "m") if minutes % MINUTES[name] == 0)
    return str(minutes // MINUTES[unit]), unit


def _rows(form: Mapping[str, str], letter: str) -> tuple[Row, ...]:
    given = form.get(letter, "")
    number = int(given) if given.isascii() and given.isdigit() and len(given) < 4 else 0
    found: list[Row] = [{} for _number in range(min(number, MOST[letter]))]
    for name, value in form.items():
        place, dot, rest = name.partition(".")
        at = place.removeprefix(letter)
        if (
            dot
            and place.startswith(letter)
            and at.isascii()
            and at.isdigit()
            and len(at) < 4
            and int(at) < len(found)
        ):
            found[int(at)][rest[:80]] = _text(value)
    return tuple(found)


def _text(value: str) -> str:
    """As it was typed: a form sends the ends of its lines in its own way."""
    return value.replace("\r\n", "\n")[:LONGEST]


def _listed(stored: Any) -> list[Any]:
    return stored if isinstance(stored, list) else []
