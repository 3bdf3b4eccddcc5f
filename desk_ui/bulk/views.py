"""What the bulk templates show: each operation and each of its results in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from flask import g, url_for
from flask_babel import lazy_gettext as _l

from desk_ui import refreshing, words
from desk_ui.addresses import asking, in_tenant
from desk_ui.areas import SET_UP, WORK
from desk_ui.bulk.kinds import KINDS, Kind
from desk_ui.bulk.queries import Filters, Result, Results
from desk_ui.listing import Listing
from desk_ui.marks import Mark
from desk_ui.paging import ROWS
from desk_ui.permissions import refusal
from desk_ui.translating import gettext as _
from models.bulk_operations import BulkOperation, ItemState, State

BECAME = {
    ItemState.DONE: _l("Done"),
    ItemState.NOT_DONE: _l("Not done"),
    ItemState.LEFT_OUT: _l("Left as it was"),
    ItemState.WAITING: _l("Waiting"),
}


def mark(operation: BulkOperation) -> Mark:
    if operation.state == State.RUNNING:
        return Mark("half", "idle", _("Running"))
    if operation.state == State.STOPPED:
        return Mark("cross", "idle", _("Stopped"))
    if operation.not_done:
        return Mark("square", "warn", _("Ended, not all done"))
    return Mark("disc", "good", _("Done"))


def mark_of(state: str) -> Mark:
    shape, tone = {
        ItemState.DONE: ("disc", "good"),
        ItemState.NOT_DONE: ("square", "warn"),
        ItemState.LEFT_OUT: ("cross", "idle"),
        ItemState.WAITING: ("ring", "idle"),
    }[ItemState(state)]
    return Mark(shape, tone, str(BECAME[ItemState(state)]))


def title(operation: BulkOperation) -> str:
    """`Cancel 3,412 follow-ups`."""
    return KINDS[operation.verb].on(operation.requested)


def counted(operation: BulkOperation) -> str:
    """`3,200 done, 212 not done.`"""
    found = [_("%(n)s done", n=words.number(operation.done))]
    for number, text in (
        (operation.not_done, _("%(n)s not done", n=words.number(operation.not_done))),
        (operation.left_out, _left(operation.left_out)),
        (operation.waiting, _("%(n)s to go", n=words.number(operation.waiting))),
    ):
        if number:
            found.append(text)
    return ", ".join(found)


def _left(number: int) -> str:
    if number == 1:
        return _("1 left as it was")
    return _("%(n)s left as they were", n=words.number(number))


@dataclass(frozen=True, slots=True)
class Line:
    """One operation of the list in words."""

    row: BulkOperation
    mark: Mark
    title: str
    url: str
    counted: str
    where: str


@dataclass(frozen=True)
class ListView(Listing[Filters, BulkOperation]):
    """The page of all operations."""

    endpoint = "bulk.index"
    label = _l("Bulk work")
    rows_url = ""

    @property
    def order(self) -> str:
        return _("newest first")

    @property
    def lines(self) -> Iterator[Line]:
        for row in self.page.rows:
            url = url_for("bulk.show", tenant=g.tenant.key, operation_id=row.id)
            yield Line(row, mark(row), title(row), url, counted(row), meant(row))

    def sign_of(self, row: BulkOperation) -> str:
        return refreshing.sign_of_facts(row.id, row.state, row.done, row.not_done, row.left_out, g.zone)

    @property
    def nothing(self) -> tuple[str, str]:
        return _("No bulk work yet"), _("Tick rows of a list to act on many at once.")


def meant(operation: BulkOperation) -> str:
    """Which rows it was about: all that matched a filter, or some that were chosen."""
    if operation.watermark is None:
        return _("chosen one by one")
    return _("all that matched: %(list)s", list=narrowed(operation))


def narrowed(operation: BulkOperation) -> str:
    """The tab and the filters of the list that it was begun in, in words."""
    return KINDS[operation.verb].narrowed(asking("", dict(operation.filters)).removeprefix("?"))


@dataclass(frozen=True)
class DetailView:
    """The page of one operation with a part of its results."""

    operation: BulkOperation
    wanted: Results
    found: Sequence[Result]
    after: int
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        return KINDS[self.operation.verb]

    @property
    def is_running(self) -> bool:
        return self.operation.state == State.RUNNING

    @property
    def title(self) -> str:
        return title(self.operation)

    @property
    def mark(self) -> Mark:
        return mark(self.operation)

    @property
    def counted(self) -> str:
        return counted(self.operation)

    @property
    def list_url(self) -> str:
        """The list that it was begun in, with its tab and its filters."""
        return asking(in_tenant(f"{self.kind.area}.index"), dict(self.operation.filters))

    @property
    def list_name(self) -> str:
        """`Follow-ups: Pending, Agent: billing`."""
        area = next(str(area.name) for area in (*WORK, *SET_UP) if area.key == self.kind.area)
        return f"{area}: {narrowed(self.operation)}"

    @property
    def over(self) -> int:
        """How many had their turn: what was left out by a stop had none."""
        return self.operation.done + self.operation.not_done

    @cached_property
    def further(self) -> str:
        """What is to be said beside the counts once it has ended; read once, not each two seconds."""
        return "" if self.is_running else self.kind.further(self.operation)

    @cached_property
    def facts(self) -> list[tuple[str, str]]:
        one = self.operation
        found = [
            (_("Asked for by"), words.actor(one.actor_type, one.actor_label)),
            (_("Why"), one.reason),
            (_("Which"), meant(one)),
            *self.kind.told(one.options),
            (_("Begun"), words.exact(one.created_at, g.zone)),
        ]
        if one.watermark is not None:
            found.append((_("As of"), words.exact(one.watermark, g.zone)))
        return found

    @property
    def refusal_to_stop(self) -> str | None:
        return refusal(self.kind.permission)

    @property
    def tabs(self) -> Iterator[tuple[str, str, int, bool]]:
        """Each kind of result that there is: name, address, number, and whether it is shown."""
        one = self.operation
        yield _("All"), self.url(), one.requested, self.wanted.became is None
        for state, number in (
            (ItemState.NOT_DONE, one.not_done),
            (ItemState.DONE, one.done),
            (ItemState.LEFT_OUT, one.left_out),
        ):
            if number or self.wanted.became is state:
                yield str(BECAME[state]), self.url(became=state), number, self.wanted.became is state

    @property
    def stop_url(self) -> str:
        return self._here(f"{self.kind.area}.bulk_stop")

    @property
    def progress_url(self) -> str:
        return self._here("bulk.progress")

    def _here(self, endpoint: str) -> str:
        """An address that answers with the results which stand here."""
        return self._at(endpoint, became=self.wanted.became, after=self.after or None)

    def export_url(self, kind: str) -> str:
        return self._at("bulk.export", kind=kind, became=self.wanted.became)

    def _at(self, endpoint: str, **given: object) -> str:
        return url_for(endpoint, tenant=g.tenant.key, operation_id=self.operation.id, **given)

    def url(self, **given: object) -> str:
        return self._at("bulk.show", **given)

    @property
    def rows(self) -> Iterator[tuple[Result, Mark, str, str]]:
        """Each result with its mark, its row in words, and the address of that where it is still there."""
        for one in self.found[:ROWS]:
            id = str(self.kind.as_id(one.row_id))
            name, url = self.names.get(one.row_id) or self.names.get(id) or (id, "")
            yield one, mark_of(one.state), name, url

    @property
    def url_after(self) -> str | None:
        if len(self.found) <= ROWS:
            return None
        became = self.wanted.became
        return self.url(became=became, after=self.found[ROWS - 1].position)
