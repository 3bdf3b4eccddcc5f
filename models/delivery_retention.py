"""Retention of deliveries and of the outbox: what was delivered long ago goes, then the events it told of."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from models import purge_marks, retention
from models.declarations import Declared
from models.deliveries import Delivery, DeliveryEvent, State
from models.outbox import OutboxEvent
from models.sweeping import Counts
from models.transactions import commit

BATCH = 500


def purge(session: Session, *, declared: Declared, now: datetime, limit: int) -> Counts:
    """Delete up to `limit` rows older than `[retention]` says, in batches: each kind of row, oldest first.

    Delivered and dead deliveries go with their history; an outbox event goes once no delivery tells of it.
    What still waits to be delivered stays, however old. Counts `deliveries` and `events`. Where `[retention]`
    is faulty, nothing goes.
    """
    counts = Counts(own={"deliveries": 0, "events": 0})
    if retention.faults(declared):
        return counts
    for name, state in (("deliveries", State.DELIVERED), ("dead_deliveries", State.DEAD)):
        _in_batches(session, counts, "deliveries", _cutoff(declared, name, now), limit, _deliveries(state))
    _events(session, counts, _cutoff(declared, "outbox", now), limit)
    counts.capped = counts.examined >= limit
    return counts


Step = Callable[[Session, datetime, int], int]


def _cutoff(declared: Declared, name: str, now: datetime) -> datetime | None:
    kept = retention.period(declared, name)
    return None if kept is None else now - kept


def _in_batches(
    session: Session, counts: Counts, name: str, cutoff: datetime | None, limit: int, step: Step
) -> None:
    """Repeat `step` until it finds less than a batch; each batch is a transaction."""
    while cutoff is not None and (room := min(BATCH, limit - counts.examined)) > 0:
        gone = step(session, cutoff, room)
        counts.add(name, gone)
        counts.examined += gone
        counts.changed += gone
        commit(session, "deliveries.retention")
        if gone < room:
            return


def _deliveries(state: State) -> Step:
    def step(session: Session, cutoff: datetime, size: int) -> int:
        old = (
            select(Delivery.id)
            .where(Delivery.state == state, Delivery.updated_at < cutoff)
            .order_by(Delivery.updated_at, Delivery.id)
            .limit(size)
            .with_for_update(skip_locked=True)
        )
        ids = list(session.scalars(old))
        if ids:
            _delete(session, DeliveryEvent, DeliveryEvent.delivery_id.in_(ids))
            _delete(session, Delivery, Delivery.id.in_(ids))
        return len(ids)

    return step


def _events(session: Session, counts: Counts, cutoff: datetime | None, limit: int) -> None:
    """Go through the events by position, as old as they are, and delete those that no delivery tells of."""
    after = 0
    while cutoff is not None and (room := min(BATCH, limit - counts.examined)) > 0:
        rows = _next_events(session, after, room)
        old = [row for row in rows if row.created_at < cutoff]
        gone = [row.id for row in old if not row.told]
        if gone:
            with purge_marks.marked(session, OutboxEvent, old[-1].position):
                _delete(session, OutboxEvent, OutboxEvent.id.in_(gone))
        counts.add("events", len(gone))
        counts.examined += len(gone)
        counts.changed += len(gone)
        commit(session, "deliveries.outbox_retention")
        if not old or len(rows) < room:
            return
        after = rows[-1].position


def _next_events(session: Session, after: int, size: int) -> Sequence[Any]:
    # Limited to one, so that it is looked up for each event and never made a list of all.
    told = select(Delivery.id).where(Delivery.event_id == OutboxEvent.id).limit(1).scalar_subquery()
    return session.execute(
        select(OutboxEvent.id, OutboxEvent.position, OutboxEvent.created_at, told.label("told"))
        .where(OutboxEvent.position > after)
        .order_by(OutboxEvent.position)
        .limit(size)
    ).all()


def _delete(session: Session, model: Any, condition: Any) -> None:
    session.execute(delete(model).where(condition).execution_options(synchronize_session=False))
