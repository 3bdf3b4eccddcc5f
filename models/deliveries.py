"""Deliveries: each outbox event on its way to each endpoint that asked for it, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, String, select, text
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import locks
from models import text as texts
from models.actors import Actor
from models.base import Base, BigId, Serial
from models.endpoints import EndpointState, WebhookEndpoint
from models.errors import Conflict, NotFound
from models.transitions import check_version

SENDER = Actor.system("deliver")
GONE = 410
ERROR_LENGTH = 500


class State(StrEnum):
    PENDING = "pending"
    DELIVERING = "delivering"
    DELIVERED = "delivered"
    FAILED = "failed"
    DEAD = "dead"


# As a person is told: the codes are the API's.
_SAID = {
    State.PENDING: "waiting",
    State.DELIVERING: "being sent",
    State.DELIVERED: "delivered",
    State.FAILED: "failing, and tried again",
    State.DEAD: "given up",
}
OPEN = frozenset({State.PENDING, State.DELIVERING, State.FAILED})
WAITING = frozenset({State.PENDING, State.FAILED})
MOVES = {
    State.PENDING: frozenset({State.DELIVERING, State.DEAD}),
    State.FAILED: frozenset({State.DELIVERING, State.DEAD}),
    # Back to where it was: claimed, but not sent because its endpoint failed just before.
    State.DELIVERING: frozenset({State.DELIVERED, State.FAILED, State.DEAD, State.PENDING}),
    State.DEAD: frozenset({State.PENDING}),
}


def _of_open(name: str, *columns: str) -> Index:
    """An index over what still waits or is being sent."""
    where = text("next_attempt_at IS NOT NULL")
    return Index(name, *columns, postgresql_where=where, sqlite_where=where)


def _of_over(name: str, *columns: str) -> Index:
    """An index over what was delivered or given up."""
    where = text("next_attempt_at IS NULL")
    return Index(name, *columns, postgresql_where=where, sqlite_where=where)


class Delivery(Base):
    """One event to one endpoint. While `delivering`, `next_attempt_at` is the end of the lease."""

    __tablename__ = "delivery"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    endpoint_id: Mapped[UUID] = mapped_column(ForeignKey("webhook_endpoint.id"))
    event_id: Mapped[int] = mapped_column(BigId, ForeignKey("outbox_event.id"))
    state: Mapped[str] = mapped_column(String(20))
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    next_attempt_at: Mapped[datetime | None] = mapped_column()
    claimed_at: Mapped[datetime | None]
    delivered_at: Mapped[datetime | None]
    last_status: Mapped[int | None] = mapped_column(Integer)
    last_error: Mapped[str | None] = mapped_column(String(ERROR_LENGTH))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    version: Mapped[int] = mapped_column(Integer, default=1)

    __table_args__ = (
        Index("uq_delivery_event_endpoint", "event_id", "endpoint_id", unique=True),
        # What has a next attempt is open, and is found by it; the rest does not burden the index.
        CheckConstraint("(next_attempt_at IS NULL) = (state IN ('dead', 'delivered'))", name="open_has_next"),
        _of_open("ix_delivery_due", "endpoint_id", "next_attempt_at", "id"),
        # For a person who looks: what is open by its next attempt, what is over by when it ended.
        _of_open("ix_delivery_tenant_open", "tenant_id", "state", "next_attempt_at", "id"),
        _of_over("ix_delivery_tenant_over", "tenant_id", "state", "updated_at", "id"),
        _of_over("ix_delivery_endpoint_over", "endpoint_id", "state", "updated_at", "id"),
        Index("ix_delivery_state_updated", "state", "updated_at", "id"),
    )


class DeliveryEvent(Base):
    """The history of a delivery: each attempt with its answer, and each act of an operator."""

    __tablename__ = "delivery_event"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    delivery_id: Mapped[int] = mapped_column(BigId, ForeignKey("delivery.id"))
    at: Mapped[datetime]
    actor: Mapped[str] = mapped_column(String(200))
    from_state: Mapped[str] = mapped_column(String(20))
    to_state: Mapped[str] = mapped_column(String(20))
    attempt: Mapped[int] = mapped_column(Integer)
    status: Mapped[int | None] = mapped_column(Integer)
    error: Mapped[str | None] = mapped_column(String(ERROR_LENGTH))
    duration_ms: Mapped[int | None] = mapped_column(Integer)

    __table_args__ = (Index("ix_delivery_event_delivery", "delivery_id", "id"),)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt came to. `fatal` says that no further attempt can help."""

    status: int | None
    error: str | None
    duration_ms: int
    retry_after: timedelta | None = None

    @property
    def delivered(self) -> bool:
        return self.error is None

    @property
    def fatal(self) -> bool:
        return self.status == GONE


def refusal_to_rearm(state: str, endpoint_state: str) -> str | None:
    """Why a delivery in `state` can't be sent again from the start, for the button and the route alike."""
    if state != State.DEAD:
        return f"This delivery is {_SAID[State(state)]}; only one that was given up is re-armed."
    return _refusal_of_endpoint(endpoint_state)


def refusal_to_send_now(state: str, endpoint_state: str) -> str | None:
    """Why a delivery in `state` can't be sent ahead of its time; None where it can."""
    if state not in WAITING:
        return f"This delivery is {_SAID[State(state)]}, so there is nothing to send ahead of its time."
    if endpoint_state == EndpointState.PAUSED:
        return "Its endpoint is paused, so nothing is sent to it. Resume it first."
    return _refusal_of_endpoint(endpoint_state)


def _refusal_of_endpoint(state: str) -> str | None:
    if state == EndpointState.REMOVED:
        return "Its endpoint was removed, so this delivery can't be sent any more."
    return None


class Readdressed(Conflict):
    """It would go to another address than the one that was seen."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__(
            "The address of its endpoint changed since you saw it, so nothing was done.", current=delivery
        )


def get(session: Session, tenant_id: int, delivery_id: int) -> Delivery:
    """Raises `NotFound`."""
    return _found(
        session.scalars(
            select(Delivery).where(Delivery.tenant_id == tenant_id, Delivery.id == delivery_id)
        ).one_or_none()
    )


def history(session: Session, delivery: Delivery) -> list[DeliveryEvent]:
    """The attempts at `delivery` and what operators did to it, oldest first."""
    query = select(DeliveryEvent).where(DeliveryEvent.delivery_id == delivery.id).order_by(DeliveryEvent.id)
    return list(session.scalars(query))


def rearm(
    session: Session,
    tenant_id: int,
    delivery_id: int,
    *,
    reason: str,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
    addresses: Mapping[str, int] | None = None,
) -> Delivery:
    """Give a dead delivery all its attempts again, from now on, under the same `webhook-id`.

    The receiver may have it already, so a person decides, and says why. `addresses` are the versions in
    which the addresses of endpoints were seen, by the endpoint's id. Raises `Invalid` on `reason`,
    `NotFound`, and `Conflict` in any other state, if it or the address moved, or if its endpoint was removed.
    """
    texts.required(reason, "reason", longest=ERROR_LENGTH)
    delivery = _locked(session, tenant_id, delivery_id)
    check_version(delivery, expected_version, "delivery")
    state, address = _endpoint(session, delivery)
    refusal = refusal_to_rearm(delivery.state, state)
    if refusal is not None:
        raise Conflict(refusal, current=delivery)
    _check_address(delivery, address, addresses)
    note(session, delivery, State.PENDING, Outcome(None, reason, 0), now, actor)
    set_state(delivery, State.PENDING, now)
    delivery.attempts, delivery.next_attempt_at = 0, now
    return delivery


def send_now(
    session: Session,
    tenant_id: int,
    delivery_id: int,
    *,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
    addresses: Mapping[str, int] | None = None,
) -> Delivery:
    """Make a waiting delivery due now, with `addresses` as in `rearm`.

    Raises `NotFound`, and `Conflict` where nothing waits, it or the address moved, or its endpoint is paused.
    """
    delivery = _locked(session, tenant_id, delivery_id)
    check_version(delivery, expected_version, "delivery")
    state, address = _endpoint(session, delivery)
    refusal = refusal_to_send_now(delivery.state, state)
    if refusal is not None:
        raise Conflict(refusal, current=delivery)
    _check_address(delivery, address, addresses)
    note(session, delivery, State(delivery.state), Outcome(None, "Sent ahead of its time.", 0), now, actor)
    delivery.next_attempt_at = now
    delivery.version += 1
    delivery.updated_at = now
    return delivery


def _endpoint(session: Session, delivery: Delivery) -> tuple[str, int]:
    """The state of its endpoint and the version of the address, read behind the delivery's lock.

    An address that moves after that moves what waits for it, as it would have a moment later.
    """
    query = select(WebhookEndpoint.state, WebhookEndpoint.address_version)
    state, address = session.execute(query.where(WebhookEndpoint.id == delivery.endpoint_id)).one()
    return state, address


def _check_address(delivery: Delivery, address: int, seen: Mapping[str, int] | None) -> None:
    if seen is not None and seen.get(str(delivery.endpoint_id)) != address:
        raise Readdressed(delivery)


def set_state(delivery: Delivery, to: State, now: datetime) -> None:
    """The one place that assigns a delivery's state. A lease that ran out is claimed anew."""
    again = delivery.state == to == State.DELIVERING
    if not again and to not in MOVES.get(State(delivery.state), frozenset()):
        raise ValueError(f"a delivery may not move from {delivery.state} to {to.value}")
    delivery.state = to.value
    delivery.version += 1
    delivery.updated_at = now


def note(
    session: Session, delivery: Delivery, to: State, outcome: Outcome, now: datetime, actor: Actor = SENDER
) -> None:
    session.add(
        DeliveryEvent(
            tenant_id=delivery.tenant_id,
            delivery_id=delivery.id,
            at=now,
            actor=actor.label,
            from_state=delivery.state,
            to_state=to.value,
            attempt=delivery.attempts,
            status=outcome.status,
            error=outcome.error,
            duration_ms=outcome.duration_ms,
        )
    )


def _locked(session: Session, tenant_id: int, delivery_id: int) -> Delivery:
    query = select(Delivery).where(Delivery.tenant_id == tenant_id, Delivery.id == delivery_id)
    return _found(locks.one(session, query))


def _found(delivery: Delivery | None) -> Delivery:
    if delivery is None:
        raise NotFound("delivery")
    return delivery
