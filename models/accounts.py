"""What belongs to an account whatever its roles: signing in, on or off, its time zone, who may act on it."""

from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from models import audit, locks, operators
from models.actors import Actor
from models.clock import zones
from models.errors import Invalid, NotFound
from models.operators import Membership, Operator, Role
from models.tenants import PLATFORM, Tenant

_OF_SESSION = (
    select(Operator, Tenant, Membership.role)
    .outerjoin(Membership, Membership.operator_id == Operator.id)
    .outerjoin(Tenant, Tenant.id == Membership.tenant_id)
    .where(Operator.fs_uniquifier == bindparam("fs_uniquifier"))
    .order_by(Tenant.key)
)


def of_session(session: Session, fs_uniquifier: str) -> tuple[Operator, Sequence[tuple[Tenant, Role]]] | None:
    """Whose sessions `fs_uniquifier` names, with their memberships: one statement, since each page asks."""
    rows = session.execute(_OF_SESSION, {"fs_uniquifier": fs_uniquifier}).all()
    if not rows:
        return None
    return rows[0][0], [(tenant, Role(role)) for _operator, tenant, role in rows if tenant is not None]


def member(session: Session, tenant: Tenant, operator_id: int) -> tuple[Operator, Role]:
    """The operator with their role in `tenant`. Raises `NotFound` for one without."""
    query = (
        select(Operator, Membership.role)
        .join(Membership, Membership.operator_id == Operator.id)
        .where(Membership.tenant_id == tenant.id, Operator.id == operator_id)
    )
    found = session.execute(query).one_or_none()
    if found is None:
        raise NotFound("operator")
    return found[0], Role(found[1])


def refusal_to_manage(session: Session, operator: Operator, by: Operator) -> str | None:
    """Why `by` may not act on the whole account, such as make a link that signs in as it; None if they may.

    An account reaches as far as all its roles, so who acts on it must be an admin wherever it has one, or of
    `platform`.
    """
    own = {tenant.key for tenant, role in operators.memberships(session, by) if role is Role.ADMIN}
    if PLATFORM in own:
        return None
    theirs = {tenant.key for tenant, _role in operators.memberships(session, operator)}
    if theirs <= own:
        return None
    return f"{operator.email} has a role in a tenant that you are no admin of. Ask an admin of {PLATFORM}."


def signed_in(
    session: Session, operator: Operator, *, by: str, now: datetime, factor: str | None = None
) -> None:
    """Record that the operator signed in; `by` says how (link, password), `factor` what came second."""
    operator.signed_in_at = now
    detail: dict[str, object] = {"second_factor": factor} if factor else {}
    where, who = operators.home(session, operator), operators.as_actor(operator)
    operators.record(session, operator, where, "operator.signed_in", who, now, detail, purpose=by)


def link_used(session: Session, operator: Operator, *, now: datetime) -> None:
    """Record that a sign-in link was used up, where signing in needs a second factor, too."""
    who = operators.as_actor(operator)
    operators.record(session, operator, operators.home(session, operator), "operator.link_used", who, now)


def sign_in_refused(
    session: Session, operator: Operator, *, now: datetime, purpose: str = "password"
) -> None:
    """Record that somebody gave a wrong password, or a wrong code, for the account of `operator`."""
    operators.record(
        session,
        operator,
        operators.home(session, operator),
        "operator.signed_in",
        Actor.system("sign-in"),
        now,
        purpose=purpose,
        result=audit.Result.REFUSED,
    )


def set_password(session: Session, operator: Operator, hashed: str, *, actor: Actor, now: datetime) -> None:
    """Give the account the password of which `hashed` is the hash; all its sessions and links end."""
    operator.password = hashed
    operator.fs_uniquifier = uuid4().hex
    operators.void_links(session, operator, now)
    operators.record(
        session, operator, operators.home(session, operator), "operator.password_set", actor, now
    )


def set_active(session: Session, operator: Operator, on: bool, *, actor: Actor, now: datetime) -> bool:
    """Switch the account on or off, in all tenants; whether that changed anything.

    Off ends its sessions and links. Raises `Conflict` where `platform` would be left without an admin.
    """
    locks.one(session, select(Operator).where(Operator.id == operator.id))
    if operator.active == on:
        return False
    if not on:
        operators.keep_an_admin(session, operator)
        operator.fs_uniquifier = uuid4().hex
        operators.void_links(session, operator, now)
    operator.active = on
    action = "operator.switched_on" if on else "operator.switched_off"
    operators.record(session, operator, operators.home(session, operator), action, actor, now)
    return True


def sign_out_everywhere(session: Session, operator: Operator, *, actor: Actor, now: datetime) -> None:
    """End all sessions of the account, and the links that nobody used."""
    operator.fs_uniquifier = uuid4().hex
    operators.void_links(session, operator, now)
    where = operators.home(session, operator)
    operators.record(session, operator, where, "operator.signed_out_everywhere", actor, now)


def set_timezone(
    session: Session, operator: Operator, timezone: str | None, *, actor: Actor, now: datetime
) -> bool:
    """In which zone the operator reads times, None for the tenant's; whether that changed anything.

    Raises `Invalid` on `timezone`.
    """
    if timezone is not None and timezone not in zones():
        raise Invalid("timezone", "is not a known time zone")
    # Whoever presses twice at once changed it once.
    locks.one(session, select(Operator).where(Operator.id == operator.id))
    if operator.timezone == timezone:
        return False
    detail: dict[str, object] = {"before": operator.timezone, "after": timezone}
    operator.timezone = timezone
    where = operators.home(session, operator)
    operators.record(session, operator, where, "operator.timezone_set", actor, now, detail)
    return True
