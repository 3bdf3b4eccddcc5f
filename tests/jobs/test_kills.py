"""SIGKILL at each commit of the engine: what it leaves is picked up, and no promise is lost or kept twice."""

import re
import signal
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import clock, declarations, sweep_runs, sweep_slots
from models.followups.firing import fire_due
from models.followups.records import AgentTask
from tests.jobs.conftest import Engine

pytestmark = pytest.mark.slow

# The act during which each point is reached.
POINTS = {
    "sweeps.slot.claim": "tick",
    "sweeps.slot.enqueue": "tick",
    "sweeps.slot.give_back": "tick",
    "sweeps.run.begin": "run",
    "sweeps.run.finish": "run",
    "sweeps.run.fail": "fail",
    "sweeps.run.wake": "wake",
    "sweeps.run.close_dead": "close_dead",
    "sweeps.run.close_killed": "close_killed",
    "sweeps.run.inline": "inline",
    "sweeps.lease.renew": "renew",
    "sweeps.late.announce": "announce",
    "sweeps.history.purge": "purge",
}
NAME = "fire_followups"
MODELS = Path(__file__).parents[2] / "models"


def test_every_commit_of_the_engine_is_killed_at():
    written = {
        point
        for path in MODELS.glob("sweep_*.py")
        for point in re.findall(r'commit\(session, "([^"]+)"\)', path.read_text())
    }
    assert written == set(POINTS)


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("point", POINTS)
def test_promise_is_kept_once_when_the_engine_was_killed_at(engine: Engine, point: str, where: str):
    followup = engine.book_due()
    env = {"REDIS_URL": "redis://127.0.0.1:1/0"} if point == "sweeps.slot.give_back" else {}
    code, output = engine.act(POINTS[point], DESK_FAULTS=f"{point}:{where}", **env)
    assert code == -signal.SIGKILL, output
    later = clock.now() + timedelta(minutes=2)
    engine.tell(lambda session: declarations.refresh(session, engine.processes.folder / "desk.toml", later))
    engine.tell(lambda session: recover(session, later))
    assert engine.status_of(followup) == "fired"
    assert engine.ask(lambda s: s.scalars(select(func.count()).select_from(AgentTask)).one()) == 1
    # Each slot has its run or a reason, and no run stays open.
    with_run = {run.slot_id for run in engine.runs()}
    assert [slot for slot in engine.slots() if slot.id not in with_run and not slot.reason] == []
    assert [run for run in engine.runs() if run.status == "running"] == []


def recover(session: Session, now: datetime) -> None:
    """What the scheduler and a worker do two minutes later."""
    sweep_slots.claim(session, NAME, timedelta(seconds=30), now=now)
    sweep_runs.close_dead(session, {}, now=now)
    for slot in [slot for slot in sweep_slots.to_enqueue(session, now=now) if slot.name == NAME]:
        assert sweep_slots.take_to_enqueue(session, slot.id, now=now)
        started = sweep_runs.begin_slot(session, slot.id, holder="tests", now=now)
        assert started is not None
        counts = fire_due(session, declared=declarations.current(session), now=now, limit=100)
        sweep_runs.finish(session, started, counts, now=now)
