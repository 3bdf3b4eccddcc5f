"""How each sweep stands, as pages tell it; for the bar of every page read at most every few seconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from flask import Flask, current_app
from sqlalchemy.orm import Session

from desk_ui import words
from desk_ui.marks import Mark
from desk_ui.translating import gettext as _
from jobs.schedule import cadences
from models import declarations, sweep_states
from models.base import db
from models.clock import EPOCH
from models.sweep_states import State
from models.sweeps import RunStatus, SweepPause, SweepRun

REREAD_AFTER = timedelta(seconds=5)
CACHE = "desk_sweep_lines"


@dataclass(frozen=True, slots=True)
class Run:
    """One run, without the row's session."""

    id: int
    started_at: datetime
    finished_at: datetime | None
    status: str
    by_hand: bool
    capped: bool
    counts: Mapping[str, Any]
    error: str | None

    @classmethod
    def of(cls, run: SweepRun) -> "Run":
        return cls(
            run.id,
            run.started_at,
            run.finished_at,
            run.status,
            run.by_hand,
            run.capped,
            run.counts,
            run.error,
        )


@dataclass(frozen=True, slots=True)
class Pause:
    by: str
    reason: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Line:
    """One sweep. `version` is that of its pause, which an act names as it was seen."""

    key: str
    name: str
    every: timedelta
    late_since: datetime | None
    paused: Pause | None
    last: Run | None
    last_ok_at: datetime | None
    next_due_at: datetime
    version: int

    @classmethod
    def of(cls, state: State) -> "Line":
        return cls(
            state.name,
            str(words.SWEEPS.get(state.name, state.name)),
            state.every,
            state.late_since,
            _pause(state.paused),
            Run.of(state.last_run) if state.last_run else None,
            state.last_ok_at,
            state.next_due_at,
            state.version,
        )

    @property
    def is_running(self) -> bool:
        return self.last is not None and self.last.status == RunStatus.RUNNING

    @property
    def failed(self) -> bool:
        return self.last is not None and self.last.status == RunStatus.ERROR

    @property
    def mark(self) -> Mark:
        if self.paused:
            return Mark("pause", "warn", _("Paused"))
        if self.late_since is not None:
            return Mark("triangle", "bad", _("Late"))
        if self.is_running:
            return Mark("half", "good", _("Running"))
        if self.failed:
            return Mark("square", "warn", _("Last run failed"))
        if self.last_ok_at is None:
            return Mark("ring", "idle", _("Not run yet"))
        return Mark("disc", "good", _("On time"))


def _pause(row: SweepPause | None) -> Pause | None:
    return Pause(row.by, row.reason, row.at) if row is not None else None


def register(app: Flask) -> None:
    app.extensions[CACHE] = (EPOCH, [])


def read(session: Session, now: datetime) -> list[Line]:
    """Every sweep of the schedule in force."""
    declared = declarations.current(session)
    return [Line.of(state) for state in sweep_states.states(session, cadences(declared), now=now)]


def recent(now: datetime) -> list[Line]:
    """The same, as it was a few seconds ago at most in this process."""
    read_at, found = current_app.extensions[CACHE]
    if not found or not timedelta() <= now - read_at < REREAD_AFTER:
        found = read(db.session(), now)
        current_app.extensions[CACHE] = (now, found)
    return list(found)


def next_of(name: str, now: datetime) -> datetime | None:
    """When the sweep `name` runs next, as it was known a few seconds ago; None where that is in doubt."""
    found = next((line for line in recent(now) if line.key == name), None)
    if found is None or found.paused or found.late_since is not None:
        return None
    return max(found.next_due_at, now)


def paused_since(name: str, now: datetime) -> datetime | None:
    """Since when the sweep `name` does nothing in any tenant, as it was known a few seconds ago."""
    found = next((line for line in recent(now) if line.key == name), None)
    return found.paused.at if found and found.paused else None


def next_firing(now: datetime) -> datetime | None:
    """When follow-ups are looked at next, unless that is in doubt."""
    return next_of("fire_followups", now)


def firing_paused_since(now: datetime) -> datetime | None:
    """Since when no follow-up fires in any tenant."""
    return paused_since("fire_followups", now)


def forget() -> None:
    """Read afresh the next time: something was done."""
    current_app.extensions[CACHE] = (EPOCH, [])
