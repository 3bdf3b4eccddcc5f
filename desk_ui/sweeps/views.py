"""What the sweeps templates show: each value in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from flask import g, url_for
from flask_babel import lazy_gettext as _l
from flask_babel import ngettext

from desk_ui import charts, refreshing, words
from desk_ui.charts import Chart
from desk_ui.listing import Listing
from desk_ui.marks import Mark
from desk_ui.permissions import Permission, may, refusal
from desk_ui.sweeps import telling
from desk_ui.sweeps.lines import Line, Run
from desk_ui.sweeps.queries import Fault, Filters
from desk_ui.translating import gettext as _
from models.sweep_trends import Hour
from models.sweeps import RunStatus


@dataclass(frozen=True, slots=True)
class Shown:
    """One sweep on its own or among the others."""

    line: Line
    chart: Chart
    asked_at: datetime | None

    @property
    def standing(self) -> str:
        return telling.standing(self.line, g.now)

    @property
    def does(self) -> str:
        return telling.does(self.line)

    @property
    def every(self) -> str:
        return telling.every(self.line.every)

    @property
    def trend(self) -> str:
        return charts.summary(self.chart.hours)

    @property
    def sign(self) -> str:
        """Changes with what is shown of it, apart from when it runs next, which the script lets go on."""
        line = self.line
        last = (line.last.id, line.last.status, line.last.finished_at) if line.last else ()
        stands = line.mark, line.version, line.late_since, line.every, self.asked_at
        return refreshing.sign(*stands, *last, self.trend, g.zone, sees_all())

    @property
    def refusal(self) -> str | None:
        """Why neither running, pausing nor resuming it is for the person at hand."""
        return refusal(Permission.SWEEPS)

    @property
    def refusal_to_run(self) -> str | None:
        return self.refusal or refusal_to_run(self.line)


def refusal_to_run(line: Line) -> str | None:
    """Why a sweep can't be run now, as the domain would say."""
    return _("%(name)s is paused. Resume it first, then run it.", name=line.name) if line.paused else None


def shown(line: Line, hours: Sequence[Hour], asked: Mapping[str, datetime]) -> Shown:
    return Shown(line, charts.of_runs(line.name, hours, g.zone), asked.get(line.key))


@dataclass(frozen=True, slots=True)
class FaultLine:
    """One row that failed, in words."""

    fault: Fault
    sweep: str
    place: str | None
    tenant: str | None


def fault_line(fault: Fault) -> FaultLine:
    """`place` is the page of the row, where it is a follow-up that the person may see."""
    return FaultLine(
        fault,
        str(words.SWEEPS.get(fault.sweep, fault.sweep)),
        _place(fault),
        fault.tenant if fault.tenant != g.tenant.key else None,
    )


def _place(fault: Fault) -> str | None:
    if fault.sweep != "fire_followups" or fault.tenant not in {tenant.key for tenant, _role in g.memberships}:
        return None
    try:
        return url_for("followups.show", tenant=fault.tenant, followup_id=UUID(fault.row))
    except ValueError:
        return None


@dataclass(frozen=True)
class IndexView:
    """All sweeps, and the rows that failed within a day."""

    sweeps: Sequence[Shown]
    faults: Sequence[FaultLine]

    @property
    def sees_all(self) -> bool:
        return sees_all()

    @property
    def title(self) -> str:
        """The answer to whether the desk does its work by itself."""
        late = [one.line.name for one in self.sweeps if one.line.late_since is not None]
        paused = [one.line.name for one in self.sweeps if one.line.paused]
        found = []
        if late:
            found.append(ngettext("%(num)s sweep is late", "%(num)s sweeps are late", len(late)))
        if paused:
            found.append(ngettext("%(num)s sweep is paused", "%(num)s sweeps are paused", len(paused)))
        return ", ".join(found) or _("All sweeps are on time")

    @property
    def sign(self) -> str:
        return refreshing.sign_of_facts(
            self.standing_sign, *(one.sign for one in self.sweeps), self.faults_sign
        )

    @property
    def standing_sign(self) -> str:
        return refreshing.sign_of_facts(self.title, self.why_not)

    @property
    def faults_sign(self) -> str:
        return sign_of(self.faults)

    @property
    def why_not(self) -> str:
        """Who may act, for those who may not."""
        return "" if self.sees_all else _("Only an admin of platform pauses or runs one; you can look.")

    @property
    def charts(self) -> list[tuple[str, Chart]]:
        return [(one.line.name, one.chart) for one in self.sweeps]


def sign_of(faults: Sequence[FaultLine]) -> str:
    rows = (f"{one.fault.at} {one.fault.row}" for one in faults)
    return refreshing.sign_of_facts(*rows, g.zone, sees_all())


def sees_all() -> bool:
    """Whether the person may see what concerns all tenants: counts, errors of runs, rows that failed."""
    return may(Permission.SWEEPS)


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run in words; what it did is told only to those who see all tenants."""

    run: Run
    sees_all: bool
    sign: str = ""

    @property
    def mark(self) -> Mark:
        return telling.mark_of_run(self.run.status)

    @property
    def took(self) -> str:
        return telling.took(self.run)

    @property
    def how(self) -> str:
        return _("by hand") if self.run.by_hand else ""

    @property
    def says(self) -> str:
        run = self.run
        if run.status == RunStatus.SKIPPED:
            return telling.why_skipped(run)
        if run.status == RunStatus.ERROR:
            return _last_line(run.error) if self.sees_all else _("It ended in an error, and was tried again.")
        found = [telling.counts(run.counts)] if self.sees_all and run.finished_at else []
        if run.capped:
            found.append(_("it reached its limit; more was due"))
        return "; ".join(found)


def _last_line(error: str | None) -> str:
    return next((line for line in reversed((error or "").splitlines()) if line.strip()), "")


@dataclass(frozen=True)
class RunsView(Listing[Filters, Run]):
    """One sweep with its runs."""

    endpoint = "sweeps.show"
    label = _l("Runs")
    names = {"status": _l("Ended")}

    # Only the newest run changes, which stands on the first page until it has ended.
    rows_url = ""

    sweep: Shown | None = None
    faults: Sequence[FaultLine] = ()

    def sign_of(self, row: Run) -> str:
        return refreshing.sign_of_facts(row.id, row.status, row.finished_at, g.zone, self.sees_all)

    @property
    def beside(self) -> tuple[str, str]:
        assert self.sweep is not None
        return self.sweep.sign, self.faults_sign

    @property
    def faults_sign(self) -> str:
        return sign_of(self.faults)

    @property
    def where(self) -> dict[str, str]:
        assert self.sweep is not None
        return {"name": self.sweep.line.key}

    @property
    def sees_all(self) -> bool:
        return sees_all()

    @property
    def charts(self) -> list[tuple[str, Chart]]:
        return [(self.sweep.line.name, self.sweep.chart)] if self.sweep else []

    @property
    def lines(self) -> Iterator["RunLine"]:
        for run in self.page.rows:
            yield RunLine(run, self.sees_all, self.sign_of(run))

    @property
    def last_error(self) -> Run | None:
        """The newest run of this page that failed as a whole."""
        return next((run for run in self.page.rows if run.status == RunStatus.ERROR), None)

    @property
    def statuses(self) -> list[tuple[str, str]]:
        return [(status.value, str(name)) for status, name in telling.STATUSES.items()]

    def shown_value(self, name: str, value: str) -> str:
        return str(telling.STATUSES[RunStatus(value)]) if name == "status" else value

    @property
    def order(self) -> str:
        return _("newest first")

    @property
    def nothing(self) -> tuple[str, str]:
        return _("No runs yet"), _("A run appears here once a worker has begun it. Runs are kept for a week.")
