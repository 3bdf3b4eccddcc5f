"""What the follow-ups templates show: each value in words, so that the templates stay dumb."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from flask import current_app, g, url_for
from flask_babel import lazy_gettext as _l
from markupsafe import Markup

from desk_ui import words
from desk_ui.followups import queries
from desk_ui.followups.queries import Entry, Filters, Row, Scene, Tab
from desk_ui.followups.waiting import Waiting
from desk_ui.paging import Page
from desk_ui.permissions import Permission, refusal
from desk_ui.translating import gettext as _
from models.errors import Conflict, Invalid
from models.followups import transitions
from models.followups.records import Block, FollowUp, Status

NIL = UUID(int=0)
TABS = {
    Tab.PENDING: (_l("Pending"), _l("soonest first")),
    Tab.OVERDUE: (_l("Overdue"), _l("longest overdue first")),
    Tab.BLOCKED: (_l("Blocked"), _l("newest first")),
    Tab.FIRED: (_l("Fired"), _l("newest first")),
    Tab.CANCELLED: (_l("Cancelled"), _l("newest first")),
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A state by shape, colour and word."""

    shape: str
    tone: str
    word: str


def mark(row: Row | FollowUp, *, overdue: bool = False, held: bool = False) -> Mark:
    if row.status == Status.PENDING:
        if overdue:
            return Mark("triangle", "bad", _("Overdue"))
        return Mark("pause", "idle", _("Held")) if held else Mark("ring", "idle", _("Pending"))
    return {
        Status.FIRED: Mark("disc", "good", _("Fired")),
        Status.BLOCKED: Mark("square", "warn", _("Blocked")),
        Status.CANCELLED: Mark("cross", "idle", _("Cancelled")),
    }[Status(row.status)]


def refusal_to_cancel(row: Row | FollowUp) -> str | None:
    """Why the button is off; the route asks the same two predicates."""
    if row.status == Status.CANCELLED:
        return _("It is cancelled already.")
    return refusal(Permission.ACT_ON_FOLLOWUPS) or transitions.refusal_to_cancel(row)  # type: ignore[arg-type]


def became(row: Row | FollowUp, scene: Scene) -> str:
    """What became of a row that can't be cancelled: `Fired 3 s ago`."""
    when = words.relative(row.fired_at or row.updated_at, scene.now, scene.tenant.timezone)
    return f"{mark(row).word} {when}"


def why_not_cancelled(row: Row | FollowUp, fault: Conflict, scene: Scene, last: Entry | None) -> str:
    """The words of a refused cancel, with what happened meanwhile, and who did it where that is known."""
    if row.status in (Status.FIRED, Status.BLOCKED):
        return _("%(became)s, so it can't be cancelled.", became=became(row, scene))
    if last is None:
        return fault.detail
    return _(
        "%(what)s %(when)s by %(who)s, so nothing was done.",
        what=words.action(last.action, refused=False),
        when=words.distance(last.at, scene.now),
        who=words.actor(last.actor_type, last.actor),
    )


def left_out(fault: Invalid) -> str:
    """What of the address could not be used, in words."""
    if fault.field == "after":
        return _("This place in the list can't be found, so the list begins at its start.")
    if fault.field == "tab":
        return _("There is no such tab, so what is pending is shown.")
    if fault.field == "blocked":
        return _("There is no such cause, so all causes are shown.")
    name = names()[fault.field]
    return _("The filter %(name)s can't be used as it was given, so it was left out.", name=name)


def names() -> dict[str, str]:
    """The filters by name."""
    return {
        "agent": _("Agent"),
        "arm": _("Arm"),
        "reason": _("Reason"),
        "customer": _("Customer"),
        "blocked": _("Blocked"),
    }


def aside(row: Row, scene: Scene) -> str:
    """What matters next about a row, in the fewest words."""
    if row.status == Status.BLOCKED:
        return words.block(row.blocked_reason)
    if row.status == Status.CANCELLED:
        return _("by %(who)s", who=row.cancelled_by) if row.cancelled_by else ""
    if row.status == Status.FIRED:
        return _("was due %(when)s", when=words.relative(row.at, scene.now, scene.tenant.timezone))
    return _waiting_aside(row, scene)


def _waiting_aside(row: Row, scene: Scene) -> str:
    zone = scene.tenant.timezone
    if scene.paused:
        return _("follow-ups are switched off")
    if row.held:
        return _("the agent is on hold")
    if row.next_attempt_at is not None and row.next_attempt_at > scene.now:
        return _(
            "tried %(n)s times, again at %(at)s", n=row.attempts, at=words.clock(row.next_attempt_at, zone)
        )
    if row.deferred_until is not None and row.deferred_until > scene.now:
        return _("quiet hours end at %(at)s", at=words.clock(row.deferred_until, zone))
    quiet_until = scene.quiet_until(row.agent, max(row.due_at, scene.now))
    if quiet_until is not None:
        at = words.clock(quiet_until, zone)
        if row.due_at <= scene.now:
            return _("quiet hours now, until %(at)s", at=at)
        return _("quiet hours then, until %(at)s", at=at)
    if row.due_at <= scene.now:
        return _("no run took it yet") if row.overdue else _("the next run takes it")
    if row.zone and row.zone != zone:
        return _("%(at)s for the customer", at=words.clock(row.due_at, row.zone))
    return ""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the list in words; `cancel_url` is None where it can't be cancelled."""

    id: str
    gone: bool
    state: Markup
    at: str
    when: str
    exact: str
    aside: str
    url: str
    customer: str
    reason: str
    agent: str
    arm: str
    version: int
    cancel_url: str | None


@dataclass(frozen=True, slots=True)
class Addresses:
    """What stands before and after the id in the addresses of each row."""

    shown: tuple[str, ...]
    cancel: tuple[str, ...]


@dataclass(frozen=True)
class ListView:
    """The list page."""

    scene: Scene
    filters: Filters
    page: Page[Row]
    notes: list[str]
    after: str | None
    counts: dict[Tab, int | None] | None = None
    waiting: Waiting | None = None

    tabs = TABS

    @property
    def agents(self) -> list[str]:
        return queries.agents(self.scene.declared, self.filters)

    @cached_property
    def query(self) -> str:
        """The list's own address, place included, without the tenant: what a detail page leads back to."""
        return urlencode(self.filters.as_params() | self._place)

    @cached_property
    def here(self) -> str:
        """This page of the list."""
        return url_for("followups.index", tenant=g.tenant.key, **self.filters.as_params(), **self._place)

    @property
    def _place(self) -> dict[str, str]:
        return {"after": self.after} if self.after else {}

    @cached_property
    def may_act(self) -> bool:
        return refusal(Permission.ACT_ON_FOLLOWUPS) is None

    @property
    def has_acts(self) -> bool:
        return self.filters.tab.waits and self.may_act

    def url(self, **changes: Any) -> str:
        return url_for("followups.index", tenant=g.tenant.key, **self.filters.as_params(**changes))

    def url_after(self, cursor: str) -> str:
        return url_for("followups.index", tenant=g.tenant.key, **self.filters.as_params(), after=cursor)

    @property
    def counts_url(self) -> str:
        return url_for("followups.counts", tenant=g.tenant.key, **self.filters.as_params())

    @property
    def chips(self) -> list[tuple[str, str, str]]:
        """Each filter that is set: its name, its value, and the list without it."""
        return [
            (names()[name], words.block(value) if name == "blocked" else value, self.url(**{name: None}))
            for name, value in self.filters.narrows.items()
        ]

    @property
    def blocks(self) -> list[tuple[str, str]]:
        return [(block.value, words.block(block)) for block in Block]

    @property
    def lines(self) -> Iterator[Line]:
        """The rows in words. What is alike in all of them is made once: a page holds fifty."""
        tenant = g.tenant.key
        shown = url_for("followups.show", tenant=tenant, followup_id=NIL, list=self.query or None)
        cancel = url_for("followups.cancel", tenant=tenant, followup_id=NIL)
        addresses = Addresses(tuple(shown.split(str(NIL))), tuple(cancel.split(str(NIL))))
        states: dict[tuple[str, bool, bool], Markup] = {}
        for row in self.page.rows:
            stands = (row.status, row.overdue, row.held or self.scene.paused)
            if stands not in states:
                found = mark(row, overdue=stands[1], held=stands[2])
                states[stands] = current_app.jinja_env.globals["ui"].state(found)  # type: ignore[attr-defined]
            yield self._line(row, states[stands], addresses)

    def _line(self, row: Row, state: Markup, addresses: Addresses) -> Line:
        zone = self.scene.tenant.timezone
        at = self._when(row)
        gone = row.status != self.filters.tab.status
        id = str(row.id)
        acts = not gone and transitions.refusal_to_cancel(row) is None  # type: ignore[arg-type]
        return Line(
            id=id,
            gone=gone,
            state=state,
            at=at.isoformat(),
            when=words.relative(at, self.scene.now, zone),
            exact=words.exact(at, zone),
            aside=aside(row, self.scene),
            url=id.join(addresses.shown),
            customer=row.customer,
            reason=row.reason,
            agent=row.agent,
            arm=row.arm,
            version=row.version,
            cancel_url=id.join(addresses.cancel) if acts else None,
        )

    @staticmethod
    def _when(row: Row) -> datetime:
        """The moment that the tab orders by."""
        if row.status == Status.PENDING:
            return row.due_at
        return row.fired_at or row.updated_at

    @property
    def nothing(self) -> tuple[str, str]:
        """What an empty tab says."""
        return {
            Tab.PENDING: (
                _("Nothing is waiting"),
                _("New follow-ups come in over the API."),
            ),
            Tab.OVERDUE: (
                _("Nothing is overdue"),
                _("Those on hold, in quiet hours or switched off don't count."),
            ),
            Tab.BLOCKED: (_("Nothing was blocked"), _("No follow-up was held back.")),
            Tab.FIRED: (_("Nothing has fired yet"), _("Those that fire are kept here.")),
            Tab.CANCELLED: (_("Nothing was cancelled"), _("Those that are cancelled are kept here.")),
        }[self.filters.tab]
