"""What the list of executions shows: each value in words, so that the template stays dumb."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from flask import g, url_for
from markupsafe import Markup

from desk_ui import refreshing
from desk_ui.automations import executions_queries as queries
from desk_ui.automations import executions_refusals as refusals
from desk_ui.automations import executions_told as told
from desk_ui.automations.executions_queries import Begun, Filters, Row, Scene, Tab
from desk_ui.bulk.kinds import Offered
from desk_ui.handling import marks
from desk_ui.handling.marks import On
from desk_ui.listing import Listing
from desk_ui.marks import Mark
from desk_ui.permissions import Permission, refusal
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from desk_ui.words import SKIPS, skip
from models.automations.records import Status
from models.base import db

SWEEP = "run_executions"
TABS = {
    Tab.REVIEW: (_l("Needs review"), _l("oldest first")),
    Tab.WAITING: (_l("Waiting"), _l("soonest due first")),
    Tab.RUNNING: (_l("Running"), _l("newest first")),
    Tab.STALE: (_l("Stale"), _l("longest silent first")),
    Tab.SKIPPED: (_l("Skipped"), _l("newest first")),
    Tab.EXECUTED: (_l("Executed"), _l("newest first")),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the list in words; an act is None where it can't be done."""

    row: Row
    gone: bool
    mark: Mark
    rule: str
    at: datetime
    is_due: bool
    aside: Markup | str
    why: str
    called: str
    url: str
    acts: Mapping[str, str]
    on: On | None


def rule_name(row: Row) -> str:
    return row.rule if row.rule is not None else _("a rule that was deleted")


def called(row: Row) -> str:
    """It in the words of a sentence: `“Chase after two hours” on conversation 42`."""
    if row.conversation is None:
        return _("“%(rule)s”", rule=rule_name(row))
    return _("“%(rule)s” on conversation %(id)s", rule=rule_name(row), id=row.conversation)


@dataclass(frozen=True)
class ListView(Listing[Filters, Row]):
    """The list page. `choices` are the rules: id and name. `left` are rows that the list does not hold."""

    endpoint = "executions.index"
    label = _l("Executions by state")
    tabs = TABS
    hot = frozenset({Tab.REVIEW})
    tells_of = SWEEP
    names = {
        "rule": _l("Rule"),
        "conversation": _l("Conversation"),
        "skipped": _l("Skipped because"),
        "since": _l("From"),
        "until": _l("Before"),
    }

    scene: Scene = field(kw_only=True)
    choices: Sequence[tuple[UUID, str]] = field(kw_only=True, default=())
    left: frozenset[UUID] = frozenset()

    @cached_property
    def may_act(self) -> bool:
        return refusal(Permission.ACT_ON_EXECUTIONS) is None

    @property
    def has_acts(self) -> bool:
        return self.may_act and self.filters.tab not in (Tab.RUNNING, Tab.EXECUTED)

    @cached_property
    def bulk(self) -> Offered:
        return Offered("executions", self.filters.tab, may=self.has_acts, rows=self.page.rows)

    @property
    def rules(self) -> list[tuple[str, str]]:
        return [(str(id), name) for id, name in self.choices]

    @property
    def reasons(self) -> list[tuple[str, str]]:
        return [(code.value, str(said)) for code, said in SKIPS.items()]

    def shown_value(self, name: str, value: str) -> str:
        if name == "rule":
            return dict(self.rules).get(value, _("a rule that was deleted"))
        if name == "skipped":
            return skip(value)
        return value.replace("T", " ") if name in ("since", "until") else value

    def url_of_tab(self, tab: Tab) -> str:
        return self.url(tab=tab, skipped=queries.of_tab(self.filters, tab).skipped)

    @property
    def later(self) -> str:
        return _("Later ones") if self.filters.tab.oldest_first else super().later

    @cached_property
    def actions(self) -> Mapping[UUID, list[Begun]]:
        """How far the runs of this page came."""
        return queries.begun(db.session(), self.page.rows)

    @cached_property
    def on(self) -> Mapping[UUID, On]:
        """Who is on those that need a person."""
        wanting = [row.id for row in self.page.rows if row.needs_review]
        return marks.those_on(db.session(), "execution", wanting)

    @cached_property
    def lines(self) -> list[Line]:
        return [self._line(row) for row in self.page.rows]

    def _line(self, row: Row) -> Line:
        actions, gone = self.actions.get(row.id, []), self._is_gone(row)
        at = queries.at(self.filters.tab, row)
        return Line(
            row=row,
            gone=gone,
            mark=told.mark(row, self.scene.now),
            rule=rule_name(row),
            at=at,
            is_due=row.status == Status.PENDING and at <= self.scene.now,
            aside=told.aside(row, self.scene, actions),
            why=told.why(row, actions, self.scene),
            called=called(row),
            url=url_for("executions.show", tenant=g.tenant.key, execution_id=row.id, list=self.query or None),
            acts={} if gone or not self.has_acts else dict(self._acts(row, actions)),
            on=self.on.get(row.id),
        )

    def _acts(self, row: Row, actions: Sequence[Begun]) -> Iterator[tuple[str, str]]:
        """What can be done to the row, by name, each with the address that asks about it."""
        may = refusals.stated(row, actions, self.scene.now)
        given: dict[str, Any] = {"tenant": g.tenant.key, "list": self.query or None, "shown": "row"}
        for name in OFFERED[self.filters.tab]:
            if may[name] is None:
                yield name, url_for(f"executions.ask_{name}", execution_id=row.id, **given)

    def _is_gone(self, row: Row) -> bool:
        if row.id in self.left:
            return True
        tab = self.filters.tab
        if tab is Tab.REVIEW:
            return not row.needs_review
        if row.status == Status.PROCESSING:
            return tab is not (Tab.STALE if told.is_stale(row, self.scene.now) else Tab.RUNNING)
        if row.status == Status.EXECUTING:
            return row.needs_review or tab is not Tab.RUNNING
        return queries.TAB_OF[Status(row.status)] is not tab

    @cached_property
    def signs(self) -> Mapping[UUID, str]:
        return {
            line.row.id: refreshing.sign(
                line.row.version,
                line.mark,
                line.at,
                line.is_due,
                # That the next run takes it is shown, and when that comes is for the script to go on with.
                "" if isinstance(line.aside, Markup) else line.aside,
                isinstance(line.aside, Markup),
                line.why,
                line.rule,
                self.scene.zone,
                line.gone,
                sorted(line.acts),
                line.on,
            )
            for line in self.lines
        }

    @property
    def beside(self) -> Sequence[object]:
        return self.may_act, self.halted_sign, self.off_sign, self.rules

    @property
    def halted_sign(self) -> str:
        return refreshing.sign_of_facts(self.scene.halted, self.scene.zone)

    @property
    def off_sign(self) -> str:
        return refreshing.sign_of_facts(self.scene.paused)

    @property
    def nothing(self) -> tuple[str, str]:
        """What an empty tab says."""
        return {
            Tab.REVIEW: (
                _("Nothing needs review"),
                _("A run that broke off, or an action that went wrong, comes here for a person."),
            ),
            Tab.WAITING: (_("Nothing is waiting"), _("What a rule arms waits here until it is due.")),
            Tab.RUNNING: (_("Nothing is running"), _("What workers have taken is shown here.")),
            Tab.STALE: (_("Nothing is stale"), _("No worker fell silent before its first action.")),
            Tab.SKIPPED: (_("Nothing was skipped"), _("What was not run, and why, is kept here.")),
            Tab.EXECUTED: (_("Nothing was executed yet"), _("What was run is kept here.")),
        }[self.filters.tab]


# Which acts the rows of each tab may have, the first of most weight.
OFFERED: Mapping[Tab, Sequence[str]] = {
    Tab.REVIEW: ("settle", "rearm"),
    Tab.WAITING: ("cancel",),
    Tab.RUNNING: (),
    Tab.STALE: ("reclaim", "cancel"),
    Tab.SKIPPED: ("rearm",),
    Tab.EXECUTED: (),
}
