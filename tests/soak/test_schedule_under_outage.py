"""Two schedulers and three workers, with Redis stopped in the middle: the schedule keeps its word.

It runs for `DESK_SOAK_SECONDS` (30 unless set) on each database; Redis is away for 20 s of a run of 120 s or
more, else for 6 s.
"""

import os
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import select

from jobs import schedule
from models import clock, declarations, sweep_states
from models.sweeps import SlotState, SweepRun, SweepSlot
from tests.conftest import Database
from tests.jobs.conftest import Engine, running
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

SECONDS = int(os.environ.get("DESK_SOAK_SECONDS", "30"))
AWAY_S = 20 if SECONDS >= 120 else 6
RECOVERED_WITHIN_S = 60
BOOK_EVERY_S = 2


def test_schedule_keeps_its_word_when_redis_is_away_in_the_middle(database: Database, tmp_path: Path):
    with running(database, tmp_path) as engine:
        start(engine)
        booked = spend(engine, SECONDS / 2 - AWAY_S / 2, "before")
        engine.redis.stop()
        booked += spend(engine, AWAY_S, "while")
        engine.redis.start()
        back_at = time.monotonic()
        booked += spend(engine, SECONDS / 2 - AWAY_S / 2, "after")
        left = max(1.0, RECOVERED_WITHIN_S - (time.monotonic() - back_at))
        eventually(lambda: not late(engine), within=left, what="no sweep late 60 s after Redis came back")
        eventually(lambda: all_fired(engine, booked), within=RECOVERED_WITHIN_S, what="all promises kept")
        assert engine.processes.dead() == []
        engine.processes.stop()
        report(engine, len(booked))
        check(engine)


def start(engine: Engine) -> None:
    for _ in range(2):
        engine.processes.installed("scheduler")
    for queue in ("sweeps", "runs", "delivery"):
        engine.processes.installed("worker", "--queue", queue)
    eventually(lambda: len(engine.runs()) >= 1, within=60, what="the first run")


def spend(engine: Engine, seconds: float, name: str) -> list[str]:
    """Book a due follow-up every two seconds for so long; their ids."""
    booked: list[str] = []
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        booked.append(engine.book_due(f"{name}-{len(booked)}"))
        waited = time.monotonic() + BOOK_EVERY_S
        eventually(lambda until=waited: time.monotonic() >= until, within=BOOK_EVERY_S + 5)
    return booked


def all_fired(engine: Engine, booked: list[str]) -> bool:
    return all(engine.status_of(one) == "fired" for one in booked)


def late(engine: Engine) -> list[str]:
    return engine.ask(
        lambda session: [
            state.name
            for state in sweep_states.late(
                session, schedule.cadences(declarations.current(session)), now=clock.now()
            )
        ]
    )


def check(engine: Engine) -> None:
    slots = engine.ask(lambda s: list(s.scalars(select(SweepSlot))))
    runs = engine.ask(lambda s: list(s.scalars(select(SweepRun))))
    per_slot = Counter(run.slot_id for run in runs if run.slot_id is not None)
    twice = [slot for slot, number in per_slot.items() if number > 1]
    assert twice == [], "no slot ran twice"
    unaccounted = [
        (slot.name, slot.slot_at, slot.state)
        for slot in slots
        # Those that waited when everything was stopped had no time to become anything.
        if slot.state != SlotState.WAITING and slot.id not in per_slot and not slot.reason
    ]
    assert unaccounted == [], "each slot has its run or a recorded reason"
    assert gaps(slots) == [], "each moment of the clock has a slot, or the next slot says that it passed"


def gaps(slots: list[SweepSlot]) -> list[str]:
    """Moments between two slots of a sweep that no slot counts as missed."""
    found = []
    sweeps = {"fire_followups": 2, "deliver": 2, "seal_audit": 5}
    for name, every in sweeps.items():
        clocked = sorted((s for s in slots if s.name == name and s.kind == "clock"), key=lambda s: s.slot_at)
        for before, after in pairwise(clocked):
            passed = round((after.slot_at - before.slot_at).total_seconds() / every) - 1
            if passed != after.missed:
                found.append(f"{name}: {passed} passed before {after.slot_at}, {after.missed} recorded")
    return found


def report(engine: Engine, booked: int) -> None:
    """What was done, for whoever runs it with -s."""
    slots = engine.ask(lambda s: list(s.scalars(select(SweepSlot))))
    runs = engine.ask(lambda s: list(s.scalars(select(SweepRun))))
    states = Counter(slot.state for slot in slots)
    ended = Counter(run.status for run in runs)
    line = (
        f"\n{engine.database.dialect}: {SECONDS} s with Redis away for {AWAY_S} s; "
        f"{len(slots)} slots {dict(states)}, {sum(s.missed for s in slots)} counted as missed; "
        f"{len(runs)} runs {dict(ended)}; {booked} promises, all fired; "
        f"{len(engine.processes.all)} processes, none died\n"
    )
    os.write(1, line.encode())
