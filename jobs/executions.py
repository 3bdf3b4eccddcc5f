"""How the edges run executions: here and now, or in chunks on a queue."""

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

import structlog
from flask import current_app
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from jobs import queues, wake
from jobs.delivery import outside as performers
from jobs.redis import Connection
from models import clock, declarations
from models.automations import running
from models.automations.running import Worker
from models.settings import Settings
from models.sweeping import Counts
from models.transactions import rollback

# Of one job: few enough that all workers share what calls the outside, half a minute for each call at worst.
# Of a long backlog a larger part, since each job costs a process and a connection.
CHUNK, MOST, PARTS = 100, 500, 40
PREFIX = "executions-"

log = structlog.get_logger(__name__)


def run(
    session: Session,
    ids: Sequence[UUID],
    *,
    clock: Callable[[], datetime] = clock.now,
    until: datetime | None = None,
) -> Counts:
    """Run those of `ids` that are due, in this process; what `until` leaves is found by the next sweep."""
    settings: Settings = current_app.extensions["desk_settings"]
    declared = declarations.current(session)
    rollback(session)
    worker = Worker(session, declared, clock, performers.performer(settings, session), until)
    return worker.work(ids)


def run_native_and_wake(session: Session, ids: Sequence[UUID]) -> None:
    """Run those that act on our own data alone, and hand the others to the workers.

    Whoever waits for an answer does not wait for what is outside. A fault is logged and no more: what was not
    run is due, and the sweep finds it.
    """
    try:
        native, outside = running.divided(session, ids)
        rollback(session)
        if native:
            run(session, native)
    except SQLAlchemyError as error:
        rollback(session)
        log.error("what was to run at once was left to the sweep", error=type(error).__name__)
        return
    if outside:
        wake.wake_executions(outside)


def dispatch(connection: Connection, ids: Sequence[UUID]) -> int:
    """Put `ids` on the queue in chunks; how many were put there. Raises `redis.RedisError`.

    While chunks of an earlier sweep wait there, none are added: what they hold would be handed out twice.
    """
    if any(id.startswith(PREFIX) for id in queues.queue("runs", connection).get_job_ids()):
        return 0
    size = min(max(CHUNK, len(ids) // PARTS), MOST)
    for start in range(0, len(ids), size):
        part = ids[start : start + size]
        job_id = f"{PREFIX}{part[0].hex}-{len(part)}"
        queues.enqueue(connection, "runs", queues.RUN_EXECUTIONS, *map(str, part), job_id=job_id)
    return len(ids)
