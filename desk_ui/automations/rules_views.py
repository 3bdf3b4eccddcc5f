"""What the pages that show rules need: each rule in words, and how it stands."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from flask import g, url_for
from flask_babel import ngettext

from desk_ui import words
from desk_ui.addresses import asking, in_tenant
from desk_ui.automations import rule_words
from desk_ui.automations.executions_queries import Filters, Tab
from desk_ui.automations.rules_queries import Counts
from desk_ui.marks import Mark
from desk_ui.paging import Page
from desk_ui.permissions import Permission, refusal
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models.audit import AuditEvent
from models.automations import actions
from models.automations.records import AutomationRule
from models.automations.rule_checks import FIELDS, definition, part
from models.errors import Invalid
from models.settings import Settings
from models.tenants import Feature

# The tab of the executions that lists each state.
STATES = {
    "review": (Tab.REVIEW, _l("Needs review")),
    "waiting": (Tab.WAITING, _l("Waiting")),
    "running": (Tab.RUNNING, _l("Running")),
    "executed": (Tab.EXECUTED, _l("Executed")),
    "skipped": (Tab.SKIPPED, _l("Skipped")),
}
FIELD_NAMES = {
    "name": _l("name"),
    "description": _l("description"),
    "event": _l("event"),
    "conditions": _l("conditions"),
    "actions": _l("actions"),
    "active": _l("switch"),
    "execution_delay": _l("delay"),
    "window_start": _l("start of its hours"),
    "window_end": _l("end of its hours"),
    "trigger": _l("what it waits for"),
    "on_failure": _l("what happens after a failure"),
}


def refusal_to_change() -> str | None:
    return refusal(Permission.RULES)


def refusal_to_switch(rule: AutomationRule, fault: str | None, on: bool) -> str | None:
    """Why it can't become `on`; the question and the route ask the same."""
    not_allowed = refusal_to_change()
    if not_allowed is not None or rule.active is not on:
        return not_allowed or (
            _("It must be put right first: %(fault)s", fault=fault) if on and fault else None
        )
    return _("It is on already.") if on else _("It is off already.")


def fault_of(rule: AutomationRule, settings: Settings) -> str | None:
    """What of a stored rule can't be used any more, or None: it then arms nothing that could run."""
    try:
        definition(part({name: getattr(rule, name) for name in FIELDS}, settings=settings))
    except Invalid as fault:
        return _in_words(fault)
    return None


def _in_words(fault: Invalid) -> str:
    """Which part of a stored rule can't be used; why is said at its input, in the form."""
    part, _dot, rest = str(fault.field).partition(".")
    place = rest.partition(".")[0]
    if place.isdigit() and part == "conditions":
        return _("Its condition %(n)s can't be used any more. Edit it to see why.", n=int(place) + 1)
    if place.isdigit() and part == "actions":
        return _("Its action %(n)s can't be used any more. Edit it to see why.", n=int(place) + 1)
    return _("Its %(part)s can't be used any more. Edit it to see why.", part=FIELD_NAMES.get(part, part))


def mark(rule: AutomationRule, fault: str | None) -> Mark:
    if not rule.active:
        return Mark("pause", "idle", _("Off"))
    return Mark("triangle", "bad", _("Can't run")) if fault else Mark("disc", "good", _("On"))


@dataclass(frozen=True, slots=True)
class State:
    """How many of a rule's executions are in one state, with the list of them."""

    name: str
    said: str
    number: int | None
    url: str
    hot: bool


def states(rule_id: UUID, counts: Counts | None) -> Iterator[State]:
    """In the order in which they are gone through; nothing where they are not counted yet."""
    for name, (tab, said) in STATES.items() if counts else ():
        number = getattr(counts, name)
        hot = name == "review" and number != 0
        yield State(name, str(said), number, listed(rule_id, tab), hot)


def listed(rule_id: UUID, tab: Tab) -> str:
    """The rule's executions in one state."""
    return asking(in_tenant("executions.index"), Filters(tab=tab, rule=rule_id).as_params())


@dataclass(frozen=True, slots=True)
class Line:
    """One rule of the list."""

    rule: AutomationRule
    mark: Mark
    fault: str | None
    does: str
    counts: Counts | None
    last_run: datetime | None

    @property
    def url(self) -> str:
        return url_for("rules.show", tenant=g.tenant.key, rule_id=self.rule.id)

    @property
    def broken(self) -> bool:
        return self.fault is not None and self.rule.active

    @property
    def states(self) -> list[State]:
        return list(states(self.rule.id, self.counts))

    @property
    def refusal_to_switch(self) -> str | None:
        return refusal_to_switch(self.rule, self.fault, not self.rule.active)


@dataclass(frozen=True)
class ListView:
    """The list page. `counts` is None where counting took too long; with `late` it is not asked again."""

    page: Page[AutomationRule]
    counts: Mapping[UUID, Counts] | None
    last_runs: Mapping[UUID, datetime]
    settings: Settings
    after: str | None
    late: bool

    @cached_property
    def lines(self) -> list[Line]:
        """Those that can't run go first, since the heading speaks of them."""
        return sorted(map(self._line, self.page.rows), key=lambda line: not line.broken)

    @property
    def order(self) -> str:
        if any(line.broken for line in self.lines):
            return _("those that can't run first, then the newest.")
        return _("the newest first.")

    def _line(self, rule: AutomationRule) -> Line:
        fault = fault_of(rule, self.settings)
        counts = self.counts.get(rule.id) if self.counts is not None else None
        return Line(
            rule, mark(rule, fault), fault, rule_words.whole(rule), counts, self.last_runs.get(rule.id)
        )

    @property
    def columns(self) -> list[str]:
        """The states in whose columns the executions are counted."""
        return [str(said) for _tab, said in STATES.values()]

    @property
    def refusal(self) -> str | None:
        return refusal_to_change()

    @property
    def paused(self) -> bool:
        return not g.tenant.has(Feature.DELAYED_AUTOMATIONS)

    @property
    def counted(self) -> bool:
        return self.counts is not None

    @property
    def counts_url(self) -> str:
        """The same page with its counts, however long they take."""
        asked = {"counts": "1", **({"after": self.after} if self.after else {})}
        return asking(in_tenant("rules.index"), asked)

    @property
    def title(self) -> str:
        """The heading is the answer: what can't run, else what needs a person."""
        broken = sum(line.broken for line in self.lines)
        review = sum(line.counts.review or 0 for line in self.lines if line.counts)
        if broken:
            return ngettext("Rules: one can't run", "Rules: %(num)s can't run", broken)
        if review:
            return ngettext("Rules: one run needs review", "Rules: %(num)s runs need review", review)
        return _("Rules")

    @property
    def url_following(self) -> str:
        return asking(in_tenant("rules.index"), {"after": self.page.following or ""})


@dataclass(frozen=True)
class DetailView:
    """The page of one rule."""

    rule: AutomationRule
    fault: str | None
    counts: Counts | None
    last_run: datetime | None
    history: Sequence[AuditEvent]

    @property
    def mark(self) -> Mark:
        return mark(self.rule, self.fault)

    @property
    def refusal(self) -> str | None:
        return refusal_to_change()

    @property
    def refusal_to_switch(self) -> str | None:
        return refusal_to_switch(self.rule, self.fault, not self.rule.active)

    @property
    def states(self) -> list[State]:
        return list(states(self.rule.id, self.counts))

    @property
    def when(self) -> str:
        return rule_words.when(self.rule)

    @property
    def lead(self) -> str:
        """How it stands, and what that means for the conversations."""
        if not self.rule.active:
            return _("It is off: it arms nothing, and nothing of it waits.")
        if self.fault:
            return _("It can't be used as it is stored, so nothing of it runs until it is put right.")
        if self.rule.execution_delay is not None and not g.tenant.has(Feature.DELAYED_AUTOMATIONS):
            return _("Delayed automations are off for this tenant, so it arms nothing and what waits stays.")
        return _("It is on: each conversation that fits is armed when something happens in it.")

    @property
    def steps(self) -> list[tuple[str, str]]:
        """What it does, in order, each with what is to be known of it."""
        told = zip(rule_words.action_lines(self.rule), self.rule.actions, strict=False)
        return [(said, _("A customer reads this.") if is_read(one) else "") for said, one in told]

    @property
    def facts(self) -> list[tuple[str, str]]:
        rule = self.rule
        found = [(_("Event"), str(rule_words.EVENTS.get(rule.event, rule.event)))]  # type: ignore[call-overload]
        found.append((_("Delay"), _("none: it acts at once")))
        if rule.execution_delay is not None:
            found[-1] = (_("Delay"), rule_words.delay(rule.execution_delay))
        if rule_words.window(rule):
            found.append(
                (_("Only between"), _("%(hours)s, by the clock of the inbox", hours=rule_words.window(rule)))
            )
        failing = rule_words.ON_FAILURE.get(rule.on_failure, rule.on_failure)  # type: ignore[call-overload]
        found.append((_("After a failure"), str(failing)))
        return found

    def told(self, event: AuditEvent) -> str:
        return told(event)

    def changed(self, event: AuditEvent) -> str:
        """Which parts of it an event changed, and how many it freed."""
        detail: Mapping[str, Any] = event.detail or {}
        changed = event.action == "rule.changed" and _switched(event) is None
        names = [str(FIELD_NAMES[name]) for name in detail if name in FIELD_NAMES]
        told = ", ".join(names) if changed else ""
        freed = detail.get("freed")
        if not isinstance(freed, int) or not freed:
            return told
        gone = ngettext("%(num)s waiting execution deleted", "%(num)s waiting executions deleted", freed)
        return f"{told}; {gone}" if told else gone


def told(event: AuditEvent) -> str:
    """What an event did to a rule: `Rule switched off`, where it did nothing else."""
    on = _switched(event)
    if on is None:
        return words.action(event.action, event.result != "success")
    return _("Rule switched on") if on else _("Rule switched off")


def _switched(event: AuditEvent) -> bool | None:
    """What a rule became by an event that only switched it."""
    detail: Mapping[str, Any] = event.detail or {}
    if event.action != "rule.changed" or set(detail) - {"active", "freed"}:
        return None
    became = detail.get("active")
    return bool(became.get("after")) if isinstance(became, Mapping) else None


def is_read(action: Mapping[str, Any]) -> bool:
    """Whether a customer reads what this action does."""
    return action.get("name") in actions.CUSTOMER_FACING


def waits(number: int | None) -> str:
    """`3 executions wait`, `no execution waits`; capped as all counts are."""
    if number == 0:
        return _("no execution waits")
    if number == 1:
        return _("1 execution waits")
    return _("%(n)s executions wait", n=words.count(number))
