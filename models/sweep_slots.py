"""Due slots: claimed once for each sweep and moment, enqueued by whoever comes first, started once."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, CursorResult, and_, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from models.base import is_sqlite, table_of
from models.clock import EPOCH, iso
from models.sweeps import SlotKind, SlotState, SweepPause, SweepSlot
from models.transactions import commit

LOST_AFTER = timedelta(minutes=1)


def due_at(every: timedelta, now: datetime) -> datetime:
    """The newest moment, counted in steps of `every` from the epoch, that is not after `now`."""
    return EPOCH + every * ((now - EPOCH) // every)


def paused(session: Session) -> set[str]:
    """The sweeps that are paused."""
    return set(session.scalars(select(SweepPause.name).where(SweepPause.paused.is_(True))))


def claim(session: Session, name: str, every: timedelta, *, now: datetime) -> bool:
    """Claim the newest due slot of `name`, if nobody did; whether this call claimed it. Commits.

    Slots that passed meanwhile, because nothing claimed or nothing started them, are not made up for one by
    one: the new slot counts those never claimed, and those still waiting are dropped with the reason.
    """
    at = due_at(every, now)
    last = _last_claimed(session, name)
    if last is not None and last >= at:
        return False
    missed = 0 if last is None else max(0, (at - last) // every - 1)
    made = _insert(
        session,
        name=name,
        slot_at=at,
        kind=SlotKind.CLOCK,
        claimed_at=now,
        missed=missed,
        missed_from=last + every if last is not None and missed else None,
        reason=f"{missed} slots before it passed unclaimed" if missed else None,
    )
    if made:
        _coalesce(session, name, at)
    commit(session, "sweeps.slot.claim")
    return made


def _last_claimed(session: Session, name: str) -> datetime | None:
    return session.scalars(
        select(SweepSlot.slot_at)
        .where(SweepSlot.name == name, SweepSlot.kind == SlotKind.CLOCK)
        .order_by(SweepSlot.slot_at.desc())
        .limit(1)
    ).first()


def _coalesce(session: Session, name: str, at: datetime) -> None:
    """Drop what still waits before `at`; what a person asked for stays."""
    session.execute(
        update(SweepSlot)
        .where(
            SweepSlot.name == name,
            SweepSlot.state == SlotState.WAITING,
            SweepSlot.slot_at < at,
            SweepSlot.kind != SlotKind.HAND,
        )
        .values(state=SlotState.DROPPED, reason=f"not started in time; coalesced into the slot of {iso(at)}")
        .execution_options(synchronize_session=False)
    )


def add(session: Session, name: str, at: datetime, kind: SlotKind, *, now: datetime) -> None:
    """Make a slot besides those of the clock, due at `at`; the caller commits. One that exists stays."""
    _insert(session, name=name, slot_at=at, kind=kind, claimed_at=now)


def _insert(session: Session, **values: Any) -> bool:
    """Insert a waiting slot unless there is one for the sweep and moment; whether it was inserted."""
    insert = sqlite.insert if is_sqlite(session) else postgresql.insert
    row = {"state": SlotState.WAITING.value, "enqueues": 0, "missed": 0, **values}
    table = table_of(SweepSlot)
    made = session.execute(
        insert(table)
        .values(**{key: getattr(value, "value", value) for key, value in row.items()})
        .on_conflict_do_nothing(index_elements=["name", "slot_at"])
        .returning(table.c.id)
    )
    return made.first() is not None


def _to_enqueue(now: datetime) -> ColumnElement[bool]:
    return and_(
        SweepSlot.state == SlotState.WAITING,
        SweepSlot.slot_at <= now,
        or_(SweepSlot.enqueued_at.is_(None), SweepSlot.enqueued_at <= now - LOST_AFTER),
    )


def to_enqueue(session: Session, *, now: datetime) -> Sequence[SweepSlot]:
    """Waiting slots that are due and not on a queue, or were put there a minute ago and never started."""
    query = select(SweepSlot).where(_to_enqueue(now)).order_by(SweepSlot.slot_at)
    return session.scalars(query.execution_options(populate_existing=True)).all()


def take_to_enqueue(session: Session, slot_id: int, *, now: datetime) -> bool:
    """Take the right to enqueue a slot, by compare-and-set. Commits.

    It is taken before the queue is called: a process that ends in between leaves a slot that is enqueued
    again after a minute, and one that is enqueued twice is started once.
    """
    result: CursorResult[Any] = session.execute(  # type: ignore[assignment]
        update(SweepSlot)
        .where(SweepSlot.id == slot_id, _to_enqueue(now))
        .values(enqueued_at=now, enqueues=SweepSlot.enqueues + 1)
        .execution_options(synchronize_session=False)
    )
    commit(session, "sweeps.slot.enqueue")
    return result.rowcount == 1


def give_back(session: Session, slot_id: int, *, taken_at: datetime) -> None:
    """The queue could not be reached: let the next tick try again. Commits."""
    session.execute(
        update(SweepSlot)
        .where(
            SweepSlot.id == slot_id,
            SweepSlot.state == SlotState.WAITING,
            SweepSlot.enqueued_at == taken_at,
        )
        .values(enqueued_at=None)
        .execution_options(synchronize_session=False)
    )
    commit(session, "sweeps.slot.give_back")


def start(session: Session, slot_id: int, *, now: datetime) -> SweepSlot | None:
    """Start a waiting slot by compare-and-set; None where it was started or dropped before.

    The caller commits, with the run's record in the same transaction.
    """
    result: CursorResult[Any] = session.execute(  # type: ignore[assignment]
        update(SweepSlot)
        .where(SweepSlot.id == slot_id, SweepSlot.state == SlotState.WAITING)
        .values(state=SlotState.STARTED, started_at=now)
        .execution_options(synchronize_session=False)
    )
    if result.rowcount != 1:
        return None
    return session.scalars(
        select(SweepSlot).where(SweepSlot.id == slot_id).execution_options(populate_existing=True)
    ).one()


def finish(session: Session, slot_id: int, reason: str | None = None) -> None:
    """The run of a started slot is over; the caller commits."""
    session.execute(
        update(SweepSlot)
        .where(SweepSlot.id == slot_id, SweepSlot.state == SlotState.STARTED)
        .values(state=SlotState.DONE, reason=func.coalesce(reason, SweepSlot.reason))
        .execution_options(synchronize_session=False)
    )
