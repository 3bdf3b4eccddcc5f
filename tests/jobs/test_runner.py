"""One run as the worker's process does it, with a sweep that the test gives."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from jobs import runner, schedule
from models import clock, sweep_slots
from models.base import db
from models.sweeping import Counts
from models.sweeps import SlotKind, SweepRun, SweepSlot
from models.tenants import Tenant
from models.transactions import commit
from tests.jobs.conftest import Engine
from tests.support.waiting import eventually


@pytest.fixture
def run(session, monkeypatch):
    def given(function, **changed):
        sweep = replace(schedule.SWEEPS["seal_audit"], function=function, **changed)
        monkeypatch.setitem(schedule.SWEEPS, "seal_audit", sweep)
        sweep_slots.add(session, "seal_audit", clock.now(), SlotKind.CLOCK, now=clock.now())
        commit(session, "tests.runner")
        newest = session.scalars(select(SweepSlot.id).order_by(SweepSlot.id.desc())).first()
        runner.run_slot(newest)
        return session.scalars(select(SweepRun).execution_options(populate_existing=True)).one()

    return given


def test_run_gets_the_limit_and_the_time_of_now(run):
    before = clock.now()
    seen = {}

    def sweep(_session, *, now, limit):
        seen.update(now=now, limit=limit)
        return Counts(examined=1)

    assert run(sweep, limit=7).status == "ok"
    assert seen["limit"] == 7
    assert before <= seen["now"] <= clock.now()


def test_run_is_recorded_as_error_with_its_traceback_when_the_sweep_raises(run, session):
    def sweep(session, **_given):
        session.scalars(select(Tenant)).first().name = "never kept"
        raise RuntimeError("no paper left")

    found = run(sweep)
    assert found.status == "error"
    assert "no paper left" in found.error
    assert "Traceback" in found.error
    assert session.scalars(select(Tenant.name)).one() == "Platform"


def test_run_leaves_no_transaction_open_for_the_sweep(run):
    def sweep(session, **_given):
        return Counts(own={"open": int(session.in_transaction())})

    assert run(sweep).counts["open"] == 0


def test_lease_is_renewed_while_the_sweep_runs(run, database, monkeypatch):
    monkeypatch.setattr(runner, "RENEW_EVERY_S", 0.05)
    engine = Engine(database, None, None)

    def sweep(_session, **_given):
        from models.sweeps import SweepLease

        def expiry():
            return engine.ask(lambda s: s.scalars(select(SweepLease.expires_at)).one())

        first = expiry()
        eventually(lambda: expiry() > first, within=10)
        return Counts()

    assert run(sweep).status == "ok"


def test_run_does_nothing_when_its_slot_is_gone(session):
    runner.run_slot(999)
    assert not session.scalars(select(SweepRun)).all()
    db.session.rollback()
