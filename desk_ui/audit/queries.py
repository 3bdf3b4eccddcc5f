"""What the audit pages read: the filter, a page of thin rows, one event, and how far the chain goes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, bindparam, func, select
from sqlalchemy.orm import Session

from desk_ui import filters, local_time
from desk_ui.audit import customers
from desk_ui.paging import ROWS, Cursor, Page, time_limit
from models import tokens
from models.audit import AuditEvent, Result
from models.audit_seals import AuditSeal
from models.endpoints import EndpointState, WebhookEndpoint
from models.operators import Membership, Operator
from models.tenants import Tenant

LARGEST_ID = 2**31 - 1


@dataclass(frozen=True)
class Filters(filters.Filters):
    """All that defines the list. `actor` is the label that the rows show; times are in the page's zone."""

    readers = {
        "result": filters.one_of(Result),
        "since": local_time.as_typed,
        "until": local_time.as_typed,
    }

    customer: str | None = None
    actor: str | None = None
    action: str | None = None
    kind: str | None = None
    id: str | None = None
    result: Result | None = None
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One event as the list shows it."""

    id: int
    at: datetime
    actor_type: str
    actor_label: str
    action: str
    resource_type: str
    resource_id: str
    purpose: str | None
    result: str


THIN = tuple(getattr(AuditEvent, one.name) for one in fields(Row))
_COLUMNS = {
    "action": AuditEvent.action,
    "kind": AuditEvent.resource_type,
    "id": AuditEvent.resource_id,
    "result": AuditEvent.result,
    "actor": AuditEvent.actor_label,
}


def page(
    session: Session, tenant: Tenant, zone: str, filters: Filters, after: Cursor | None, limit: timedelta
) -> Page[Row]:
    """One page of the tenant's events, newest first. Raises `TooSlow`."""
    query = selected(session, tenant, zone, filters, after)
    with time_limit(session, limit):
        rows = [Row(*found) for found in session.execute(query)]
    following = Cursor(rows[ROWS - 1].at, rows[ROWS - 1].id).encode() if len(rows) > ROWS else None
    return Page(rows[:ROWS], following)


def selected(
    session: Session, tenant: Tenant, zone: str, filters: Filters, after: Cursor | None
) -> Select[Any]:
    """The rows of one page, and one more where there are more."""
    query = select(*THIN).where(*_conditions(session, tenant, zone, filters))
    if after is not None:
        query = query.where(after.after(AuditEvent.at, AuditEvent.id, newest_first=True))
    return query.order_by(AuditEvent.at.desc(), AuditEvent.id.desc()).limit(ROWS + 1)


def _conditions(
    session: Session, tenant: Tenant, zone: str, filters: Filters
) -> Iterator[ColumnElement[bool]]:
    yield AuditEvent.tenant_id == tenant.id
    for name, column in _COLUMNS.items():
        value = getattr(filters, name)
        if value is not None:
            yield column == value
    if filters.customer is not None:
        yield customers.things_of(session, tenant, filters.customer).condition
    if filters.actor is not None:
        yield AuditEvent.actor_id.in_(_ids_of(session, tenant, filters.actor))
    if filters.result in (Result.REFUSED, Result.ERROR):
        # In the words of the partial index, which bound values would hide.
        yield AuditEvent.result != bindparam("done", Result.SUCCESS.value, literal_execute=True)
    if filters.since is not None:
        yield AuditEvent.at >= local_time.bound(filters.since, zone)
    if filters.until is not None:
        yield AuditEvent.at < local_time.bound(filters.until, zone)


def _ids_of(session: Session, tenant: Tenant, label: str) -> list[str]:
    """Under which ids an actor of this label may have acted: events are found by id, which never changes."""
    operator_ids = session.scalars(select(Operator.id).where(Operator.email == label)).all()
    return [label, *map(str, operator_ids), *map(str, tokens.ids_named(session, tenant.id, label))]


def operators(session: Session, tenant: Tenant, rows: Sequence[Row | AuditEvent]) -> Mapping[str, str]:
    """The mail address of each operator whom `rows` are about, by id: of those with a role in `tenant`."""
    ids = {
        int(row.resource_id) for row in rows if row.resource_type == "operator" and _is_id(row.resource_id)
    }
    if not ids:
        return {}
    query = select(Operator.id, Operator.email).join(Membership, Membership.operator_id == Operator.id)
    found = session.execute(query.where(Membership.tenant_id == tenant.id, Operator.id.in_(ids)))
    return {str(id): email for id, email in found}


def _is_id(given: str) -> bool:
    """Whether this may be the id of an operator; events once kept what was typed instead."""
    return given.isascii() and given.isdigit() and len(given) <= 10 and int(given) <= LARGEST_ID


def removed(session: Session, tenant: Tenant, rows: Iterable[Row | AuditEvent]) -> frozenset[str]:
    """The ids of the endpoints that `rows` are about and that have no page any more."""
    wanted = {row.resource_id for row in rows if row.resource_type == "endpoint"}
    if not wanted:
        return frozenset()
    ids = {found for found in map(_uuid, wanted) if found is not None}
    query = select(WebhookEndpoint.id).where(
        WebhookEndpoint.tenant_id == tenant.id,
        WebhookEndpoint.id.in_(ids),
        WebhookEndpoint.state != EndpointState.REMOVED,
    )
    return frozenset(wanted - {str(id) for id in session.scalars(query)})


def _uuid(given: str) -> UUID | None:
    try:
        return UUID(given)
    except ValueError:
        return None


def one(session: Session, tenant: Tenant, event_id: int) -> AuditEvent | None:
    """One event of the tenant, with all that is kept of it."""
    query = select(AuditEvent).where(AuditEvent.id == event_id, AuditEvent.tenant_id == tenant.id)
    return session.scalars(query).one_or_none()


@dataclass(frozen=True, slots=True)
class Chain:
    """How far the events of the whole installation are sealed. `sealed` counts what is kept of them."""

    last_position: int
    sealed_at: datetime | None
    digest: str | None
    unsealed: int | None
    sealed: int


def chain(session: Session, most: int) -> Chain:
    """The newest seal, and how many events wait for theirs; None where there are more than `most`."""
    newest: Any = session.execute(
        select(AuditSeal.last_position, AuditSeal.sealed_at, AuditSeal.digest)
        .order_by(AuditSeal.last_position.desc())
        .limit(1)
    ).one_or_none()
    waiting = select(AuditEvent.id).where(AuditEvent.position.is_(None)).limit(most + 1).subquery()
    unsealed = session.scalars(select(func.count()).select_from(waiting)).one()
    first = session.scalars(select(func.min(AuditEvent.position))).one() or 1
    last, sealed_at, digest = newest or (0, None, None)
    return Chain(last, sealed_at, digest, unsealed if unsealed <= most else None, max(0, last - first + 1))
