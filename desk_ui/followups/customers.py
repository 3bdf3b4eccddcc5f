"""What is known of a follow-up's customer: their contact, what else waits for them, what was booked again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from desk_ui.followups import queries
from desk_ui.followups.queries import Entry
from desk_ui.paging import MOST_COUNTED
from models.audit import AuditEvent
from models.audit_reading import last_success
from models.followups.records import AgentTask, Contact, ContactState, FollowUp, Status, TaskStatus
from models.tenants import Tenant


@dataclass(frozen=True, slots=True)
class Waiting:
    """What an opt-out cancels: pending follow-ups and queued tasks of all agents, to one above the cap.

    `taken` are the tasks that agents have already, which it can't call back.
    """

    followups: int
    tasks: int
    taken: int


@dataclass(frozen=True, slots=True)
class Again:
    """The newest follow-up that was booked again from another one."""

    id: UUID
    status: str
    created_at: datetime


def contact(session: Session, tenant: Tenant, customer: str) -> Contact | None:
    query = select(Contact).where(Contact.tenant_id == tenant.id, Contact.customer == customer)
    return session.scalars(query).one_or_none()


def waiting(session: Session, tenant: Tenant, customer: str) -> Waiting:
    """Counted as they stand; more may be booked before the opt-out, which cancels these too."""
    followups = select(FollowUp.id).where(
        FollowUp.tenant_id == tenant.id,
        FollowUp.customer == customer,
        FollowUp.status == Status.PENDING.value,
    )
    tasks = select(AgentTask.id).where(AgentTask.tenant_id == tenant.id, AgentTask.customer == customer)
    queued, taken = (
        _count(session, tasks.where(AgentTask.status == status.value))
        for status in (TaskStatus.QUEUED, TaskStatus.DISPATCHED)
    )
    return Waiting(_count(session, followups), queued, taken)


def opted_out_because(session: Session, tenant: Tenant, contact: Contact | None) -> str | None:
    """The reason kept with the last opt-out of `contact`, while that stands."""
    if contact is None or contact.state != ContactState.REVOKED:
        return None
    revoked = AuditEvent.action == "contact.revoked"
    event = last_success(session, tenant.id, ("contact", str(contact.id)), revoked)
    return event.purpose if event else None


def _count(session: Session, query: Select[Any]) -> int:
    capped = query.limit(MOST_COUNTED + 1).subquery()
    return session.scalars(select(func.count()).select_from(capped)).one()


def rearmed_as(session: Session, tenant: Tenant, followup_id: UUID) -> Again | None:
    """What was booked again from this one; the newest, where that was done more than once."""
    found = session.execute(
        select(FollowUp.id, FollowUp.status, FollowUp.created_at)
        .where(FollowUp.tenant_id == tenant.id, FollowUp.rearmed_from == followup_id)
        .order_by(FollowUp.created_at.desc(), FollowUp.id.desc())
        .limit(1)
    ).first()
    return Again(*found) if found else None


def booking_again(session: Session, tenant: Tenant, again: Again) -> list[Entry]:
    """Of the audit of `again`, that it was booked, for the timeline of the one it came from."""
    entries = queries.timeline(session, tenant, again.id)
    return [
        replace(entry, detail={**entry.detail, "again": again.id})
        for entry in entries
        if entry.action == "followup.rearmed" and not entry.refused
    ]


def consented_with(followup: FollowUp, contact: Contact | None) -> bool:
    """Whether booking `followup` made the contact: it is as old as that."""
    return contact is not None and contact.created_at == followup.created_at


def consent_of(session: Session, tenant: Tenant, followup: FollowUp, contact: Contact | None) -> list[Entry]:
    """Of the audit of the contact, the consent that was recorded with the booking of `followup`."""
    if contact is None or not consented_with(followup, contact):
        return []
    event = session.scalars(
        select(AuditEvent)
        .where(
            AuditEvent.tenant_id == tenant.id,
            AuditEvent.resource_type == "contact",
            AuditEvent.resource_id == str(contact.id),
        )
        .order_by(AuditEvent.at, AuditEvent.id)
        .limit(1)
    ).first()
    if event is None or event.action != "contact.granted" or event.at != followup.created_at:
        return []
    return [replace(Entry.of(event), action="contact.consented")]


def rearmed_among(session: Session, tenant: Tenant, ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """As which ones these, at most a page of them, were booked again: the newest of each."""
    if not ids:
        return {}
    query = (
        select(FollowUp.rearmed_from, FollowUp.id)
        .where(FollowUp.tenant_id == tenant.id, FollowUp.rearmed_from.in_(ids))
        .order_by(FollowUp.created_at, FollowUp.id)
    )
    return {first: id for first, id in session.execute(query) if first is not None}
