"""Booking: a promise is taken, with consent, once for each agent, customer and reason."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session, aliased

from models import audit, outbox, text
from models.actors import Actor
from models.clock import LONGEST, UNITS, as_utc, parse_time
from models.declarations import Declared
from models.errors import AlreadyPending, Conflict, Invalid, NotFound
from models.followups import contacts
from models.followups.policy import DEFAULT_ARM, policy_of
from models.followups.records import FollowUp, Status
from models.tenants import Tenant

LEAST_AHEAD = timedelta(minutes=5)
REASON_LENGTH = 200

_RELATIVE = re.compile(r"\+([0-9]{1,9})([mhd])")


def parse_at(value: str, now: datetime) -> datetime:
    """`at` of a booking: ISO 8601 with an offset, or relative as `+<n>(m|h|d)`. Raises `Invalid` on `at`."""
    relative = _RELATIVE.fullmatch(value.strip()) if value.isascii() else None
    if relative is None:
        return parse_time(value, "at")
    seconds = int(relative[1]) * UNITS[relative[2]]
    if seconds > LONGEST.total_seconds():
        raise Invalid("at", "is more than ten years ahead")
    return now + timedelta(seconds=seconds)


def book(
    session: Session,
    tenant: Tenant,
    *,
    agent: str,
    customer: str,
    at: datetime,
    reason: str,
    declared: Declared,
    actor: Actor,
    now: datetime,
    id: UUID | None = None,
    session_id: str | None = None,
    arm: str | None = None,
    transport: str | None = None,
    again: FollowUp | None = None,
    purpose: str | None = None,
    detail: Mapping[str, Any] | None = None,
) -> tuple[FollowUp, bool]:
    """Take a promise and its consent. Returns the follow-up and whether it was made now.

    `again` is the one that this books again; `purpose` and `detail` are what else the audit says of it.

    The same `id` with the same content returns the first one. Raises `Invalid` (`at` less than five minutes
    ahead, a blank or long text), `AlreadyPending` (the same agent, customer and reason), `OptedOut`, and
    `Conflict` for an id that was given to other content.
    """
    followup = FollowUp(
        id=id or uuid4(),
        tenant_id=tenant.id,
        agent=text.required(agent, "agent"),
        customer=text.required(customer, "customer"),
        session_id=text.optional(session_id, "session_id"),
        at=as_utc(at, "at"),
        reason=text.required(reason, "reason", longest=REASON_LENGTH),
        arm=text.required(arm, "arm") if arm is not None else _default_arm(declared, agent),
        transport=text.optional(transport, "transport"),
        status=Status.PENDING.value,
        attempts=0,
        created_at=now,
        updated_at=now,
        rearmed_from=again.id if again else None,
        promised_at=(again.promised_at or again.created_at) if again else None,
        version=1,
    )
    if id is not None:
        known = find(session, tenant.id, id)
        if known is not None:
            return _repeated(known, followup, arm_given=arm is not None), False
    check_ahead(followup.at, now)
    contacts.consent(session, tenant, followup.customer, actor=actor, now=now)
    # Asked again under the contact's lock: another process may have booked the same meanwhile.
    if id is not None and (known := find(session, tenant.id, id)) is not None:
        return _repeated(known, followup, arm_given=arm is not None), False
    prior = pending_twin(session, followup.tenant_id, followup)
    if prior is not None:
        raise AlreadyPending(str(prior))
    session.add(followup)
    session.flush()
    _record(session, followup, actor=actor, now=now, purpose=purpose, beside=detail or {})
    return followup, True


def check_ahead(at: datetime, now: datetime) -> None:
    """Raises `Invalid` unless `at` is at least five minutes ahead."""
    if as_utc(at, "at") < now + LEAST_AHEAD:
        raise Invalid("at", "would already be due; it must be at least 5 minutes ahead")


def get(session: Session, tenant_id: int, followup_id: UUID) -> FollowUp:
    """Raises `NotFound`, for another tenant's too."""
    followup = find(session, tenant_id, followup_id)
    if followup is None:
        raise NotFound("follow-up")
    return followup


def find(session: Session, tenant_id: int, followup_id: UUID) -> FollowUp | None:
    return session.get(FollowUp, (tenant_id, followup_id), populate_existing=True)


def _default_arm(declared: Declared, agent: str) -> str:
    policy = policy_of(declared, agent).policy
    return policy.arm if policy else DEFAULT_ARM


def _repeated(known: FollowUp, given: FollowUp, *, arm_given: bool) -> FollowUp:
    same = (
        (known.agent, known.customer, known.reason) == (given.agent, given.customer, given.reason)
        and (known.session_id, known.transport) == (given.session_id, given.transport)
        and (known.arm == given.arm or not arm_given)
        # `+6h` is another time each time it is sent, so a repeat is known by its other content.
        and (known.at == given.at or abs(known.at - given.at) == abs(known.created_at - given.created_at))
    )
    if not same:
        raise Conflict("This id was given to another follow-up.", current=known)
    return known


class _Promise(Protocol):
    """What two follow-ups have in common of which only one may be pending."""

    @property
    def agent(self) -> str: ...
    @property
    def customer(self) -> str: ...
    @property
    def reason(self) -> str: ...


def pending_twin(session: Session, tenant_id: int, promise: _Promise) -> UUID | None:
    """A pending follow-up of the same agent, customer and reason, which a booking would refuse to repeat."""
    return session.scalars(
        select(FollowUp.id)
        .where(
            FollowUp.tenant_id == tenant_id,
            FollowUp.customer == promise.customer,
            FollowUp.status == Status.PENDING,
            FollowUp.agent == promise.agent,
            FollowUp.reason == promise.reason,
        )
        .order_by(FollowUp.at, FollowUp.id)
        .limit(1)
    ).first()


def booked_again(tenant_id: object, followup_id: object) -> ColumnElement[bool]:
    """Whether the follow-up with this id, a value or a column, was booked again since."""
    made = aliased(FollowUp)
    return exists().where(made.tenant_id == tenant_id, made.rearmed_from == followup_id)


def _record(
    session: Session,
    followup: FollowUp,
    *,
    actor: Actor,
    now: datetime,
    purpose: str | None,
    beside: Mapping[str, Any],
) -> None:
    rearmed_from = str(followup.rearmed_from) if followup.rearmed_from else None
    audit.append(
        session,
        tenant_id=followup.tenant_id,
        actor=actor,
        action="followup.rearmed" if rearmed_from else "followup.scheduled",
        resource=("followup", str(followup.id)),
        now=now,
        purpose=purpose,
        detail={
            "from": None,
            "to": Status.PENDING.value,
            "agent": followup.agent,
            "arm": followup.arm,
            **({"rearmed_from": rearmed_from} if rearmed_from else {}),
            **beside,
        },
    )
    outbox.enqueue(
        session,
        tenant_id=followup.tenant_id,
        event_type="followup.scheduled",
        aggregate=("followup", str(followup.id)),
        payload={
            "followup_id": str(followup.id),
            "agent": followup.agent,
            "arm": followup.arm,
            "rearmed_from": rearmed_from,
        },
        now=now,
    )
