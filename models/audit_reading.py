"""Reading the audit: the last event of one thing, and all of them oldest first, in bounded memory."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from models.audit import AuditEvent, Result
from models.audit_triggers import AUDIT_COLUMNS
from models.base import table_of
from models.clock import iso
from models.tenants import Tenant

ROWS_AT_ONCE = 1_000
COLUMNS = ("id", "position", "tenant", *(name for name in AUDIT_COLUMNS if name not in {"id", "tenant_id"}))


def last_success(
    session: Session, tenant_id: int, resource: tuple[str, str], *conditions: ColumnElement[bool]
) -> AuditEvent | None:
    """The newest event of `resource` (type, id) that was no refusal, under `conditions`."""
    return session.scalars(
        select(AuditEvent)
        .where(
            AuditEvent.tenant_id == tenant_id,
            AuditEvent.resource_type == resource[0],
            AuditEvent.resource_id == resource[1],
            AuditEvent.result == Result.SUCCESS.value,
            *conditions,
        )
        .order_by(AuditEvent.at.desc(), AuditEvent.id.desc())
        .limit(1)
    ).one_or_none()


def stream(session: Session, tenant: Tenant | None) -> Iterator[dict[str, Any]]:
    """The events by id, each with `COLUMNS`; `at` as the API writes it. Only of `tenant` if one is given."""
    table = table_of(AuditEvent)
    query = select(table, Tenant.key.label("tenant")).join(Tenant, Tenant.id == table.c.tenant_id)
    if tenant is not None:
        query = query.where(table.c.tenant_id == tenant.id)
    ordered = query.order_by(table.c.id).execution_options(yield_per=ROWS_AT_ONCE)
    for row in session.execute(ordered).mappings():
        yield {**{name: row[name] for name in COLUMNS}, "at": iso(row["at"])}
