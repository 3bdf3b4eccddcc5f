"""How each sweep stands: its last run, whether it is late, and what a person may do about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from models import audit, locks, outbox, sweep_slots, tenants, text
from models.actors import Actor
from models.clock import iso, micros
from models.errors import Conflict, NotFound
from models.sweeps import Cadence, RunStatus, SlotKind, SweepLease, SweepPause, SweepRun, SweepSlot
from models.tenants import PLATFORM
from models.transactions import commit, savepoint
from models.transitions import check_version

INTERVALS_UNTIL_LATE = 3


@dataclass(frozen=True, slots=True)
class State:
    """One sweep as the pages show it. `late_since` is None unless it is late by three intervals."""

    name: str
    every: timedelta
    last_run: SweepRun | None
    last_ok_at: datetime | None
    next_due_at: datetime
    running: bool
    paused: SweepPause | None
    late_since: datetime | None
    episode: str
    version: int = 0


def states(session: Session, cadences: Iterable[Cadence], *, now: datetime) -> list[State]:
    """How every sweep of `cadences` stands. Runs by hand don't count where lateness is judged."""
    installed_at = tenants.get(session, PLATFORM).created_at
    return [_state(session, cadence, installed_at, now) for cadence in cadences]


def late(session: Session, cadences: Iterable[Cadence], *, now: datetime) -> list[State]:
    """The sweeps that are late by three intervals."""
    return [state for state in states(session, cadences, now=now) if state.late_since is not None]


def _state(session: Session, cadence: Cadence, installed_at: datetime, now: datetime) -> State:
    last_ok_at = _last_ok_at(session, cadence.name)
    pause = session.get(SweepPause, cadence.name)
    running = _is_running(session, cadence.name, now)
    known = [at for at in (last_ok_at, pause.at if pause else None, installed_at) if at is not None]
    since = max(known) + INTERVALS_UNTIL_LATE * cadence.every
    paused = pause if pause is not None and pause.paused else None
    is_late = now > since and paused is None and not running
    return State(
        name=cadence.name,
        every=cadence.every,
        last_run=_last_run(session, cadence.name),
        last_ok_at=last_ok_at,
        next_due_at=sweep_slots.due_at(cadence.every, now) + cadence.every,
        running=running,
        paused=paused,
        late_since=since if is_late else None,
        episode=str(micros(max(known))),
        version=pause.version if pause is not None else 0,
    )


def _last_ok_at(session: Session, name: str) -> datetime | None:
    return session.scalars(
        select(SweepRun.finished_at)
        .where(
            SweepRun.name == name,
            SweepRun.status == RunStatus.OK.value,
            SweepRun.by_hand.is_(False),
            SweepRun.finished_at.is_not(None),
        )
        .order_by(SweepRun.finished_at.desc())
        .limit(1)
    ).first()


def _is_running(session: Session, name: str, now: datetime) -> bool:
    """Whether a run that is not by hand holds the lease now: one that takes long is not late."""
    query = (
        select(SweepRun.id)
        .join(SweepLease, SweepLease.run_id == SweepRun.id)
        .where(
            SweepLease.name == name,
            SweepLease.expires_at > now,
            SweepRun.status == RunStatus.RUNNING.value,
            SweepRun.by_hand.is_(False),
        )
    )
    return session.scalars(query).first() is not None


def _last_run(session: Session, name: str) -> SweepRun | None:
    return session.scalars(
        select(SweepRun)
        .where(SweepRun.name == name)
        .order_by(SweepRun.started_at.desc(), SweepRun.id.desc())
        .limit(1)
    ).first()


def pause(
    session: Session,
    name: str,
    *,
    known: Iterable[str],
    reason: str | None,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> SweepPause:
    """Pause a sweep for all tenants. Pausing a paused one changes nothing.

    One that was never paused has the version 0. Raises `NotFound`, `Invalid`, and `Conflict` where it moved.
    """
    why = text.optional(reason, "reason")
    return _set_paused(session, name, True, known, why, actor, now, expected_version)


def resume(
    session: Session,
    name: str,
    *,
    known: Iterable[str],
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> SweepPause:
    """Let a paused sweep run again. Resuming one that is not paused changes nothing.

    Raises `NotFound`, and `Conflict` where it moved.
    """
    return _set_paused(session, name, False, known, None, actor, now, expected_version)


def _set_paused(
    session: Session,
    name: str,
    paused: bool,
    known: Iterable[str],
    reason: str | None,
    actor: Actor,
    now: datetime,
    expected_version: int | None,
) -> SweepPause:
    _check_known(name, known)
    # The platform's row is the lock: two who pause at once leave one event.
    platform = locks.one(session, select(tenants.Tenant).where(tenants.Tenant.key == PLATFORM))
    assert platform is not None
    row = session.get(SweepPause, name, populate_existing=True)
    if row is None:
        row = SweepPause(name=name, paused=False, by=actor.label, at=now, version=0)
    check_version(row, expected_version, "sweep")
    if row.paused == paused:
        return row  # one that is not stored stays so: its `at` would begin the judging of lateness anew
    session.add(row)
    row.paused, row.reason, row.by, row.at = paused, reason, actor.label, now
    row.version += 1
    _append(session, platform.id, "paused" if paused else "resumed", name, actor, now)
    return row


def run_by_hand(
    session: Session, name: str, *, known: Iterable[str], actor: Actor, now: datetime
) -> SweepSlot:
    """Make a slot that is due now; the scheduler puts it on its queue within a second.

    Raises `NotFound`, and `Conflict` for a sweep that is paused.
    """
    _check_known(name, known)
    row = session.get(SweepPause, name, populate_existing=True)
    if row is not None and row.paused:
        raise Conflict(f"{name} is paused. Resume it first, then run it.", current=row)
    sweep_slots.add(session, name, now, SlotKind.HAND, now=now)
    _append(session, tenants.get(session, PLATFORM).id, "run_by_hand", name, actor, now)
    return session.scalars(select(SweepSlot).where(SweepSlot.name == name, SweepSlot.slot_at == now)).one()


def record_inline(
    session: Session, name: str, counts: dict[str, Any], *, actor: Actor, started_at: datetime, now: datetime
) -> None:
    """Record a run by hand that took neither slot nor lease, with its audit event. Commits."""
    session.add(
        SweepRun(
            name=name,
            by_hand=True,
            holder=actor.label,
            status=RunStatus.OK.value,
            started_at=started_at,
            finished_at=now,
            counts=counts,
            capped=bool(counts.get("capped")),
        )
    )
    _append(session, tenants.get(session, PLATFORM).id, "run_by_hand", name, actor, now)
    commit(session, "sweeps.run.inline")


def _check_known(name: str, known: Iterable[str]) -> None:
    if name not in set(known):
        raise NotFound("sweep")


def _append(session: Session, tenant_id: int, verb: str, name: str, actor: Actor, now: datetime) -> None:
    audit.append(
        session, tenant_id=tenant_id, actor=actor, action=f"sweep.{verb}", resource=("sweep", name), now=now
    )


def announce_late(session: Session, cadences: Iterable[Cadence], *, now: datetime) -> list[State]:
    """Write one `attention.needed` event for each episode of lateness. Commits.

    Returns the sweeps for which this call wrote it, for whoever sends the mail. An episode begins with the
    last good run, so that it ends with the next.
    """
    platform = tenants.get(session, PLATFORM)
    announced = [
        state for state in late(session, cadences, now=now) if _announce(session, platform.id, state, now)
    ]
    commit(session, "sweeps.late.announce")
    return announced


def _announce(session: Session, tenant_id: int, state: State, now: datetime) -> bool:
    try:
        with savepoint(session):
            event = outbox.enqueue(
                session,
                tenant_id=tenant_id,
                event_type="attention.needed",
                aggregate=("sweep", state.name),
                payload={
                    "reason": "sweep_late",
                    "sweep": state.name,
                    "late_since": iso(state.late_since),
                    "last_ok_at": iso(state.last_ok_at),
                },
                now=now,
                deduplication_key=state.episode,
            )
            new = event in session.new
    except IntegrityError:
        return False  # another scheduler was first
    return new
