"""What the overview shows: the answer first, then each thing that needs a person, the oldest first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from flask import g, url_for
from flask_babel import ngettext
from markupsafe import Markup

from desk_ui import refreshing, words
from desk_ui.charts import Chart
from desk_ui.overview import things
from desk_ui.overview.queries import Found
from desk_ui.overview.things import NAMED, Thing
from desk_ui.sweeps.lines import Line
from desk_ui.sweeps.views import Shown
from desk_ui.translating import gettext as _
from models.needs import MOST
from models.tenants import AgentHold, Feature


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence, and where the way to it helps, its address and words."""

    says: str
    url: str | None = None
    link: str = ""


@dataclass(frozen=True)
class OverviewView:
    """The whole page."""

    found: Found
    sweeps: Sequence[Shown]

    @cached_property
    def things(self) -> list[Thing]:
        return things.things(self.found)

    @property
    def title(self) -> str:
        total = sum(min(thing.number, MOST) for thing in self.things)
        if any(thing.number > MOST for thing in self.things):
            return _("More than %(n)s things need a person", n=words.number(total))
        if total == 0:
            return _("Nothing needs a person")
        if total == 1:
            return _("1 thing needs a person")
        return _("%(n)s things need a person", n=words.number(total))

    @property
    def says(self) -> Markup:
        """How long the oldest has waited, and whether the rest goes on by itself."""
        waits = [thing.since for thing in self.things if thing.since is not None]
        found = []
        if waits:
            length = words.lasting(min(waits), g.now)
            found.append(Markup(_("The oldest has waited %(length)s.")) % {"length": length})
        if not self.found.late and not self.found.paused:
            found.append(
                _("All sweeps are on time.")
                if self.things
                else _("All sweeps run, and do the rest by themselves.")
            )
        return Markup(" ").join(found)

    @property
    def first(self) -> Thing | None:
        """The thing that has the one primary button."""
        known = [thing for thing in self.things if thing.url]
        # What nobody is on yet comes first.
        return next((thing for thing in known if thing.taken < thing.number), next(iter(known), None))

    @property
    def notices(self) -> list[Notice]:
        """What rests because somebody wanted it to."""
        found = [_paused(line) for line in self.found.paused]
        standing = self.found.standing
        if standing.paused:
            says = _("Follow-ups are switched off for this tenant. Due ones wait; nothing is sent.")
            found.append(Notice(says))
        else:
            found += _held(self.found.held)
        if not standing.tenant.has(Feature.DELAYED_AUTOMATIONS):
            says = _("Delayed automations are switched off for this tenant. Due ones wait; nothing is sent.")
            found.append(Notice(says))
        return found

    @property
    def calm(self) -> Markup | str:
        """What stands where nothing needs a person."""
        at = things.next_run(self.found)
        if at is None:
            return _("Due follow-ups wait until Firing runs again.")
        when = words.next_run(at, g.now, g.zone)
        return Markup(_("Due follow-ups fire by themselves. The next run is %(when)s.")) % {"when": when}

    @cached_property
    def signs(self) -> dict[str, str]:
        """Of each part of the page, by its id, what changes with what it shows; when a run comes does not."""
        comes = things.next_run(self.found) is not None
        parts: dict[str, list[object]] = {
            "standing": [self.title, self.says],
            "notices": list(self.notices),
            "needing": [comes, *(replace(thing, url=None, taken_at=None) for thing in self.things)],
            **{f"beat-{one.line.key}": [one.sign] for one in self.sweeps},
            "by-hour": [one.sign for one in self.sweeps],
        }
        return {id: refreshing.sign(*self._always, *shown) for id, shown in parts.items()}

    @property
    def _always(self) -> tuple[object, ...]:
        """For whom it is drawn; and the hour, with which the charts move on and what is over a day old."""
        return g.zone, g.role, g.now.replace(minute=0, second=0, microsecond=0)

    @property
    def sign(self) -> str:
        """Changes with anything that the page shows; what a refresh asks by."""
        return refreshing.sign_of_facts(*self.signs.values())

    @property
    def charts(self) -> list[tuple[str, Chart]]:
        return [(one.line.name, one.chart) for one in self.sweeps]


def _paused(line: Line) -> Notice:
    assert line.paused is not None
    when = words.day_and_time(line.paused.at, g.now, g.zone)
    says = _(
        "%(name)s has been paused since %(when)s, by %(who)s", name=line.name, when=when, who=line.paused.by
    )
    says = f"{says}: {line.paused.reason}" if line.paused.reason else f"{says}."
    url = url_for("sweeps.show", tenant=g.tenant.key, name=line.key)
    return Notice(says, url, _("Show %(name)s", name=line.name))


def _held(holds: Sequence[AgentHold]) -> Iterator[Notice]:
    """Each of the first few agents that are held; the others are on their page."""
    for hold in holds[:NAMED]:
        when = words.day_and_time(hold.at, g.now, g.zone)
        says = _(
            "%(agent)s has been on hold since %(when)s, by %(who)s", agent=hold.agent, when=when, who=hold.by
        )
        says = f"{says}: {hold.reason.rstrip('.')}." if hold.reason else f"{says}."
        url = url_for("agents.show", tenant=g.tenant.key, agent=hold.agent)
        yield Notice(f"{says} {_('What comes due for it waits.')}", url, _("Show %(name)s", name=hold.agent))
    more = len(holds) - NAMED
    if more > 0:
        says = ngettext("%(num)s more agent is on hold.", "%(num)s more agents are on hold.", more)
        yield Notice(says, url_for("agents.index", tenant=g.tenant.key), _("Show the agents"))
