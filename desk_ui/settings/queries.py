"""What the settings pages read: thin columns, hard limits, from the tenant."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, func, select
from sqlalchemy.orm import Session

from desk_ui.paging import MOST_COUNTED
from models import operators, tenants
from models.automations.records import Execution
from models.automations.records import Status as ExecutionStatus
from models.followups.records import FollowUp, Status
from models.operators import Membership, Operator, Role
from models.second_factor import SecondFactor
from models.tenants import Tenant
from models.tokens import ApiToken

MOST = 500
MOST_REVOKED = 20


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a role in the tenant at hand. `since` is when they got it first."""

    id: int
    email: str
    role: Role
    active: bool
    since: datetime
    signed_in_at: datetime | None
    factor_since: datetime | None


def people(session: Session, tenant: Tenant) -> list[Person]:
    """Those with a role in `tenant`, by address; one more than `MOST` says that there are more."""
    # Not by the bare column: its index would be walked through all operators of the installation.
    found = session.execute(_people(tenant).order_by(func.lower(Operator.email)).limit(MOST + 1))
    return [_person(columns) for columns in found]


def person(session: Session, tenant: Tenant, operator_id: int) -> Person | None:
    """One of them, or None."""
    columns = session.execute(_people(tenant).where(Operator.id == operator_id)).one_or_none()
    return _person(columns) if columns else None


def is_last_role(session: Session, person: Person) -> bool:
    """Whether the role that was read is the only one that they have anywhere."""
    held = select(Membership.tenant_id).where(Membership.operator_id == person.id).limit(2)
    return len(session.scalars(held).all()) < 2


def _people(tenant: Tenant):  # type: ignore[no-untyped-def]
    return (
        select(
            Operator.id,
            Operator.email,
            Membership.role,
            Operator.active,
            Membership.created_at,
            Operator.signed_in_at,
            SecondFactor.turned_on_at,
        )
        .join(Membership, Membership.operator_id == Operator.id)
        .outerjoin(SecondFactor, SecondFactor.operator_id == Operator.id)
        .where(Membership.tenant_id == tenant.id)
    )


def _person(columns) -> Person:  # type: ignore[no-untyped-def]
    id, email, role, *others = columns
    return Person(id, email, Role(role), *others)


def tokens_in_use(session: Session, tenant: Tenant) -> list[ApiToken]:
    """By name; one more than `MOST` says that there are more."""
    query = select(ApiToken).where(ApiToken.tenant_id == tenant.id, ApiToken.revoked_at.is_(None))
    return list(session.scalars(query.order_by(ApiToken.name).limit(MOST + 1)))


def tokens_revoked(session: Session, tenant: Tenant) -> list[ApiToken]:
    """The latest ones that are out of use."""
    query = select(ApiToken).where(ApiToken.tenant_id == tenant.id, ApiToken.revoked_at.is_not(None))
    return list(session.scalars(query.order_by(ApiToken.id.desc()).limit(MOST_REVOKED)))


def token(session: Session, tenant: Tenant, token_id: int) -> ApiToken | None:
    query = select(ApiToken).where(ApiToken.tenant_id == tenant.id, ApiToken.id == token_id)
    return session.scalars(query).one_or_none()


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many wait, and how many of them are due: each up to one above the cap."""

    pending: int
    due: int


def waiting(session: Session, tenant: Tenant, now: datetime) -> Waiting:
    return Waiting(_pending(session, tenant), _pending(session, tenant, FollowUp.due_at <= now))


def _pending(session: Session, tenant: Tenant, *more: ColumnElement[bool]) -> int:
    capped = (
        select(FollowUp.id)
        .where(FollowUp.tenant_id == tenant.id, FollowUp.status == Status.PENDING.value, *more)
        .order_by(FollowUp.due_at)
        .limit(MOST_COUNTED + 1)
    )
    return session.scalars(select(func.count()).select_from(capped.subquery())).one()


def waiting_executions(session: Session, tenant: Tenant, now: datetime) -> Waiting:
    """The same of the executions of rules with a delay."""
    # The status stands in the text of the statement, where the planner sees that the partial index holds it.
    query = select(Execution.id).where(
        Execution.tenant_id == tenant.id,
        Execution.status == bindparam("pending", ExecutionStatus.PENDING.value, literal_execute=True),
        Execution.at_once.is_(False),
    )
    return Waiting(_capped(session, query), _capped(session, query.where(Execution.next_at <= now)))


def _capped(session: Session, query: Select[Any]) -> int:
    capped = query.order_by(Execution.next_at).limit(MOST_COUNTED + 1)
    return session.scalars(select(func.count()).select_from(capped.subquery())).one()


def tenants_of(
    session: Session, operator: Operator, *, all_of_them: bool
) -> list[tuple[Tenant, Role | None]]:
    """The tenants that the operator has a role in, or all of the installation, each with their role."""
    own = operators.memberships(session, operator)
    if not all_of_them:
        return list(own)
    roles = {tenant.id: role for tenant, role in own}
    return [(tenant, roles.get(tenant.id)) for tenant in tenants.all_of(session)]
