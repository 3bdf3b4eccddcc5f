"""What of a tenant's deliveries needs a person now: those given up lately, that can still be sent again."""

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import needs
from models.deliveries import Delivery, State
from models.endpoints import EndpointState, WebhookEndpoint
from models.needs import Need

# After a week whoever missed it has mostly found out by other means; the list of the dead still holds it.
DEAD_NEEDS_A_PERSON_FOR = timedelta(days=7)


def dead(session: Session, tenant_id: int, *, now: datetime) -> Need:
    """Deliveries given up within a week, but of endpoints that were removed."""
    removed = select(WebhookEndpoint.id).where(
        WebhookEndpoint.tenant_id == tenant_id, WebhookEndpoint.state == EndpointState.REMOVED.value
    )
    return needs.read(
        session,
        select(Delivery.updated_at)
        .where(
            Delivery.tenant_id == tenant_id,
            Delivery.state == State.DEAD.value,
            Delivery.next_attempt_at.is_(None),
            Delivery.updated_at > now - DEAD_NEEDS_A_PERSON_FOR,
            Delivery.endpoint_id.not_in(removed),
        )
        .order_by(Delivery.updated_at),
    )
