"""One act of the engine in a process of its own, for tests that kill it there."""

from datetime import timedelta

import structlog
from sqlalchemy import select

from jobs import runner, scheduler
from jobs import wake as jobs_wake
from jobs.app import make_app
from models import clock, outbox, sweep_history, sweep_runs, sweep_slots, sweep_states, tenants
from models.actors import Actor
from models.base import db
from models.settings import settings
from models.sweeps import Cadence, SlotKind, SweepSlot
from models.transactions import commit

log = structlog.get_logger(__name__)
NAME = "fire_followups"
AGES = timedelta(days=30)


def tick() -> None:
    scheduler.Scheduler(settings(), make_app(settings())).tick()


def run() -> None:
    sweep_slots.add(db.session(), NAME, clock.now(), SlotKind.CLOCK, now=clock.now())
    commit(db.session(), "tests.act")
    newest = db.session.scalars(select(SweepSlot.id).order_by(SweepSlot.id.desc())).first()
    db.session.rollback()
    runner.run_slot(newest)


def fail() -> None:
    started = _begin()
    sweep_runs.fail(db.session(), started, "Traceback", every=timedelta(days=1), now=clock.now())


def renew() -> None:
    sweep_runs.renew(db.session(), _begin(), now=clock.now())


def close_dead() -> None:
    _begin()
    sweep_runs.close_dead(db.session(), {}, now=clock.now() + sweep_runs.LEASE)


def close_killed() -> None:
    started = _begin()
    sweep_runs.close_killed(db.session(), started.slot_id or 0, "killed", now=clock.now())


def wake() -> None:
    runner.run_woken(NAME)


def inline() -> None:
    now = clock.now()
    actor = Actor.system("tests")
    sweep_states.record_inline(db.session(), NAME, {}, actor=actor, started_at=now, now=now)


def announce() -> None:
    cadence = Cadence(NAME, timedelta(seconds=30))
    sweep_states.announce_late(db.session(), [cadence], now=clock.now() + AGES)


def write_event() -> None:
    session = db.session()
    jobs_wake.install()
    outbox.enqueue(
        session,
        tenant_id=tenants.get(session, None).id,
        event_type="attention.needed",
        aggregate=("sweep", NAME),
        payload={},
        now=clock.now(),
    )
    commit(session, "tests.act")


def purge() -> None:
    sweep_history.purge(db.session(), now=clock.now() + AGES, limit=10)


def _begin() -> sweep_runs.Started:
    sweep_slots.add(db.session(), NAME, clock.now(), SlotKind.CLOCK, now=clock.now())
    commit(db.session(), "tests.act")
    newest = db.session.scalars(select(SweepSlot.id).order_by(SweepSlot.id.desc())).first()
    started = sweep_runs.begin_slot(db.session(), newest or 0, holder="tests", now=clock.now())
    assert started is not None
    return started


ACTS = {
    act.__name__: act
    for act in (
        *(tick, run, fail, renew, close_dead, close_killed),
        *(wake, inline, announce, write_event, purge),
    )
}


def do(name: str) -> None:
    with make_app(settings()).app_context():
        ACTS[name]()
