"""Who is on it: a mark on what needs a person, so that two people don't work on the same."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    ForeignKey,
    Index,
    Select,
    String,
    any_,
    bindparam,
    delete,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import audit, locks
from models.actors import Actor
from models.base import Base, is_sqlite, table_of
from models.errors import Conflict
from models.tenants import Tenant

KEPT_FOR = timedelta(days=30)
# Of what is marked in one tenant at a time, the newest are counted.
MOST = 1_000


class Handling(Base):
    """One mark: `operator` (by name; `operator_id` is stable) is on the resource since `at`."""

    __tablename__ = "handling"

    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"), primary_key=True)
    resource_type: Mapped[str] = mapped_column(String(40), primary_key=True)
    resource_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    operator_id: Mapped[str] = mapped_column(String(200))
    operator: Mapped[str] = mapped_column(String(200))
    at: Mapped[datetime]

    __table_args__ = (Index("ix_handling_at", "at"), Index("ix_handling_tenant", "tenant_id", "at"))


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark as pages show it."""

    operator_id: str
    operator: str
    at: datetime


def take(
    session: Session,
    tenant: Tenant,
    resource: tuple[str, str],
    *,
    refusal: str | None,
    actor: Actor,
    now: datetime,
    instead_of: str | None = None,
) -> Mark:
    """Mark `resource` (type, id), which its area found to need a person, or says in `refusal` why not.

    To take it again changes nothing. To take it from another, their id is given as `instead_of`. Raises
    `Conflict` where it needs nobody, and where another is on it who is not `instead_of`.
    """
    if refusal is not None:
        raise Conflict(refusal)
    made = False
    # More than twice round only where another let it go between its making and its lock.
    while (mark := _locked(session, tenant, resource)) is None:
        made = _insert(session, tenant, resource, actor, now)
    if made:
        _record(session, tenant, resource, "taken_on", actor=actor, now=now)
        return Mark(actor.id, actor.label, now)
    before = Mark(mark.operator_id, mark.operator, mark.at)
    if before.operator_id == actor.id:
        return before
    if before.operator_id != instead_of:
        raise Conflict(f"{before.operator} is on it already.", current=before, code="taken")
    mark.operator_id, mark.operator, mark.at = actor.id, actor.label, now
    detail = {"taken_over_from": before.operator}
    _record(session, tenant, resource, "taken_on", actor=actor, now=now, detail=detail)
    return Mark(actor.id, actor.label, now)


def let_go(
    session: Session, tenant: Tenant, resource: tuple[str, str], *, actor: Actor, now: datetime
) -> bool:
    """Take one's own mark away; whether there was one. Raises `Conflict` where it is another's."""
    mark = _locked(session, tenant, resource)
    if mark is None:
        return False
    if mark.operator_id != actor.id:
        current = Mark(mark.operator_id, mark.operator, mark.at)
        raise Conflict(f"{mark.operator} is on it, not you.", current=current, code="taken")
    session.delete(mark)
    session.flush()
    _record(session, tenant, resource, "let_go", actor=actor, now=now)
    return True


def of(session: Session, tenant_id: int, resource_type: str, ids: Collection[str]) -> dict[str, Mark]:
    """The marks on the resources `ids`, at most a page of them, by id; for one that needs nobody, history."""
    if not ids:
        return {}
    found = session.execute(
        _of(is_sqlite(session)), {"tenant": tenant_id, "type": resource_type, "ids": list(ids)}
    )
    return {id: Mark(*mark) for id, *mark in found}


@cache
def _of(on_sqlite: bool) -> Select[Any]:
    """The statement of `of`, made once, since every list asks; where there are arrays, the ids are one."""
    own = table_of(Handling).c
    if on_sqlite:
        among: ColumnElement[bool] = own.resource_id.in_(bindparam("ids", expanding=True))
    else:
        among = own.resource_id == any_(bindparam("ids", type_=ARRAY(String)))
    query = select(own.resource_id, own.operator_id, own.operator, own.at)
    return query.where(own.tenant_id == bindparam("tenant"), own.resource_type == bindparam("type"), among)


def marked(session: Session, tenant_id: int) -> dict[str, list[str]]:
    """The ids that bear a mark, by the type of the resource: the newest `MOST` of each tenant."""
    own = table_of(Handling).c
    query = select(own.resource_type, own.resource_id).where(own.tenant_id == tenant_id)
    found: dict[str, list[str]] = {}
    for resource_type, id in session.execute(query.order_by(own.at.desc()).limit(MOST)):
        found.setdefault(resource_type, []).append(id)
    return found


def purge(session: Session, *, now: datetime, limit: int) -> int:
    """Delete up to `limit` marks older than 30 days; how many there were. The caller commits."""
    own = table_of(Handling).c
    is_old = own.at <= now - KEPT_FOR
    ids = list(session.scalars(select(own.resource_id).where(is_old).order_by(own.at).limit(limit)))
    gone = delete(Handling).where(is_old, Handling.resource_id.in_(ids))
    session.execute(gone.execution_options(synchronize_session=False))
    return len(ids)


def forget(session: Session, tenant_id: int, resource_type: str | None, ids: Sequence[str] = ()) -> None:
    """Delete the marks on the resources `ids`, or without a type all of the tenant: what they are on goes."""
    gone = delete(Handling).where(Handling.tenant_id == tenant_id)
    if resource_type is not None:
        gone = gone.where(Handling.resource_type == resource_type, Handling.resource_id.in_(ids))
    session.execute(gone.execution_options(synchronize_session=False))


def _insert(session: Session, tenant: Tenant, resource: tuple[str, str], actor: Actor, now: datetime) -> bool:
    """Whether this call made the mark; another process may have been first."""
    insert = sqlite.insert if is_sqlite(session) else postgresql.insert
    values: dict[str, Any] = {
        "tenant_id": tenant.id,
        "resource_type": resource[0],
        "resource_id": resource[1],
        "operator_id": actor.id,
        "operator": actor.label,
        "at": now,
    }
    table = table_of(Handling)
    made = session.execute(insert(table).values(values).on_conflict_do_nothing().returning(table.c.tenant_id))
    return made.first() is not None


def _locked(session: Session, tenant: Tenant, resource: tuple[str, str]) -> Handling | None:
    return locks.one(
        session,
        select(Handling).where(
            Handling.tenant_id == tenant.id,
            Handling.resource_type == resource[0],
            Handling.resource_id == resource[1],
        ),
    )


def _record(
    session: Session,
    tenant: Tenant,
    resource: tuple[str, str],
    verb: str,
    *,
    actor: Actor,
    now: datetime,
    detail: dict[str, Any] | None = None,
) -> None:
    audit.append(
        session,
        tenant_id=tenant.id,
        actor=actor,
        action=f"{resource[0]}.{verb}",
        resource=resource,
        now=now,
        detail=detail,
    )
