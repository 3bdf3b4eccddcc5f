"""The outbox over HTTP, to pull events instead of being pushed."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field
from sqlalchemy import Select, select
from sqlalchemy.exc import OperationalError

from desk_ui.api import paging
from desk_ui.api.fields import Paged, Shown, Text, Time, WholeNumber
from desk_ui.api.operations import Call, Reply, operation
from models import publishing
from models.base import db, writable
from models.endpoints import TEST_EVENT
from models.errors import Invalid
from models.event_types import EVENT_TYPES
from models.outbox import OutboxEvent
from models.transactions import rollback

LIST = "events"
MOST_PUBLISHED = 20_000


class EventShown(Shown):
    """What happened: ids, states and codes, never a customer's words."""

    id: int
    at: Time
    event_type: str
    aggregate_type: str
    aggregate_id: str
    deduplication_key: str | None
    payload: dict[str, Any]


class EventPage(Shown):
    items: list[EventShown]
    next_cursor: str | None


class EventFilter(Paged):
    type: Text | None = Field(None, description="One event type.")
    after: WholeNumber | None = Field(
        None,
        description="An event's id: what came after it, oldest first; 0 for all. Without it, newest first.",
    )


@operation("events.list", "GET", "/events", scope="read", query=EventFilter, answers={200: EventPage})
def list_events(call: Call) -> Reply:
    """List events. Keep the id of the last one and give it as `after`, and none is missed.

    The order is the one in which events were published. What was committed and not published yet is
    published first, in a transaction of its own, with its deliveries: an integrator who pulls needs no
    worker to run.
    """
    given: EventFilter = call.query
    if given.type is not None and given.type not in EVENT_TYPES | {TEST_EVENT}:
        raise Invalid("type", "is no event type")
    _publish(call)
    ascending = given.after is not None
    query = filtered(call.tenant.id, given.type)
    start = _position_of(call, given)
    if start is not None:
        query = query.where(OutboxEvent.position > start if ascending else OutboxEvent.position < start)
    order = OutboxEvent.position.asc() if ascending else OutboxEvent.position.desc()
    found = call.session.scalars(query.order_by(order).limit(given.limit + 1)).all()
    return Reply(200, _page(found, given))


def filtered(tenant_id: int, event_type: str | None) -> Select[OutboxEvent]:
    """The tenant's published events, of one type where it is given."""
    query = select(OutboxEvent).where(OutboxEvent.tenant_id == tenant_id, OutboxEvent.position.is_not(None))
    return query if event_type is None else query.where(OutboxEvent.event_type == event_type)


def _page(found: Sequence[OutboxEvent], given: EventFilter) -> EventPage:
    items = [EventShown.of(event, at=event.created_at) for event in found[: given.limit]]
    if len(found) <= given.limit:
        return EventPage(items=items, next_cursor=None)
    direction = "up" if given.after is not None else "down"
    last = found[given.limit - 1].position
    return EventPage(items=items, next_cursor=paging.write_cursor(LIST, [direction, last]))


def _position_of(call: Call, given: EventFilter) -> int | None:
    """Where the page begins. Raises `Invalid` on `after` or `cursor`."""
    if given.cursor is not None:
        direction, position = paging.read_cursor(LIST, given.cursor)
        if (direction == "up") != (given.after is not None):
            raise Invalid("cursor", "goes the other way; give `after` as on the page before, or leave it out")
        return int(position)
    if not given.after:
        return None if given.after is None else 0
    position = call.session.scalars(
        select(OutboxEvent.position).where(
            OutboxEvent.tenant_id == call.tenant.id, OutboxEvent.id == given.after
        )
    ).one_or_none()
    if position is None:
        raise Invalid("after", "is the id of no event that is kept; read from the newest on, without it")
    return position


def _publish(call: Call) -> None:
    """Publish what is committed and waits. Where another process holds the lock too long, it will do it."""
    waiting = select(OutboxEvent.id).where(OutboxEvent.position.is_(None)).limit(1)
    found = call.session.scalars(waiting).first()
    # What was read so far was read before the publishing; the page is read in a new transaction.
    rollback(call.session)
    if found is None:
        return
    with writable(), db.session.session_factory() as session:
        try:
            publishing.publish(session, now=call.now, limit=MOST_PUBLISHED)
        except OperationalError:
            rollback(session)
