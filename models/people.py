"""Who there is: in a tenant, or in all, for those who run the installation."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from models.operators import Membership, Operator, Role
from models.tenants import Tenant


def first_admin(session: Session, tenant: Tenant) -> Operator | None:
    """Whoever became an admin of `tenant` first, or None."""
    return session.scalars(
        select(Operator)
        .join(Membership, Membership.operator_id == Operator.id)
        .where(Membership.tenant_id == tenant.id, Membership.role == Role.ADMIN)
        .order_by(Membership.created_at, Operator.id)
        .limit(1)
    ).first()


def listed(session: Session, tenant: Tenant | None) -> list[Operator]:
    """Those with a role in `tenant`, or everybody, by address: for those who run the installation."""
    query = select(Operator).order_by(Operator.email)
    if tenant is not None:
        query = query.join(Membership, Membership.operator_id == Operator.id)
        query = query.where(Membership.tenant_id == tenant.id)
    return list(session.scalars(query))


def is_last_admin(session: Session, tenant: Tenant, operator_id: int) -> bool:
    """Whether, without this admin, nobody who may sign in could give roles in `tenant`."""
    found = session.scalars(
        select(Operator.id)
        .join(Membership, Membership.operator_id == Operator.id)
        .where(
            Membership.tenant_id == tenant.id,
            Membership.role == Role.ADMIN,
            Operator.active,
            Operator.id != operator_id,
        )
        .limit(1)
    )
    return found.first() is None
