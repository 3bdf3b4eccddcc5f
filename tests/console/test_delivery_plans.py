"""No query of the deliveries pages scans a large table: plans over 100,000 rows on both databases."""

from datetime import timedelta

import pytest
from sqlalchemy import String, case, cast, select, text, update

from desk_ui.deliveries import exporting, queries
from desk_ui.deliveries.queries import Filters, Tab
from desk_ui.endpoints import queries as endpoints
from desk_ui.paging import Cursor
from models import bulk, clock, delivery_needs, endpoint_needs
from models.base import db, table_of
from models.deliveries import Delivery, State
from models.endpoints import WebhookEndpoint
from models.outbox import OutboxEvent
from models.positions import PositionCounter
from tests.support import plans
from tests.support.deliver import create_endpoint
from tests.support.filling import any_uuid, bare, fill, moment
from tests.support.plans import analyze, scanned

pytestmark = pytest.mark.slow

ROWS = 100_000
LIMIT = timedelta(seconds=30)
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
    tenants, settings, now = (acme, desk.tenant("other")), app.extensions["desk_settings"], clock.now()
    endpoint_ids = desk.tell(
        lambda session: [
            [create_endpoint(session, tenant, settings, now=now)[0].id for _n in range(5)]
            for tenant in tenants
        ]
    )
    with app.app_context():
        with db.engine.begin() as connection, bare(connection, *LARGE):
            for tenant, ids, first in zip(tenants, endpoint_ids, (1, ROWS + 1), strict=True):
                fill(connection, "outbox_event", ROWS, lambda n: _event(tenant.id, n, n + first, now))  # noqa: B023
                fill(connection, "delivery", ROWS, lambda n: _row(tenant.id, ids, n, n + first, now))  # noqa: B023
            # Of as many again nobody is told, so that to read them all never comes near to reading a page's.
            fill(connection, "outbox_event", ROWS, lambda n: _event(tenants[1].id, n, n + 2 * ROWS + 1, now))
            # As they are published: PostgreSQL writes each row again, and the table is as large as in use.
            connection.execute(update(table_of(OutboxEvent)).values(position=OutboxEvent.id))
            connection.execute(update(table_of(PositionCounter)).values(last=3 * ROWS))
        analyze(db.session())
        db.session.remove()
    return acme


def _event(tenant_id, n, id, now):
    """One in a thousand is of a type of its own."""
    test = n % 1_000 == 0
    return {
        "id": id,
        "tenant_id": tenant_id,
        "aggregate_type": case((test, "endpoint"), else_="followup"),
        "aggregate_id": cast(any_uuid(), String),
        "event_type": case((test, "endpoint.test"), else_="followup.fired"),
        "payload": {},
        "created_at": now,
    }


def _row(tenant_id, endpoint_ids, n, event_id, now):
    """Of 100, five failed, ten pending, one being sent, fourteen dead, the others delivered."""
    place, at = n % 100, moment(now - timedelta(days=2), n)
    states = (place < 5, "failed"), (place < 15, "pending"), (place < 16, "delivering"), (place < 30, "dead")
    return {
        "tenant_id": tenant_id,
        "endpoint_id": case(*((n % 5 == number, id) for number, id in enumerate(endpoint_ids))),
        "event_id": event_id,
        "state": case(*states, else_="delivered"),
        "attempts": 1,
        "next_attempt_at": case((place < 16, at)),
        "created_at": at,
        "updated_at": at,
        "version": 1,
    }


def plans_of(session, work):
    return plans.plans_of(session, work, *LARGE)


def scans(plan):
    return scanned(plan, *LARGE)


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


def beyond(tab, now):
    """A place that many more than a page's rows come after, in whichever order the tab has them."""
    return Cursor(now - timedelta(days=1.9 if tab.waits else 1.5), 5_000)


def check_lists(session, tenant, now):
    for name, filters in cases(session, tenant):
        for after in (None, beyond(filters.tab, now)):
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
        for after in (None, beyond(filters.tab, now)):
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
