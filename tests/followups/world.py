"""One tenant with its follow-ups, as a test sees and moves it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from json import dumps
from typing import Any
from uuid import uuid4

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models.audit import AuditEvent
from models.declarations import Declared
from models.followups import booking, contacts
from models.followups.firing import fire_due
from models.followups.importing import ImportResult, import_records
from models.followups.records import AgentTask, Contact, FollowUp, RevokeEvent
from models.intake import IncomingMessage, receive_message
from models.outbox import OutboxEvent
from models.sweeping import Counts
from models.tenants import Tenant
from models.transactions import commit
from tests.support.create import API
from tests.support.declare import declared

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class World:
    """Writes through the domain and commits; reads what stands in the database."""

    def __init__(self, session: Session, tenant: Tenant, now: datetime) -> None:
        self.session = session
        self.tenant = tenant
        self.now = now
        self.declared: Declared = declared()

    def declare(self, **followup: object) -> None:
        """Give `store-support` another policy."""
        self.declared = declared(self.declared.version + 1, **followup)

    def book(self, customer: str = "c-1", reason: str = "pix pending", **given: Any) -> FollowUp:
        now = given.pop("now", self.now)
        values = {"agent": "store-support", "at": now + HOUR, "declared": self.declared, "actor": API}
        followup, _made = booking.book(
            self.session,
            given.pop("tenant", self.tenant),
            customer=customer,
            reason=reason,
            now=now,
            **{**values, **given},
        )
        self.commit()
        return followup

    def take(self, *records: Mapping[str, Any], now: datetime | None = None) -> ImportResult:
        """Import records; each is given what it lacks."""
        lines = [dumps(self.record(**record)) for record in records]
        result = import_records(self.session, self.tenant, lines, actor=API, now=now or self.now)
        self.commit()
        return result

    def record(self, **given: Any) -> dict[str, Any]:
        values = {
            "id": str(uuid4()),
            "agent": "store-support",
            "customer": "c-1",
            "reason": "pix pending",
            "arm": "schedule",
            "at": self.now,
        }
        values.update(given)
        if isinstance(values["at"], datetime):
            values["at"] = values["at"].isoformat()
        return values

    def consent(self, *customers: str) -> None:
        for customer in customers:
            contacts.consent(self.session, self.tenant, customer, actor=API, now=self.now)
        self.commit()

    def fire(self, at: datetime, limit: int = 1_000) -> Counts:
        counts = fire_due(self.session, declared=self.declared, now=at, limit=limit)
        self.session.expire_all()
        return counts

    def say(self, text: str, at: datetime, *, now: datetime | None = None, **given: Any) -> bool:
        """A message of the customer, unless `sender` says otherwise; whether it was stored now."""
        values = {
            "id": str(uuid4()),
            "conversation_id": "v-1",
            "direction": "incoming",
            "agent": "store-support",
            "sender": {"type": "customer", "key": "c-1"},
        }
        message = IncomingMessage(text=text, created_at=at, **{**values, **given})
        received = receive_message(self.session, self.tenant, message, declared=self.declared, now=now or at)
        self.commit()
        return received.made

    def revoke(self, customer: str = "c-1", *, now: datetime | None = None, by: str = "operator") -> int:
        count = contacts.revoke(self.session, self.tenant, customer, by=by, actor=API, now=now or self.now)
        self.commit()
        return count

    def commit(self) -> None:
        commit(self.session, "tests.world")

    def contact(self, customer: str = "c-1") -> Contact | None:
        query = select(Contact).where(Contact.tenant_id == self.tenant.id, Contact.customer == customer)
        return self.session.scalars(query.execution_options(populate_existing=True)).one_or_none()

    def state(self, customer: str = "c-1") -> tuple[str, int] | None:
        contact = self.contact(customer)
        return (contact.state, contact.sends_without_reply) if contact else None

    def outcome_of(self, followup: FollowUp | str) -> tuple[str, str | None]:
        """Status and blocked reason, as stored."""
        id = followup.id if isinstance(followup, FollowUp) else booking.UUID(followup)
        row = booking.get(self.session, self.tenant.id, id)
        return (row.status, row.blocked_reason)

    def count(self, model: Any) -> int:
        return self.session.scalar(select(func.count()).select_from(model)) or 0

    def tasks(self) -> list[AgentTask]:
        query = select(AgentTask).order_by(AgentTask.created_at, AgentTask.id)
        return list(self.session.scalars(query.execution_options(populate_existing=True)))

    def actions(self, resource_type: str | None = None) -> list[str]:
        """The actions of the audit in order, without the making of the tenant."""
        query = select(AuditEvent.action).where(AuditEvent.resource_type != "tenant").order_by(AuditEvent.id)
        if resource_type is not None:
            query = query.where(AuditEvent.resource_type == resource_type)
        return list(self.session.scalars(query))

    def told(self) -> list[str]:
        return list(self.session.scalars(select(OutboxEvent.event_type).order_by(OutboxEvent.id)))

    def revokes(self) -> int:
        return self.count(RevokeEvent)
