"""The engine as it runs: real Redis, real workers and schedulers as processes, both databases."""

import os
import signal
from collections import Counter
from pathlib import Path

import psutil
import pytest
import redis
from sqlalchemy import func, make_url, select, update

from models.followups.records import AgentTask
from models.outbox import OutboxEvent
from models.sweeps import SweepSlot
from tests.conftest import SERVER, Database
from tests.jobs import own_processes
from tests.jobs.conftest import Engine, running
from tests.support import postgres
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
    worker = engine.processes.fork(own_processes.hold_runs, str(held))
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
    worker = engine.processes.fork(own_processes.hold_runs, str(held))
    eventually(held.exists, what="the run began")
    psutil.Process(int(held.read_text())).send_signal(signal.SIGKILL)
    closed = eventually(lambda: [run for run in engine.runs() if run.status == "error"])
    assert worker.is_alive
    # It would wait for its next run to end.
    worker.kill()
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
    # There is no scheduler, so only the wake-up can start the delivery.
    worker = engine.processes.desk("worker", "--queue", "delivery")
    eventually(lambda: "worker started" in worker.output())
    code, output = engine.act("write_event")
    assert code == 0, output
    ran = eventually(lambda: [run for run in engine.runs("deliver") if run.status == "ok"])
    assert (ran[0].slot_id, ran[0].by_hand, ran[0].counts["published"]) == (None, False, 1)


def test_commit_succeeds_when_redis_is_away_and_the_delivery_cannot_be_woken(engine: Engine):
    engine.redis.stop()
    code, output = engine.act("write_event")
    assert code == 0, output
    assert "the delivery could not be woken" in output
    assert engine.ask(lambda s: s.scalars(select(func.count()).select_from(OutboxEvent)).one()) == 1


def test_scheduler_goes_on_when_its_database_connections_are_cut(
    postgresql_database: Database, tmp_path: Path
):
    postgresql_database.reset()
    with running(postgresql_database, tmp_path) as engine:
        scheduler = engine.processes.desk("scheduler")
        eventually(lambda: len(engine.slots()) >= 1)
        name = make_url(postgresql_database.url).database
        postgres.execute(
            os.environ[SERVER],
            # Only of this test's own: other tests run beside it on the same server.
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
        )
        seen = len(engine.slots())
        eventually(lambda: len(engine.slots()) > seen, what="another slot claimed")
        assert scheduler.is_alive


def _client(engine: Engine) -> redis.Redis:
    return redis.Redis.from_url(engine.redis.url)


def test_late_sweep_is_told_once_when_no_worker_runs_it(sqlite_engine: Engine):
    # No worker: whatever the two schedulers enqueue stays where it is.
    schedulers = [sqlite_engine.processes.fork(own_processes.tell_soon) for _ in range(2)]
    query = select(OutboxEvent.payload).where(OutboxEvent.event_type == "attention.needed")

    def told() -> list[str]:
        return sqlite_engine.ask(lambda s: sorted(payload["sweep"] for payload in s.scalars(query)))

    expected = [
        "deliver",
        "fire_followups",
        "process_inbound",
        "reconcile_chatwoot",
        "run_bulk",
        "run_executions",
        "seal_audit",
    ]
    eventually(lambda: told() == expected, within=90, what="each late sweep told")
    seen = len(sqlite_engine.slots())
    eventually(lambda: len(sqlite_engine.slots()) >= seen + 4, what="more ticks")
    assert told() == expected
    assert sum(one.output().count("a sweep is late") for one in schedulers) == len(expected)
