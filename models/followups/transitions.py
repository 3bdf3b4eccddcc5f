"""What a person or the API does with one follow-up: cancel, reschedule, re-arm."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import audit, locks, text
from models.actors import Actor
from models.clock import as_utc
from models.declarations import Declared
from models.errors import Conflict, Invalid, NotFound
from models.followups import booking, contacts, since
from models.followups.cancelling import cancel_all, set_cancelled
from models.followups.records import REARMABLE, FollowUp, Status
from models.tenants import Tenant
from models.transitions import check_version


def refusal_to_cancel(followup: FollowUp) -> str | None:
    """Why `followup` can't be cancelled, for the button and the route alike; None where it can."""
    if followup.status in (Status.PENDING, Status.CANCELLED):
        return None
    return f"This follow-up {_stands(followup)}, so it can't be cancelled."


def _stands(followup: FollowUp) -> str:
    return "has fired" if followup.status == Status.FIRED else f"is {followup.status}"


def refusal_to_reschedule(followup: FollowUp) -> str | None:
    """Why `followup` can't be rescheduled; None where it can."""
    if followup.status == Status.PENDING:
        return None
    return f"This follow-up {_stands(followup)}, so it can't be rescheduled."


def refusal_to_rearm(followup: FollowUp) -> str | None:
    """Why `followup` can't be re-armed; None where it can."""
    if followup.status in REARMABLE:
        return None
    if followup.status == Status.FIRED:
        may = "its message may have gone out, so it is never re-armed. Book a new one."
        return f"This follow-up has fired: {may}"
    return "This follow-up is pending already. Reschedule it instead."


def cancel(
    session: Session,
    tenant_id: int,
    followup_id: UUID,
    *,
    actor: Actor,
    now: datetime,
    reason: str | None = None,
    detail: Mapping[str, Any] | None = None,
    expected_version: int | None = None,
    anew: bool = False,
) -> FollowUp:
    """Cancel a pending follow-up; a cancelled one is returned unchanged, with no audit event.

    `reason` is the operator's and stands in the audit, as does `detail`. With `anew`, one that was cancelled
    already is refused, too.

    Raises `NotFound`, and `Conflict` with the row as it is where it fired, was blocked or moved.
    """
    followup = _locked(session, tenant_id, followup_id)
    _allow(followup, refusal_to_cancel(followup))
    if followup.status == Status.CANCELLED:
        _allow(followup, "This follow-up is cancelled already." if anew else None)
        return followup
    check_version(followup, expected_version, "follow-up")
    purpose = text.optional(reason, "reason")
    given = dict(detail or {})
    set_cancelled(session, followup, by=actor.label, purpose=purpose, actor=actor, now=now, detail=given)
    return followup


def cancel_all_of(session: Session, tenant: Tenant, customer: str, *, actor: Actor, now: datetime) -> int:
    """Cancel every pending follow-up of `customer` in one transaction; how many there were."""
    contacts.lock(session, tenant.id, customer)
    return cancel_all(
        session, tenant.id, customer, by=actor.label, purpose="cancel_all", actor=actor, now=now
    )


def reschedule(
    session: Session,
    tenant_id: int,
    followup_id: UUID,
    at: datetime,
    *,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> FollowUp:
    """Give a pending follow-up another time, ahead of now. Raises `NotFound`, `Invalid`, `Conflict`."""
    at = as_utc(at, "at")
    if at <= now:
        raise Invalid("at", "must be ahead of now")
    followup = _locked(session, tenant_id, followup_id)
    _allow(followup, refusal_to_reschedule(followup))
    check_version(followup, expected_version, "follow-up")
    if followup.at == at:
        return followup
    before = followup.at
    followup.at, followup.deferred_until, followup.next_attempt_at = at, None, None
    followup.version += 1
    followup.updated_at = now
    audit.append(
        session,
        tenant_id=tenant_id,
        actor=actor,
        action="followup.rescheduled",
        resource=("followup", str(followup.id)),
        now=now,
        detail={"at_before": before.isoformat(), "at_after": at.isoformat()},
    )
    return followup


def rearm(
    session: Session,
    tenant: Tenant,
    followup_id: UUID,
    at: datetime,
    *,
    declared: Declared,
    actor: Actor,
    now: datetime,
    reason: str | None = None,
    detail: Mapping[str, Any] | None = None,
    expected_version: int | None = None,
    known: str | None = None,
) -> FollowUp:
    """Book a cancelled or blocked follow-up again as a new record, under the rules of a booking.

    `reason` is the operator's, for the audit, as is `detail`. `known` is the `since.Since.sign` of what the
    operator was shown. Raises `NotFound`, `Invalid`, `AlreadyPending`, `OptedOut`, and `Conflict` where there
    is more to know, such as that the same fired since; never re-arms one that fired.
    """
    booking.check_ahead(at, now)
    # Whatever books, fires or erases the same holds it until that is committed; so the row is read behind it.
    contacts.lock(session, tenant.id, booking.get(session, tenant.id, followup_id).customer)
    first = _locked(session, tenant.id, followup_id)
    _allow(first, refusal_to_rearm(first))
    check_version(first, expected_version, "follow-up")
    since.check(session, first, known)
    made, _new = booking.book(
        session,
        tenant,
        agent=first.agent,
        customer=first.customer,
        at=at,
        reason=first.reason,
        session_id=first.session_id,
        arm=first.arm,
        transport=first.transport,
        declared=declared,
        actor=actor,
        now=now,
        again=first,
        purpose=text.optional(reason, "reason"),
        detail=detail,
    )
    return made


def _allow(followup: FollowUp, refusal: str | None) -> None:
    if refusal is not None:
        raise Conflict(refusal, current=followup)


def _locked(session: Session, tenant_id: int, followup_id: UUID) -> FollowUp:
    followup = locks.one(
        session, select(FollowUp).where(FollowUp.tenant_id == tenant_id, FollowUp.id == followup_id)
    )
    if followup is None:
        raise NotFound("follow-up")
    return followup
