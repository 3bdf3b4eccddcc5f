"""What the deliveries pages read: the filter, a page of thin rows, the tabs' counts, and one delivery."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Session

from desk_ui import filters, local_time
from desk_ui.deliveries import addresses
from desk_ui.paging import MOST_COUNTED, ROWS, Cursor, Page, TooSlow, time_limit
from models.deliveries import OPEN, Delivery, State
from models.endpoints import EMITTED, TEST_EVENT, EndpointState, WebhookEndpoint
from models.errors import Invalid
from models.outbox import OutboxEvent
from models.tenants import Tenant

TYPES = sorted({*EMITTED, TEST_EVENT})


class Tab(StrEnum):
    FAILING = "failing"
    DEAD = "dead"
    PENDING = "pending"
    DELIVERED = "delivered"

    @property
    def states(self) -> tuple[State, ...]:
        return {
            Tab.FAILING: (State.FAILED,),
            Tab.DEAD: (State.DEAD,),
            Tab.PENDING: (State.PENDING, State.DELIVERING),
            Tab.DELIVERED: (State.DELIVERED,),
        }[self]

    @property
    def waits(self) -> bool:
        """Whether its rows are still to be sent, so that the soonest comes first."""
        return self in (Tab.FAILING, Tab.PENDING)


TAB_OF = {state: tab for tab in Tab for state in tab.states}


def _uuid(name: str, value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError:
        raise Invalid(name, "is not the id of an endpoint") from None


def _event_type(name: str, value: str) -> str:
    if value not in TYPES:
        raise Invalid(name, "is no event type")
    return value


@dataclass(frozen=True)
class Filters(filters.Filters):
    """All that defines the list. `since` and `until` are in the page's zone, of what the tab orders by."""

    readers = {
        "tab": filters.one_of(Tab),
        "receiver": _uuid,
        "event": _event_type,
        "since": local_time.as_typed,
        "until": local_time.as_typed,
    }

    tab: Tab = Tab.FAILING
    receiver: UUID | None = None
    event: str | None = None
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One delivery as a list shows it, with the event that it tells and the endpoint that it goes to.

    Of `url` no more than the origin may be shown: what comes after may be a secret.
    """

    id: int
    version: int
    state: str
    attempts: int
    next_attempt_at: datetime | None
    claimed_at: datetime | None
    last_status: int | None
    last_error: str | None
    created_at: datetime
    updated_at: datetime
    event_id: int
    event_type: str
    aggregate_type: str
    aggregate_id: str
    followup_id: str | None
    endpoint_id: UUID
    url: str
    address_version: int
    endpoint_state: str

    @property
    def order(self) -> datetime:
        """The moment that its tab orders by."""
        return self.next_attempt_at or self.updated_at

    @property
    def addresses(self) -> str:
        """The address that is shown, as a form that acts on it says so."""
        return addresses.written({str(self.endpoint_id): self.address_version})


_EVENT = {"event_type", "aggregate_type", "aggregate_id"}
_OTHERS: dict[str, Any] = {
    **{name: getattr(OutboxEvent, name) for name in _EVENT},
    "followup_id": OutboxEvent.payload["followup_id"].as_string(),
    "url": WebhookEndpoint.url,
    "address_version": WebhookEndpoint.address_version,
    "endpoint_state": WebhookEndpoint.state,
}
THIN = tuple(_OTHERS.get(one.name, getattr(Delivery, one.name, None)) for one in fields(Row))


def _thin(*conditions: ColumnElement[bool]) -> Select[Any]:
    return (
        select(*THIN)
        .join(OutboxEvent, OutboxEvent.id == Delivery.event_id)
        .join(WebhookEndpoint, WebhookEndpoint.id == Delivery.endpoint_id)
        .where(*conditions)
    )


def page(
    session: Session, tenant: Tenant, zone: str, filters: Filters, after: Cursor | None, limit: timedelta
) -> Page[Row]:
    """One page of the list. Raises `TooSlow`."""
    found: list[Row] = []
    with time_limit(session, limit):
        # Each state is a stretch of the index, so those of one tab are read apart and merged.
        for state in filters.tab.states:
            query = selected(tenant, zone, filters, state, after)
            found += [Row(*row) for row in session.execute(query)]
    found.sort(key=lambda row: (row.order, row.id), reverse=not filters.tab.waits)
    rows = found[:ROWS]
    following = Cursor(rows[-1].order, rows[-1].id).encode() if len(found) > ROWS else None
    return Page(rows, following)


def selected(tenant: Tenant, zone: str, filters: Filters, state: State, after: Cursor | None) -> Select[Any]:
    """The rows of one page that are in `state`, and one more where there are more."""
    newest_first, order = not filters.tab.waits, order_of(filters.tab)
    query = _thin(*_conditions(tenant, zone, filters, state))
    if after is not None:
        query = query.where(after.after(order, Delivery.id, newest_first=newest_first))
    by = (order.desc(), Delivery.id.desc()) if newest_first else (order, Delivery.id)
    return query.order_by(*by).limit(ROWS + 1)


def one(session: Session, tenant: Tenant, delivery_id: int) -> Row | None:
    """One row as the list shows it, or None."""
    query = _thin(Delivery.tenant_id == tenant.id, Delivery.id == delivery_id)
    found = session.execute(query).one_or_none()
    return Row(*found) if found else None


def these(
    session: Session, tenant: Tenant, zone: str, filters: Filters, ids: Sequence[int]
) -> tuple[list[Row], frozenset[int]]:
    """The rows `ids` that the tenant has, and which of them the list under `filters` does not hold."""
    if not ids:
        return [], frozenset()
    holds = or_(*(and_(*_conditions(tenant, zone, filters, state)) for state in filters.tab.states))
    query = _thin(Delivery.tenant_id == tenant.id, Delivery.id.in_(ids)).add_columns(holds)
    found = [(Row(*row[:-1]), row[-1]) for row in session.execute(query)]
    return [row for row, _holds in found], frozenset(row.id for row, holds in found if not holds)


def payload(session: Session, tenant: Tenant, event_id: int) -> dict[str, Any]:
    """What an event says: ids, states and codes, never a customer's words."""
    query = select(OutboxEvent.payload).where(OutboxEvent.tenant_id == tenant.id, OutboxEvent.id == event_id)
    return session.scalars(query).one()


def counts(
    session: Session, tenant: Tenant, zone: str, filters: Filters, limit: timedelta
) -> dict[Tab, int | None]:
    """The rows of each tab under the same filters, counted to one above the cap; None where too slow."""
    return {tab: _count(session, tenant, zone, replace(filters, tab=tab), limit) for tab in Tab}


def _count(session: Session, tenant: Tenant, zone: str, filters: Filters, limit: timedelta) -> int | None:
    found = 0
    try:
        with time_limit(session, limit):
            for state in filters.tab.states:
                capped: Select[Any] = select(Delivery.id).where(*_conditions(tenant, zone, filters, state))
                if filters.event is not None:
                    capped = capped.join(OutboxEvent, OutboxEvent.id == Delivery.event_id)
                if not filters.narrows:
                    capped = capped.order_by(order_of(filters.tab))
                capped = capped.limit(MOST_COUNTED + 1)
                found += session.scalars(select(func.count()).select_from(capped.subquery())).one()
    except TooSlow:
        return None
    return min(found, MOST_COUNTED + 1)


def _conditions(tenant: Tenant, zone: str, filters: Filters, state: State) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [Delivery.tenant_id == tenant.id, *_in_state(state)]
    if filters.receiver is not None:
        found.append(Delivery.endpoint_id == filters.receiver)
    if filters.event is not None:
        found += [
            OutboxEvent.tenant_id == tenant.id,
            OutboxEvent.event_type == filters.event,
            # What has a delivery was published; said so that the index over those is of use.
            OutboxEvent.position.is_not(None),
        ]
    return [*found, *_within(filters, zone)]


def _in_state(state: State) -> Iterator[ColumnElement[bool]]:
    """The rows in `state`, in words that the indexes over what is open and what is over understand."""
    yield Delivery.state == state.value
    yield Delivery.next_attempt_at.is_not(None) if state in OPEN else Delivery.next_attempt_at.is_(None)


def _within(filters: Filters, zone: str) -> Iterator[ColumnElement[bool]]:
    order = order_of(filters.tab)
    if filters.since is not None:
        yield order >= local_time.bound(filters.since, zone)
    if filters.until is not None:
        yield order < local_time.bound(filters.until, zone)


def order_of(tab: Tab) -> Any:
    """The column that the rows of `tab` stand by: the next attempt, or when it was over."""
    return Delivery.next_attempt_at if tab.waits else Delivery.updated_at


def of_endpoint(session: Session, tenant: Tenant, endpoint_id: UUID, limit: int) -> list[Row]:
    """The next to be sent to an endpoint, and those that were over last: `limit` of each kind at most."""
    at = [Delivery.tenant_id == tenant.id, Delivery.endpoint_id == endpoint_id]
    ahead = _thin(*at, Delivery.next_attempt_at.is_not(None))
    found = [Row(*row) for row in session.execute(ahead.order_by(Delivery.next_attempt_at).limit(limit))]
    over: list[Row] = []
    for state in (State.DELIVERED, State.DEAD):
        query = _thin(*at, *_in_state(state)).order_by(Delivery.updated_at.desc(), Delivery.id.desc())
        over += [Row(*row) for row in session.execute(query.limit(limit))]
    over.sort(key=lambda row: (row.updated_at, row.id), reverse=True)
    return [*found, *over[:limit]]


def waiting_for(session: Session, tenant: Tenant, endpoint_id: UUID) -> int:
    """How many deliveries to an endpoint are open, counted to one above the cap."""
    capped = (
        select(Delivery.id)
        .where(
            Delivery.tenant_id == tenant.id,
            Delivery.endpoint_id == endpoint_id,
            Delivery.next_attempt_at.is_not(None),
        )
        .limit(MOST_COUNTED + 1)
    )
    return session.scalars(select(func.count()).select_from(capped.subquery())).one()


def endpoint_choices(session: Session, tenant: Tenant, chosen: UUID | None) -> list[tuple[UUID, str, str]]:
    """Id, address and state of the endpoints that may be chosen: those there are, and the chosen one."""
    query = select(WebhookEndpoint.id, WebhookEndpoint.url, WebhookEndpoint.state).where(
        WebhookEndpoint.tenant_id == tenant.id,
        (WebhookEndpoint.state != EndpointState.REMOVED) | (WebhookEndpoint.id == chosen),
    )
    return [
        (id, url, state) for id, url, state in session.execute(query.order_by(WebhookEndpoint.created_at))
    ]
