"""Dispatch of due executions by two workers of ours, against other queues with a job for each execution."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from redis import Redis
from rq import Worker

from bench import rivals, seeding
from bench.support import NOW, Result, application, copy, empty
from jobs import executions, queues
from jobs.redis import Embedded, die_with_parent
from models import clock
from models.automations import claiming
from models.base import db
from models.settings import from_env
from models.transactions import rollback
from tests.support import postgres, processes
from tests.support.waiting import eventually

KEY = "a-key-for-the-benchmarks"
WORKERS = 2
ROUNDS = 2
# Rates are compared, so that those which take a job at a time need not do all of them.
JOBS, FORKED = 4_000, 600
SETTINGS = {
    "procrastinate": f"concurrency={rivals.CONCURRENCY}, delete_jobs='always', an async job, uvloop",
    "pgqueuer": f"batch_size={rivals.BATCH}, an async job, asyncpg for its own queries, uvloop",
    "rq": "SimpleWorker, all jobs in one process, result_ttl=0",
    "rq, forking": "Worker, a process for each job, as its documentation advises; result_ttl=0",
}
# What all of them wrote, without ids that are counted up and without times.
_MEANT = "(SELECT id FROM execution WHERE conversation_id <= %(jobs)s)"
SAME = {
    "execution": (
        "SELECT md5(string_agg((to_jsonb(t) - '{began_at,updated_at}'::text[])::text, '|' ORDER BY id)),"
        f" count(began_at) FROM execution t WHERE id IN {_MEANT}"
    ),
    "conversation": (
        "SELECT md5(string_agg((to_jsonb(t) - 'updated_at')::text, '|' ORDER BY id)), count(*)"
        " FROM conversation t WHERE id <= %(jobs)s"
    ),
    "action_run": (
        "SELECT md5(string_agg((to_jsonb(t) - '{id,started_at,finished_at}'::text[])::text, '|'"
        " ORDER BY idempotency_key)), count(started_at), count(finished_at)"
        f" FROM action_run t WHERE execution_id IN {_MEANT}"
    ),
    "audit_event": (
        "SELECT md5(string_agg((to_jsonb(t) - '{id,at}'::text[])::text, '|' ORDER BY resource_id, action)),"
        f" count(*) FROM audit_event t WHERE resource_id IN (SELECT id::text FROM {_MEANT} meant)"
    ),
    "outbox_event": (
        "SELECT md5(string_agg((to_jsonb(t) - '{id,created_at}'::text[])::text, '|' ORDER BY aggregate_id)),"
        f" count(*) FROM outbox_event t WHERE aggregate_id IN (SELECT id::text FROM {_MEANT} meant)"
    ),
}


def run(server: str, *, due: int) -> list[Result]:
    """The best rate of two rounds of each, on fresh copies of one database with `due` executions due."""
    with application(empty(server, "automations")):
        seeding.fill_executions(db.session(), "acme", conversations=due, enabled=True, now=NOW)
    rates: dict[str, list[float]] = {}
    for _round in range(ROUNDS):
        our_url = copy(server, "automations", "ours")
        rates.setdefault("ours", []).append(measure_ours(our_url, due))
        for name in SETTINGS:
            jobs = min(due, FORKED if name == "rq, forking" else JOBS)
            url = copy(server, "automations", "theirs")
            rates.setdefault(name, []).append(measure_rival(name, url, jobs))
            compared = compare(our_url, url, jobs)
    postgres.execute(server, *(f"DROP DATABASE {name}" for name in ("ours", "theirs", "automations")))
    return [_result(name, due, rates, compared) for name in SETTINGS]


def _result(name: str, due: int, rates: dict[str, list[float]], compared: str) -> Result:
    ours, theirs = max(rates["ours"]), max(rates[name])
    jobs = min(due, FORKED if name == "rq, forking" else JOBS)
    return Result(
        f"dispatch of {due} due executions with one native action, {WORKERS} workers",
        f"{name} (times faster)",
        ours / theirs,
        "at least 4",
        ours / theirs >= 4,
        {
            "executions a second": f"{ours:.0f} against {theirs:.0f}, over {jobs} jobs",
            "rounds": {key: [round(rate) for rate in rates[key]] for key in ("ours", name)},
            "their settings": SETTINGS[name],
            "tables compared, all the same": compared,
        },
    )


def measure_ours(url: str, due: int) -> float:
    """Executions a second, from the finding of what is due to the last commit; the workers wait for it."""
    with _redis() as (folder, server), processes.running(folder, url, server.url, SECRET_KEY=KEY) as running:
        workers = [running.installed("worker", "--queue", "runs") for _n in range(WORKERS)]
        connection = Redis.from_url(server.url)
        queue = queues.queue("runs", connection)
        eventually(lambda: Worker.count(queue=queue) == WORKERS, within=60, what="the workers are there")
        with application(url):
            session = db.session()
            started = time.perf_counter()
            picked = claiming.pick(session, now=clock.now(), limit=due)
            rollback(session)
            assert executions.dispatch(connection, picked.ids) == due
        _wait(url, due)
        seconds = time.perf_counter() - started
        assert all(worker.is_alive for worker in workers)
    return due / seconds


def measure_rival(name: str, url: str, jobs: int) -> float:
    """Jobs a second, from the first that is done to the last: their filling and their start are free."""
    with psycopg.connect(url) as connection:
        query = "SELECT id::text FROM execution ORDER BY conversation_id LIMIT %s"
        ids = [id for (id,) in connection.execute(query, (jobs,))]
    with _redis() as (_folder, server):
        env = {**os.environ, "BENCH_DATABASE": url, "BENCH_REDIS": server.url}
        os.environ |= {"BENCH_DATABASE": url, "BENCH_REDIS": server.url}
        rivals.fill(name, url, ids)
        postgres.execute(url, "VACUUM ANALYZE")
        command = [sys.executable, "-m", "bench.rivals", name]
        workers = [subprocess.Popen(command, env=env, preexec_fn=die_with_parent()) for _n in range(WORKERS)]
        try:
            _wait(url, 1)
            started = time.perf_counter()
            _wait(url, jobs)
            return jobs / (time.perf_counter() - started)
        finally:
            for worker in workers:
                _ended(worker)


def _ended(worker: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a worker that has no more to do."""
    try:
        worker.wait(20)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()


@contextmanager
def _redis() -> Iterator[tuple[Path, Embedded]]:
    """The embedded server, as `desk up` runs it, with its files in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        server = Embedded(from_env({"DESK_VAR": folder, "SECRET_KEY": KEY}))
        server.start()
        try:
            yield Path(folder), server
        finally:
            server.stop()


def _wait(url: str, executed: int) -> None:
    """Wait until so many are executed; read from an index, so that asking costs next to nothing."""
    query = "SELECT count(*) FROM execution WHERE status = 'executed'"
    if executed == 1:
        query = "SELECT count(*) FROM (SELECT FROM execution WHERE status = 'executed' LIMIT 1) found"
    with psycopg.connect(url, autocommit=True) as connection:

        def there() -> bool:
            row = connection.execute(query).fetchone()
            return row is not None and row[0] >= executed

        eventually(there, within=300, every=0.05, what=f"{executed} executions are executed")


def compare(our_url: str, url: str, jobs: int) -> str:
    """Raise `AssertionError` unless both wrote the same for the first executions; the tables compared."""
    for table, query in SAME.items():
        found = []
        for address in (our_url, url):
            with psycopg.connect(address) as connection:
                found.append(connection.execute(query, {"jobs": jobs}).fetchone())
        assert found[0] == found[1], f"{table} differs"
    return ", ".join(SAME)
