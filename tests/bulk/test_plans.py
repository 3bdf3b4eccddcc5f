"""No query of bulk work walks through its tables: plans over 100,000 items on both databases."""

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import and_, case

from desk_ui.bulk import queries
from desk_ui.bulk.queries import Results
from desk_ui.paging import Cursor
from jobs.bulk import VERBS
from models import bulk_operations, bulk_running
from models.base import db
from models.bulk_operations import KEPT_FOR, BulkOperation, ItemState
from tests.conftest import T
from tests.support import plans
from tests.support.create import create_tenant
from tests.support.declare import declared
from tests.support.filling import bare, fill, moment, numbered, uuid_of
from tests.support.plans import analyze, scanned

pytestmark = pytest.mark.slow

OPERATIONS, ITEMS = 8_000, 20
TABLES = ("bulk_operation", "bulk_item")
LIMIT = timedelta(seconds=30)


@pytest.fixture
def tenant(app, session):
    made = create_tenant(session, now=T)
    with db.engine.begin() as connection, bare(connection, *TABLES):
        fill(connection, "bulk_operation", OPERATIONS, lambda n: _operation(n, made.id))
        fill(connection, "bulk_item", OPERATIONS * ITEMS, lambda n: _item(n // ITEMS, n % ITEMS))
    analyze(session)
    return made


def _operation(number, tenant_id):
    at = moment(T, number * 60)
    running = number >= OPERATIONS - 2
    return {
        "id": uuid_of(number + 1),
        "tenant_id": tenant_id,
        "verb": "followup.cancel",
        "filters": {"customer": "c-17"},
        "options": {},
        "reason": "r",
        "requested": ITEMS,
        "done": 0,
        "not_done": 0,
        "left_out": 0,
        "state": case((running, "running"), else_="finished"),
        "actor_type": "operator",
        "actor_id": "7",
        "actor_label": "lead@acme.test",
        "created_at": at,
        "updated_at": at,
        "seen_at": at,
        "finished_at": case((~running, at)),
        "version": 1,
    }


def _item(operation, number):
    waits = and_(operation >= OPERATIONS - 2, number >= 10)
    return {
        "operation_id": uuid_of(operation + 1),
        "position": number + 1,
        "row_id": numbered("00000000-0000-0000-0000-00000000", number + 1_000),
        "version": 1,
        "state": case((waits, "waiting"), (number % 7 > 0, "done"), else_="not_done"),
    }


def plans_of(session, work) -> list[str]:
    """The plan of each statement that `work` runs on the tables of bulk work."""
    try:
        return plans.plans_of(session, work, *TABLES, verbs=("SELECT", "UPDATE", "DELETE", "WITH"))
    finally:
        session.rollback()


def walks(plan: str) -> bool:
    # What runs at the moment is an index of its own, which holds no more than that.
    return bool(scanned(plan, *TABLES)) and "ix_bulk_operation_running" not in plan


def check_every_read_goes_by_its_indexes(session, tenant):
    last = UUID(int=OPERATIONS)
    after = Cursor(T + timedelta(minutes=500), UUID(int=500))

    def run(most):
        given = {"verbs": VERBS, "declared": declared(), "clock": lambda: T, "most": most}
        bulk_running.run(session, last, **given)

    works = {
        "operations": lambda: queries.page(session, tenant, None, LIMIT),
        "operations beyond a place": lambda: queries.page(session, tenant, after, LIMIT),
        "results": lambda: queries.results(session, last, Results(), 0),
        "results of a kind": lambda: queries.results(session, last, Results(ItemState.NOT_DONE), 5),
        "the next item": lambda: run(1),
        "the silent ones": lambda: bulk_operations.silent(session, now=T + timedelta(days=9)),
        "what is purged": lambda: bulk_operations.purge(session, now=T + KEPT_FOR + LIMIT, limit=20),
    }
    for name, work in works.items():
        found = plans_of(session, work)
        assert [plan for plan in found if walks(plan)] == [], (name, found)


def check_operations_are_sorted_when_their_index_is_gone(session, tenant):
    """The check above can fail: without it, the operations are no longer read in their order."""
    with db.engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX ix_bulk_operation_created")
    try:
        [plan] = plans_of(session, lambda: queries.page(session, tenant, None, LIMIT))
        assert walks(plan), plan
    finally:
        session.rollback()
        index = next(i for i in BulkOperation.__table__.indexes if i.name == "ix_bulk_operation_created")
        with db.engine.begin() as connection:
            index.create(connection)


def test_every_read_of_bulk_work_goes_by_its_indexes(session, tenant):
    """One after the other, since filling the tables takes most of the time."""
    check_every_read_goes_by_its_indexes(session, tenant)
    check_operations_are_sorted_when_their_index_is_gone(session, tenant)
