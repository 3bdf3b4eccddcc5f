"""Taking a cancel back: for a short while, the same is booked again under the rules of a booking."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models.actors import Actor, ActorType
from models.audit import AuditEvent
from models.audit_reading import last_success
from models.declarations import Declared
from models.errors import Conflict, DeskError, OptedOut
from models.followups import booking, contacts, since
from models.followups.records import Contact, ContactState, FollowUp, Status
from models.tenants import Tenant

UNDO_WITHIN = timedelta(seconds=30)
PURPOSE = "undo"


def undo_cancel(
    session: Session,
    tenant: Tenant,
    followup_id: UUID,
    *,
    declared: Declared,
    actor: Actor,
    now: datetime,
) -> FollowUp:
    """Book again, as it was, what a person cancelled within the last 30 s; the new record, once for each.

    Its one audit event is that of a booking, with the purpose `undo`. Raises `NotFound`, `OptedOut`,
    `AlreadyPending`, and `Conflict` where there is nothing to take back, or no more.
    """
    first = booking.get(session, tenant.id, followup_id)
    # Held until the commit: of two who take the same back, the second finds the first one's record.
    contact = contacts.lock(session, tenant.id, first.customer)
    refusal = _refusal(session, first, contact, now)
    if refusal is not None:
        raise refusal
    made, _new = booking.book(
        session,
        tenant,
        agent=first.agent,
        customer=first.customer,
        at=first.at,
        reason=first.reason,
        session_id=first.session_id,
        arm=first.arm,
        transport=first.transport,
        declared=declared,
        actor=actor,
        now=now,
        again=first,
        purpose=PURPOSE,
    )
    return made


def undo_until(session: Session, followup: FollowUp, now: datetime) -> datetime | None:
    """Until when the cancel of `followup` can be taken back; None where it can't be."""
    if followup.status != Status.CANCELLED or not now < followup.updated_at + UNDO_WITHIN:
        return None
    contact = session.scalars(
        select(Contact).where(Contact.tenant_id == followup.tenant_id, Contact.customer == followup.customer)
    ).one_or_none()
    if _refusal(session, followup, contact, now) is not None or _is_pending(session, followup):
        return None
    # From then on it is due in less than the five minutes that a booking needs.
    return min(followup.updated_at + UNDO_WITHIN, followup.at - booking.LEAST_AHEAD)


def due_too_soon(followup: FollowUp, now: datetime) -> bool:
    """Whether its time is too near, or past, to be booked again as it was, so no cancel is taken back."""
    return followup.at < now + booking.LEAST_AHEAD


def _refusal(
    session: Session, followup: FollowUp, contact: Contact | None, now: datetime
) -> DeskError | None:
    """Why the cancel of `followup` can't be taken back, for the button and the route alike."""
    why = _refusal_of_itself(followup, now)
    if why is None and contact is None:
        why = "There is no consent on record, so it can't be taken back. Re-arm it instead."
    if why is None and _is_booked_again(session, followup):
        why = "It was booked again already, so there is nothing to take back."
    if why is None and since.read(session, followup).fired is not None:
        why = "The same fired since it was booked, so it can't be taken back."
    if why is None and not _was_by_hand(session, followup):
        why = "It was not cancelled alone and by a person, so it can't be taken back. Re-arm it instead."
    if why is not None:
        return Conflict(why, current=followup)
    return OptedOut() if contact and contact.state == ContactState.REVOKED else None


def _refusal_of_itself(followup: FollowUp, now: datetime) -> str | None:
    if followup.status != Status.CANCELLED:
        return f"This follow-up is {followup.status}, so there is no cancel to take back."
    passed = now - followup.updated_at
    if passed >= UNDO_WITHIN:
        return f"Cancelled {_length(passed)} ago, so it can't be taken back. Re-arm it instead."
    if due_too_soon(followup, now):
        return "Due in less than 5 minutes, so it can't be taken back. Re-arm it for later instead."
    return None


def _length(passed: timedelta) -> str:
    seconds = int(passed.total_seconds())
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7_200 else f"{seconds // 3_600} h"


def _was_by_hand(session: Session, followup: FollowUp) -> bool:
    """Whether a person cancelled it, and it alone: not with an opt-out, and not among many."""
    cancelled = AuditEvent.action == "followup.cancelled"
    event = last_success(session, followup.tenant_id, ("followup", str(followup.id)), cancelled)
    if event is None or event.actor_type != ActorType.OPERATOR or "bulk" in event.detail:
        return False
    return event.purpose not in {"opted_out", "cancel_all"}


def _is_booked_again(session: Session, followup: FollowUp) -> bool:
    return bool(session.scalar(select(booking.booked_again(followup.tenant_id, followup.id))))


def _is_pending(session: Session, followup: FollowUp) -> bool:
    """Whether the same waits already, booked by another way."""
    return booking.pending_twin(session, followup.tenant_id, followup) is not None
