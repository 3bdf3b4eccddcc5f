"""The functions that workers run: one due slot of a sweep, or one sweep that an event woke."""

import os
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from flask import Flask, current_app
from rq import get_current_job
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from jobs import bulk, executions, queues, schedule, wake
from models import clock, declarations, sweep_runs
from models.base import db
from models.bulk_operations import MOST
from models.settings import Settings
from models.sweep_runs import Started
from models.transactions import rollback

RENEW_EVERY_S = 5
# Well within the time that a job may take; what is left is another job's, behind whatever waits meanwhile.
BULK_AT_ONCE = timedelta(minutes=2)
OUTSIDE_AT_ONCE = timedelta(minutes=5)

log = structlog.get_logger(__name__)


def run_slot(slot_id: int) -> None:
    """Run the sweep of a due slot, unless the slot was started or dropped meanwhile."""
    session = db.session()
    _refresh(session)
    started = sweep_runs.begin_slot(session, slot_id, holder=holder(), now=clock.now())
    if started is None:
        log.info("nothing to run for the slot", slot=slot_id)
        return
    _run(session, started)


def run_woken(name: str) -> None:
    """Run a sweep at once because an event was written; on the schedule it runs all the same."""
    job = get_current_job()
    if job is not None:
        # Before the reading: what is written from here on wakes the next run.
        wake.forget(job.connection, name)
    session = db.session()
    _refresh(session)
    started = sweep_runs.begin_woken(session, name, holder=holder(), now=clock.now())
    if started is not None:
        _run(session, started)


def run_bulk(operation_id: str) -> None:
    """Do a bulk operation, or as much of it as one job may; the sweep goes on with it if this one dies."""
    session = db.session()
    _refresh(session)
    until = clock.now() + BULK_AT_ONCE
    ran = bulk.go_on(session, UUID(operation_id), most=MOST, until=until)
    if not ran.over:
        wake.wake_bulk(UUID(operation_id))
    log.info(
        "bulk operation ran", operation=operation_id, done=ran.done, not_done=ran.not_done, over=ran.over
    )


def run_executions(*ids: str) -> None:
    """Run a chunk of executions that a sweep found due, or that an event armed to run at once."""
    session = db.session()
    _refresh(session)
    until = clock.now() + OUTSIDE_AT_ONCE
    counts = executions.run(session, [UUID(id) for id in ids], until=until)
    log.info("executions ran", **counts.as_dict())
    if counts.errors:
        log.error("executions failed", faults=counts.faults)


ALLOWED: dict[str, Callable[..., None]] = {
    queues.RUN_SLOT: run_slot,
    queues.RUN_WOKEN: run_woken,
    queues.RUN_BULK: run_bulk,
    queues.RUN_EXECUTIONS: run_executions,
}


def holder() -> str:
    """Who holds a lease, for people to read: the machine and the process."""
    return f"{socket.gethostname()[:80]}:{os.getpid()}"


def _refresh(session: Session) -> None:
    settings: Settings = current_app.extensions["desk_settings"]
    declarations.refresh(session, settings.config_file, clock.now())


def _run(session: Session, started: Started) -> None:
    sweep = schedule.sweeps(declarations.current(session))[started.name]
    # What was read is let go, so that the sweep decides when its transactions begin.
    rollback(session)
    try:
        with _renewed(current_app._get_current_object(), started):  # type: ignore[attr-defined]
            counts = sweep.function(session, now=clock.now(), limit=sweep.limit)
    except Exception as error:
        rollback(session)
        log.error("sweep failed", sweep=started.name, run=started.run_id, exc_info=error)
        reason = "".join(traceback.format_exception(error))
        sweep_runs.fail(session, started, reason, every=sweep.interval, now=clock.now())
        return
    rollback(session)
    again = sweep_runs.finish(session, started, counts, now=clock.now())
    if started.slot_id is not None or any(counts.as_dict().values()):
        log.info("sweep ran", sweep=started.name, run=started.run_id, again=again, **counts.as_dict())


@contextmanager
def _renewed(app: Flask, started: Started) -> Iterator[None]:
    """Renew the lease from a thread with a session of its own for as long as the block runs."""
    over = threading.Event()
    thread = threading.Thread(target=_renew_until, args=(app, started, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _renew_until(app: Flask, started: Started, over: threading.Event) -> None:
    while not over.wait(RENEW_EVERY_S):
        with app.app_context():
            try:
                if not sweep_runs.renew(db.session(), started, now=clock.now()):
                    log.warning(
                        "the lease was lost; rows are claimed, so going on is safe", run=started.run_id
                    )
                    return
            except SQLAlchemyError as error:
                log.warning("the lease could not be renewed", run=started.run_id, error=str(error))


def slot_of(job: Any) -> int | None:
    """The slot that a job runs, where it runs one."""
    return job.args[0] if job.func_name == queues.RUN_SLOT and job.args else None
