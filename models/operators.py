"""The people who use the console: accounts, their role in each tenant, and one-time sign-in links."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import uuid4

from sqlalchemy import Boolean, ForeignKey, Index, Integer, String, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import audit, locks, text
from models.actors import Actor
from models.base import Base, Serial
from models.errors import Conflict, Forbidden, Invalid, NotFound
from models.mail_addresses import EXAMPLE, SHAPE
from models.tenants import PLATFORM, Tenant
from models.transactions import savepoint

LINK_LASTS = timedelta(minutes=15)
LONGEST_EMAIL = 200
NO_ROLE = "none"


class Role(StrEnum):
    """What a person may do in one tenant; each may all that the one before may."""

    VIEWER = "viewer"
    MARKETER = "marketer"
    LEAD = "lead"
    ADMIN = "admin"


class Operator(Base):
    """One person's account. `password` is a hash, null until one is set; changing `fs_uniquifier` ends all
    sessions of theirs. `timezone` is in which they read times, null for that of the tenant;
    `refresh_seconds` how often their lists are read again, null for as usual (models/preferences.py)."""

    __tablename__ = "operator"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    email: Mapped[str] = mapped_column(String(LONGEST_EMAIL), unique=True)
    password: Mapped[str | None] = mapped_column(String(255))
    active: Mapped[bool] = mapped_column(Boolean, default=True)
    fs_uniquifier: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    signed_in_at: Mapped[datetime | None]
    timezone: Mapped[str | None] = mapped_column(String(64))
    refresh_seconds: Mapped[int | None]


class Membership(Base):
    """The role of one person in one tenant; no row means that the tenant does not exist for them."""

    __tablename__ = "membership"

    operator_id: Mapped[int] = mapped_column(ForeignKey("operator.id"), primary_key=True)
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"), primary_key=True)
    role: Mapped[str] = mapped_column(String(20))
    created_at: Mapped[datetime]

    __table_args__ = (Index("ix_membership_tenant_id", "tenant_id"),)


class SignInLink(Base):
    """A link that signs one person in, once. Only the digest of its secret is kept."""

    __tablename__ = "sign_in_link"

    id: Mapped[Serial]
    operator_id: Mapped[int] = mapped_column(ForeignKey("operator.id"))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    made_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    __table_args__ = (Index("ix_sign_in_link_expires_at", "expires_at"),)


def add(
    session: Session,
    email: str,
    *,
    tenant: Tenant,
    role: str,
    actor: Actor,
    now: datetime,
    expected: str | None = None,
) -> tuple[Operator, bool]:
    """Give `email` the role `role` in `tenant`, making the account if there is none yet.

    `expected` is the role that was shown, or `NO_ROLE`. Returns the operator and whether anything changed.
    Raises `Invalid` on `email` or `role`, and `Conflict` where the role is another one, or `platform` would
    be left without an admin.
    """
    wanted = as_role(role)
    operator = _account(session, _email(email), now)
    membership = session.get(Membership, (operator.id, tenant.id))
    before = membership.role if membership else None
    _check_role(operator, before, expected)
    if before == wanted:
        return operator, False
    if before == Role.ADMIN:
        _keep_an_admin(session, tenant, operator)
    if membership is None:
        session.add(
            Membership(operator_id=operator.id, tenant_id=tenant.id, role=wanted.value, created_at=now)
        )
    else:
        membership.role = wanted.value
    action = "operator.role_changed" if before else "operator.added"
    record(session, operator, tenant.id, action, actor, now, {"role_before": before, "role": wanted.value})
    session.flush()
    return operator, True


def _account(session: Session, email: str, now: datetime) -> Operator:
    """The account of `email`, locked: the one that there is, or that somebody makes now, or a new one."""
    query = select(Operator).where(Operator.email == email)
    if (found := locks.one(session, query)) is not None:
        return found
    made = Operator(email=email, active=True, fs_uniquifier=uuid4().hex, created_at=now, signed_in_at=None)
    try:
        with savepoint(session):
            session.add(made)
            session.flush()
    except IntegrityError:
        return session.scalars(query.with_for_update()).one()
    return made


def revoke_role(
    session: Session,
    operator: Operator,
    *,
    tenant: Tenant,
    actor: Actor,
    now: datetime,
    expected: str | None = None,
) -> bool:
    """Take the operator's role in `tenant` away; whether there was one. The last one empties the account.

    `expected` is the role that was shown. Raises `Conflict` where it is another one, or `platform` would be
    left without an admin.
    """
    locks.one(session, select(Operator).where(Operator.id == operator.id))
    membership = session.get(Membership, (operator.id, tenant.id), populate_existing=True)
    if membership is None:
        return False
    _check_role(operator, membership.role, expected)
    if membership.role == Role.ADMIN:
        _keep_an_admin(session, tenant, operator)
    detail: dict[str, object] = {"role_before": membership.role, "role": None}
    session.delete(membership)
    if not memberships(session, operator):
        from models import leaving  # not above: the second factor, which it knows, knows this module

        leaving.empty(session, operator, now)
        detail["account"] = "emptied"
    record(session, operator, tenant.id, "operator.role_revoked", actor, now, detail)
    session.flush()
    return True


def _check_role(operator: Operator, role: str | None, expected: str | None) -> None:
    if expected is not None and (role or NO_ROLE) != expected:
        has = f"has the role {role} here by now" if role else "has no role here any more"
        raise Conflict(f"{operator.email} {has}, so nothing was done.")


def keep_an_admin(session: Session, leaving: Operator) -> None:
    """Raises `Conflict` if `leaving`, who may not sign in any more, is the last admin of `platform`."""
    platform = session.scalars(select(Tenant).where(Tenant.key == PLATFORM)).one()
    membership = session.get(Membership, (leaving.id, platform.id), populate_existing=True)
    if membership is not None and membership.role == Role.ADMIN:
        _keep_an_admin(session, platform, leaving)


def _keep_an_admin(session: Session, tenant: Tenant, leaving: Operator) -> None:
    """Raises `Conflict` if `leaving` is the last admin of `platform` who may sign in."""
    if tenant.key != PLATFORM:
        return
    # Two admins who take each other's role away at the same time must not both succeed.
    locks.one(session, select(Tenant).where(Tenant.id == tenant.id))
    admins = select(Operator.id).join(Membership, Membership.operator_id == Operator.id)
    of_it = admins.where(Membership.tenant_id == tenant.id, Membership.role == Role.ADMIN)
    others = of_it.where(Operator.active, Operator.id != leaving.id)
    if session.scalars(others.limit(1)).first() is None:
        raise Conflict(f"{leaving.email} is the last admin of {PLATFORM}. Add another one first.")


def as_role(value: str) -> Role:
    """Raises `Invalid` on `role`."""
    if value not in set(Role):
        raise Invalid("role", f"must be one of {', '.join(Role)}")
    return Role(value)


def by_email(session: Session, email: str) -> Operator:
    """The operator with the address `email`, in any case. Raises `NotFound`."""
    operator = known(session, email)
    if operator is None:
        raise NotFound("operator")
    return operator


def known(session: Session, email: str) -> Operator | None:
    """As `by_email`, but None where there is none."""
    if not text.is_storable(email):
        return None
    return session.scalars(select(Operator).where(Operator.email == email.strip().lower())).one_or_none()


def memberships(session: Session, operator: Operator) -> Sequence[tuple[Tenant, Role]]:
    """The tenants that the operator may see, by key, each with their role."""
    rows = session.execute(
        select(Tenant, Membership.role)
        .join(Membership, Membership.tenant_id == Tenant.id)
        .where(Membership.operator_id == operator.id)
        .order_by(Tenant.key)
    )
    return [(tenant, Role(role)) for tenant, role in rows]


def make_link(session: Session, operator: Operator, *, actor: Actor, now: datetime) -> str:
    """The secret of a new one-time sign-in link, good for 15 minutes; those before are void.

    Raises `Conflict` if switched off.
    """
    locks.one(session, select(Operator).where(Operator.id == operator.id))
    if not operator.active:
        raise Conflict("This account is switched off, so it gets no sign-in link.", current=operator)
    void_links(session, operator, now)
    secret = secrets.token_urlsafe(32)
    session.add(
        SignInLink(operator_id=operator.id, digest=_digest(secret), made_at=now, expires_at=now + LINK_LASTS)
    )
    record(session, operator, home(session, operator), "operator.link_made", actor, now)
    return secret


def void_links(session: Session, operator: Operator, now: datetime) -> None:
    """Use up the operator's links that nobody used, which else would outlive what ends their sessions."""
    unused = SignInLink.used_at.is_(None), SignInLink.expires_at > now
    void = update(SignInLink).where(SignInLink.operator_id == operator.id, *unused).values(used_at=now)
    session.execute(void.execution_options(synchronize_session=False))


def peek_link(session: Session, secret: str, *, now: datetime) -> Operator | None:
    """Whom the link would sign in, without using it; None for one that is unknown, used or too old."""
    return session.scalars(
        select(Operator)
        .join(SignInLink, SignInLink.operator_id == Operator.id)
        .where(
            SignInLink.digest == _digest(secret),
            SignInLink.used_at.is_(None),
            SignInLink.expires_at > now,
            Operator.active,
        )
    ).one_or_none()


def use_link(session: Session, secret: str, *, now: datetime) -> Operator:
    """Use the link up and return whom it signs in. Raises `Forbidden` for one that can't be used."""
    wanted = SignInLink.digest == _digest(secret)
    # The account before the link, as whoever voids its links takes them.
    whose = select(SignInLink.operator_id).where(wanted)
    operator = locks.one(session, select(Operator).where(Operator.id.in_(whose)))
    link = locks.one(session, select(SignInLink).where(wanted))
    if link is None or operator is None or link.used_at or link.expires_at <= now or not operator.active:
        raise Forbidden("This link was used, is void or is older than 15 minutes. Ask for a new one.")
    link.used_at = now
    return operator


def as_actor(operator: Operator) -> Actor:
    return Actor.operator(str(operator.id), operator.email)


def home(session: Session, operator: Operator) -> int:
    """The tenant whose audit tells of the account itself: the first it got, else `platform`."""
    first = session.scalars(
        select(Membership.tenant_id)
        .where(Membership.operator_id == operator.id)
        .order_by(Membership.created_at, Membership.tenant_id)
        .limit(1)
    ).first()
    return first or session.scalars(select(Tenant.id).where(Tenant.key == PLATFORM)).one()


def record(
    session: Session,
    operator: Operator,
    tenant_id: int,
    action: str,
    actor: Actor,
    now: datetime,
    detail: dict[str, object] | None = None,
    *,
    purpose: str | None = None,
    result: audit.Result = audit.Result.SUCCESS,
) -> None:
    """Append one audit event about the operator to the transaction at hand."""
    audit.append(
        session,
        tenant_id=tenant_id,
        actor=actor,
        action=action,
        resource=("operator", str(operator.id)),
        now=now,
        purpose=purpose,
        detail=detail,
        result=result,
    )


def _email(value: str) -> str:
    email = text.required(value, "email", longest=LONGEST_EMAIL).strip().lower()
    if SHAPE.fullmatch(email) is None:
        raise Invalid("email", f"is not a mail address such as {EXAMPLE}")
    return email


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
