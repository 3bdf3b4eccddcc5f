"""What the deliveries templates show: each value in words, so that the templates stay dumb."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from uuid import UUID

from flask import g, url_for
from flask_babel import lazy_gettext as _l
from flask_babel import ngettext

from desk_ui import refreshing, words
from desk_ui.bulk.kinds import Offered
from desk_ui.deliveries import answers, queries
from desk_ui.deliveries.queries import Filters, Row, Tab
from desk_ui.handling import marks
from desk_ui.handling.marks import On
from desk_ui.listing import Listing
from desk_ui.marks import Mark
from desk_ui.permissions import Permission, refusal
from desk_ui.translating import gettext as _
from models import deliveries, delivery_needs, endpoint_urls
from models.base import db
from models.deliveries import WAITING, State
from models.endpoints import EndpointState
from models.errors import Conflict
from models.sending import MOST_ATTEMPTS

SHORT_ID = 8
TABS = {
    Tab.FAILING: (_l("Failing"), _l("next attempt first")),
    Tab.DEAD: (_l("Given up"), _l("newest first")),
    Tab.PENDING: (_l("Pending"), _l("soonest first")),
    Tab.DELIVERED: (_l("Delivered"), _l("newest first")),
}
KINDS = {
    "followup": _l("follow-up"),
    "contact": _l("contact"),
    "task": _l("task"),
    "endpoint": _l("endpoint"),
    "sweep": _l("sweep"),
}


def mark(row: Row) -> Mark:
    if waits_for_endpoint(row):
        return Mark("pause", "idle", _("Waits"))
    return {
        State.PENDING: Mark("ring", "idle", _("Pending")),
        State.DELIVERING: Mark("half", "warn", _("Being sent")),
        State.DELIVERED: Mark("disc", "good", _("Delivered")),
        State.FAILED: Mark("square", "warn", _("Failing")),
        State.DEAD: Mark("triangle", "bad", _("Given up")),
    }[State(row.state)]


def waits_for_endpoint(row: Row) -> bool:
    """Whether it is sent no sooner than its endpoint is resumed, whatever its next attempt says."""
    return row.state in WAITING and row.endpoint_state == EndpointState.PAUSED


def refusal_to_rearm(row: Row) -> str | None:
    """Why the button is off; the route asks the same two predicates."""
    return refusal(Permission.ACT_ON_DELIVERIES) or deliveries.refusal_to_rearm(row.state, row.endpoint_state)


def refusal_to_send(row: Row) -> str | None:
    """Why the button is off; the route asks the same two predicates."""
    return refusal(Permission.ACT_ON_DELIVERIES) or deliveries.refusal_to_send_now(
        row.state, row.endpoint_state
    )


def why_refused(row: Row, fault: Conflict, cannot: str) -> str:
    """The words of a refused act, with what became of the delivery. `cannot`: `it can't be re-armed`."""
    if row.state == State.DELIVERED:
        when = words.relative(row.updated_at, g.now, g.zone)
        return _("Delivered %(when)s, so %(cannot)s.", when=when, cannot=cannot)
    if fault.detail in (refusal_to_rearm(row), refusal_to_send(row)):
        # It says how the delivery stands.
        return fault.detail
    return _("%(why)s It is %(state)s.", why=fault.detail, state=words.DELIVERIES[row.state])


def when(row: Row) -> datetime | None:
    """The moment that matters about it: its next attempt, when it was taken, or when it was over.

    None where it waits for somebody, so that no moment is known.
    """
    if waits_for_endpoint(row):
        return None
    if row.state == State.DELIVERING and row.claimed_at is not None:
        return row.claimed_at
    return row.order


def aside(row: Row) -> str:
    """What that moment is, in the fewest words."""
    if waits_for_endpoint(row):
        return _("until its endpoint is resumed")
    if row.state == State.DELIVERING:
        return _("taken to be sent")
    if row.state == State.DEAD:
        return _("given up")
    if row.state == State.DELIVERED:
        return _("delivered")
    if row.order <= g.now:
        return _("due, the next run takes it")
    return _("next attempt")


def about(row: Row) -> tuple[str, str | None]:
    """What the event is about: its kind and the start of its id; and the page of its follow-up."""
    if row.followup_id is not None:
        return _("follow-up %(id)s", id=row.followup_id[:SHORT_ID]), place_of(row.followup_id)
    kind = str(KINDS.get(row.aggregate_type, row.aggregate_type))
    return f"{kind} {row.aggregate_id[:SHORT_ID]}", None


def place_of(followup_id: str) -> str | None:
    """The page of the follow-up with this id, if it is one."""
    try:
        return url_for("followups.show", tenant=g.tenant.key, followup_id=UUID(followup_id))
    except ValueError:
        return None


def answer(row: Row) -> str:
    """The last answer or error, in one line."""
    return answers.says(row.last_status, row.last_error) or _("not sent yet")


def attempts(number: int) -> str:
    return ngettext("%(num)s attempt", "%(num)s attempts", number)


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the list in words; an act is None where it can't be done."""

    row: Row
    gone: bool
    mark: Mark
    event: str
    at: datetime | None
    aside: str
    about: str
    about_url: str | None
    origin: str
    endpoint_url: str | None
    answer: str
    attempts: str
    url: str
    rearm_url: str | None
    send_url: str | None
    on: On | None


def line(row: Row, *, gone: bool = False, query: str = "", on: On | None = None) -> Line:
    """`query` is the list that leads to the row, to come back to; `on` is who is on it."""
    tenant, given = g.tenant.key, query or None
    named, place = about(row)
    removed = row.endpoint_state == EndpointState.REMOVED
    ask = {"list": given, "shown": "row"}
    return Line(
        row=row,
        gone=gone,
        mark=mark(row),
        event=words.event_alone(row.event_type),
        at=when(row),
        aside=aside(row),
        about=named,
        about_url=place,
        origin=endpoint_urls.origin(row.url),
        endpoint_url=None
        if removed
        else url_for("endpoints.show", tenant=tenant, endpoint_id=row.endpoint_id),
        answer=answer(row),
        attempts=attempts(row.attempts),
        url=url_for("deliveries.show", tenant=tenant, delivery_id=row.id, list=given),
        rearm_url=None
        if gone or refusal_to_rearm(row)
        else url_for("deliveries.ask_rearm", tenant=tenant, delivery_id=row.id, **ask),
        send_url=None
        if gone or refusal_to_send(row)
        else url_for("deliveries.send", tenant=tenant, delivery_id=row.id),
        on=on,
    )


@dataclass(frozen=True)
class ListView(Listing[Filters, Row]):
    """The list page. `choices` are the endpoints: id, address and state."""

    endpoint = "deliveries.index"
    label = _l("Deliveries by state")
    tabs = TABS
    hot = frozenset({Tab.DEAD})
    names = {
        "receiver": _l("Endpoint"),
        "event": _l("Event"),
        "since": _l("From"),
        "until": _l("Before"),
    }

    choices: list[tuple[UUID, str, str]] = field(kw_only=True, default_factory=list)
    left: frozenset[int] = frozenset()

    @cached_property
    def may_act(self) -> bool:
        return refusal(Permission.ACT_ON_DELIVERIES) is None

    @cached_property
    def bulk(self) -> Offered:
        return Offered("deliveries", self.filters.tab, may=self.has_acts, rows=self.page.rows)

    @property
    def has_acts(self) -> bool:
        return self.may_act and self.filters.tab is not Tab.DELIVERED

    @cached_property
    def endpoints(self) -> list[tuple[str, str]]:
        """The endpoints to choose from, by origin; with the start of the id where two have the same."""
        origins = Counter(endpoint_urls.origin(url) for _id, url, _state in self.choices)
        return [
            (str(id), self._named(id, endpoint_urls.origin(url), state, origins))
            for id, url, state in self.choices
        ]

    @staticmethod
    def _named(id: UUID, origin: str, state: str, origins: Counter[str]) -> str:
        name = origin if origins[origin] == 1 else f"{origin} ({str(id)[:SHORT_ID]})"
        return _("%(name)s, removed", name=name) if state == EndpointState.REMOVED else name

    most_attempts = MOST_ATTEMPTS

    @property
    def types(self) -> list[tuple[str, str]]:
        return [(name, words.event(name)) for name in queries.TYPES]

    def shown_value(self, name: str, value: str) -> str:
        if name == "receiver":
            return dict(self.endpoints).get(value, value)
        return value.replace("T", " ") if name in ("since", "until") else value

    @property
    def later(self) -> str:
        return _("Later ones") if self.filters.tab.waits else super().later

    @property
    def lines(self) -> Iterator[Line]:
        for row in self.page.rows:
            yield line(row, gone=self._is_gone(row), query=self.query, on=self.on.get(row.id))

    @cached_property
    def on(self) -> dict[int, On]:
        """Who is on those that need a person."""
        rows = self.page.rows
        wanting = [row.id for row in rows if delivery_needs.needs_a_person(row.state, row.endpoint_state)]
        return marks.those_on(db.session(), "delivery", wanting)

    def _is_gone(self, row: Row) -> bool:
        return row.state not in self.filters.tab.states or row.id in self.left

    def sign_of(self, row: Row) -> str:
        shown = row.version, row.endpoint_state, row.url, when(row), aside(row), answer(row)
        return refreshing.sign(*shown, g.zone, self._is_gone(row), self.has_acts, self.on.get(row.id))

    @property
    def beside(self) -> Sequence[object]:
        return self.may_act, self.endpoints

    @staticmethod
    def _no_endpoint() -> tuple[str, ...]:
        title = _("No endpoint yet")
        if refusal(Permission.ENDPOINTS) is not None:
            return title, _("Nothing is sent without one. An admin of this tenant can add it.")
        add = url_for("endpoints.ask_add", tenant=g.tenant.key)
        return title, _("Nothing is sent without one."), add, _("Add an endpoint")

    @property
    def nothing(self) -> tuple[str, ...]:
        """What an empty tab says."""
        if not self.choices:
            return self._no_endpoint()
        return {
            Tab.FAILING: (_("Nothing is failing"), _("What fails is tried again, and is listed here.")),
            Tab.DEAD: (
                _("Nothing was given up"),
                _("What failed too often, or was refused for good, comes here."),
            ),
            Tab.PENDING: (_("Nothing waits to be sent"), _("Each event goes to the endpoints that want it.")),
            Tab.DELIVERED: (_("Nothing was delivered yet"), _("What an endpoint took is kept here.")),
        }[self.filters.tab]
