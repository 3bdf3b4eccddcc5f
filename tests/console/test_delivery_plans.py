"""No query of the deliveries pages scans a large table: plans over 100,000 rows on both databases."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import event, insert, select, text, update

from desk_ui.deliveries import exporting, queries
from desk_ui.deliveries.queries import Filters, Tab
from desk_ui.endpoints import queries as endpoints
from desk_ui.paging import Cursor
from models import bulk, clock, delivery_needs, endpoint_needs, outbox
from models.base import db, table_of
from models.deliveries import Delivery, State
from models.endpoints import WebhookEndpoint
from models.outbox import OutboxEvent
from tests.support.deliver import create_endpoint

pytestmark = pytest.mark.slow

ROWS = 100_000
CHUNK = 20_000
LIMIT = timedelta(seconds=30)
STATES = ["failed"] * 5 + ["pending"] * 10 + ["delivering"] + ["dead"] * 14 + ["delivered"] * 70
LARGE = ("delivery", "outbox_event")
INDEX_OF = {
    Tab.FAILING: "ix_delivery_tenant_open",
    Tab.PENDING: "ix_delivery_tenant_open",
    Tab.DEAD: "ix_delivery_tenant_over",
    Tab.DELIVERED: "ix_delivery_tenant_over",
}


@pytest.fixture
def many(desk, acme, app):
    """100,000 deliveries of acme to five endpoints, and as many of another tenant: mostly over."""
    other = desk.tenant("other")
    settings, now = app.extensions["desk_settings"], clock.now()

    def fill(session):
        before = 0
        for tenant in (acme, other):
            ids = [create_endpoint(session, tenant, settings, now=now)[0].id for _n in range(5)]
            for first in range(0, ROWS, CHUNK):
                numbers = range(first, first + CHUNK)
                event_ids = [before + number + 1 for number in numbers]
                events = [_event(tenant.id, n, id, now) for n, id in zip(numbers, event_ids, strict=True)]
                session.execute(insert(table_of(OutboxEvent)), events)
                rows = [_row(tenant.id, ids, n, id, now) for n, id in zip(numbers, event_ids, strict=True)]
                bulk.insert_rows(session, Delivery, rows, common={"tenant_id": tenant.id, "version": 1})
            before += ROWS
        while outbox.assign_positions(session, CHUNK):
            pass

    desk.tell(fill)
    with desk.app.app_context(), db.engine.begin() as connection:
        connection.execute(text("ANALYZE"))
    return acme


def _event(tenant_id, number, id, now):
    # One in a thousand is of a type of its own.
    kind = "endpoint.test" if number % 1_000 == 0 else "followup.fired"
    return {
        "id": id,
        "tenant_id": tenant_id,
        "aggregate_type": "endpoint" if kind == "endpoint.test" else "followup",
        "aggregate_id": str(uuid4()),
        "event_type": kind,
        "payload": {},
        "created_at": now,
    }


def _row(tenant_id, endpoint_ids, number, event_id, now):
    state = STATES[number % 100]
    at = now + timedelta(seconds=number) - timedelta(days=2)
    is_open = state in ("failed", "pending", "delivering")
    return {
        "endpoint_id": endpoint_ids[number % 5],
        "event_id": event_id,
        "state": state,
        "attempts": 1,
        "next_attempt_at": at if is_open else None,
        "created_at": at,
        "updated_at": at,
    }


def plans_of(session, work):
    """The plan of each SELECT on a large table that `work` runs."""
    seen = []

    def note(_connection, _cursor, statement, parameters, *_more):
        if statement.startswith("SELECT") and any(name in statement for name in LARGE):
            seen.append((statement, parameters))

    engine = session.get_bind()
    event.listen(engine, "before_cursor_execute", note)
    work()
    event.remove(engine, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN"
    connection = session.connection()
    found = []
    for statement, parameters in seen:
        lines = connection.exec_driver_sql(f"{explain} {statement}", parameters)
        found.append("\n".join(str(line[-1]) for line in lines))
    return found


def scans(plan):
    return any(f"Seq Scan on {name}" in plan or f"SCAN {name}" in plan for name in LARGE)


def sorts(plan):
    """Whether more is sorted than the last of two columns."""
    return "Sort  (" in plan or "USE TEMP B-TREE FOR ORDER BY" in plan


@pytest.fixture
def session(app, many):
    with app.app_context():
        yield db.session()
        db.session.remove()


def cases(session, tenant):
    endpoint = session.query(WebhookEndpoint.id).filter_by(tenant_id=tenant.id).first()[0]
    for tab in Tab:
        yield f"{tab}", Filters(tab)
        yield f"{tab} of an endpoint", Filters(tab, receiver=endpoint)
        yield f"{tab} of a rare event", Filters(tab, event="endpoint.test")
        yield f"{tab} of most events", Filters(tab, event="followup.fired")
        yield f"{tab} since", Filters(tab, since="2020-01-01T00:00")


def check_no_page_scans_a_table_whatever_it_is_narrowed_to(session, many, now):
    """One test for all, since the rows take longer to make than to ask for."""
    check_lists(session, many, now)
    check_files(session, many, now)
    check_counts(session, many)
    check_pages_of_one(session, many)


def check_lists(session, tenant, now):
    for name, filters in cases(session, tenant):
        for after in (None, Cursor(now - timedelta(days=1.5), 5_000)):
            found = plans_of(session, lambda: queries.page(session, tenant, "UTC", filters, after, LIMIT))  # noqa: B023
            assert len(found) == len(filters.tab.states)
            for state, plan in zip(filters.tab.states, found, strict=True):
                assert not scans(plan), (name, plan)
                if not filters.narrows:
                    assert INDEX_OF[filters.tab] in plan, (name, plan)
                    # Of what is being sent there is so little that it may as well be sorted.
                    assert not sorts(plan) or state is State.DELIVERING, (name, plan)


def check_files(session, tenant, now):
    for name, filters in cases(session, tenant):
        for after in (None, Cursor(now - timedelta(days=1.5), 5_000)):
            found = plans_of(session, lambda: exporting.page(session, tenant, "UTC", filters, after, 1_000))  # noqa: B023
            for state, plan in zip(filters.tab.states, found, strict=True):
                assert not scans(plan), (name, plan)
                if not filters.narrows:
                    assert INDEX_OF[filters.tab] in plan, (name, plan)
                    # The few that are left at the end may as well be sorted.
                    assert after or not sorts(plan) or state is State.DELIVERING, (name, plan)


def check_counts(session, tenant):
    found = plans_of(session, lambda: queries.counts(session, tenant, "UTC", Filters(), LIMIT))
    assert [plan for plan in found if scans(plan)] == []
    counted = queries.counts(session, tenant, "UTC", Filters(), LIMIT)
    assert counted == {Tab.FAILING: 5_000, Tab.DEAD: 10_001, Tab.PENDING: 10_001, Tab.DELIVERED: 10_001}


def check_pages_of_one(session, tenant):
    row = queries.page(session, tenant, "UTC", Filters(Tab.DEAD), None, LIMIT).rows[0]

    def read():
        assert queries.one(session, tenant, row.id) == row
        queries.payload(session, tenant, row.event_id)
        assert len(queries.of_endpoint(session, tenant, row.endpoint_id, 10)) == 20
        assert queries.waiting_for(session, tenant, row.endpoint_id) == 3_000
        assert len(endpoints.all_of(session, tenant)) == 5
        assert endpoints.one(session, tenant, row.endpoint_id).delivered_at is not None
        endpoints.last_test(session, tenant, row.endpoint_id)
        assert endpoints.failed(session, tenant, row.endpoint_id) == endpoints.Failed(1_000, 3_000)

    found = plans_of(session, read)
    assert [plan for plan in found if scans(plan)] == []
    assert any("ix_delivery_endpoint_over" in plan for plan in found)
    assert any("ix_delivery_due" in plan for plan in found)


def check_list_reads_more_than_its_own_rows_when_its_index_is_gone(session, many):
    """The test above can fail: what remains sorts, scans, or goes through what all tenants have."""
    for index, tab in (("ix_delivery_tenant_open", Tab.FAILING), ("ix_delivery_tenant_over", Tab.DEAD)):
        session.rollback()
        with db.engine.begin() as connection:
            connection.execute(text(f"DROP INDEX {index}"))
        try:
            [plan] = plans_of(
                session,
                lambda: queries.page(session, many, "UTC", Filters(tab), None, LIMIT),  # noqa: B023
            )
            assert sorts(plan) or scans(plan) or "ix_delivery_state_updated" in plan, plan
        finally:
            session.rollback()
            with db.engine.begin() as connection:
                next(i for i in Delivery.__table__.indexes if i.name == index).create(connection)


def check_dead_ones_that_need_a_person_are_counted_by_their_index(session, many, now):
    found = []
    [plan] = plans_of(session, lambda: found.append(delivery_needs.dead(session, many.id, now=now)))
    assert not scans(plan) and "ix_delivery_tenant_over" in plan, plan
    assert found[0].number == 1_001


def check_what_waits_for_paused_endpoints_is_counted_by_their_index(session, many):
    session.rollback()
    bulk.execute_unaudited(session, update(WebhookEndpoint).values(state="paused"))
    found = []
    [plan] = plans_of(session, lambda: found.extend(endpoint_needs.paused(session, many.id)))
    session.rollback()
    assert not scans(plan) and "ix_delivery_due" in plan, plan
    assert [one.number for one in found] == [1_001] * 5


def check_rows_that_a_page_asks_for_are_read_by_their_keys(session, many):
    ids = list(session.scalars(select(Delivery.id).where(Delivery.tenant_id == many.id).limit(50)))
    for tab in Tab:
        [plan] = plans_of(
            session,
            lambda: queries.these(session, many, "UTC", Filters(tab), ids),  # noqa: B023
        )
        assert not scans(plan), (tab, plan)
    session.rollback()


def test_every_read_of_deliveries_goes_by_its_indexes(session, many, now):
    """One after the other, since filling the tables takes most of the time."""
    check_no_page_scans_a_table_whatever_it_is_narrowed_to(session, many, now)
    check_list_reads_more_than_its_own_rows_when_its_index_is_gone(session, many)
    check_dead_ones_that_need_a_person_are_counted_by_their_index(session, many, now)
    check_what_waits_for_paused_endpoints_is_counted_by_their_index(session, many)
    check_rows_that_a_page_asks_for_are_read_by_their_keys(session, many)
