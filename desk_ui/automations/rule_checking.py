"""What was typed of a rule, held against what a rule may be: every fault, each at its own input."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from types import SimpleNamespace
from typing import Any

from flask_babel import gettext as _

from desk_ui.automations import rule_rows as rows
from desk_ui.automations.rule_drafts import Draft
from desk_ui.automations.rule_inputs import CUSTOM_ATTRIBUTES, MINUTES, inputs_of, kind_of, operators_of
from models.automations import actions, conditions, rule_checks
from models.automations.action_params import ActionName
from models.automations.actions import MOST_ACTIONS
from models.automations.condition_parsing import MOST_CONDITIONS
from models.automations.records import AutomationRule, Trigger
from models.automations.rule_checks import LONGEST_DELAY, SHORTEST_DELAY
from models.errors import Invalid
from models.happenings import Event
from models.settings import Settings

# The input of each field of a rule.
INPUTS = {
    "execution_delay": "delay",
    "window_start": "from",
    "window_end": "until",
    "trigger": "quiet",
}
# Of these a sentence can't be told without a parameter.
_WANTED = frozenset({ActionName.ADD_LABEL, ActionName.REMOVE_LABEL})


@dataclass(frozen=True)
class Checked:
    """`given` is what was typed as `rules.create` takes it; `faults` are by the names of the inputs."""

    given: Mapping[str, Any]
    faults: Mapping[str, str]

    @property
    def in_words(self) -> Any:
        """As the sentences want it, whatever is still missing."""
        given = dict(self.given)
        given["conditions"] = [{**one, "values": _filled(one)} for one in given["conditions"]]
        given["actions"] = [{**one, "params": _told(one)} for one in given["actions"]]
        return SimpleNamespace(**given)


class _Checking:
    """One draft being read; faults are kept, the first of each input."""

    def __init__(self, draft: Draft, stored: AutomationRule | None, settings: Settings, zone: str) -> None:
        self.draft, self.stored, self.settings, self.zone = draft, stored, settings, zone
        self.faults: dict[str, str] = {}

    def blame(self, name: str, why: str) -> None:
        self.faults.setdefault(name, why)

    def read(self) -> Checked:
        fields = self.draft.fields
        given: dict[str, Any] = {
            "name": fields["name"].strip(),
            "description": fields["description"],
            "event": fields["event"],
            "on_failure": fields["on_failure"],
            "trigger": Trigger.INACTIVITY.value if fields["quiet"] else None,
            "execution_delay": self._delay(),
            "window_start": self._minutes("from"),
            "window_end": self._minutes("until"),
        }
        for name, value in given.items():
            try:
                rule_checks.part({name: value})
            except Invalid as fault:
                self.blame(INPUTS.get(name, name), fault.why)
        given["conditions"] = list(self._conditions(given))
        given["actions"] = list(self._actions())
        if len(given["conditions"]) > MOST_CONDITIONS:
            self.blame("conditions", _("There are too many: %(n)s is the most.", n=MOST_CONDITIONS))
        if len(given["actions"]) > MOST_ACTIONS:
            self.blame("actions", _("There are too many: %(n)s is the most.", n=MOST_ACTIONS))
        if not given["actions"]:
            self.blame("a", _("Add at least one action."))
        self._together(given)
        return Checked(given, self.faults)

    def _delay(self) -> int | None:
        given = self.draft.fields["delay"].strip().replace(",", ".")
        if not given:
            return None
        try:
            minutes = Decimal(given) * MINUTES.get(self.draft.fields["unit"], 1)
            if len(given) < 12 and minutes.is_finite() and minutes == int(minutes):
                if SHORTEST_DELAY <= minutes <= LONGEST_DELAY:
                    return int(minutes)
                self.blame("delay", _("Must be between 10 minutes and 30 days, or empty to act at once."))
                return None
        except InvalidOperation:
            pass
        self.blame("delay", _("Must be a number that comes to whole minutes, such as 2 or 1.5 hours."))
        return None

    def _minutes(self, name: str) -> int | None:
        given = self.draft.fields[name].strip()
        if not given:
            return None
        hours, colon, minutes = given[:5].partition(":")
        digits = bool(colon) and all(one.isascii() and one.isdigit() for one in (hours, minutes))
        if digits and int(hours) < 24 and int(minutes) < 60:
            return int(hours) * 60 + int(minutes)
        self.blame(name, _("Must be a time of day such as 09:00."))
        return None

    def _conditions(self, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        kept = _kept(self.stored.conditions if self.stored else (), rows.of_condition)
        last = len(self.draft.conditions) - 1
        for number, row in enumerate(self.draft.conditions):
            joiner = None if number == last else ("or" if row.get("joiner") == "or" else "and")
            stored = kept.get(_as_key(row, without="joiner"))
            one = {**(stored or rows.to_condition(row)), "joiner": None}
            self._judge_condition(number, row, one, given)
            yield {**one, "joiner": joiner}

    def _judge_condition(
        self, number: int, row: Mapping[str, str], one: Any, given: Mapping[str, Any]
    ) -> None:
        attribute, operator = row.get("attribute", ""), row.get("operator", "")
        shown = inputs_of(attribute, operator)
        if operator not in dict(operators_of(attribute)) and kind_of(attribute) is not None:
            self.blame(f"c{number}.operator", _("Choose again: what was chosen does not fit."))
            return
        if row.get("attribute") in CUSTOM_ATTRIBUTES and not row.get("key", "").strip():
            self.blame(f"c{number}.key", _("Must not be blank."))
            return
        if any(part.name == "values" for part in shown) and not one["values"]:
            picks = shown[0].kind == "picks"
            self.blame(f"c{number}.values", _("Tick at least one.") if picks else _("Must not be blank."))
            return
        try:
            conditions.parse(
                [one],
                event=_known_event(given["event"]),
                execution_delay=given["execution_delay"],
                trigger=given["trigger"],
            )
        except Invalid as fault:
            self._blame_condition(number, fault, shown)

    def _blame_condition(self, number: int, fault: Invalid, shown: Any) -> None:
        why = fault.why.replace(" (condition 1)", "")
        part = str(fault.field).rpartition(".")[2]
        if fault.field == "execution_delay":
            # Where it is taken out is here; that it can't wait is said at the delay as well.
            self.blame(f"c{number}.attribute", _("Can't go with a delay and this event."))
            self.blame("delay", fault.why.replace("(condition 1)", f"(condition {number + 1})"))
            return
        if part == "values" and shown:
            part = shown[0].name
        self.blame(f"c{number}.{part}", why)

    def _actions(self) -> Iterator[dict[str, Any]]:
        kept = _kept(self.stored.actions if self.stored else (), lambda one: rows.of_action(one, self.zone))
        for number, row in enumerate(self.draft.actions):
            name = row.get("name", "")
            try:
                one = kept.get(_as_key(row)) or rows.to_action(row, self.zone)
            except Invalid as fault:
                self.blame(f"a{number}.{fault.field}", fault.why)
                yield {"name": name, "params": []}
                continue
            self._judge_action(number, row, one)
            yield one

    def _judge_action(self, number: int, row: Mapping[str, str], one: Any) -> None:
        name = row.get("name", "")
        try:
            actions.parse([one], settings=self.settings)
        except Invalid as fault:
            part = str(fault.field).rpartition(".")[2]
            why = fault.why.replace(" (action 1)", "").replace(f", for {name}", "")
            shown = rows.ACTION_INPUTS.get(name, ())
            named = part if part == "name" or not shown else _blank(shown, row) or shown[0].name
            self.blame(f"a{number}.{named}", _("Must not be blank.") if named == _blank(shown, row) else why)

    def _together(self, given: Mapping[str, Any]) -> None:
        """What its parts must be to one another, once each is right by itself."""
        if self.faults:
            return
        try:
            rule_checks.definition(rule_checks.part(given, settings=self.settings))
        except Invalid as fault:
            self.blame(INPUTS.get(str(fault.field), str(fault.field)), fault.why)


def check(draft: Draft, stored: AutomationRule | None, *, settings: Settings, zone: str) -> Checked:
    """Read `draft`. Rows that show what `stored` holds are kept as they are stored, so that no detail of a
    rule that came over the API is lost by looking at it."""
    return _Checking(draft, stored, settings, zone).read()


def _kept(stored: Any, row_of: Any) -> dict[tuple[tuple[str, str], ...], dict[str, Any]]:
    return {_as_key(row_of(one), without="joiner"): dict(one) for one in stored if isinstance(one, Mapping)}


def _as_key(row: Mapping[str, str], without: str = "") -> tuple[tuple[str, str], ...]:
    """A row as it compares: what is empty is as if it were not there."""
    return tuple(sorted((name, value) for name, value in row.items() if value and name != without))


def _blank(shown: Any, row: Mapping[str, str]) -> str | None:
    """The first input that was left empty and may not be."""
    optional = {"until"} | ({"id"} if row.get("who", "id") != "id" else set())
    named = (one.name for one in shown if one.kind not in ("choice", "picks"))
    return next((name for name in named if name not in optional and not row.get(name, "").strip()), None)


def _known_event(given: str) -> str:
    return given if given in set(Event) else Event.CONVERSATION_UPDATED.value


def _filled(one: Mapping[str, Any]) -> Any:
    row = rows.of_condition(one)
    wanted = any(part.name == "values" for part in inputs_of(row["attribute"], row["operator"]))
    return one["values"] or (["…"] if wanted else [])


def _told(one: Mapping[str, Any]) -> list[Any]:
    """The parameters as a sentence shows them while some are missing."""
    params = one["params"] or (["…"] if one["name"] in _WANTED else [])
    return ["…" if isinstance(value, str) and not value.strip() else value for value in params]
