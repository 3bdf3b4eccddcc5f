"""Demo deliveries: a paused endpoint, and what had become of its events before somebody paused it."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import endpoints
from models.actors import Actor
from models.deliveries import Delivery, DeliveryEvent, State
from models.endpoints import WebhookEndpoint
from models.outbox import OutboxEvent
from models.settings import Settings
from models.tenants import Tenant

LEAD = Actor.operator("demo-lead", "lead@demo.test")
# A name that never leads anywhere; the endpoint is paused as well, so that nothing tries.
URL = "https://hooks.example.com/recovery-desk"
TYPES = ("task.created", "followup.blocked", "contact.revoked")
MOST = 40
# The newest events, newest first: two wait, one was given up, two failed; the rest arrived.
NEWEST = (State.PENDING, State.PENDING, State.DEAD, State.FAILED, State.FAILED)
ANSWERS = {
    State.DELIVERED: (200, None),
    State.FAILED: (503, "Answered 503."),
    State.DEAD: (410, "Answered 410."),
}


def fill(session: Session, tenant: Tenant, *, settings: Settings, now: datetime) -> int:
    """Give `tenant` an endpoint and up to 40 deliveries in every state; how many. The caller commits."""
    endpoint, _secret = endpoints.add(
        session, tenant, url=URL, event_types=TYPES, active=False, settings=settings, actor=LEAD, now=now
    )
    session.flush()
    events = session.scalars(
        select(OutboxEvent)
        .where(OutboxEvent.tenant_id == tenant.id, OutboxEvent.event_type.in_(TYPES))
        .order_by(OutboxEvent.created_at.desc(), OutboxEvent.id.desc())
        .limit(MOST)
    ).all()
    # Oldest first, so that their ids tell their order.
    made = [_delivery(endpoint, event, state, now) for event, state in reversed(list(_states(events)))]
    session.add_all(made)
    session.flush()
    session.add_all(_attempt(delivery) for delivery in made if delivery.attempts)
    return len(made)


def _states(events: Sequence[OutboxEvent]) -> Iterator[tuple[OutboxEvent, State]]:
    for number, event in enumerate(events):
        yield event, NEWEST[number] if number < len(NEWEST) else State.DELIVERED


def _delivery(endpoint: WebhookEndpoint, event: OutboxEvent, state: State, now: datetime) -> Delivery:
    status, error = ANSWERS.get(state, (None, None))
    at = event.created_at + timedelta(seconds=2)
    waits = {State.PENDING: now, State.FAILED: now + timedelta(minutes=20)}
    return Delivery(
        tenant_id=endpoint.tenant_id,
        endpoint_id=endpoint.id,
        event_id=event.id,
        state=state.value,
        attempts=0 if state is State.PENDING else 1,
        next_attempt_at=waits.get(state),
        claimed_at=None,
        delivered_at=at if state is State.DELIVERED else None,
        last_status=status,
        last_error=error,
        created_at=event.created_at,
        updated_at=at,
    )


def _attempt(delivery: Delivery) -> DeliveryEvent:
    return DeliveryEvent(
        tenant_id=delivery.tenant_id,
        delivery_id=delivery.id,
        at=delivery.updated_at,
        actor="deliver",
        from_state=State.DELIVERING.value,
        to_state=delivery.state,
        attempt=1,
        status=delivery.last_status,
        error=delivery.last_error,
        duration_ms=120,
    )
