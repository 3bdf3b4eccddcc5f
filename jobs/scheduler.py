"""The scheduler: claims due slots in SQL and puts them on their queues. Any number may run."""

import os
import signal
import threading
from collections.abc import Mapping
from datetime import datetime

import redis
import structlog
from flask import Flask
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from jobs import mail, queues, schedule, wake
from jobs import redis as servers
from jobs.app import make_app
from jobs.redis import Connection
from jobs.schedule import Sweep
from models import clock, declarations, sweep_runs, sweep_slots, sweep_states
from models.base import db, read_only
from models.settings import Settings
from models.transactions import rollback

TICK_S = 1.0
CHECK_EVERY_TICKS = 5
# What was late when this process began gets this long to run before anybody is told.
QUIET_TICKS = 30

log = structlog.get_logger(__name__)


def run(settings: Settings) -> None:
    """Tick once a second until SIGTERM or SIGINT; an outage of Redis or of the database is waited out."""
    wake.install()
    stop = threading.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_args: stop.set())
    scheduler = Scheduler(settings, make_app(settings))
    log.info("scheduler started", pid=os.getpid())
    while not stop.is_set():
        scheduler.tick()
        stop.wait(TICK_S)
    log.info("scheduler ended", pid=os.getpid())


class Scheduler:
    """One scheduler. What it remembers only spares it questions; the truth is in SQL."""

    def __init__(self, settings: Settings, app: Flask) -> None:
        self._settings = settings
        self._app = app
        self._connection: Connection | None = None
        self._claimed: dict[str, datetime] = {}
        self._ticks = 0
        self._down: set[str] = set()

    def tick(self) -> None:
        """Claim what is due, enqueue what waits, and now and then look for dead runs and lateness."""
        with self._app.app_context():
            try:
                self._tick(db.session())
                self._up("database")
            except SQLAlchemyError as error:
                self._is_down("database", error)
            finally:
                db.session.remove()
        self._ticks += 1

    def _tick(self, session: Session) -> None:
        declarations.refresh(session, self._settings.config_file, clock.now())
        with read_only():
            sweeps = schedule.sweeps(declarations.current(session))
            paused = sweep_slots.paused(session)
            rollback(session)
        for sweep in sweeps.values():
            if sweep.name not in paused:
                self._claim(session, sweep)
        self._enqueue(session, sweeps)
        if self._ticks % CHECK_EVERY_TICKS == 0:
            self._check(session, sweeps)

    def _claim(self, session: Session, sweep: Sweep) -> None:
        now = clock.now()
        due = sweep_slots.due_at(sweep.interval, now)
        if self._claimed.get(sweep.name) == due:
            return
        if sweep_slots.claim(session, sweep.name, sweep.interval, now=now):
            log.debug("slot claimed", sweep=sweep.name, at=clock.iso(due))
        self._claimed[sweep.name] = due

    def _enqueue(self, session: Session, sweeps: Mapping[str, Sweep]) -> None:
        now = clock.now()
        with read_only():
            waiting = [
                (slot.id, slot.name, slot.enqueues) for slot in sweep_slots.to_enqueue(session, now=now)
            ]
            rollback(session)
        for slot_id, name, enqueues in waiting:
            # One that a newer version knows and this one does not is left to the newer's scheduler.
            if name in sweeps and not self._put(session, slot_id, sweeps[name].queue, enqueues, now):
                break

    def _put(self, session: Session, slot_id: int, queue: str, enqueues: int, now: datetime) -> bool:
        """Put one slot on its queue; False where Redis is away."""
        if not sweep_slots.take_to_enqueue(session, slot_id, now=now):
            return True
        try:
            self._connection = self._connection or servers.connect(self._settings)
            queues.enqueue_slot(self._connection, queue, slot_id, enqueues + 1)
        except (redis.RedisError, servers.NoServer) as error:
            self._is_down("Redis", error)
            self._connection = None
            sweep_slots.give_back(session, slot_id, taken_at=now)
            return False
        if enqueues:
            log.warning("a slot was not started in time and is enqueued again", slot=slot_id)
        self._up("Redis")
        return True

    def _check(self, session: Session, sweeps: Mapping[str, Sweep]) -> None:
        now = clock.now()
        cadences = [sweep.cadence for sweep in sweeps.values()]
        with read_only():
            dead = sweep_runs.dead(session, now=now)
            late = sweep_states.late(session, cadences, now=now)
            rollback(session)
        if dead:
            everies = {sweep.name: sweep.interval for sweep in sweeps.values()}
            closed = sweep_runs.close_dead(session, everies, now=now)
            log.warning("runs whose process ended without saying so were closed", runs=closed)
        if late and self._ticks >= QUIET_TICKS:
            self._announce(session, sweeps, now)

    def _announce(self, session: Session, sweeps: Mapping[str, Sweep], now: datetime) -> None:
        cadences = [sweep.cadence for sweep in sweeps.values()]
        for state in sweep_states.announce_late(session, cadences, now=now):
            log.error("a sweep is late", sweep=state.name, late_since=clock.iso(state.late_since))
            mail.send_late(self._settings, session, state)

    def _is_down(self, what: str, error: Exception) -> None:
        if what not in self._down:
            log.warning(f"{what} is away; waiting for it", error=str(error)[:300])
        self._down.add(what)

    def _up(self, what: str) -> None:
        if what in self._down:
            log.info(f"{what} is back")
        self._down.discard(what)
