"""The audit over HTTP: who did what, newest first."""

from datetime import datetime
from typing import Any

from pydantic import Field
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from desk_ui.api import paging
from desk_ui.api.fields import Paged, Shown, Text, Time
from desk_ui.api.operations import Call, Reply, operation
from models import tokens
from models.actors import ActorType
from models.audit import AuditEvent, Result

ORDER = paging.Order("audit", AuditEvent.at, AuditEvent.id)


class AuditShown(Shown):
    """One change of state, or one act that was refused."""

    id: int
    at: Time
    actor_type: ActorType
    actor_id: str
    actor_label: str
    action: str
    resource_type: str
    resource_id: str
    purpose: str | None
    result: Result
    detail: dict[str, Any]


class AuditPage(Shown):
    items: list[AuditShown]
    next_cursor: str | None


class AuditFilter(Paged):
    action: Text | None = None
    resource_type: Text | None = None
    resource_id: Text | None = None
    actor: Text | None = Field(None, description="An actor's id, or a token's name.")
    since: Time | None = Field(None, alias="from", description="Inclusive.")
    until: Time | None = Field(None, alias="to", description="Exclusive.")


@operation("audit.list", "GET", "/audit", scope="read", query=AuditFilter, answers={200: AuditPage})
def list_events(call: Call) -> Reply:
    """List the tenant's audit events, newest first."""
    given: AuditFilter = call.query
    query = filtered(call.session, call.tenant.id, given)
    found, cursor = paging.page(call.session, query, ORDER, limit=given.limit, cursor=given.cursor)
    return Reply(200, AuditPage(items=[AuditShown.of(one) for one in found], next_cursor=cursor))


def filtered(session: Session, tenant_id: int, given: AuditFilter) -> Select[AuditEvent]:
    """The tenant's events that pass the filters; each filter has an index in the list's order."""
    query = select(AuditEvent).where(AuditEvent.tenant_id == tenant_id)
    for name in ("action", "resource_type", "resource_id"):
        wanted = getattr(given, name)
        if wanted is not None:
            query = query.where(getattr(AuditEvent, name) == wanted)
    query = _within(query, given.since, given.until)
    if given.actor is None:
        return query
    named = [str(token_id) for token_id in tokens.ids_named(session, tenant_id, given.actor)]
    if named:
        return query.where(AuditEvent.actor_type == ActorType.API, AuditEvent.actor_id.in_(named))
    return query.where(AuditEvent.actor_id == given.actor)


def _within(query: Select[AuditEvent], since: datetime | None, until: datetime | None) -> Select[AuditEvent]:
    if since is not None:
        query = query.where(AuditEvent.at >= since)
    if until is not None:
        query = query.where(AuditEvent.at < until)
    return query
