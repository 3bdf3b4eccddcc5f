"""Publishing: committed outbox events get their position, and a delivery to each endpoint that wants them."""

from datetime import datetime
from typing import Any

from sqlalchemy import Integer, String, Uuid, and_, insert, literal, or_, select, type_coerce
from sqlalchemy.orm import Session

from models import bulk, outbox
from models.base import UtcDateTime, table_of
from models.deliveries import Delivery, State
from models.endpoints import ALL, TEST_EVENT, EndpointState, WebhookEndpoint
from models.outbox import OutboxEvent
from models.positions import Span
from models.transactions import commit

CHUNK = 1_000


def publish(session: Session, *, now: datetime, limit: int) -> int:
    """Give committed outbox events their position and make their deliveries, chunk by chunk.

    One process at a time does this; another waits for the chunk at hand. Returns how many events got a
    position, `limit` at most.
    """
    published = 0
    while published < limit:
        span = outbox.assign_positions(session, min(CHUNK, limit - published))
        if span:
            _make_deliveries(session, span, now)
        commit(session, "deliveries.publish")
        published += len(span)
        if len(span) < CHUNK:
            break
    return published


def _make_deliveries(session: Session, span: Span, now: datetime) -> None:
    """One delivery for each event in `span` and each active endpoint of its tenant that wants its type."""
    within = OutboxEvent.position.between(span.first, span.last)
    wanted = _subscriptions(session, select(OutboxEvent.tenant_id).where(within).distinct())
    if not wanted:
        return
    columns = {
        "tenant_id": Integer(),
        "endpoint_id": Uuid(),
        "event_type": String(),
        "aggregate_id": String(),
    }
    asked = bulk.rows_as_table(session, "asked", columns, wanted)
    matches = and_(
        asked.c.tenant_id == OutboxEvent.tenant_id,
        or_(
            and_(OutboxEvent.event_type == TEST_EVENT, OutboxEvent.aggregate_id == asked.c.aggregate_id),
            and_(
                OutboxEvent.event_type != TEST_EVENT,
                or_(asked.c.event_type == ALL, asked.c.event_type == OutboxEvent.event_type),
            ),
        ),
    )
    values: dict[str, Any] = {
        "tenant_id": OutboxEvent.tenant_id,
        "endpoint_id": asked.c.endpoint_id,
        "event_id": OutboxEvent.id,
        "state": literal(State.PENDING.value),
        "attempts": literal(0),
        "next_attempt_at": type_coerce(literal(now, UtcDateTime()), UtcDateTime()),
        "created_at": literal(now, UtcDateTime()),
        "updated_at": literal(now, UtcDateTime()),
        "version": literal(1),
    }
    rows = select(*values.values()).join_from(OutboxEvent, asked, matches).where(within).distinct()
    session.execute(insert(table_of(Delivery)).from_select(list(values), rows, include_defaults=False))


def _subscriptions(session: Session, tenant_ids: Any) -> list[dict[str, Any]]:
    """One row for each event type of each active endpoint of the tenants."""
    endpoints = session.execute(
        select(WebhookEndpoint.tenant_id, WebhookEndpoint.id, WebhookEndpoint.event_types).where(
            WebhookEndpoint.tenant_id.in_(tenant_ids), WebhookEndpoint.state == EndpointState.ACTIVE
        )
    )
    return [
        {"tenant_id": tenant_id, "endpoint_id": id, "event_type": name, "aggregate_id": str(id)}
        for tenant_id, id, names in endpoints
        for name in names
    ]
