"""Outcomes: what came of a conversation, reported once each."""

from datetime import datetime

from sqlalchemy.orm import Session

from models import text
from models.clock import as_utc
from models.errors import Conflict, Invalid
from models.followups.records import Outcome
from models.tenants import Tenant


def record(
    session: Session,
    tenant: Tenant,
    *,
    id: str,
    agent: str,
    customer: str,
    kind: str,
    occurred_at: datetime,
    now: datetime,
    session_id: str | None = None,
    value: float | None = None,
) -> tuple[Outcome, bool]:
    """Store an outcome; the same `id` with the same content returns the first one.

    Returns the outcome and whether it was stored now. Raises `Invalid`, and `Conflict` for an id that was
    given to other content.
    """
    if value is not None and not -1e15 < value < 1e15:
        raise Invalid("value", "must be a number between -10^15 and 10^15")
    outcome = Outcome(
        tenant_id=tenant.id,
        id=text.required(id, "id"),
        agent=text.required(agent, "agent"),
        customer=text.required(customer, "customer"),
        session_id=text.optional(session_id, "session_id"),
        kind=text.required(kind, "kind"),
        value=value,
        occurred_at=as_utc(occurred_at, "occurred_at"),
        created_at=now,
    )
    known = session.get(Outcome, (tenant.id, outcome.id))
    if known is None:
        session.add(outcome)
        session.flush()
        return outcome, True
    fields = ("agent", "customer", "session_id", "kind", "value", "occurred_at")
    if any(getattr(known, name) != getattr(outcome, name) for name in fields):
        raise Conflict("This id was given to another outcome.")
    return known, False
