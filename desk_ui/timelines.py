"""The audit of one thing, as its page tells it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from models.audit import AuditEvent
from models.audit_reading import last_success
from models.tenants import Tenant

MOST = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One audit event, as a timeline shows it."""

    at: datetime
    action: str
    actor_type: str
    actor: str
    purpose: str | None
    refused: bool
    detail: Mapping[str, Any]

    @classmethod
    def of(cls, e: AuditEvent) -> "Entry":
        return cls(e.at, e.action, e.actor_type, e.actor_label, e.purpose, e.result != "success", e.detail)


def timeline(session: Session, tenant: Tenant, resource: tuple[str, str]) -> list[Entry]:
    """The audit of `resource` (type, id), oldest first; up to 200 events."""
    events = session.scalars(
        select(AuditEvent)
        .where(
            AuditEvent.tenant_id == tenant.id,
            AuditEvent.resource_type == resource[0],
            AuditEvent.resource_id == resource[1],
        )
        .order_by(AuditEvent.at, AuditEvent.id)
        .limit(MOST)
    )
    return [Entry.of(event) for event in events]


def last_change(session: Session, tenant: Tenant, resource: tuple[str, str]) -> Entry | None:
    """The newest audit event by which `resource` changed."""
    # Who is on it changes nothing of itself.
    of_itself = AuditEvent.action.not_in([f"{resource[0]}.{verb}" for verb in ("taken_on", "let_go")])
    event = last_success(session, tenant.id, resource, of_itself)
    return Entry.of(event) if event else None
