"""The engine as it runs: real Redis, real workers and schedulers as processes, both databases."""

import signal
from collections import Counter

import psutil
import pytest
from sqlalchemy import func, select, update

from models.followups.records import AgentTask
from models.outbox import OutboxEvent
from models.sweeps import SweepSlot
from tests.jobs.conftest import Engine
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow


def test_schedule_fires_due_followup_when_scheduler_and_worker_run(engine: Engine):
    followup = engine.book_due()
    engine.processes.desk("scheduler")
    engine.processes.desk("worker", "--queue", "sweeps")
    eventually(lambda: engine.status_of(followup) == "fired", what="the follow-up fired")
    ran = eventually(lambda: [run for run in engine.runs() if run.counts.get("fired")])
    assert ran[0].status == "ok"
    assert engine.ask(lambda s: s.scalars(select(func.count()).select_from(AgentTask)).one()) == 1


def test_engine_goes_on_when_redis_is_gone_and_comes_back(engine: Engine):
    schedulers = [engine.processes.desk("scheduler") for _ in range(2)]
    worker = engine.processes.desk("worker", "--queue", "sweeps")
    first = engine.book_due("c-1")
    eventually(lambda: engine.status_of(first) == "fired", what="the first follow-up fired")
    engine.redis.stop()
    eventually(lambda: all("Redis is away" in one.output() for one in schedulers), what="the outage noticed")
    meanwhile = engine.book_due("c-2")
    engine.redis.start()
    eventually(lambda: engine.status_of(meanwhile) == "fired", within=60, what="the second fired")
    assert worker.is_alive
    assert not engine.processes.dead()
    assert engine.ask(lambda s: s.scalars(select(func.count()).select_from(AgentTask)).one()) == 2


def test_run_is_closed_and_next_does_the_work_when_worker_is_killed_in_the_middle(engine: Engine, tmp_path):
    followup = engine.book_due()
    engine.processes.desk("scheduler")
    held = tmp_path / "held"
    worker = engine.processes.python("-m", "tests.jobs.holding_worker", str(held))
    eventually(held.exists, what="the run began")
    horse = int(held.read_text())
    worker.kill()
    psutil.Process(horse).send_signal(signal.SIGKILL)
    engine.processes.desk("worker", "--queue", "sweeps")
    eventually(lambda: engine.status_of(followup) == "fired", within=60, what="the next run fired it")
    closed = next(run for run in engine.runs() if run.status == "error")
    assert "its process ended without saying so" in closed.error
    assert closed.finished_at is not None
    assert all(run.status != "running" or run.id == engine.runs()[-1].id for run in engine.runs())


def test_run_is_closed_at_once_when_its_process_is_killed_under_a_living_worker(engine: Engine, tmp_path):
    engine.processes.desk("scheduler")
    held = tmp_path / "held"
    engine.processes.python("-m", "tests.jobs.holding_worker", str(held))
    eventually(held.exists, what="the run began")
    psutil.Process(int(held.read_text())).send_signal(signal.SIGKILL)
    closed = eventually(lambda: [run for run in engine.runs() if run.status == "error"])
    assert "its process was killed (signal 9)" in closed[0].error


def test_each_slot_starts_once_when_two_schedulers_run(engine: Engine):
    for _ in range(2):
        engine.processes.desk("scheduler")
        engine.processes.desk("worker", "--queue", "sweeps")
    eventually(lambda: len(engine.runs()) >= 5, what="five runs")
    slots = engine.slots()
    assert len({slot.slot_at for slot in slots}) == len(slots)
    per_slot = Counter(run.slot_id for run in engine.runs())
    assert max(per_slot.values()) == 1


def test_slot_is_enqueued_again_when_its_job_was_lost(engine: Engine):
    engine.processes.desk("scheduler")
    slot = eventually(lambda: [slot for slot in engine.slots("retention") if slot.enqueued_at])[0]
    client = _client(engine)
    client.flushall()
    engine.tell(
        lambda s: s.execute(
            update(SweepSlot)
            .where(SweepSlot.id == slot.id)
            .values(enqueued_at=slot.claimed_at.replace(year=2020))
        )
    )
    eventually(lambda: client.exists(f"rq:job:slot-{slot.id}-2"), what="the slot enqueued again")
    engine.processes.desk("worker", "--queue", "runs")
    done = eventually(lambda: engine.runs("retention"), what="it ran")
    assert [run.slot_id for run in done] == [slot.id]


def test_delivery_runs_at_once_when_an_outbox_event_was_written(engine: Engine):
    engine.processes.desk("worker", "--queue", "delivery")
    followup = engine.book_due()
    # The inline sweep installs no wake-up: this process writes the event, as a web process would.
    from jobs import wake

    engine.database.app.extensions["desk_settings"] = _settings(engine)
    wake.install()
    engine.tell(lambda s: s.add(_event(s)))
    client = _client(engine)
    eventually(lambda: not client.exists("desk:woken:deliver"), what="the woken run began")
    assert engine.status_of(followup) == "pending"


def _client(engine: Engine):
    import redis

    return redis.Redis.from_url(engine.redis.url)


def _settings(engine: Engine):
    from models.settings import from_env

    return from_env(engine.processes.env)


def _event(session):
    from models import tenants

    return OutboxEvent(
        tenant_id=tenants.get(session, None).id,
        aggregate_type="test",
        aggregate_id="1",
        event_type="task.created",
        payload={},
        created_at=tenants.get(session, None).created_at,
    )
