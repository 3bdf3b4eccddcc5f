"""Builders of endpoints and of deliveries in each state, through the steps of the delivery itself."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import endpoints, outbox, publishing, sending
from models.deliveries import Delivery, Outcome, State
from models.endpoints import WebhookEndpoint
from models.settings import Settings
from models.tenants import Tenant
from models.transactions import commit
from tests.support.create import API

URL = "https://hooks.example/secret-path"
OUTCOMES = {
    State.DELIVERED: Outcome(200, None, 34),
    State.FAILED: Outcome(503, "Answered 503.", 120),
    State.DEAD: Outcome(410, "Answered 410.", 21),
}


def create_endpoint(
    session: Session, tenant: Tenant, settings: Settings, *, now: datetime, url: str = URL, **given: Any
) -> tuple[WebhookEndpoint, str]:
    """An endpoint with its secret, for all events unless `event_types` says otherwise."""
    made = endpoints.add(
        session, tenant, url=url, settings=settings, actor=API, now=now, **{"event_types": ["*"], **given}
    )
    commit(session, "tests.create")
    return made


def create_delivery(
    session: Session,
    tenant: Tenant,
    endpoint: WebhookEndpoint,
    *,
    now: datetime,
    state: State = State.DEAD,
    event_type: str = "followup.fired",
    aggregate: tuple[str, str] = ("contact", "1"),
    payload: dict[str, Any] | None = None,
) -> Delivery:
    """One delivery to `endpoint` in `state`; whatever else waits for it goes on waiting."""
    event = outbox.enqueue(
        session,
        tenant_id=tenant.id,
        event_type=event_type,
        aggregate=aggregate,
        payload=payload or {"contact_id": "1"},
        now=now,
    )
    commit(session, "tests.create")
    publishing.publish(session, now=now, limit=1_000)
    if state is not State.PENDING:
        parcels = sending.claim(session, endpoint.id, now=now + timedelta(microseconds=1), limit=1_000)
        [parcel] = [one for one in parcels if one.event_id == event.id]
        sending.release(session, [one for one in parcels if one is not parcel], now=now)
        if state is not State.DELIVERING:
            sending.record(session, parcel, OUTCOMES[state], now=now)
    query = select(Delivery).where(Delivery.event_id == event.id, Delivery.endpoint_id == endpoint.id)
    return session.scalars(query).one()


def create_each_state(
    session: Session, tenant: Tenant, settings: Settings, *, now: datetime
) -> dict[str, Any]:
    """A delivery in each state, by the state's name, to one endpoint; a paused one; and their ids."""
    # What happened before is nothing to these endpoints.
    publishing.publish(session, now=now, limit=1_000_000)
    taking, _secret = create_endpoint(session, tenant, settings, now=now)
    paused, _secret = create_endpoint(
        session,
        tenant,
        settings,
        now=now,
        url="https://a-long-name-of-a-receiver.integration.example/",
        event_types=["followup.fired", "followup.blocked"],
        active=False,
    )
    found: dict[str, Any] = {"taking": taking.id, "paused": paused.id}
    for state in State:
        id = str(uuid4())
        aggregate, payload = ("followup", id), {"followup_id": id, "from": "pending", "to": "fired"}
        found[state.value] = create_delivery(
            session, tenant, taking, now=now, state=state, aggregate=aggregate, payload=payload
        ).id
    return found
