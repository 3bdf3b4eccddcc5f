"""Each thing that needs a person: what happened, what will not, what the desk will do, and the way there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from flask import current_app, g, url_for
from flask_babel import ngettext
from markupsafe import Markup

from desk_ui import local_time, words
from desk_ui.overview.queries import DEAD, REVIEW, Found
from desk_ui.requests import settings_of
from desk_ui.sweeps import telling
from desk_ui.sweeps.lines import Line
from desk_ui.translating import gettext as _
from models import endpoint_urls
from models.endpoint_needs import Paused
from models.followups import needs
from models.followups.records import Block
from models.followups.standing import BLOCK_NEEDS_A_PERSON_FOR

NAMED = 3


@dataclass(frozen=True, slots=True)
class Thing:
    """One line of the overview, of which each area has one by its `key`.

    `since` is None where nobody knows; `url` where there is no page for it; a run takes it at `taken_at`.
    """

    area: str
    key: str
    number: int
    since: datetime | None
    title: str
    says: str
    url: str | None = None
    tone: str = "bad"
    taken: int = 0
    taken_at: datetime | None = None

    @property
    def id(self) -> str:
        return f"{self.area}-{self.key}"

    @property
    def handled(self) -> str:
        """How many of it somebody is on; empty where nobody is."""
        if not self.taken:
            return ""
        if self.number == 1:
            return _("Somebody is on it.")
        return _("Somebody is on %(n)s of them.", n=telling.number(self.taken))

    @property
    def verb(self) -> str:
        """What its button says: to where, or how many it shows."""
        if self.area in ("sweeps", "agents"):
            return _("Show the sweep") if self.area == "sweeps" else _("Show the agents")
        if self.tone == "warn" and self.area == "deliveries":
            return _("Show the endpoint")
        return _("Show it") if self.number == 1 else _("Show %(n)s", n=self.count)

    @property
    def count(self) -> str:
        return telling.number(self.number)

    @property
    def waits_since(self) -> datetime:
        return self.since or g.now


def things(found: Found) -> list[Thing]:
    """Area by area, the area with the oldest first; within one, the oldest first."""
    known = [thing for thing in _all(found) if thing.number]
    first: dict[str, datetime] = {}
    for thing in known:
        first[thing.area] = min(first.get(thing.area, g.now), thing.waits_since)
    return sorted(known, key=lambda thing: (first[thing.area], thing.area, thing.waits_since))


def next_run(found: Found) -> datetime | None:
    """When due follow-ups are taken next, unless that is in doubt."""
    firing = next((line for line in found.sweeps if line.key == "fire_followups"), None)
    if firing is None or firing.paused or firing.late_since is not None:
        return None
    return max(firing.next_due_at, g.now)


def _all(found: Found) -> Iterator[Thing]:
    yield from _unreadable(found)
    yield from map(_late, found.late)
    yield _overdue(found)
    yield from (_blocked(found, block) for block in found.blocked)
    yield _tasks(found)
    yield _review(found)
    yield from _unusable(found)
    yield _faults(found)
    yield _dead(found)
    yield from map(_paused_endpoint, found.paused_endpoints)


def _late(line: Line) -> Thing:
    runs = _("It should run %(every)s, and no run ended well since then.", every=telling.every(line.every))
    return Thing(
        "sweeps",
        line.key,
        1,
        line.late_since,
        _("%(name)s is late", name=line.name),
        f"{runs} {_('What it does waits: look whether its worker runs.')}",
        url_for("sweeps.show", tenant=g.tenant.key, name=line.key),
    )


def _overdue(found: Found) -> Thing:
    number, at = found.overdue.number, next_run(found)
    says = _("Due, and taken by no run so far. Nothing was sent.")
    return Thing(
        "followups",
        needs.OVERDUE,
        number,
        found.overdue.since,
        ngettext("Follow-up is overdue", "Follow-ups are overdue", number),
        says if at else f"{says} {_('That waits until Firing runs again.')}",
        _list(tab="overdue"),
        taken=found.taken.get(needs.OVERDUE, 0),
        taken_at=at,
    )


def _blocked(found: Found, block: Block) -> Thing:
    need = found.blocked[block]
    why = words.block(block)
    because = _("Nothing was sent, and nothing will be without re-arming.")
    if block is Block.POLICY_INVALID:
        because = f"{because} {_('The policy in desk.toml must be corrected first.')}"
    return Thing(
        "followups",
        block.value,
        need.number,
        need.since,
        ngettext("Follow-up blocked: %(why)s", "Follow-ups blocked: %(why)s", need.number, why=why),
        because,
        _list(
            tab="blocked",
            blocked=block.value,
            since=local_time.typed(g.now - BLOCK_NEEDS_A_PERSON_FOR, g.zone),
        ),
        "warn",
        taken=found.taken.get(block.value, 0),
    )


def _tasks(found: Found) -> Thing:
    after = words.span(settings_of(current_app).attention_after)
    heard = _(
        "Not taken, or not finished, for over %(after)s: the customer may have heard nothing.", after=after
    )
    return Thing(
        "followups",
        needs.TASKS,
        found.tasks.number,
        found.tasks.since,
        ngettext("Task that no agent finished", "Tasks that no agent finished", found.tasks.number),
        f"{heard} {_('The desk never gives the same task out twice; ask whoever runs the agent.')}",
        _list(tab="fired", task="unfinished"),
        taken=found.taken.get(needs.TASKS, 0),
    )


def _review(found: Found) -> Thing:
    return Thing(
        "executions",
        REVIEW,
        found.review.number,
        found.review.since,
        ngettext("Execution needs review", "Executions need review", found.review.number),
        _("A run broke off, or not all of it is known to be done. No machine goes on with it."),
        url_for("executions.index", tenant=g.tenant.key),
        taken=found.taken.get(REVIEW, 0),
    )


def _unusable(found: Found) -> Iterator[Thing]:
    agents, due = found.unusable.agents, found.unusable.next_due_at
    if not agents:
        return
    when = words.ticking(due, g.now) if due and due > g.now else _("at the next run")
    said = _("What waits for %(agents)s is blocked when it comes due: the next %(when)s.")
    blocked = Markup(said) % {"agents": named(agents), "when": when}
    then = _("The policy in desk.toml must be corrected before that.")
    yield Thing(
        "agents",
        "unusable",
        len(agents),
        None,
        ngettext("Agent whose policy can't be used", "Agents whose policy can't be used", len(agents)),
        blocked + " " + then,
        url_for("agents.index", tenant=g.tenant.key),
    )


def _unreadable(found: Found) -> Iterator[Thing]:
    if found.unreadable:
        fault = found.unreadable
        says = _("%(fault)s. The last good version stays in force, so nothing stops.", fault=fault)
        yield Thing("set-up", "unreadable", 1, None, _("desk.toml can't be used"), says)


def _faults(found: Found) -> Thing:
    """What is wrong in desk.toml besides the policies that are a line of their own."""
    told = tuple(f"agents.{agent}." for agent in found.unusable.agents)
    faults = [str(fault) for fault in found.faults if not fault.path.startswith(told)]
    return Thing(
        "set-up",
        "faults",
        len(faults),
        None,
        ngettext("Fault in desk.toml", "Faults in desk.toml", len(faults)),
        _("%(faults)s. The rest of the file is in force.", faults=named(faults, "; ")),
    )


def _dead(found: Found) -> Thing:
    return Thing(
        "deliveries",
        DEAD,
        found.dead.number,
        found.dead.since,
        ngettext("Delivery given up", "Deliveries given up", found.dead.number),
        _("The endpoint did not take it at any attempt. Nothing is sent again without re-arming."),
        url_for("deliveries.index", tenant=g.tenant.key, tab="dead"),
        taken=found.taken.get(DEAD, 0),
    )


def _paused_endpoint(one: Paused) -> Thing:
    origin = endpoint_urls.origin(one.url)
    if one.reason:
        why = one.reason.rstrip(".")
        says = _("%(who)s paused %(origin)s: %(why)s.", who=one.by, origin=origin, why=why)
    else:
        says = _("%(who)s paused %(origin)s.", who=one.by, origin=origin)
    return Thing(
        "deliveries",
        str(one.id),
        one.number,
        one.since,
        ngettext(
            "Endpoint paused: %(n)s waits",
            "Endpoint paused: %(n)s wait",
            one.number,
            n=telling.number(one.number),
        ),
        f"{says} {_('Nothing is sent to it until it is resumed.')}",
        url_for("endpoints.show", tenant=g.tenant.key, endpoint_id=one.id),
        "warn",
    )


def _list(**filters: str) -> str:
    return url_for("followups.index", tenant=g.tenant.key, **filters)


def named(names: Sequence[str], between: str = ", ") -> str:
    """The first few, and how many more there are."""
    more = len(names) - NAMED
    rest = f" {ngettext('and %(num)s more', 'and %(num)s more', more)}" if more > 0 else ""
    return between.join(names[:NAMED]) + rest
