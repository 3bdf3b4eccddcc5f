"""What the endpoints pages read: the tenant's endpoints, and what became of the last test of one."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, type_coerce
from sqlalchemy.orm import Session

from desk_ui.paging import MOST_COUNTED
from models.base import UtcDateTime
from models.deliveries import OPEN, Delivery, State
from models.endpoints import TEST_EVENT, EndpointState, WebhookEndpoint
from models.outbox import OutboxEvent
from models.tenants import Tenant


@dataclass(frozen=True, slots=True)
class Row:
    """One endpoint without its secret. Of `url` no more than the origin may be shown to who only looks."""

    id: UUID
    url: str
    event_types: list[str]
    state: str
    failures: int
    created_at: datetime
    updated_at: datetime
    version: int
    paused_at: datetime | None
    paused_by: str | None
    paused_reason: str | None
    delivered_at: datetime | None


def _rows(tenant: Tenant) -> Any:
    # One look into the index for each endpoint, of which a tenant has few.
    last = (
        select(Delivery.updated_at)
        .where(
            Delivery.endpoint_id == WebhookEndpoint.id,
            Delivery.state == State.DELIVERED.value,
            Delivery.next_attempt_at.is_(None),
        )
        .order_by(Delivery.updated_at.desc())
        .limit(1)
        .correlate(WebhookEndpoint)
        .scalar_subquery()
    )
    found = WebhookEndpoint
    return select(
        found.id, found.url, found.event_types, found.state, found.failures,
        found.created_at, found.updated_at, found.version, found.paused_at,
        found.paused_by, found.paused_reason, type_coerce(last, UtcDateTime()),
    ).where(found.tenant_id == tenant.id, found.state != EndpointState.REMOVED)  # fmt: skip


def all_of(session: Session, tenant: Tenant) -> list[Row]:
    """The tenant's endpoints that were not removed, newest first: `MOST_ENDPOINTS` at most."""
    query = _rows(tenant).order_by(WebhookEndpoint.created_at.desc(), WebhookEndpoint.id.desc())
    return [Row(*row) for row in session.execute(query)]


def one(session: Session, tenant: Tenant, endpoint_id: UUID) -> Row | None:
    """One endpoint that was not removed, or None."""
    found = session.execute(_rows(tenant).where(WebhookEndpoint.id == endpoint_id)).one_or_none()
    return Row(*found) if found else None


@dataclass(frozen=True, slots=True)
class Failed:
    """How many deliveries to an endpoint are tried again, and how many were given up; capped."""

    again: int
    given_up: int


def failed(session: Session, tenant: Tenant, endpoint_id: UUID) -> Failed:
    """Counted in one statement, each to one above the cap."""

    def number(state: State) -> Any:
        capped = select(Delivery.id).where(
            Delivery.tenant_id == tenant.id,
            Delivery.endpoint_id == endpoint_id,
            Delivery.state == state.value,
            Delivery.next_attempt_at.is_not(None) if state in OPEN else Delivery.next_attempt_at.is_(None),
        )
        counted = capped.limit(MOST_COUNTED + 1).subquery()
        return select(func.count()).select_from(counted).scalar_subquery()

    again, given_up = session.execute(select(number(State.FAILED), number(State.DEAD))).one()
    return Failed(again, given_up)


@dataclass(frozen=True, slots=True)
class Test:
    """The last test of an endpoint: when it was asked for, and its delivery as soon as there is one."""

    at: datetime
    published: bool
    delivery_id: int | None
    state: str | None
    error: str | None


def last_test(session: Session, tenant: Tenant, endpoint_id: UUID) -> Test | None:
    """None where there was none, or it is no longer kept."""
    found = session.execute(
        select(
            OutboxEvent.created_at,
            OutboxEvent.position.is_not(None),
            Delivery.id,
            Delivery.state,
            Delivery.last_error,
        )
        .outerjoin(Delivery, Delivery.event_id == OutboxEvent.id)
        .where(
            OutboxEvent.tenant_id == tenant.id,
            OutboxEvent.aggregate_type == "endpoint",
            OutboxEvent.aggregate_id == str(endpoint_id),
            OutboxEvent.event_type == TEST_EVENT,
        )
        .order_by(OutboxEvent.id.desc())
        .limit(1)
    ).one_or_none()
    return Test(*found) if found else None
