"""What of a tenant's deliveries needs a person now: those given up lately, that can still be sent again."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from models import needs
from models.deliveries import Delivery, State
from models.endpoints import EndpointState, WebhookEndpoint
from models.needs import Need

# After a week whoever missed it has mostly found out by other means; the list of the dead still holds it.
DEAD_NEEDS_A_PERSON_FOR = timedelta(days=7)


def dead(session: Session, tenant_id: int, *, now: datetime) -> Need:
    """Deliveries given up within a week, but of endpoints that were removed."""
    query = select(Delivery.updated_at).where(*_dead(tenant_id, now))
    return needs.read(session, query.order_by(Delivery.updated_at))


def dead_among(session: Session, tenant_id: int, ids: Sequence[int], *, now: datetime) -> int:
    """How many of the deliveries `ids` are among those."""
    if not ids:
        return 0
    query = select(func.count()).where(*_dead(tenant_id, now), Delivery.id.in_(ids))
    return session.scalars(query).one()


def _dead(tenant_id: int, now: datetime) -> list[ColumnElement[bool]]:
    removed = select(WebhookEndpoint.id).where(
        WebhookEndpoint.tenant_id == tenant_id, WebhookEndpoint.state == EndpointState.REMOVED.value
    )
    return [
        Delivery.tenant_id == tenant_id,
        Delivery.state == State.DEAD.value,
        Delivery.next_attempt_at.is_(None),
        Delivery.updated_at > now - DEAD_NEEDS_A_PERSON_FOR,
        Delivery.endpoint_id.not_in(removed),
    ]


def needs_a_person(state: str, endpoint_state: str) -> bool:
    """Whether a person may do something about it: it fails or was given up, and can still be sent."""
    return state in (State.FAILED, State.DEAD) and endpoint_state != EndpointState.REMOVED


def refusal_to_take(state: str, endpoint_state: str) -> str | None:
    """Why nobody takes this delivery on; None where it needs a person."""
    if needs_a_person(state, endpoint_state):
        return None
    return "This delivery needs nobody now, so there is nothing to take on."
