"""Runs of sweeps: the lease that keeps two from overlapping, and the record from running to its end."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import CursorResult, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from models import bulk, locks, sweep_slots
from models.base import is_sqlite, table_of
from models.clock import EPOCH, iso
from models.sweeping import Counts, backoff
from models.sweeps import RunStatus, SlotKind, SweepFault, SweepLease, SweepPause, SweepRun, SweepSlot
from models.transactions import commit

LEASE = timedelta(seconds=20)
LONGEST_ERROR = 8_000


@dataclass(frozen=True, slots=True)
class Started:
    """A run that holds its sweep's lease."""

    run_id: int
    name: str
    holder: str
    slot_id: int | None


def begin_slot(session: Session, slot_id: int, *, holder: str, now: datetime) -> Started | None:
    """Start the run of a waiting slot; None where there is nothing to run, which is then on record. Commits.

    A slot that was started or dropped before leaves nothing. A paused sweep, and one that somebody else
    runs, leave a run that is `skipped` with the reason.
    """
    slot = sweep_slots.start(session, slot_id, now=now)
    started = None if slot is None else _begin(session, slot.name, slot, holder=holder, now=now)
    commit(session, "sweeps.run.begin")
    return started


def begin_woken(session: Session, name: str, *, holder: str, now: datetime) -> Started | None:
    """Start a run that an event asked for, outside the schedule; None where paused or running. Commits."""
    started = _begin(session, name, None, holder=holder, now=now)
    commit(session, "sweeps.run.wake")
    return started


def _begin(
    session: Session, name: str, slot: SweepSlot | None, *, holder: str, now: datetime
) -> Started | None:
    lease = _locked_lease(session, name)
    refusal = _why_not(session, name, lease, slot, now)
    if refusal:
        if slot is not None:
            _record_skipped(session, slot, refusal, holder=holder, now=now)
        return None
    _close(session, lease.run_id, _ended_without(lease.expires_at), now=now)
    run = SweepRun(
        name=name,
        slot_id=slot.id if slot is not None else None,
        by_hand=slot is not None and slot.kind == SlotKind.HAND,
        holder=holder,
        status=RunStatus.RUNNING.value,
        started_at=now,
        counts={},
        capped=False,
    )
    session.add(run)
    session.flush()
    lease.holder, lease.run_id, lease.expires_at = holder, run.id, now + LEASE
    return Started(run.id, name, holder, run.slot_id)


def _locked_lease(session: Session, name: str) -> SweepLease:
    """The lease's row, made as run out where there is none, and locked."""
    insert = sqlite.insert if is_sqlite(session) else postgresql.insert
    session.execute(
        insert(table_of(SweepLease))
        .values(name=name, holder="", run_id=0, expires_at=EPOCH)
        .on_conflict_do_nothing(index_elements=["name"])
    )
    lease = locks.one(session, select(SweepLease).where(SweepLease.name == name))
    assert lease is not None
    return lease


def _why_not(
    session: Session, name: str, lease: SweepLease, slot: SweepSlot | None, now: datetime
) -> str | None:
    pause = session.get(SweepPause, name, populate_existing=True)
    if pause is not None and pause.paused and (slot is None or slot.kind != SlotKind.HAND):
        return f"paused by {pause.by}" + (f": {pause.reason}" if pause.reason else "")
    if lease.expires_at > now:
        return f"run {lease.run_id} of {lease.holder} was still going on"
    return None


def _record_skipped(session: Session, slot: SweepSlot, reason: str, *, holder: str, now: datetime) -> None:
    session.add(
        SweepRun(
            name=slot.name,
            slot_id=slot.id,
            by_hand=slot.kind == SlotKind.HAND,
            holder=holder,
            status=RunStatus.SKIPPED.value,
            started_at=now,
            finished_at=now,
            counts={},
            capped=False,
            error=reason[:200],
        )
    )
    sweep_slots.finish(session, slot.id, reason[:200])


def renew(session: Session, started: Started, *, now: datetime) -> bool:
    """Hold the lease for longer; False where it is no longer this run's. Commits."""
    result: CursorResult[Any] = session.execute(  # type: ignore[assignment]
        update(SweepLease)
        .where(SweepLease.name == started.name, SweepLease.run_id == started.run_id)
        .values(expires_at=now + LEASE)
        .execution_options(synchronize_session=False)
    )
    commit(session, "sweeps.lease.renew")
    return result.rowcount == 1


def finish(session: Session, started: Started, counts: Counts, *, now: datetime) -> bool:
    """Record a run that came to its end, and give up the lease. Commits.

    A capped run that made progress is followed by another at once. True where it is.
    """
    again = counts.capped and counts.changed > 0
    _record(session, started, counts, now=now)
    if again:
        sweep_slots.add(session, started.name, now, SlotKind.CAPPED, now=now)
    commit(session, "sweeps.run.finish")
    return again


def _record(session: Session, started: Started, counts: Counts, *, now: datetime) -> None:
    _release(session, started, now=now)
    if started.slot_id is None and not any(counts.as_dict().values()):
        # A wake-up that found nothing is no run: a busy system would make thousands an hour.
        session.execute(delete(SweepRun).where(SweepRun.id == started.run_id))
        return
    session.execute(
        update(SweepRun)
        .where(SweepRun.id == started.run_id)
        .values(
            status=RunStatus.OK.value,
            finished_at=now,
            counts=dict(counts.as_dict()),
            capped=counts.capped,
            error=None,
        )
        .execution_options(synchronize_session=False)
    )
    record_faults(session, started.run_id, started.name, counts, now=now)
    if started.slot_id is not None:
        sweep_slots.finish(session, started.slot_id)


def record_faults(session: Session, run_id: int, name: str, counts: Counts, *, now: datetime) -> None:
    """Keep the rows that failed, each for the tenant whose row it is."""
    rows = [{**fault, "run_id": run_id, "name": name, "at": now} for fault in counts.faults]
    bulk.insert_rows(session, SweepFault, [{**row, "row": row["row"][:200]} for row in rows])


def fail(session: Session, started: Started, error: str, *, every: timedelta, now: datetime) -> None:
    """Record a run that raised, and give up the lease. Commits.

    It is tried again after a wait that grows with each failure in a row, where that is sooner than the clock.
    """
    _release(session, started, now=now)
    _close(session, started.run_id, error, now=now, every=every)
    commit(session, "sweeps.run.fail")


def _release(session: Session, started: Started, *, now: datetime) -> None:
    session.execute(
        update(SweepLease)
        .where(
            SweepLease.name == started.name,
            SweepLease.run_id == started.run_id,
            SweepLease.expires_at > now,
        )
        .values(expires_at=now)
        .execution_options(synchronize_session=False)
    )


def close_dead(session: Session, everies: dict[str, timedelta], *, now: datetime) -> int:
    """Close runs whose holder let the lease run out, so that none shows as running for ever. Commits.

    Returns how many there were.
    """
    closed = 0
    for run_id, name in dead(session, now=now):
        lease = _locked_lease(session, name)
        if lease.run_id == run_id and lease.expires_at > now:
            continue
        at = lease.expires_at if lease.run_id == run_id else now
        closed += _close(session, run_id, _ended_without(at), now=now, every=everies.get(name))
    commit(session, "sweeps.run.close_dead")
    return closed


def dead(session: Session, *, now: datetime) -> list[tuple[int, str]]:
    """Runs that claim to be running without a lease in force: (id, sweep)."""
    query = (
        select(SweepRun.id, SweepRun.name)
        .outerjoin(SweepLease, SweepLease.run_id == SweepRun.id)
        .where(
            SweepRun.status == RunStatus.RUNNING.value,
            or_(SweepLease.expires_at.is_(None), SweepLease.expires_at <= now),
        )
        .order_by(SweepRun.id)
    )
    return [(id, name) for id, name in session.execute(query)]


def close_killed(session: Session, slot_id: int, reason: str, *, now: datetime) -> None:
    """The process that ran a slot was killed under a worker that lives: close its run now. Commits."""
    run = session.scalars(
        select(SweepRun).where(SweepRun.slot_id == slot_id, SweepRun.status == RunStatus.RUNNING.value)
    ).one_or_none()
    if run is not None:
        _release(session, Started(run.id, run.name, run.holder, slot_id), now=now)
        _close(session, run.id, reason, now=now)
    commit(session, "sweeps.run.close_killed")


def _close(
    session: Session, run_id: int, error: str, *, now: datetime, every: timedelta | None = None
) -> bool:
    """Record the end of a run that did not come to one; whether it was still open."""
    run = session.scalars(
        select(SweepRun)
        .where(SweepRun.id == run_id, SweepRun.status == RunStatus.RUNNING.value)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).one_or_none()
    if run is None:
        return False
    session.execute(
        update(SweepRun)
        .where(SweepRun.id == run_id)
        .values(status=RunStatus.ERROR.value, finished_at=now, error=error[-LONGEST_ERROR:])
        .execution_options(synchronize_session=False)
    )
    if run.slot_id is not None:
        sweep_slots.finish(session, run.slot_id, "its run ended in an error")
    if every is not None:
        _try_again(session, run.name, every, now=now)
    return True


def _try_again(session: Session, name: str, every: timedelta, *, now: datetime) -> None:
    at = now + backoff(_failures_in_a_row(session, name))
    if at < sweep_slots.due_at(every, now) + every:
        sweep_slots.add(session, name, at, SlotKind.RETRY, now=now)


def _failures_in_a_row(session: Session, name: str) -> int:
    ended = session.scalars(
        select(SweepRun.status)
        .where(SweepRun.name == name, SweepRun.status.in_([RunStatus.OK, RunStatus.ERROR]))
        .order_by(SweepRun.started_at.desc())
        .limit(12)
    ).all()
    row = next((index for index, status in enumerate(ended) if status == RunStatus.OK), len(ended))
    return max(1, row)


def _ended_without(expired_at: datetime) -> str:
    return f"its process ended without saying so; the lease ran out at {iso(expired_at)}"
