"""Retention of the schedule's own records: slots and runs are kept for a week."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from models.sweeping import Counts
from models.sweeps import RunStatus, SlotState, SweepFault, SweepLease, SweepRun, SweepSlot
from models.transactions import commit

KEPT = timedelta(days=7)
BATCH = 500
OVER = (RunStatus.OK.value, RunStatus.ERROR.value, RunStatus.SKIPPED.value)


def purge(session: Session, *, now: datetime, limit: int) -> Counts:
    """Delete up to `limit` runs (with their faults) and slots older than a week, in batches.

    What still waits or runs stays. Each sweep keeps its last good run, by which lateness is judged. Counts
    `runs` and `slots`.
    """
    counts = Counts(own={"runs": 0, "slots": 0})
    for name, step in (("runs", _runs), ("slots", _slots)):
        while (room := min(BATCH, limit - counts.examined)) > 0:
            gone = step(session, now - KEPT, room)
            counts.add(name, gone)
            counts.examined += gone
            counts.changed += gone
            commit(session, "sweeps.history.purge")
            if gone < room:
                break
    counts.capped = counts.examined >= limit
    return counts


def _runs(session: Session, cutoff: datetime, size: int) -> int:
    kept = _last_good_runs(session)
    old = (
        select(SweepRun.id)
        .where(SweepRun.started_at < cutoff, SweepRun.status.in_(OVER), SweepRun.id.not_in(kept))
        .order_by(SweepRun.started_at)
        .limit(size)
    )
    ids = list(session.scalars(old))
    _delete(session, SweepFault, SweepFault.run_id.in_(ids))
    _delete(session, SweepRun, SweepRun.id.in_(ids))
    return len(ids)


def _last_good_runs(session: Session) -> list[int]:
    kept: list[int] = []
    # Each sweep that ever ran on the schedule has its lease's row.
    for name in session.scalars(select(SweepLease.name)).all():
        last = (
            select(SweepRun.id)
            .where(SweepRun.name == name, SweepRun.status == RunStatus.OK.value, SweepRun.by_hand.is_(False))
            .order_by(SweepRun.finished_at.desc())
            .limit(1)
        )
        kept += session.scalars(last).all()
    return kept


def _slots(session: Session, cutoff: datetime, size: int) -> int:
    over = (SlotState.DONE.value, SlotState.DROPPED.value)
    old = (
        select(SweepSlot.id)
        .where(SweepSlot.slot_at < cutoff, SweepSlot.state.in_(over))
        .order_by(SweepSlot.slot_at)
        .limit(size)
    )
    ids = list(session.scalars(old))
    _delete(session, SweepSlot, SweepSlot.id.in_(ids))
    return len(ids)


def _delete(session: Session, model: Any, condition: Any) -> None:
    session.execute(delete(model).where(condition).execution_options(synchronize_session=False))
