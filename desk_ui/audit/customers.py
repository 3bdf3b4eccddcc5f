"""Which customer an event is about, looked up now: the audit itself holds none, so an erased one has none."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy import ColumnElement, and_, false, select
from sqlalchemy.orm import Session

from models.audit import AuditEvent
from models.followups.records import Contact, FollowUp
from models.tenants import Tenant

# So many of a customer's follow-ups, the newest, are looked for in the audit.
MOST = 200
_RECORDS: dict[str, Any] = {"contact": Contact, "followup": FollowUp}


class About(Protocol):
    """What tells which thing an event is about."""

    @property
    def resource_type(self) -> str: ...
    @property
    def resource_id(self) -> str: ...


def named(session: Session, tenant: Tenant, events: Iterable[About]) -> Mapping[tuple[str, str], str]:
    """The customer of each contact and follow-up that `events` are about, by kind and id; none if erased."""
    found: dict[tuple[str, str], str] = {}
    events = list(events)
    for kind, record in _RECORDS.items():
        ids = {id for event in events if event.resource_type == kind for id in _uuid(event.resource_id)}
        if ids:
            query = select(record.id, record.customer)
            rows = session.execute(query.where(record.tenant_id == tenant.id, record.id.in_(ids)))
            found |= {(kind, str(id)): customer for id, customer in rows}
    return found


def _uuid(given: str) -> list[UUID]:
    try:
        return [UUID(given)]
    except ValueError:
        return []


@dataclass(frozen=True, slots=True)
class Things:
    """The contact and the newest follow-ups of one customer, as the audit names them."""

    names: tuple[tuple[str, str], ...]
    more: bool

    @property
    def condition(self) -> ColumnElement[bool]:
        """The events about them, in the words of the index over what events are about."""
        if not self.names:
            return false()
        kinds, ids = {kind for kind, _id in self.names}, [id for _kind, id in self.names]
        return and_(AuditEvent.resource_type.in_(sorted(kinds)), AuditEvent.resource_id.in_(ids))


def things_of(session: Session, tenant: Tenant, customer: str) -> Things:
    contact = select(Contact.id).where(Contact.tenant_id == tenant.id, Contact.customer == customer)
    followups = (
        select(FollowUp.id)
        .where(FollowUp.tenant_id == tenant.id, FollowUp.customer == customer)
        .order_by(FollowUp.created_at.desc(), FollowUp.id.desc())
    )
    ids = session.scalars(followups.limit(MOST + 1)).all()
    names = [("contact", str(id)) for id in session.scalars(contact)]
    return Things((*names, *(("followup", str(id)) for id in ids[:MOST])), more=len(ids) > MOST)
