"""Consent: what grants, revokes and exhausts a contact, and the lock that its row is."""

import hashlib
import hmac
from datetime import datetime
from uuid import uuid4

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from models import audit, bulk, locks, outbox, text
from models.actors import Actor, ActorType
from models.errors import NotFound, OptedOut
from models.followups import cancelling
from models.followups.records import Contact, ContactState, ErasedOptOut, RevokeEvent
from models.settings import settings
from models.tenants import Tenant
from models.transitions import move


def get(session: Session, tenant_id: int, customer: str) -> Contact:
    """The contact cell of `customer`. Raises `NotFound` if they were never messaged."""
    contact = session.scalars(_query(tenant_id, customer)).one_or_none()
    if contact is None:
        raise NotFound("contact")
    return contact


def lock(session: Session, tenant_id: int, customer: str) -> Contact | None:
    """The contact cell, locked, or None where there is none."""
    return locks.one(session, _query(tenant_id, customer))


def consent(session: Session, tenant: Tenant, customer: str, *, actor: Actor, now: datetime) -> Contact:
    """The contact cell for a booking, locked; made as granted if absent. Raises `OptedOut`.

    It never lifts `unavailable` and never resets the counter.
    """
    contact = _ensure(session, tenant, customer, purpose="consent", actor=actor, now=now)
    if contact.state == ContactState.REVOKED:
        raise OptedOut
    return contact


def heard(
    session: Session,
    tenant: Tenant,
    customer: str,
    *,
    created_at: datetime,
    opts_out: bool,
    auto_reply: bool,
    now: datetime,
) -> None:
    """A message that the customer wrote came in: it opts out, or reopens the contact, or does nothing.

    A message created before the opt-out (its own `created_at`, at most now) does not lift it, and an
    automatic reply reopens nothing.
    """
    written_at = min(created_at, now)
    if opts_out:
        _revoke(session, tenant, customer, by="keyword", at=written_at, actor=None, now=now)
        return
    if auto_reply:
        return
    closed_at = _erased_opt_out(session, tenant, customer)
    if closed_at is not None and written_at < closed_at.revoked_at:
        return
    if closed_at is not None:
        session.delete(closed_at)
        session.flush()
    contact = _ensure(session, tenant, customer, purpose="message", actor=None, now=now)
    if contact.state == ContactState.REVOKED and contact.revoked_at and written_at < contact.revoked_at:
        return
    contact.sends_without_reply = 0
    contact.updated_at = now
    if contact.state != ContactState.GRANTED:
        _move(session, contact, ContactState.GRANTED, actor=_themself(contact), purpose="message", now=now)


def revoke(
    session: Session,
    tenant: Tenant,
    customer: str,
    *,
    by: str,
    actor: Actor,
    now: datetime,
    reason: str | None = None,
) -> int:
    """Opt the customer out: all their pending follow-ups and queued tasks are cancelled with it.

    `by` says how (keyword, channel, operator, api), and `reason`, which the audit keeps, why. Returns how
    many follow-ups were cancelled; doing it again changes nothing.
    """
    text.required(customer, "customer")
    text.required(by, "by")
    why = text.optional(reason, "reason")
    return _revoke(session, tenant, customer, by=by, at=now, actor=actor, now=now, reason=why)


def _revoke(
    session: Session,
    tenant: Tenant,
    customer: str,
    *,
    by: str,
    at: datetime,
    actor: Actor | None,
    now: datetime,
    reason: str | None = None,
) -> int:
    why = reason or by
    contact = _ensure(
        session, tenant, customer, purpose=why, actor=actor, now=now, state=ContactState.REVOKED
    )
    made = contact.revoked_at is None and contact.state == ContactState.REVOKED
    already = contact.state == ContactState.REVOKED and not made
    if already and by != "keyword":
        return 0
    session.add(RevokeEvent(tenant_id=tenant.id, customer=customer, at=at, source=by))
    contact.revoked_at = max(at, contact.revoked_at) if already and contact.revoked_at else at
    contact.revoked_by = who = _who(by, actor)
    hand = actor or _themself(contact)
    if not already and not made:
        _move(session, contact, ContactState.REVOKED, actor=hand, purpose=why, now=now)
    if not already:
        outbox.enqueue(
            session,
            tenant_id=tenant.id,
            event_type="contact.revoked",
            aggregate=("contact", str(contact.id)),
            payload={"contact_id": str(contact.id), "by": by},
            now=now,
        )
    return cancelling.cancel_all(
        session, tenant.id, customer, by=f"opt-out ({who})", purpose="opted_out", actor=hand, now=now
    )


def _who(by: str, actor: Actor | None) -> str:
    """How it was done, or the person who did it, cut to what is stored with words around it."""
    person = actor is not None and actor.type is ActorType.OPERATOR
    return actor.label[:180] if actor and person and by == "operator" else by


def _ensure(
    session: Session,
    tenant: Tenant,
    customer: str,
    *,
    purpose: str,
    actor: Actor | None,
    now: datetime,
    state: ContactState = ContactState.GRANTED,
) -> Contact:
    """The contact cell, locked, made in `state` if absent, with its audit event."""
    made = False
    # More than twice round only where an erasing took the cell between its making and its lock.
    while (contact := lock(session, tenant.id, customer)) is None:
        if state is ContactState.GRANTED and _erased_opt_out(session, tenant, customer) is not None:
            raise OptedOut
        made = _insert(session, tenant, customer, state, now)
    if made:
        audit.append(
            session,
            tenant_id=tenant.id,
            actor=actor or _themself(contact),
            action=f"contact.{state.value}",
            resource=("contact", str(contact.id)),
            now=now,
            purpose=purpose,
            detail={"from": None, "to": state.value},
        )
    return contact


def _insert(session: Session, tenant: Tenant, customer: str, state: ContactState, now: datetime) -> bool:
    """Insert the cell unless another transaction does; whether it was this one."""
    row = {
        "id": uuid4(),
        "tenant_id": tenant.id,
        "customer": text.required(customer, "customer"),
        "state": state.value,
        "sends_without_reply": 0,
        "created_at": now,
        "updated_at": now,
        "version": 1,
    }
    return bool(bulk.insert_absent(session, Contact, [row], resource_type="contact"))


def _move(
    session: Session, contact: Contact, to: ContactState, *, actor: Actor, purpose: str, now: datetime
) -> None:
    move(
        session,
        contact,
        to,
        attribute="state",
        actor=actor,
        now=now,
        action=f"contact.{to.value}",
        purpose=purpose,
    )


def _themself(contact: Contact) -> Actor:
    return Actor.customer(str(contact.id))


def _query(tenant_id: int, customer: str) -> Select[Contact]:
    return select(Contact).where(Contact.tenant_id == tenant_id, Contact.customer == customer)


def digest(tenant: Tenant, customer: str) -> str:
    """The keyed hash by which an erased customer's opt-out is known again."""
    key = hashlib.sha256(b"opt-out:" + settings().secret_key.encode()).digest()
    return hmac.new(key, f"{tenant.key}\x00{customer}".encode(), hashlib.sha256).hexdigest()


def _erased_opt_out(session: Session, tenant: Tenant, customer: str) -> ErasedOptOut | None:
    return session.get(ErasedOptOut, (tenant.id, digest(tenant, customer)))
