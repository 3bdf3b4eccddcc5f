"""What the endpoints templates show: each value in words, so that the templates stay dumb."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from flask import g, url_for
from flask_babel import ngettext

from desk_ui import words
from desk_ui.deliveries import views as deliveries
from desk_ui.deliveries.queries import Row as DeliveryRow
from desk_ui.endpoints import queries
from desk_ui.endpoints.queries import Row, Test
from desk_ui.marks import Mark
from desk_ui.permissions import Permission, refusal
from desk_ui.translating import gettext as _
from models import endpoint_urls, endpoints
from models.endpoints import ALL, EndpointState


def mark(row: Row) -> Mark:
    if row.state == EndpointState.PAUSED:
        return Mark("pause", "idle", _("Paused"))
    if row.failures:
        return Mark("square", "warn", _("Failing"))
    return Mark("disc", "good", _("Active"))


def types(row: Row) -> str:
    """Which events it gets, in one line and in words; their codes stand on its page."""
    if row.event_types == [ALL]:
        return _("all events")
    if len(row.event_types) == 1:
        return words.event_alone(row.event_types[0])
    said = ", ".join(str(words.EVENTS.get(name, name)) for name in row.event_types)
    return _("%(n)s kinds: %(events)s", n=words.number(len(row.event_types)), events=said)


def refusal_to_change() -> str | None:
    return refusal(Permission.ENDPOINTS)


def refusal_to_pause(row: Row) -> str | None:
    return refusal_to_change() or (None if row.state == EndpointState.ACTIVE else _("It is paused already."))


def refusal_to_resume(row: Row) -> str | None:
    return refusal_to_change() or (None if row.state == EndpointState.PAUSED else _("It is not paused."))


def refusal_to_test(row: Row) -> str | None:
    """Why the button is off; the route asks the same two predicates."""
    return refusal_to_change() or endpoints.refusal_to_test(row.state)


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the list in words."""

    row: Row
    mark: Mark
    origin: str
    types: str
    failures: str
    url: str


@dataclass(frozen=True)
class ListView:
    """The list page; a tenant has few endpoints, so all are on it."""

    rows: list[Row]

    @property
    def refusal(self) -> str | None:
        return refusal_to_change()

    @property
    def lines(self) -> Iterator[Line]:
        for row in self.rows:
            yield Line(
                row=row,
                mark=mark(row),
                origin=endpoint_urls.origin(row.url),
                types=types(row),
                failures=failures(row),
                url=url_for("endpoints.show", tenant=g.tenant.key, endpoint_id=row.id),
            )


def failures(row: Row) -> str:
    if not row.failures:
        return _("none")
    return words.number(row.failures)


@dataclass(frozen=True)
class DetailView:
    """The page of one endpoint: `waiting` deliveries to it are open, `recent` the ones that matter most."""

    row: Row
    waiting: int
    recent: list[DeliveryRow]
    failed: queries.Failed
    test: Test | None

    @property
    def origin(self) -> str:
        return endpoint_urls.origin(self.row.url)

    @property
    def hides_more(self) -> bool:
        """Whether the address holds more than is shown."""
        return self.row.url.rstrip("/") != self.origin

    @cached_property
    def mark(self) -> Mark:
        return mark(self.row)

    @property
    def paused(self) -> bool:
        return self.row.state == EndpointState.PAUSED

    @property
    def paused_says(self) -> str:
        """Who paused it, when and why, as far as that is kept."""
        row = self.row
        if row.paused_at is None:
            return _("It is paused.")
        when = words.relative(row.paused_at, g.now, g.zone)
        if not row.paused_reason:
            return _("Paused %(when)s by %(who)s.", when=when, who=row.paused_by)
        why = row.paused_reason.rstrip(".")
        return _("Paused %(when)s by %(who)s: %(why)s.", when=when, who=row.paused_by, why=why)

    @property
    def takes_all(self) -> bool:
        return self.row.event_types == [ALL]

    @property
    def failures(self) -> str:
        return failures(self.row)

    @property
    def refusal(self) -> str | None:
        return refusal_to_change()

    @property
    def refusal_to_test(self) -> str | None:
        return refusal_to_test(self.row)

    @property
    def lines(self) -> list[deliveries.Line]:
        return [deliveries.line(row) for row in self.recent]

    @property
    def lead(self) -> str:
        """How it stands, in one or two sentences."""
        if self.paused:
            rests = _("Nothing is sent to it until it is resumed: %(n)s.", n=waits(self.waiting))
            return f"{self.paused_says} {rests}"
        if self.row.failures:
            return ngettext(
                "The last attempt failed. It is sent one event at a time until it takes one.",
                "The last %(num)s attempts failed. It is sent one event at a time until it takes one.",
                self.row.failures,
            )
        if self.row.delivered_at is None:
            return _("Nothing was delivered to it yet. Send a test to see whether it answers.")
        at = words.distance(self.row.delivered_at, g.now)
        return _("It took the last delivery %(when)s.", when=at)

    @property
    def test_says(self) -> str:
        """What became of the last test; empty where there was none."""
        if self.test is None:
            return ""
        at = words.distance(self.test.at, g.now)
        if self.test.state is not None:
            state = words.DELIVERIES[self.test.state]
            return _("asked for %(when)s: %(state)s", when=at, state=state)
        if self.test.published:
            return _("asked for %(when)s: no delivery of it is kept", when=at)
        return _("asked for %(when)s: it waits for the next run; reload to see", when=at)


def waits(number: int) -> str:
    """`3 deliveries wait`, `no delivery waits`; capped as all counts are."""
    if not number:
        return _("no delivery waits")
    if number == 1:
        return _("1 delivery waits")
    return _("%(n)s deliveries wait", n=words.count(number))
