"""The audit list as a file: its events with all the columns that `desk audit export` gives."""

from typing import Any

from sqlalchemy.orm import Session

from desk_ui.audit import queries
from desk_ui.audit.queries import Filters
from desk_ui.downloads import Export, Found
from desk_ui.paging import Cursor
from models.audit import AuditEvent
from models.audit_reading import COLUMNS
from models.tenants import Tenant

WHOLE = tuple(getattr(AuditEvent, name) for name in COLUMNS if name != "tenant")


def export(tenant: Tenant, zone: str, filters: Filters) -> Export:
    def read(session: Session, after: Cursor | None, most: int) -> Found:
        return page(session, tenant, zone, filters, after, most)

    return Export("audit", COLUMNS, read)


def page(
    session: Session, tenant: Tenant, zone: str, filters: Filters, after: Cursor | None, most: int
) -> Found:
    """Up to `most` events beyond `after`, each with its place."""
    query = queries.selected(session, tenant, zone, filters, after).with_only_columns(*WHOLE).limit(most)
    rows = [dict(row) | {"tenant": tenant.key} for row in session.execute(query).mappings()]
    return [(Cursor(row["at"], row["id"]), _in_order(row)) for row in rows]


def _in_order(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in COLUMNS}
