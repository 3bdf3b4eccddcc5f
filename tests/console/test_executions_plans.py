"""No query of the executions pages scans a table: plans over 100,000 rows on both databases."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import String, case, cast, insert, literal, select, text

from desk_ui import search
from desk_ui.automations import executions_exporting as exporting
from desk_ui.automations import executions_in_bulk as in_bulk
from desk_ui.automations import executions_queries as queries
from desk_ui.automations.executions_queries import Filters, Scene, Tab
from desk_ui.paging import Cursor
from models import bulk_operations, clock
from models.automations import in_bulk as domain
from models.automations import needs
from models.automations.records import ActionRun, Execution, Skip
from models.base import StoredJson, db
from models.declarations import Declared
from tests.support import plans
from tests.support.filling import any_uuid, bare, fill, moment, numbered, uuid_of
from tests.support.plans import analyze, scanned

pytestmark = pytest.mark.slow

ROWS, OTHERS, TALKS = 100_000, 50_000, 20_000
LIMIT = timedelta(seconds=30)
LARGE = ("execution", "conversation", "action_run")
# What is told apart by a clock, and so no longer than the workers' hands: it may be sorted.
SHORT = (Tab.RUNNING, Tab.STALE)


@pytest.fixture
def many(desk, acme):
    """100,000 rows of acme and half as many of another tenant, mostly over, on 20,000 conversations each."""
    other, now = desk.tenant("other"), clock.now()
    with desk.app.app_context():
        with db.engine.begin() as connection, bare(connection, *LARGE):
            for number, (tenant, rows) in enumerate(((acme, ROWS), (other, OTHERS))):
                first = number * TALKS
                fill(connection, "conversation", TALKS, lambda n: talk(n, tenant.id, now), first=first + 1)  # noqa: B023
                fill(connection, "execution", rows, lambda n: row(n, tenant.id, first, now))  # noqa: B023
            run_some(connection)
        analyze(db.session())
        db.session.remove()
    return acme


def run_some(connection):
    """One action each of those that ran."""
    ran = select(
        Execution.tenant_id,
        Execution.id,
        Execution.run,
        literal(0),
        literal("add_label"),
        literal([], StoredJson()),
        literal(True),
        literal("done"),
        cast(Execution.id, String),
    ).where(Execution.run == 1)
    columns = ("tenant_id", "execution_id", "run", "position", "name", "params", "native", "state")
    into = insert(ActionRun.__table__).from_select((*columns, "idempotency_key"), ran, include_defaults=False)
    connection.execute(into)


def talk(n, tenant_id, now):
    return {
        "id": n,
        "tenant_id": tenant_id,
        "external_id": numbered("talk-", n),
        "customer": numbered("c-", n % 5_000),
        "source": "native",
        "status": "open",
        "labels": [],
        "attributes": {},
        "auto_reply": False,
        "replied_seq": 0,
        "created_at": now,
        "updated_at": now,
    }


def row(n, tenant_id, first, now):
    """Of 1,000, one processing, one executing; of 100, ten pending, thirty skipped, the others executed."""
    place, rare = n % 100, n % 1_000
    processing, executing, pending = rare == 0, rare == 1, place.between(2, 11)
    at = moment(now - timedelta(days=60), n % 50_000 * 60)
    return {
        "id": any_uuid(),
        "tenant_id": tenant_id,
        "rule_id": uuid_of(n % 20),
        "conversation_id": first + 1 + n % TALKS,
        "episode_key": numbered("status:", n),
        "at_once": False,
        "armed_version": 1,
        "status": case(
            (processing, "processing"),
            (executing, "executing"),
            (pending, "pending"),
            (place > 69, "skipped"),
            else_="executed",
        ),
        "skip_reason": case((rare == 999, "expired"), (place > 69, "episode_moved")),
        "due_at": at,
        "lapses_from": at,
        "attempts": 0,
        "locked_at": case((processing, at), (executing, moment(now, 0 * n))),
        "run": case((place.between(12, 69), 1), else_=0),
        "resumed": False,
        "on_failure": "continue",
        "needs_review": place == 12,
        "created_at": at,
        "updated_at": at,
        "version": 1,
    }


def plans_of(session, work):
    return plans.plans_of(session, work, *LARGE)


def scans(plan):
    return scanned(plan, *LARGE)


def sorts(plan):
    """Whether more is sorted than the rows of one page, before their names are looked up."""
    before = plan.partition("SCAN found")[0] if "SCAN found" in plan else plan.partition("Limit")[2]
    return "Sort  (" in before or "USE TEMP B-TREE FOR ORDER BY" in before


def cases():
    for tab in Tab:
        yield f"{tab}", Filters(tab)
        yield f"{tab} of a rule", Filters(tab, rule=uuid4())
        yield f"{tab} of a conversation", Filters(tab, conversation="talk-17")
        yield f"{tab} since", Filters(tab, since="2020-01-01T00:00")
    yield "skipped for a rare cause", Filters(Tab.SKIPPED, skipped=Skip.EXPIRED)
    yield "skipped for most", Filters(Tab.SKIPPED, skipped=Skip.EPISODE_MOVED)


@pytest.fixture
def session(app, many):
    with app.app_context():
        yield db.session()
        db.session.remove()


def scene_of(tenant, now):
    return Scene(tenant, Declared(), now)


INDEX_OF = {
    Tab.REVIEW: "ix_execution_review",
    Tab.WAITING: "ix_execution_pending",
    Tab.SKIPPED: "ix_execution_over",
    Tab.EXECUTED: "ix_execution_over",
}


def check_no_list_scans_a_table_whatever_it_is_narrowed_to(session, many, now):
    scene = scene_of(many, now)
    for name, filters in cases():
        for after in (None, Cursor(now - timedelta(days=40), uuid4())):
            [plan] = plans_of(session, lambda: queries.page(session, scene, filters, after, LIMIT))  # noqa: B023
            assert not scans(plan), (name, plan)
            if not filters.narrows and filters.tab not in SHORT:
                # In the order of its own index: at most the last of two columns is sorted.
                assert INDEX_OF[filters.tab] in plan and not sorts(plan), (name, plan)


def check_a_file_is_read_by_the_indexes_of_its_list(session, many, now):
    scene = scene_of(many, now)
    for name, filters in cases():
        found = []
        [plan] = plans_of(
            session,
            lambda: found.extend(exporting.page(session, scene, filters, None, 1_000)),  # noqa: B023
        )
        assert not scans(plan), (name, plan)
        if not filters.narrows and filters.tab not in SHORT:
            assert not sorts(plan), (name, plan)
    session.rollback()


def check_counts_read_no_more_than_they_show(session, many, now):
    found = {}
    made = plans_of(
        session, lambda: found.update(queries.counts(session, scene_of(many, now), Filters(), LIMIT))
    )
    assert [plan for plan in made if scans(plan)] == []
    assert found == {
        Tab.REVIEW: 1_000,
        Tab.WAITING: 10_000,
        Tab.RUNNING: 100,
        Tab.STALE: 100,
        Tab.SKIPPED: 10_001,
        Tab.EXECUTED: 10_001,
    }


def check_all_that_match_are_counted_for_bulk_work_by_an_index(session, many, now):
    scene = scene_of(many, now)
    for name, filters in cases():
        takes = {
            Tab.WAITING: domain.cancellable(now),
            Tab.STALE: domain.reclaimable(now),
            Tab.SKIPPED: domain.rearmable(),
        }.get(filters.tab)
        if takes is None:
            continue
        rows = in_bulk.matching(scene, filters, now, takes)
        [plan] = plans_of(session, lambda: bulk_operations.count(session, rows))  # noqa: B023
        assert "execution" not in scans(plan), (name, plan)
    session.rollback()


def check_rows_that_a_page_asks_for_are_read_by_their_keys(session, many, now):
    ids = list(session.scalars(select(Execution.id).where(Execution.tenant_id == many.id).limit(50)))
    scene = scene_of(many, now)
    for tab in Tab:
        [plan] = plans_of(session, lambda: queries.these(session, scene, Filters(tab), ids))  # noqa: B023
        assert not scans(plan), (tab, plan)
    found = plans_of(session, lambda: queries.one(session, many, ids[0]))
    assert [plan for plan in found if scans(plan)] == []
    rows, _left = queries.these(session, scene, Filters(), ids)
    ran = [one._replace(run=1) for one in rows]
    [plan] = plans_of(session, lambda: queries.begun(session, ran))
    assert not scans(plan), plan
    plans_of(session, lambda: needs.review_among(session, many.id, ids))


def check_what_needs_review_is_counted_by_its_index(session, many, now):
    found = []
    [plan] = plans_of(session, lambda: found.append(needs.review(session, many.id)))
    assert not scans(plan) and "ix_execution_review" in plan, plan
    assert found[0].number == 1_000


def check_search_scans_no_table_whatever_it_is_asked_for(session, many, now):
    for wanted in ("talk-17", str(uuid4()), "0123abcd"):
        found = plans_of(session, lambda: search._place(session, many, wanted))  # noqa: B023
        assert found and [plan for plan in found if scans(plan)] == [], wanted


def check_a_list_is_not_read_in_its_order_when_its_index_is_gone(session, many, now):
    """The tests above can fail."""
    for index, tab in (("ix_execution_pending", Tab.WAITING), ("ix_execution_review", Tab.REVIEW)):
        session.rollback()
        with db.engine.begin() as connection:
            connection.execute(text(f"DROP INDEX {index}"))
        try:
            [plan] = plans_of(
                session,
                lambda: queries.page(session, scene_of(many, now), Filters(tab), None, LIMIT),  # noqa: B023
            )
            assert sorts(plan) or scans(plan), plan
        finally:
            session.rollback()
            with db.engine.begin() as connection:
                next(i for i in Execution.__table__.indexes if i.name == index).create(connection)


def test_every_read_of_executions_goes_by_its_indexes(session, many, now):
    """One after the other, since filling the tables takes most of the time."""
    check_no_list_scans_a_table_whatever_it_is_narrowed_to(session, many, now)
    check_a_file_is_read_by_the_indexes_of_its_list(session, many, now)
    check_counts_read_no_more_than_they_show(session, many, now)
    check_all_that_match_are_counted_for_bulk_work_by_an_index(session, many, now)
    check_rows_that_a_page_asks_for_are_read_by_their_keys(session, many, now)
    check_what_needs_review_is_counted_by_its_index(session, many, now)
    check_search_scans_no_table_whatever_it_is_asked_for(session, many, now)
    check_a_list_is_not_read_in_its_order_when_its_index_is_gone(session, many, now)
