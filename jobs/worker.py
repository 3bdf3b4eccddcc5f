"""A worker: takes the jobs of one queue, each in a process of its own, and outlives outages of Redis."""

import gc
import os
import signal
import threading
from types import FrameType
from typing import Any

import redis
import structlog
from flask import Flask
from rq import Queue
from rq.executions import Execution
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.worker import Worker
from sqlalchemy.orm import configure_mappers

from jobs import queues, runner, wake
from jobs import redis as servers
from jobs.app import make_app
from models import clock, sweep_runs
from models.base import db
from models.settings import Settings

WORKER_TTL_S = 30
MONITOR_EVERY_S = 10

log = structlog.get_logger(__name__)


class DeskWorker(Worker):
    """An RQ worker whose jobs run inside the application and end on record, however they end."""

    job_class = queues.DeskJob
    max_connection_wait_time = 5.0
    stopping = False
    app: Flask

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        self.stopping = True
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        with self.app.app_context():
            # The parent's connections came along with the fork and are not ours to use or close.
            db.engine.dispose(close=False)
        super().main_work_horse(job, queue)

    def perform_job(self, *args: Any, **kwargs: Any) -> bool:
        with self.app.app_context():
            return bool(super().perform_job(*args, **kwargs))

    def handle_work_horse_killed(self, job: Job, retpid: int, ret_val: int, rusage: Any) -> None:
        """RQ calls no failure handler here, so the run is closed from this side."""
        ended = f"signal {os.WTERMSIG(ret_val)}" if os.WIFSIGNALED(ret_val) else f"status {ret_val >> 8}"
        log.error("the process of a job was killed", job=job.id, ended=ended)
        slot_id = runner.slot_of(job)
        if slot_id is None:
            return
        with self.app.app_context():
            reason = f"its process was killed ({ended})"
            sweep_runs.close_killed(db.session(), slot_id, reason, now=clock.now())
            db.session.remove()
            db.engine.dispose()

    def maintain_heartbeats(self, job: Job, execution: Execution) -> None:
        # A job that runs while Redis is away goes on: what it does is in SQL.
        try:
            super().maintain_heartbeats(job, execution)
        except redis.RedisError as error:
            log.warning("no heartbeat: Redis is away", error=str(error))

    def register_death(self) -> None:
        try:
            super().register_death()  # type: ignore[no-untyped-call]
        except redis.RedisError as error:
            log.warning("the end of a worker is not registered: Redis is away", error=str(error))


def run(settings: Settings, queue_name: str, *, burst: bool = False) -> None:
    """Work on one queue until SIGTERM or SIGINT (or, with `burst`, until it is empty).

    RQ's worker gives up where Redis goes away at a bad moment; then another takes its place in the same
    process, as soon as Redis is back. Raises `NoServer` where no Redis is configured.
    """
    wake.install()
    app = make_app(settings)
    # Once for all jobs: each is a process forked from here, that would do it anew, and copy the memory that a
    # collection of garbage looks through.
    configure_mappers()
    gc.collect()
    gc.freeze()
    stop = threading.Event()
    log.info("worker started", queue=queue_name, pid=os.getpid())
    while not stop.is_set():
        _stop_on_signals(stop)
        worker = _make(settings, app, queue_name)
        if worker is None:
            stop.wait(1)
            continue
        if _work(worker, burst) or burst:
            break
        log.warning("the worker begins again", queue=queue_name)
        _stop_on_signals(stop)
        stop.wait(1)
    log.info("worker ended", queue=queue_name, pid=os.getpid())


def _stop_on_signals(stop: threading.Event) -> None:
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_args: stop.set())


def _make(settings: Settings, app: Flask, queue_name: str) -> DeskWorker | None:
    """A worker with a connection of its own, or None while Redis is away."""
    try:
        connection = servers.connect(settings)
        connection.ping()
        worker = DeskWorker(
            [queues.queue(queue_name, connection)],
            connection=connection,
            worker_ttl=WORKER_TTL_S,
            job_monitoring_interval=MONITOR_EVERY_S,
            job_class=queues.DeskJob,
            serializer=JSONSerializer,
        )
    except redis.RedisError as error:
        log.warning("waiting for Redis", queue=queue_name, error=str(error))
        return None
    worker.app = app
    return worker


def _work(worker: DeskWorker, burst: bool) -> bool:
    """Work until something ends it; whether that was a request to stop."""
    try:
        worker.work(burst=burst, logging_level="WARNING")
    except redis.RedisError as error:
        log.warning("Redis went away", error=str(error))
    if worker.horse_pid:
        worker.wait_for_horse()
    return worker.stopping
