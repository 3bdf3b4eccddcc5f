"""The rows of the list: each is worked out once a page, and those that stand alike are drawn alike."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Self
from uuid import UUID

from markupsafe import Markup

from desk_ui import refreshing, words
from desk_ui.addresses import asking, in_tenant
from desk_ui.followups import asides
from desk_ui.followups.asked import Task
from desk_ui.followups.marking import mark
from desk_ui.followups.queries import Row, Scene
from desk_ui.handling import marks
from desk_ui.handling.marks import On
from desk_ui.marks import Mark
from desk_ui.rows import Shape, slot
from desk_ui.translating import gettext as _
from models.followups.records import REARMABLE, UNFINISHED, Status

NIL = UUID(int=0)


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

    @property
    def acts(self) -> str:
        """Which acts a row has: `waiting`, `over`, `again` or none."""
        if self.left:
            return ""
        if self.status == Status.PENDING:
            return "waiting"
        if self.status not in REARMABLE:
            return ""
        return "again" if self.again else "over"

    @property
    def mark(self) -> Mark:
        return mark(self.status, overdue=self.late, held=self.rests, wants=self.wants)


class Line(NamedTuple):
    """A row with all that the list says of it; `at` is the moment that its tab orders by."""

    row: Row
    stands: Stands
    at: datetime
    aside: str
    again: UUID | None
    on: On | None
    sign: str


@dataclass(frozen=True)
class Lines:
    """What makes lines of rows: how the tenant stands, and what was read beside the rows, by their ids.

    `status` is that of the tab, and `left` names those that are out of the list for another cause.
    """

    scene: Scene
    status: Status
    has_acts: bool
    again: Mapping[UUID, UUID]
    left: frozenset[UUID]
    tasks: Mapping[UUID, Task]
    on: Mapping[UUID, On]

    def of(self, rows: Iterable[Row]) -> list[Line]:
        return [self._line(row) for row in rows]

    def _line(self, row: Row) -> Line:
        # An id takes long to look up, and most pages have none of these.
        task = self.tasks.get(row.id) if self.tasks else None
        again = self.again.get(row.id) if self.again else None
        on = self.on.get(row.id) if self.on else None
        stands = self._stands(row, task, again, on)
        at, aside = when(row), self._aside(row, task, again)
        # When one that fired was due is not said where that is when it fired: that changes as time passes.
        said = "" if row.status == Status.FIRED and not stands.wants else aside
        zones = self.scene.zone, row.zone
        sign = refreshing.sign_of_facts(row.version, *stands, at, said, on, again, *zones, self.has_acts)
        return Line(row, stands, at, aside, again, on, sign)

    def _stands(self, row: Row, task: Task | None, again: UUID | None, on: On | None) -> Stands:
        scene = self.scene
        left = row.status != self.status or (bool(self.left) and row.id in self.left)
        unfinished = task is not None and task.status in UNFINISHED
        return Stands(
            status=row.status,
            late=row.overdue if row.status == Status.PENDING else unfinished,
            rests=row.held or scene.paused,
            again=again is not None,
            left=left,
            taken=not left and asides.awaits_a_run(row, scene),
            on=on is not None,
            wants=(task.wants(scene.waiting_since) if task else None) or "",
        )

    def _aside(self, row: Row, task: Task | None, again: UUID | None) -> str:
        said = asides.aside(row, self.scene, task)
        # Where there are acts, it stands in their place.
        if again is None or self.has_acts:
            return said
        return _("%(said)s; booked again", said=said) if said else _("booked again")


def drawn(lines: Iterable[Line], scene: Scene, draw: Callable[..., str]) -> Markup:
    """The lines. The template's `draw(acts, gone, mark, taken, on)` draws the shape of those alike."""
    shapes: dict[Stands, Shape] = {}
    return Markup("".join(_drawn(lines, scene, draw, shapes)))


def _drawn(
    lines: Iterable[Line], scene: Scene, draw: Callable[..., str], shapes: dict[Stands, Shape]
) -> Iterator[str]:
    due = _("due {}")
    for line in lines:
        stands = line.stands
        shape = shapes.get(stands)
        if shape is None:
            seen = draw(stands.acts, stands.left, stands.mark, stands.taken, stands.on)
            shape = shapes[stands] = Shape(seen)
        yield shape.filled(_values(line, scene, due))


def _values(line: Line, scene: Scene, due: str) -> dict[str, object]:
    """What stands in the slots of a row. `due` says of a moment that is past that it was due then."""
    row, at, waits = line.row, line.at, line.stands.status == Status.PENDING
    relative, exact = words.relative(at, scene.now, scene.zone), words.exact(at, scene.zone)
    return {
        **(marks.values(line.on, scene.now, scene.zone) if line.on else {}),
        "id": row.id,
        "at": at.isoformat(),
        "when": due.format(relative) if waits and at < scene.now else relative,
        "past": due if waits else "",
        "exact": exact,
        "whole": _for_both(exact, at, row, scene.zone),
        "aside": line.aside,
        "again": line.again or "",
        "v": line.sign,
        "customer": row.customer,
        "reason": row.reason,
        "agent": row.agent,
        "arm": row.arm,
        "version": row.version,
    }


def _for_both(exact: str, at: datetime, row: Row, zone: str) -> str:
    """The exact moment, and what the customer's clocks show then where they show another."""
    if not row.zone or row.zone == zone:
        return exact
    return _("%(exact)s; %(at)s for the customer", exact=exact, at=words.clock(at, row.zone))


def when(row: Row) -> datetime:
    """The moment that the tab orders by."""
    if row.status == Status.PENDING:
        return row.due_at
    return row.fired_at or row.updated_at
