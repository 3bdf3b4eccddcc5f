"""The queues of RQ: what may be put on them, and what a health check reads from them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from rq import Queue
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer
from rq.worker import Worker

from jobs.redis import Connection

QUEUES = ("sweeps", "runs", "delivery")
JOB_TIMEOUT_S = 600
RESULT_TTL_S = 60
FAILURE_TTL_S = 24 * 3_600
# A worker says that it lives every 15 s while idle and every 10 s while it runs a job.
ALIVE_WITHIN = timedelta(seconds=60)

RUN_SLOT = "run_slot"
RUN_WOKEN = "run_woken"
RUN_BULK = "run_bulk"
RUN_EXECUTIONS = "run_executions"


class NotAllowed(RuntimeError):
    """A job names a function that is not on the list, or brings anything but plain arguments."""


class DeskJob(Job):
    """A job that can only name a function of the list: whoever reaches Redis does not run code by it.

    RQ would import any name that a job or one of its callbacks gives, and call any address as a webhook.
    """

    @property
    def func(self) -> Callable[..., Any]:
        from jobs.runner import ALLOWED

        if self.instance is not None or self.func_name not in ALLOWED or not isinstance(self.args, list):
            raise NotAllowed(f"the function {str(self.func_name)[:100]} is not on the list")
        return ALLOWED[self.func_name]

    @property
    def success_callback(self) -> None:
        return None

    @property
    def failure_callback(self) -> None:
        return None

    @property
    def stopped_callback(self) -> None:
        return None

    def send_webhooks(self, status: str | JobStatus, *, exc_string: str | None = None) -> None:
        return None


def queue(name: str, connection: Connection) -> Queue:
    return Queue(name, connection=connection, serializer=JSONSerializer, job_class=DeskJob)


def enqueue(connection: Connection, queue_name: str, function: str, *args: int | str, job_id: str) -> None:
    """Put a call of one function of the list on a queue. Raises `redis.RedisError`."""
    queue(queue_name, connection).enqueue_call(
        function,
        args=list(args),
        job_id=job_id,
        timeout=JOB_TIMEOUT_S,
        result_ttl=RESULT_TTL_S,
        failure_ttl=FAILURE_TTL_S,
        description=f"{function} {json.dumps(args)}",
    )


def enqueue_slot(connection: Connection, queue_name: str, slot_id: int, attempt: int) -> None:
    """Put a due slot on its sweep's queue. Raises `redis.RedisError`."""
    enqueue(connection, queue_name, RUN_SLOT, slot_id, job_id=f"slot-{slot_id}-{attempt}")


def depths(connection: Connection) -> dict[str, int]:
    """How many jobs wait on each queue. Raises `redis.RedisError`."""
    return {name: queue(name, connection).count for name in QUEUES}


def alive_workers(connection: Connection, now: datetime) -> dict[str, int]:
    """How many workers of each queue said that they live within the last minute. Raises `RedisError`."""
    counts = dict.fromkeys(QUEUES, 0)
    for name in QUEUES:
        for worker in Worker.all(queue=queue(name, connection)):
            seen = worker.last_heartbeat
            if seen is not None and now - _aware(seen) <= ALIVE_WITHIN:
                counts[name] += 1
    return counts


def _aware(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)
