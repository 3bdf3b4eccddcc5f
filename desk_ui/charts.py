"""Charts as the server draws them: bars by the hour, in the units of their SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from flask_babel import ngettext

from desk_ui import words
from desk_ui.translating import gettext as _
from models.sweep_trends import Hour

STEP, WIDTH, HEIGHT, LOWEST = 5, 4, 24, 2


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; `kind` is `bad`, `none` where nothing ran, or `now` for the hour that is going on."""

    x: int
    y: int
    height: int
    kind: str
    says: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars side by side, what they say together, and what each stands for."""

    says: str
    bars: Sequence[Bar]
    hours: Sequence[Hour]

    @property
    def went_wrong(self) -> str:
        """What failed in all its hours, in words; empty where nothing did."""
        return _went_wrong(sum(hour.failed for hour in self.hours), sum(hour.faults for hour in self.hours))

    @property
    def width(self) -> int:
        return STEP * len(self.bars) - (STEP - WIDTH)


def _went_wrong(failed: int, faults: int) -> str:
    found = (
        [ngettext("%(n)s run failed", "%(n)s runs failed", failed, n=words.number(failed))] if failed else []
    )
    if faults:
        found.append(ngettext("%(n)s row failed", "%(n)s rows failed", faults, n=words.number(faults)))
    return ", ".join(found)


def of_runs(name: str, hours: Sequence[Hour], zone: str) -> Chart:
    """The runs of one sweep by the hour, those in which something failed in another colour."""
    most = max((hour.runs for hour in hours), default=0)
    bars = [_bar(number, hour, most, zone, number == len(hours) - 1) for number, hour in enumerate(hours)]
    return Chart(f"{name}: {summary(hours)}", bars, hours)


def _bar(number: int, hour: Hour, most: int, zone: str, last: bool) -> Bar:
    height = max(LOWEST, round(HEIGHT * hour.runs / most)) if hour.runs else 1
    kind = "bad" if hour.bad else "none" if not hour.runs else "now" if last else "ran"
    return Bar(number * STEP, HEIGHT - height, height, kind, f"{clock(hour, zone)}: {in_words(hour)}")


def clock(hour: Hour, zone: str) -> str:
    """`14:00 to 15:00`, in `zone`."""
    begin, end = words.clock(hour.at, zone), words.clock(hour.at + timedelta(hours=1), zone)
    return _("%(begin)s to %(end)s", begin=begin, end=end)


def summary(hours: Sequence[Hour]) -> str:
    """All hours in one: `2,870 runs in 24 hours, 1 failed`."""
    whole = Hour(
        hours[0].at, sum(h.runs for h in hours), sum(h.failed for h in hours), sum(h.faults for h in hours)
    )
    return _("%(what)s in %(n)s hours", what=in_words(whole), n=len(hours))


def in_words(hour: Hour) -> str:
    """`120 runs, 1 failed, 2 rows failed`."""
    found = [_runs(hour.runs)]
    if hour.failed:
        found.append(_("%(n)s failed", n=words.number(hour.failed)))
    if hour.faults:
        found.append(ngettext("%(num)s row failed", "%(num)s rows failed", hour.faults))
    return ", ".join(found)


def _runs(number: int) -> str:
    if not number:
        return _("no run")
    return ngettext("%(n)s run", "%(n)s runs", number, n=words.number(number))
