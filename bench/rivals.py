"""procrastinate, pgqueuer and rq, each with a job for each execution: what they are given, and their workers.

A worker is `python -m bench.rivals NAME`, with the addresses of the database and of Redis in its environment.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import psycopg
import redis
import rq
from psycopg_pool import AsyncConnectionPool

from bench.job_per_row import STATEMENT

# Of the settings that they document, the fastest here: see docs/benchmarks.md.
CONCURRENCY = 20
BATCH = 100

Run = Callable[[str], Awaitable[object]]
_rq_connection: psycopg.Connection | None = None


def with_pool(database: str, work: Callable[[Run], Coroutine[Any, Any, None]]) -> None:
    """Run `work` on uvloop; what it is given runs one job on a connection that is kept open."""
    import uvloop

    async def main() -> None:
        async with AsyncConnectionPool(
            database, min_size=CONCURRENCY, max_size=CONCURRENCY, kwargs={"autocommit": True}
        ) as pool:

            async def run(id: str) -> None:
                async with pool.connection() as connection:
                    await connection.execute(STATEMENT, {"id": id})

            await work(run)

    uvloop.run(main())


def procrastinate_app(database: str, run: Run) -> tuple[Any, Any]:
    import procrastinate

    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=database, max_size=CONCURRENCY))

    @app.task(name="run", queue="bench")
    async def job(id: str) -> None:
        await run(id)

    return app, job


async def _procrastinate_fill(database: str, ids: Sequence[str]) -> None:
    app, job = procrastinate_app(database, _unused)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await job.batch_defer_async(*({"id": id} for id in ids))


async def _procrastinate_work(database: str, run: Run) -> None:
    app, _job = procrastinate_app(database, run)
    async with app.open_async():
        await app.run_worker_async(
            queues=["bench"], wait=False, concurrency=CONCURRENCY, delete_jobs="always"
        )


async def _pgqueuer_fill(database: str, ids: Sequence[str]) -> None:
    import asyncpg
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.queries import Queries

    queries = Queries(AsyncpgDriver(await asyncpg.connect(database)))
    await queries.install()
    for start in range(0, len(ids), 1_000):
        part = ids[start : start + 1_000]
        await queries.enqueue(["run"] * len(part), [id.encode() for id in part], [0] * len(part))


async def _pgqueuer_work(database: str, run: Run) -> None:
    import asyncpg
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.qm import QueueManager
    from pgqueuer.queries import Queries
    from pgqueuer.types import QueueExecutionMode

    manager = QueueManager(Queries(AsyncpgDriver(await asyncpg.connect(database))))

    @manager.entrypoint("run")
    async def job(job: Any) -> None:
        await run(job.payload.decode())

    await manager.run(batch_size=BATCH, mode=QueueExecutionMode.drain)


def _rq_fill(ids: Sequence[str]) -> None:
    queue = rq.Queue("bench", connection=redis.Redis.from_url(os.environ["BENCH_REDIS"]))
    for start in range(0, len(ids), 1_000):
        part = ids[start : start + 1_000]
        queue.enqueue_many([rq.Queue.prepare_data(run_in_rq, (id,), result_ttl=0) for id in part])


def run_in_rq(id: str) -> None:
    """One job of rq; the connection is the process's."""
    global _rq_connection
    if _rq_connection is None:
        _rq_connection = psycopg.connect(os.environ["BENCH_DATABASE"], autocommit=True)
    _rq_connection.execute(STATEMENT, {"id": id})


def _rq_work(kind: type[Any]) -> None:
    connection = redis.Redis.from_url(os.environ["BENCH_REDIS"])
    kind(["bench"], connection=connection).work(burst=True, logging_level="WARNING")


async def _unused(_id: str) -> None:
    raise AssertionError("what only fills a queue runs no job")


def fill(name: str, database: str, ids: Sequence[str]) -> None:
    """Put a job for each of `ids` on the queue of `name`."""
    if name == "procrastinate":
        asyncio.run(_procrastinate_fill(database, ids))
    elif name == "pgqueuer":
        asyncio.run(_pgqueuer_fill(database, ids))
    else:
        _rq_fill(ids)


def work(name: str, database: str) -> None:
    """Run jobs until there are none."""
    if name == "procrastinate":
        with_pool(database, partial(_procrastinate_work, database))
    elif name == "pgqueuer":
        with_pool(database, partial(_pgqueuer_work, database))
    else:
        _rq_work(rq.SimpleWorker if name == "rq" else rq.Worker)


if __name__ == "__main__":
    # By its name, which is how jobs are found again.
    from bench import rivals

    rivals.work(sys.argv[1], os.environ["BENCH_DATABASE"])
