"""The deliveries list as a file. Of an endpoint's address only the origin: the rest may be a secret."""

from typing import Any

from sqlalchemy.orm import Session

from desk_ui.deliveries import queries
from desk_ui.deliveries.queries import Filters
from desk_ui.downloads import Export, Found
from desk_ui.paging import Cursor
from models import endpoint_urls
from models.deliveries import Delivery
from models.endpoints import WebhookEndpoint
from models.outbox import OutboxEvent
from models.tenants import Tenant

_OF_DELIVERY = (
    *("id", "event_id", "endpoint_id", "state", "attempts", "next_attempt_at", "delivered_at"),
    *("last_status", "last_error", "created_at", "updated_at", "version"),
)
_OF_EVENT = ("event_type", "aggregate_type", "aggregate_id")
COLUMNS = (*_OF_DELIVERY, *_OF_EVENT, "endpoint_origin")
_WHOLE = (
    *(getattr(Delivery, name) for name in _OF_DELIVERY),
    *(getattr(OutboxEvent, name) for name in _OF_EVENT),
    WebhookEndpoint.url,
)


def export(tenant: Tenant, zone: str, filters: Filters) -> Export:
    def read(session: Session, after: Cursor | None, most: int) -> Found:
        return page(session, tenant, zone, filters, after, most)

    return Export(f"deliveries-{filters.tab}", COLUMNS, read)


def page(
    session: Session, tenant: Tenant, zone: str, filters: Filters, after: Cursor | None, most: int
) -> Found:
    """Up to `most` rows beyond `after`, each with its place."""
    order = queries.order_of(filters.tab).label("place")
    found: Found = []
    for state in filters.tab.states:
        query = queries.selected(tenant, zone, filters, state, after)
        query = query.with_only_columns(order, *_WHOLE, maintain_column_froms=True).limit(most)
        found += [(Cursor(place, values[0]), _named(values)) for place, *values in session.execute(query)]
    found.sort(key=lambda one: (one[0].at, one[0].id), reverse=not filters.tab.waits)
    return found[:most]


def _named(values: list[Any]) -> dict[str, Any]:
    return dict(zip(COLUMNS, (*values[:-1], endpoint_urls.origin(values[-1])), strict=True))
