"""Each statement of the sweeps' schedule over 100,000 runs and slots goes by an index."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from desk_ui.paging import Cursor
from desk_ui.sweeps import queries
from desk_ui.sweeps.queries import Filters
from models import sweep_history, sweep_runs, sweep_slots, sweep_states, sweep_trends, tenants
from models.base import db, is_sqlite
from models.sweeping import Counts
from models.sweeps import Cadence, RunStatus
from models.tenants import Tenant
from models.transactions import commit
from tests.conftest import T
from tests.plans.watching import Large, Work, assert_goes_by

pytestmark = pytest.mark.slow

ROWS = 100_000
CHUNK = 10_000
NAMES = ("fire_followups", "deliver", "seal_audit", "retention")
EVERY = timedelta(seconds=30)
NOW = T + ROWS * EVERY
LARGE = frozenset({"sweep_run", "sweep_slot", "sweep_fault"})
CADENCES = [Cadence(name, EVERY) for name in NAMES]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def filled(request: pytest.FixtureRequest) -> Iterator[int]:
    database = request.getfixturevalue(f"{request.param}_database")
    database.reset()
    with database.app.app_context():
        tenant_id = fill()
        with db.engine.connect() as connection:
            connection.exec_driver_sql("ANALYZE")
            connection.commit()
        yield tenant_id
        db.session.remove()
        database.reset()
        db.engine.dispose()


@pytest.fixture
def large(filled: int) -> Iterator[Large]:
    with db.engine.connect() as connection:
        yield Large(connection, filled, LARGE)


def fill() -> int:
    """Runs with their slots and a fault each, all over but the last of each sweep; the tenant's id."""
    session = db.session()
    tenant_id = tenants.get(session, None).id
    other = {"key": "other", "name": "t", "timezone": "UTC", "features": {}, "created_at": T}
    session.connection().execute(db.metadata.tables["tenant"].insert(), [other])
    for table, row in (("sweep_slot", _slot), ("sweep_run", _run), ("sweep_fault", _fault)):
        for start in range(0, ROWS, CHUNK):
            rows = [row(number, tenant_id) for number in range(start, start + CHUNK)]
            session.connection().execute(db.metadata.tables[table].insert(), rows)
        if not is_sqlite(session):
            session.execute(select(func.setval(func.pg_get_serial_sequence(table, "id"), ROWS)))
    leases = [{"name": name, "holder": "x", "run_id": 0, "expires_at": T} for name in NAMES]
    session.connection().execute(db.metadata.tables["sweep_lease"].insert(), leases)
    commit(session, "tests.plans.schedule")
    return tenant_id


def _name(number: int) -> str:
    """One sweep in 5,000 is rare, so that going through all of them is no way to find its last run."""
    if number >= ROWS - len(NAMES):
        return NAMES[number % 4]
    return "retention" if number % 5_000 == 0 else NAMES[number % 3]


def _slot(number: int, _tenant_id: int) -> dict[str, Any]:
    return {
        "id": number + 1,
        "name": _name(number),
        "slot_at": T + number * EVERY,
        "kind": "clock",
        "state": "waiting" if number >= ROWS - 4 else "done",
        "missed": 0,
        "claimed_at": T,
        "enqueues": 1,
    }


def _run(number: int, _tenant_id: int) -> dict[str, Any]:
    over = number < ROWS - 4
    return {
        "id": number + 1,
        "name": _name(number),
        "slot_id": number + 1,
        "by_hand": False,
        "holder": "x",
        "status": ("ok" if number % 50 else "error") if over else "running",
        "started_at": T + number * EVERY,
        "finished_at": T + number * EVERY if over else None,
        "counts": {},
        "capped": False,
    }


def _fault(number: int, tenant_id: int) -> dict[str, Any]:
    """One in twenty is of the tenant that looks; the next one made has the rest."""
    whose = tenant_id if number % 20 == 0 else tenant_id + 1
    row = {"run_id": number + 1, "tenant_id": whose, "name": _name(number), "row": "x"}
    return {**row, "error": "x", "at": T + number * EVERY}


def claim(session: Session, _tenant: Tenant) -> None:
    assert sweep_slots.claim(session, "deliver", EVERY, now=NOW + EVERY)
    assert len(sweep_slots.to_enqueue(session, now=NOW + EVERY)) == 4
    assert sweep_slots.take_to_enqueue(session, ROWS, now=NOW)


def run(session: Session, _tenant: Tenant) -> None:
    started = sweep_runs.begin_slot(session, ROWS, holder="y", now=NOW)
    assert started is not None
    assert sweep_runs.renew(session, started, now=NOW)
    sweep_runs.finish(session, started, Counts(examined=1, changed=1, capped=True), now=NOW)


def fail(session: Session, _tenant: Tenant) -> None:
    started = sweep_runs.begin_slot(session, ROWS, holder="y", now=NOW)
    assert started is not None
    sweep_runs.fail(session, started, "it broke", every=timedelta(days=1), now=NOW)


def close(session: Session, _tenant: Tenant) -> None:
    sweep_runs.close_killed(session, ROWS - 1, "killed", now=NOW)
    assert sweep_runs.close_dead(session, {}, now=NOW) == 3


def judge(session: Session, _tenant: Tenant) -> None:
    assert len(sweep_states.late(session, CADENCES, now=NOW + timedelta(days=1))) == 4


def purge(session: Session, _tenant: Tenant) -> None:
    counts = sweep_history.purge(session, now=NOW, limit=1_000)
    assert counts.own["runs"] == 1_000
    counts = sweep_history.purge(session, now=T + sweep_history.KEPT + 100 * EVERY, limit=1_000)
    assert counts.own["slots"] == 100


def trend(session: Session, tenant: Tenant) -> None:
    found = sweep_trends.trends(session, NAMES, now=NOW, tenant_id=tenant.id)
    assert sum(hour.runs for hour in found["deliver"]) > 100
    assert 10 < sum(hour.faults for hour in found["deliver"]) < 100


def trend_of_all(session: Session, _tenant: Tenant) -> None:
    assert sweep_trends.trends(session, NAMES, now=NOW, tenant_id=None)["deliver"][0].faults > 10


def look(session: Session, tenant: Tenant) -> None:
    assert len(queries.faults(session, tenant, now=NOW, sweep=None)) == queries.MOST_FAULTS
    assert queries.asked_for(session) == {}


def look_at_all(session: Session, _tenant: Tenant) -> None:
    assert len(queries.faults(session, None, now=NOW, sweep=None)) == queries.MOST_FAULTS


def page(session: Session, _tenant: Tenant) -> None:
    after = Cursor(T + 50_000 * EVERY, 50_000)
    assert len(queries.page(session, "retention", Filters(), after, timedelta(minutes=1)).rows) == 10


def page_of_failed(session: Session, _tenant: Tenant) -> None:
    failed = Filters(status=RunStatus.ERROR)
    assert len(queries.page(session, "deliver", failed, None, timedelta(minutes=1)).rows) == 50


WORK: list[tuple[Work, list[str]]] = [
    (trend, ["ix_sweep_fault_tenant_at"]),
    (trend_of_all, ["ix_sweep_fault_at"]),
    (look, ["ix_sweep_fault_tenant_at", "ix_sweep_slot_waiting"]),
    (look_at_all, ["ix_sweep_fault_at"]),
    (page, ["ix_sweep_run_name_started_at"]),
    (page_of_failed, ["ix_sweep_run_name_status_started_at"]),
    (claim, ["uq_sweep_slot_name_slot_at", "ix_sweep_slot_waiting"]),
    (run, []),
    (fail, ["ix_sweep_run_name_started_at"]),
    (close, ["ix_sweep_run_running"]),
    (judge, ["ix_sweep_run_name_status_finished_at", "ix_sweep_run_name_started_at"]),
    (purge, ["ix_sweep_run_started_at", "ix_sweep_slot_slot_at", "ix_sweep_fault_run_id"]),
]


@pytest.mark.parametrize(("work", "indexes"), WORK, ids=lambda given: getattr(given, "__name__", ""))
def test_schedule_goes_by_its_indexes_and_is_seen_not_to_when_one_is_dropped(large, work, indexes):
    assert_goes_by(large, work, indexes)
