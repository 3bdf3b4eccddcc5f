"""What was told to other systems about one follow-up."""

from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models.deliveries import Delivery
from models.endpoints import WebhookEndpoint
from models.outbox import OutboxEvent
from models.tenants import Tenant


def deliveries(session: Session, tenant: Tenant, followup_id: UUID) -> list[Any]:
    """What was told to whom about one follow-up: id, event type, url, state, attempts, last status, at.

    The pages show no more of the url than its origin: what comes after may be a secret."""
    return list(
        session.execute(
            select(
                Delivery.id,
                OutboxEvent.event_type,
                WebhookEndpoint.url,
                Delivery.state,
                Delivery.attempts,
                Delivery.last_status,
                Delivery.updated_at,
            )
            .join(Delivery, Delivery.event_id == OutboxEvent.id)
            .join(WebhookEndpoint, WebhookEndpoint.id == Delivery.endpoint_id)
            .where(
                OutboxEvent.tenant_id == tenant.id,
                OutboxEvent.aggregate_type == "followup",
                OutboxEvent.aggregate_id == str(followup_id),
            )
            .order_by(OutboxEvent.id, Delivery.id)
            .limit(100)
        )
    )
