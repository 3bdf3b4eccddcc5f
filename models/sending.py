"""The steps of the delivery: claim, send, record. None of them is open while something is sent.

A delivery is at least once. It is claimed in a transaction of its own, sent with none open, and its result is
recorded in another; whoever dies in between leaves it `delivering`, and it is taken again after the lease.
"""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select, type_coerce, update
from sqlalchemy.orm import Session

from models import bulk, locks
from models.base import UtcDateTime
from models.deliveries import SENDER, Delivery, DeliveryEvent, Outcome, State, note, set_state
from models.endpoints import EndpointState, WebhookEndpoint
from models.outbox import OutboxEvent
from models.transactions import commit

LEASE = timedelta(minutes=5)
MOST_ATTEMPTS = 12
FIRST_WAIT = timedelta(seconds=10)
LONGEST_WAIT = timedelta(hours=24)
BURIED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Parcel:
    """A claimed delivery as plain values, for a sender that holds no session."""

    delivery_id: int
    tenant_id: int
    endpoint_id: UUID
    version: int
    attempt: int
    due_at: datetime
    url: str
    secret: str
    event_id: int
    event_type: str
    created_at: datetime
    payload: dict[str, Any]

    @property
    def webhook_id(self) -> str:
        """The same in every attempt, so that a receiver can tell a repetition."""
        return f"evt_{self.event_id}"


@dataclass(frozen=True, slots=True)
class DueEndpoint:
    """An endpoint for which something is due. `failures` is how often it failed in a row."""

    id: UUID
    tenant_id: int
    removed: bool
    failures: int


def due_endpoints(session: Session, now: datetime) -> list[DueEndpoint]:
    """The endpoints, paused ones left out, for which a delivery is due, the longest waiting first.

    Looks at the first entry of each endpoint in the index, so that its cost is the number of endpoints.
    """
    first = (
        select(Delivery.next_attempt_at)
        .where(Delivery.endpoint_id == WebhookEndpoint.id, Delivery.next_attempt_at.is_not(None))
        .order_by(Delivery.next_attempt_at)
        .limit(1)
        .correlate(WebhookEndpoint)
        .scalar_subquery()
    )
    waiting = (
        select(
            WebhookEndpoint.id,
            WebhookEndpoint.tenant_id,
            WebhookEndpoint.state,
            WebhookEndpoint.failures,
            type_coerce(first, UtcDateTime()).label("due_at"),
        )
        .where(WebhookEndpoint.state != EndpointState.PAUSED)
        .subquery("waiting")
    )
    rows = session.execute(
        select(waiting).where(waiting.c.due_at <= now).order_by(waiting.c.due_at, waiting.c.id)
    )
    return [
        DueEndpoint(row.id, row.tenant_id, row.state == EndpointState.REMOVED, row.failures) for row in rows
    ]


def claim(session: Session, endpoint_id: UUID, *, now: datetime, limit: int) -> list[Parcel]:
    """Claim up to `limit` due deliveries of one endpoint, in a transaction of their own.

    Each counts as an attempt from here on. One whose lease ran out is taken again; its lost attempt goes into
    the history, and if it was the last one the delivery is dead.
    """
    endpoint = session.scalars(
        select(WebhookEndpoint)
        .where(WebhookEndpoint.id == endpoint_id, WebhookEndpoint.state == EndpointState.ACTIVE)
        .execution_options(populate_existing=True)
    ).one_or_none()
    parcels: list[Parcel] = []
    for delivery, event in _lock_due(session, endpoint_id, now, limit):
        if endpoint is None:
            break
        if delivery.state == State.DELIVERING and not _survives_loss(session, delivery, now):
            continue
        due_at = delivery.next_attempt_at or now
        set_state(delivery, State.DELIVERING, now)
        delivery.attempts += 1
        delivery.claimed_at, delivery.next_attempt_at = now, now + LEASE
        parcels.append(_parcel(delivery, event, endpoint, due_at))
    commit(session, "deliveries.claim")
    return parcels


def _lock_due(
    session: Session, endpoint_id: UUID, now: datetime, limit: int
) -> list[tuple[Delivery, OutboxEvent]]:
    query = (
        select(Delivery, OutboxEvent)
        .join(OutboxEvent, OutboxEvent.id == Delivery.event_id)
        .where(Delivery.endpoint_id == endpoint_id, Delivery.next_attempt_at <= now)
        .order_by(Delivery.next_attempt_at, Delivery.id)
        .limit(limit)
        .with_for_update(of=Delivery, skip_locked=True)
        .execution_options(populate_existing=True)
    )
    return [(delivery, event) for delivery, event in session.execute(query)]


def _survives_loss(session: Session, delivery: Delivery, now: datetime) -> bool:
    """Write down that the process of the attempt before died; whether another attempt is left."""
    lost = Outcome(None, "The process that sent this ended before it recorded an answer.", 0)
    over = delivery.attempts >= MOST_ATTEMPTS
    note(session, delivery, State.DEAD if over else State.FAILED, lost, now)
    delivery.last_status, delivery.last_error = None, lost.error
    if over:
        set_state(delivery, State.DEAD, now)
        delivery.next_attempt_at = None
    return not over


def _parcel(delivery: Delivery, event: OutboxEvent, endpoint: WebhookEndpoint, due_at: datetime) -> Parcel:
    return Parcel(
        delivery_id=delivery.id,
        tenant_id=delivery.tenant_id,
        endpoint_id=endpoint.id,
        version=delivery.version,
        attempt=delivery.attempts,
        due_at=due_at,
        url=endpoint.url,
        secret=endpoint.secret,
        event_id=event.id,
        event_type=event.event_type,
        created_at=event.created_at,
        payload=event.payload,
    )


def release(session: Session, parcels: list[Parcel], *, now: datetime) -> None:
    """Give back what was claimed and not sent: due as before, and no attempt counted."""
    for parcel in parcels:
        delivery = _mine(session, parcel)
        if delivery is not None:
            set_state(delivery, State.PENDING if parcel.attempt == 1 else State.FAILED, now)
            delivery.attempts -= 1
            delivery.claimed_at, delivery.next_attempt_at = None, parcel.due_at
    commit(session, "deliveries.release")


def record(session: Session, parcel: Parcel, outcome: Outcome, *, now: datetime) -> State | None:
    """Record what an attempt came to, in a transaction of its own; the delivery's new state.

    None if the delivery was taken again meanwhile: the attempt then stands in the history alone.
    """
    delivery = _mine(session, parcel)
    if delivery is None:
        _note_late(session, parcel, outcome, now)
    else:
        _settle(session, delivery, outcome, now)
        _note_health(session, parcel.endpoint_id, outcome)
    state = None if delivery is None else State(delivery.state)
    commit(session, "deliveries.record")
    return state


def _settle(session: Session, delivery: Delivery, outcome: Outcome, now: datetime) -> None:
    if outcome.delivered:
        to = State.DELIVERED
    elif outcome.fatal or delivery.attempts >= MOST_ATTEMPTS:
        to = State.DEAD
    else:
        to = State.FAILED
    note(session, delivery, to, outcome, now)
    set_state(delivery, to, now)
    delivery.claimed_at = None
    delivery.next_attempt_at = now + wait_after(delivery.attempts, outcome) if to is State.FAILED else None
    delivery.delivered_at = now if to is State.DELIVERED else None
    delivery.last_status, delivery.last_error = outcome.status, outcome.error


def wait_after(attempts: int, outcome: Outcome) -> timedelta:
    """How long a failed delivery waits: 10 s, tripled after each attempt, 24 h at most.

    Up to a quarter less, so that what failed together does not come back together; at least as long as the
    endpoint asked for by Retry-After.
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT * int(3 ** min(attempts - 1, MOST_ATTEMPTS)))
    wait = longest * random.uniform(0.75, 1.0)
    return max(wait, min(outcome.retry_after or wait, LONGEST_WAIT))


def _note_health(session: Session, endpoint_id: UUID, outcome: Outcome) -> None:
    """Count failures in a row on the endpoint; without a failure before and now, nothing is written."""
    query = update(WebhookEndpoint).where(WebhookEndpoint.id == endpoint_id)
    if outcome.delivered:
        query = query.where(WebhookEndpoint.failures > 0).values(failures=0)
    else:
        query = query.values(failures=WebhookEndpoint.failures + 1)
    bulk.execute_unaudited(session, query.execution_options(synchronize_session=False))


def bury(session: Session, endpoint_id: UUID, *, now: datetime) -> int:
    """Give up some of what waits for an endpoint that was removed; how many were given up."""
    given_up = Outcome(None, "The endpoint was removed.", 0)
    rows = _lock_due(session, endpoint_id, now, BURIED_AT_ONCE)
    for delivery, _event in rows:
        note(session, delivery, State.DEAD, given_up, now)
        set_state(delivery, State.DEAD, now)
        delivery.next_attempt_at, delivery.claimed_at = None, None
        delivery.last_status, delivery.last_error = None, given_up.error
    commit(session, "deliveries.bury")
    return len(rows)


def _note_late(session: Session, parcel: Parcel, outcome: Outcome, now: datetime) -> None:
    session.add(
        DeliveryEvent(
            tenant_id=parcel.tenant_id,
            delivery_id=parcel.delivery_id,
            at=now,
            actor=SENDER.label,
            from_state=State.DELIVERING.value,
            to_state=State.DELIVERING.value,
            attempt=parcel.attempt,
            status=outcome.status,
            error="This answer came after the delivery had been taken again.",
            duration_ms=outcome.duration_ms,
        )
    )


def _mine(session: Session, parcel: Parcel) -> Delivery | None:
    """The delivery of `parcel`, locked, if the claim still holds."""
    return locks.one(
        session,
        select(Delivery).where(
            Delivery.id == parcel.delivery_id,
            Delivery.state == State.DELIVERING,
            Delivery.version == parcel.version,
        ),
    )
