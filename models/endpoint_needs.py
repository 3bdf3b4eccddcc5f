"""What of a tenant's endpoints deserves a look: those that somebody paused while deliveries to them wait."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models.deliveries import Delivery
from models.endpoints import EndpointState, WebhookEndpoint
from models.needs import MOST


@dataclass(frozen=True, slots=True)
class Paused:
    """A paused endpoint for which deliveries wait: who paused it, when and why; and how many wait.

    `number` is `MOST` + 1 where more than `MOST` do.
    """

    id: UUID
    url: str
    since: datetime | None
    by: str | None
    reason: str | None
    number: int


def paused(session: Session, tenant_id: int) -> list[Paused]:
    """Read in one statement, those that were paused first at the head."""
    of_one = (
        select(Delivery.id)
        .where(Delivery.endpoint_id == WebhookEndpoint.id, Delivery.next_attempt_at.is_not(None))
        .limit(MOST + 1)
        .correlate(WebhookEndpoint)
        .subquery()
    )
    number = select(func.count()).select_from(of_one).scalar_subquery()
    found = WebhookEndpoint
    query = select(found.id, found.url, found.paused_at, found.paused_by, found.paused_reason, number)
    query = query.where(found.tenant_id == tenant_id, found.state == EndpointState.PAUSED.value)
    rows = session.execute(query.order_by(found.paused_at, found.id))
    return [Paused(*row) for row in rows if row[-1]]
