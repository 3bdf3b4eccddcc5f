"""Exporting follow-ups: all of a tenant's that match, newest first, in bounded memory."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Uuid, literal, select, tuple_
from sqlalchemy.orm import Session

from models.base import UtcDateTime
from models.errors import Invalid
from models.followups.records import FollowUp, Status
from models.tenants import Tenant
from models.transactions import rollback

PAGE = 1_000
FILTERS = ("agent", "arm", "customer", "reason", "status")
COLUMNS = (
    *("id", "agent", "customer", "session_id", "at", "reason", "arm", "transport", "status", "task_id"),
    *("blocked_reason", "cancelled_by", "created_at", "updated_at", "fired_at", "rearmed_from", "version"),
)


def stream(session: Session, tenant: Tenant, filters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Each matching follow-up as a mapping of `COLUMNS`: times are aware, ids are UUIDs.

    A page of rows is read at a time, each in a transaction of its own, so that no transaction is open while
    a row is written out; a row booked meanwhile is not seen. Raises `Invalid` with the filter's name.
    """
    for name, value in filters.items():
        if name not in FILTERS:
            raise Invalid(name, f"is not a filter; there are {', '.join(FILTERS)}")
        if name == "status" and value not in set(Status):
            raise Invalid("status", f"must be one of {', '.join(Status)}")
    return _pages(session, tenant.id, filters)


def _before(created_at: datetime, id: UUID) -> ColumnElement[bool]:
    last = tuple_(literal(created_at, UtcDateTime()), literal(id, Uuid()))
    return tuple_(FollowUp.created_at, FollowUp.id) < last


def _pages(session: Session, tenant_id: int, filters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    last: tuple[datetime, UUID] | None = None
    while True:
        query = select(*(getattr(FollowUp, name) for name in COLUMNS)).where(
            FollowUp.tenant_id == tenant_id,
            *(getattr(FollowUp, name) == value for name, value in filters.items()),
        )
        if last is not None:
            query = query.where(_before(*last))
        query = query.order_by(FollowUp.created_at.desc(), FollowUp.id.desc()).limit(PAGE)
        page = [dict(row) for row in session.execute(query).mappings()]
        rollback(session)
        yield from page
        if len(page) < PAGE:
            return
        last = (page[-1]["created_at"], page[-1]["id"])
