"""Each statement of the sweeps' schedule over 100,000 runs and slots goes by an index."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import ColumnElement, and_, case
from sqlalchemy.orm import Session

from desk_ui.paging import Cursor
from desk_ui.sweeps import queries
from desk_ui.sweeps.queries import Filters
from models import sweep_history, sweep_runs, sweep_slots, sweep_states, sweep_trends, tenants
from models.base import db
from models.sweeping import Counts
from models.sweeps import Cadence, RunStatus
from models.tenants import Tenant
from tests.conftest import T
from tests.plans.watching import Large, Work, assert_goes_by
from tests.support.filling import Number, bare, fill, moment
from tests.support.plans import analyze

pytestmark = pytest.mark.slow

ROWS = 100_000
NAMES = ("fire_followups", "deliver", "seal_audit", "retention")
EVERY = timedelta(seconds=30)
NOW = T + ROWS * EVERY
LARGE = frozenset({"sweep_run", "sweep_slot", "sweep_fault"})
CADENCES = [Cadence(name, EVERY) for name in NAMES]


@pytest.fixture
def large(session: Session) -> Iterator[Large]:
    """Runs with their slots and a fault each, all over but the last of each sweep; the tenant that looks."""
    tenant_id = tenants.get(session, None).id
    session.rollback()
    with db.engine.begin() as connection, bare(connection, "sweep_slot", "sweep_run", "sweep_fault"):
        other = {"key": "other", "name": "t", "timezone": "UTC", "features": {}, "created_at": T}
        connection.execute(db.metadata.tables["tenant"].insert(), [other])
        fill(connection, "sweep_slot", ROWS, _slot)
        fill(connection, "sweep_run", ROWS, _run)
        fill(connection, "sweep_fault", ROWS, lambda number: _fault(number, tenant_id))
        leases = [{"name": name, "holder": "x", "run_id": 0, "expires_at": T} for name in NAMES]
        connection.execute(db.metadata.tables["sweep_lease"].insert(), leases)
    analyze(session)
    with db.engine.connect() as connection:
        yield Large(connection, tenant_id, LARGE)


def _name(number: Number) -> ColumnElement[str]:
    """One sweep in 5,000 is rare, so that going through all of them is no way to find its last run."""
    last = number >= ROWS - len(NAMES)
    return case(
        *((and_(last, number % 4 == place), name) for place, name in enumerate(NAMES)),
        (number % 5_000 == 0, "retention"),
        *((number % 3 == place, name) for place, name in enumerate(NAMES[:3])),
    )


def _slot(number: Number) -> dict[str, Any]:
    return {
        "id": number + 1,
        "name": _name(number),
        "slot_at": moment(T, number * EVERY.seconds),
        "kind": "clock",
        "state": case((number >= ROWS - 4, "waiting"), else_="done"),
        "missed": 0,
        "claimed_at": T,
        "enqueues": 1,
    }


def _run(number: Number) -> dict[str, Any]:
    over, at = number < ROWS - 4, moment(T, number * EVERY.seconds)
    return {
        "id": number + 1,
        "name": _name(number),
        "slot_id": number + 1,
        "by_hand": False,
        "holder": "x",
        "status": case((~over, "running"), (number % 50 == 0, "error"), else_="ok"),
        "started_at": at,
        "finished_at": case((over, at)),
        "counts": {},
        "capped": False,
    }


def _fault(number: Number, tenant_id: int) -> dict[str, Any]:
    """One in twenty is of the tenant that looks; the next one made has the rest."""
    whose = case((number % 20 == 0, tenant_id), else_=tenant_id + 1)
    row = {"run_id": number + 1, "tenant_id": whose, "name": _name(number), "row": "x"}
    return {**row, "error": "x", "at": moment(T, number * EVERY.seconds)}


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


def test_schedule_goes_by_its_indexes_and_is_seen_not_to_when_one_is_dropped(
    subtests: pytest.Subtests, large: Large
) -> None:
    """All in one, since filling the tables takes most of the time."""
    for work, indexes in WORK:
        with subtests.test(work.__name__, indexes=indexes):
            assert_goes_by(large, work, indexes)
