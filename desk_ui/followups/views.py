"""What the follow-ups templates show: each value in words, so that the templates stay dumb."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple, Self
from uuid import UUID

from markupsafe import Markup

from desk_ui import refreshing, words
from desk_ui.addresses import asking, in_tenant
from desk_ui.bulk.kinds import Offered
from desk_ui.followups import asides, asked, hands, next_run, queries
from desk_ui.followups.asked import Task
from desk_ui.followups.queries import Entry, Filters, Row, Scene, Tab
from desk_ui.followups.waiting import Waiting
from desk_ui.handling import marks
from desk_ui.handling.marks import On
from desk_ui.listing import Listing
from desk_ui.marks import Mark
from desk_ui.permissions import Permission, refusal
from desk_ui.rows import Shape, slot
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models.base import db
from models.errors import Conflict
from models.followups.records import REARMABLE, UNFINISHED, Block, FollowUp, Status

NIL = UUID(int=0)
TABS = {
    Tab.PENDING: (_l("Pending"), _l("soonest first")),
    Tab.OVERDUE: (_l("Overdue"), _l("longest overdue first")),
    Tab.BLOCKED: (_l("Blocked"), _l("newest first")),
    Tab.FIRED: (_l("Fired"), _l("newest first")),
    Tab.CANCELLED: (_l("Cancelled"), _l("newest first")),
}


def mark(row: Row | FollowUp, *, overdue: bool = False, held: bool = False, wants: str = "") -> Mark:
    """`wants` says in words what is to be looked at of the task of a fired one."""
    if row.status == Status.FIRED and wants:
        return Mark("half", "warn", wants)
    if row.status == Status.PENDING:
        if overdue:
            return Mark("triangle", "bad", _("Overdue"))
        return Mark("pause", "idle", _("Held")) if held else Mark("ring", "idle", _("Pending"))
    return {
        Status.FIRED: Mark("disc", "good", _("Fired")),
        Status.BLOCKED: Mark("square", "warn", _("Blocked")),
        Status.CANCELLED: Mark("cross", "idle", _("Cancelled")),
    }[Status(row.status)]


def became(row: Row | FollowUp, scene: Scene) -> str:
    """What became of a row that can't be cancelled: `Fired 3 s ago`."""
    when = words.relative(row.fired_at or row.updated_at, scene.now, scene.zone)
    return f"{mark(row).word} {when}"


def why_refused(row: Row | FollowUp, fault: Conflict, scene: Scene, last: Entry | None, cannot: str) -> str:
    """The words of a refused act, with what happened meanwhile, and who did it where that is known.

    `cannot` says what can't be done: `it can't be cancelled`.
    """
    if row.status == Status.FIRED or (row.status == Status.BLOCKED and last and "blocked" in last.action):
        return _("%(became)s, so %(cannot)s.", became=became(row, scene), cannot=cannot)
    if last is None:
        return fault.detail
    return _(
        "%(what)s %(when)s by %(who)s, so nothing was done.",
        what=words.action(last.action, refused=False),
        when=words.distance(last.at, scene.now),
        who=words.actor(last.actor_type, last.actor),
    )


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of each row, with a slot for its id."""

    shown: str
    cancel: str
    reschedule: str
    rearm: str
    again: str

    @classmethod
    def of(cls, query: str) -> Self:
        """Each with the list's own `query`, to come back to."""
        back = {"list": query} if query else {}
        return cls(
            shown=cls._address("show", back),
            again=cls._address("show", back, "again"),
            cancel=cls._address("cancel", {}),
            reschedule=cls._address("ask_reschedule", {**back, "shown": "row"}),
            rearm=cls._address("ask_rearm", {**back, "shown": "row"}),
        )

    @staticmethod
    def _address(endpoint: str, given: dict[str, str], id: str = "id") -> str:
        path = in_tenant(f"followups.{endpoint}", followup_id=NIL)
        return asking(path.replace(str(NIL), slot(id)), given)


class Stands(NamedTuple):
    """What decides the shape of a row: those that stand alike are drawn alike. `left` is out of the list."""

    status: str
    late: bool
    rests: bool
    again: bool
    left: bool
    taken: bool
    on: bool
    wants: str


@dataclass(frozen=True)
class ListView(Listing[Filters, Row]):
    """The list page."""

    endpoint = "followups.index"
    label = _l("Follow-ups by state")
    tabs = TABS
    hot = frozenset({Tab.OVERDUE})
    names = {
        "agent": _l("Agent"),
        "arm": _l("Arm"),
        "reason": _l("Reason"),
        "customer": _l("Customer"),
        "blocked": _l("Blocked"),
        "task": _l("Task"),
        "since": _l("From"),
        "until": _l("Before"),
    }

    scene: Scene = field(kw_only=True)
    waiting: Waiting | None = None
    again: Mapping[UUID, UUID] = field(default_factory=dict)
    left: frozenset[UUID] = frozenset()

    @property
    def agents(self) -> list[str]:
        return queries.agents(self.scene.declared, self.filters)

    @cached_property
    def may_act(self) -> bool:
        return refusal(Permission.ACT_ON_FOLLOWUPS) is None

    @cached_property
    def bulk(self) -> Offered:
        return Offered("followups", self.filters.tab, may=self.has_acts, rows=self.page.rows)

    @property
    def has_acts(self) -> bool:
        return self.filters.tab is not Tab.FIRED and self.may_act

    def shown_value(self, name: str, value: str) -> str:
        if name == "blocked":
            return words.block(value)
        if name == "task":
            return _("not finished")
        return value.replace("T", " ") if name in ("since", "until") else value

    def url_of_tab(self, tab: Tab) -> str:
        """Without the cause and the task, which only one tab has."""
        blocked = self.filters.blocked if tab is Tab.BLOCKED else None
        return self.url(tab=tab, blocked=blocked, task=self.filters.task if tab is Tab.FIRED else None)

    @property
    def later(self) -> str:
        return _("Later ones") if self.filters.oldest_first else super().later

    @property
    def order(self) -> str:
        by_task = self.filters.oldest_first and not self.filters.tab.waits
        return _("longest waiting first") if by_task else super().order

    @property
    def blocks(self) -> list[tuple[str, str]]:
        return [(block.value, words.block(block)) for block in Block]

    @cached_property
    def addresses(self) -> Addresses:
        return Addresses.of(self.query)

    def url_of(self, followup_id: UUID) -> str:
        """The page of one follow-up, which leads back to this list."""
        return self.addresses.shown.replace(slot("id"), str(followup_id))

    def drawn(self, row: Callable[[str, bool, Mark, bool, bool], str]) -> Markup:
        """The rows. The template's `row(acts, gone, mark, taken, on)` draws the shape of those alike."""
        shapes: dict[Stands, Shape] = {}
        found = []
        for one in self.page.rows:
            stands = self._stands(one)
            if stands not in shapes:
                seen = mark(one, overdue=stands.late, held=stands.rests, wants=stands.wants)
                shapes[stands] = Shape(row(*self._kind(one, stands), seen, stands.taken, stands.on))
            found.append(shapes[stands].filled(self._values(one)))
        return Markup("".join(found))

    @cached_property
    def on(self) -> dict[UUID, On]:
        """Who is on those that need a person."""
        return hands.on_rows(self.page.rows, self.scene, self.again, self.unfinished)

    @property
    def next_run(self) -> Markup:
        """What stands beside a row that the next run takes, with when that is."""
        return next_run.moment(self.scene)

    def _stands(self, row: Row) -> Stands:
        late = row.overdue if row.status == Status.PENDING else row.id in self.unfinished
        left = row.status != self.filters.tab.status or row.id in self.left
        taken = not left and asides.awaits_a_run(row, self.scene)
        on = row.id in self.on
        rests, again = row.held or self.scene.paused, row.id in self.again
        task = self.tasks.get(row.id)
        wants = (task.wants(self.scene.waiting_since) if task else None) or ""
        return Stands(row.status, late, rests, again, left, taken, on, wants)

    def sign_of(self, row: Row) -> str:
        stands = self._stands(row)
        # When one that fired was due is not said where that is when it fired: that changes as time passes.
        said = "" if row.status == Status.FIRED and not stands.wants else self._asides[row.id]
        shown = row.version, *stands, self._when(row), said, self.on.get(row.id)
        return refreshing.sign(*shown, self.scene.zone, self.has_acts)

    @property
    def beside(self) -> Sequence[object]:
        return self.waiting_sign, self.scene.paused

    @property
    def waiting_sign(self) -> str:
        tasks = self.waiting.tasks if self.waiting else ()
        return refreshing.sign(*(f"{task.id} {task.status}" for task in tasks))

    @cached_property
    def tasks(self) -> dict[UUID, Task]:
        """Of the fired ones on this page, the tasks that want looking at."""
        return asked.wanting(db.session(), self.scene, self.page.rows)

    @cached_property
    def unfinished(self) -> frozenset[UUID]:
        """The fired ones on this page whose task waits for too long."""
        return frozenset(id for id, task in self.tasks.items() if task.status in UNFINISHED)

    @staticmethod
    def _kind(row: Row, stands: Stands) -> tuple[str, bool]:
        """Which acts a row has (`waiting`, `over`, `again` or none), and whether it left the list."""
        if stands.left:
            return "", True
        if row.status == Status.PENDING:
            return "waiting", False
        if row.status not in REARMABLE:
            return "", False
        return ("again" if stands.again else "over"), False

    def _values(self, row: Row) -> dict[str, object]:
        at, zone = self._when(row), self.scene.zone
        on = marks.values(self.on.get(row.id), self.scene.now, zone) if self.on else {}
        return {
            **on,
            "id": row.id,
            "at": at.isoformat(),
            "when": self._due(at)
            if row.status == Status.PENDING
            else words.relative(at, self.scene.now, zone),
            "past": _("due {}") if row.status == Status.PENDING else "",
            "exact": words.exact(at, zone),
            "whole": self._for_both(at, row),
            "aside": self._asides[row.id],
            "again": self.again.get(row.id, ""),
            "v": self.signs[row.id],
            "customer": row.customer,
            "reason": row.reason,
            "agent": row.agent,
            "arm": row.arm,
            "version": row.version,
        }

    def _due(self, at: datetime) -> str:
        when = words.relative(at, self.scene.now, self.scene.zone)
        return _("due {}").format(when) if at < self.scene.now else when

    def _for_both(self, at: datetime, row: Row) -> str:
        """The exact moment, and what the customer's clocks show then where they show another."""
        exact = words.exact(at, self.scene.zone)
        if not row.zone or row.zone == self.scene.zone:
            return exact
        return _("%(exact)s; %(at)s for the customer", exact=exact, at=words.clock(at, row.zone))

    @cached_property
    def _asides(self) -> dict[UUID, str]:
        return {row.id: self._aside(row) for row in self.page.rows}

    def _aside(self, row: Row) -> str:
        said = asides.aside(row, self.scene, self.tasks.get(row.id))
        # Where there are acts, it stands in their place.
        if row.id not in self.again or self.has_acts:
            return said
        return _("%(said)s; booked again", said=said) if said else _("booked again")

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
