"""Retention of deliveries and of the outbox: what was delivered long ago goes, then the events it told of."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import delete, exists, select
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
    _in_batches(session, counts, "events", _cutoff(declared, "outbox", now), limit, _events)
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


def _events(session: Session, cutoff: datetime, size: int) -> int:
    old = (
        select(OutboxEvent.id, OutboxEvent.position)
        .where(
            OutboxEvent.created_at < cutoff,
            OutboxEvent.position.is_not(None),
            ~exists().where(Delivery.event_id == OutboxEvent.id),
        )
        .order_by(OutboxEvent.created_at)
        .limit(size)
    )
    rows = session.execute(old).all()
    if rows:
        with purge_marks.marked(session, OutboxEvent, max(row.position for row in rows)):
            _delete(session, OutboxEvent, OutboxEvent.id.in_([row.id for row in rows]))
    return len(rows)


def _delete(session: Session, model: Any, condition: Any) -> None:
    session.execute(delete(model).where(condition).execution_options(synchronize_session=False))
