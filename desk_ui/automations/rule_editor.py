"""What the form of a rule shows: each input with what was typed and what is wrong with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from flask import g, url_for
from flask_babel import ngettext

from desk_ui.automations import rule_inputs as inputs
from desk_ui.automations import rule_words
from desk_ui.automations.rule_checking import Checked
from desk_ui.automations.rule_drafts import Draft, seen
from desk_ui.automations.rule_inputs import Input, Options
from desk_ui.automations.rule_rows import Row
from desk_ui.automations.rule_trials import TrialView
from desk_ui.permissions import Permission, refusal
from desk_ui.translating import gettext as _
from models.automations.actions import CUSTOMER_FACING
from models.automations.records import AutomationRule


@dataclass(frozen=True, slots=True)
class Field:
    """One input with its value. `fits` says that the rest of its row depends on it."""

    input: Input
    name: str
    value: str = ""
    fault: str = ""
    picked: frozenset[str] = frozenset()
    groups: Sequence[tuple[Any, Options]] = ()
    fits: str = ""

    @property
    def id(self) -> str:
        return self.name.replace(".", "-")


@dataclass(frozen=True, slots=True)
class RowView:
    """One condition or action. `warning` is what its reader must know of it."""

    letter: str
    number: int
    title: str
    fields: Sequence[Field]
    joiner: Field | None
    first: bool
    last: bool
    warning: str = ""


@dataclass(frozen=True)
class EditorView:
    """The page of a rule being written. `rule` is the stored one, None for a new one.

    With `told`, the faults are shown. `note` is what changed meanwhile.
    """

    draft: Draft
    checked: Checked
    trial: TrialView
    rule: AutomationRule | None = None
    told: bool = False
    note: str = ""
    base: str = ""
    version: str = ""

    @property
    def title(self) -> str:
        return _("Edit %(name)s", name=self.rule.name) if self.rule else _("New rule")

    @property
    def refusal(self) -> str | None:
        return refusal(Permission.RULES)

    @property
    def verb(self) -> str:
        return _("Save") if self.rule else _("Make the rule")

    @property
    def save_url(self) -> str:
        if self.rule is None:
            return url_for("rules.add", tenant=g.tenant.key)
        return url_for("rules.edit", tenant=g.tenant.key, rule_id=self.rule.id)

    @property
    def back_url(self) -> str:
        if self.rule is None:
            return url_for("rules.index", tenant=g.tenant.key)
        return url_for("rules.show", tenant=g.tenant.key, rule_id=self.rule.id)

    @property
    def hidden(self) -> Mapping[str, str]:
        """What goes with the form unseen: which rule it is, and how that was when it was read."""
        rows = {"c": str(len(self.draft.conditions)), "a": str(len(self.draft.actions))}
        if self.rule is None:
            return rows
        base, version = self.base or seen(self.rule), self.version or str(self.rule.version)
        return {**rows, "rule": str(self.rule.id), "version": version, "seen": base}

    @property
    def in_words(self) -> str:
        return f"{rule_words.whole(self.checked.in_words)}."

    @property
    def reaches_customers(self) -> bool:
        return any(row.get("name") in CUSTOMER_FACING for row in self.draft.actions)

    @property
    def faults(self) -> Mapping[str, str]:
        return self.checked.faults if self.told else {}

    @property
    def summary(self) -> str:
        """How much is wrong; empty where nothing is, or nothing was asked yet."""
        if not self.faults:
            return ""
        number = len(self.faults)
        return ngettext(
            "Nothing was done yet: one thing is wrong or missing.",
            "Nothing was done yet: %(num)s things are wrong or missing.",
            number,
        )

    @cached_property
    def focus(self) -> str:
        """The id of what the person goes on with: the first fault, or what the last act was about."""
        if self.faults:
            known = [field.id for field in self._all()]
            at_fault = {name.replace(".", "-") for name in self.faults}
            return next((id for id in known if id in at_fault), "faults")
        return self.draft.focus

    def _all(self) -> Iterator[Field]:
        yield from (self.field(name) for name in ("name", "event", "delay", "unit", "quiet", "from", "until"))
        for row in (*self.conditions, *self.actions):
            yield from row.fields

    def field(self, name: str) -> Field:
        """One of those that are no rows."""
        options: Mapping[str, Options] = {
            "event": [(event.value, said) for event, said in rule_words.EVENTS.items()],
            "unit": inputs.UNITS,
            "on_failure": [(one.value, said) for one, said in rule_words.ON_FAILURE.items()],
        }
        shown = Input(name, "", options=options.get(name, ()))
        return Field(shown, name, self.draft.fields.get(name, ""), self.faults.get(name, ""))

    @cached_property
    def conditions(self) -> list[RowView]:
        last = len(self.draft.conditions) - 1
        return [self._condition(number, row, last) for number, row in enumerate(self.draft.conditions)]

    @cached_property
    def actions(self) -> list[RowView]:
        last = len(self.draft.actions) - 1
        return [self._action(number, row, last) for number, row in enumerate(self.draft.actions)]

    def _condition(self, number: int, row: Row, last: int) -> RowView:
        at, attribute = f"c{number}", row.get("attribute", "")
        operators = inputs.operators_of(attribute)
        operator = row.get("operator", "")
        if operators and operator not in dict(operators):
            operator = operators[0][0]
        fields = [
            self._chosen(at, "attribute", _("What is looked at"), attribute, inputs.ATTRIBUTE_GROUPS, "c")
        ]
        if attribute in inputs.CUSTOM_ATTRIBUTES:
            fields.append(self._typed(at, Input("key", _("Its key")), row))
        compared = [("", operators or [(operator, operator)])]
        fields.append(self._chosen(at, "operator", _("How it compares"), operator, compared, "c"))
        fields += [self._typed(at, one, row) for one in inputs.inputs_of(attribute, operator)]
        joined = Input("joiner", _("Joined to the next by"), "choice", options=inputs.JOINERS)
        return RowView(
            "c",
            number,
            _("Condition %(n)s", n=number + 1),
            fields,
            None if number == last else self._typed(at, joined, row),
            number == 0,
            number == last,
        )

    def _action(self, number: int, row: Row, last: int) -> RowView:
        at, name = f"a{number}", row.get("name", "")
        fields = [self._chosen(at, "name", _("What is done"), name, inputs.ACTION_GROUPS, "a")]
        fields += [self._typed(at, one, row) for one in inputs.ACTION_INPUTS.get(name, ())]
        warning = _("A customer reads this.") if name in CUSTOMER_FACING else ""
        title = _("Action %(n)s", n=number + 1)
        return RowView("a", number, title, fields, None, number == 0, number == last, warning)

    def _chosen(
        self,
        at: str,
        name: str,
        label: str,
        value: str,
        groups: Sequence[tuple[Any, Options]],
        letter: str,
    ) -> Field:
        """A choice on which the rest of the row depends; what is stored and not known is offered too."""
        known = {one for _label, options in groups for one, _said in options}
        offered = groups if value in known else [*groups, (_("Not known any more"), [(value, value)])]
        full = f"{at}.{name}"
        fits = f"{letter}.fit.{at[1:]}"
        shown_as = Input(name, label, "choice")
        return Field(shown_as, full, value, self.faults.get(full, ""), frozenset(), offered, fits)

    def _typed(self, at: str, one: Input, row: Row) -> Field:
        full = f"{at}.{one.name}"
        picked = frozenset(value for value, _said in one.options if row.get(f"{one.name}.{value}"))
        return Field(one, full, row.get(one.name, ""), self.faults.get(full, ""), picked)


def rule_id_of(form: Mapping[str, str]) -> UUID | None:
    """The rule that a form is about, None for a new one or for what is no id."""
    try:
        return UUID(form.get("rule", ""))
    except ValueError:
        return None
