"""What the bulk pages read: the operations, newest first, and the results of one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from desk_ui import filters
from desk_ui.paging import ROWS, Cursor, Page, time_limit
from models.bulk_operations import BulkItem, BulkOperation, ItemState
from models.tenants import Tenant


@dataclass(frozen=True)
class Filters(filters.Filters):
    """The operations are few, and are not narrowed."""


@dataclass(frozen=True)
class Results(filters.Filters):
    """The results of one operation: all of them, or those that became so."""

    readers = {"became": filters.one_of(ItemState)}

    became: ItemState | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one row."""

    position: int
    row_id: str
    state: str
    reason: str | None
    at: datetime | None


_RESULT = (BulkItem.position, BulkItem.row_id, BulkItem.state, BulkItem.reason, BulkItem.at)


def page(session: Session, tenant: Tenant, after: Cursor | None, limit: timedelta) -> Page[BulkOperation]:
    """One page of the tenant's operations. Raises `TooSlow`."""
    query = select(BulkOperation).where(BulkOperation.tenant_id == tenant.id)
    if after is not None:
        query = query.where(after.after(BulkOperation.created_at, BulkOperation.id, newest_first=True))
    query = query.order_by(BulkOperation.created_at.desc(), BulkOperation.id.desc()).limit(ROWS + 1)
    with time_limit(session, limit):
        rows = list(session.scalars(query))
    following = Cursor(rows[ROWS - 1].created_at, rows[ROWS - 1].id).encode() if len(rows) > ROWS else None
    return Page(rows[:ROWS], following)


def results(
    session: Session, operation_id: UUID, wanted: Results, after: int, most: int = ROWS
) -> Sequence[Result]:
    """Up to `most` results behind the position `after`, and one more where there are more."""
    query: Select[Any] = select(*_RESULT).where(
        BulkItem.operation_id == operation_id, BulkItem.position > after
    )
    if wanted.became is not None:
        query = query.where(BulkItem.state == wanted.became.value)
    return [Result(*row) for row in session.execute(query.order_by(BulkItem.position).limit(most + 1))]
