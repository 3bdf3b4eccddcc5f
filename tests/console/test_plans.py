"""No query of a page scans the table: plans over 100,000 rows on both databases, after ANALYZE."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import case, select, text

from desk_ui import search
from desk_ui.followups import customers, exporting, in_bulk, queries
from desk_ui.followups.queries import Filters, Scene, Tab
from desk_ui.paging import Cursor
from models import bulk, bulk_operations, clock
from models.base import db
from models.declarations import Declared
from models.followups import in_bulk as domain
from models.followups import needs
from models.followups.records import AgentTask, Block, FollowUp
from tests.support import plans
from tests.support.filling import any_uuid, bare, fill, moment, numbered
from tests.support.plans import analyze, scanned

pytestmark = pytest.mark.slow

# With fewer of others, an index with short keys is a level lower, and PostgreSQL rather sorts what it finds.
ROWS, OTHERS = 100_000, 50_000
LIMIT = timedelta(seconds=30)


@pytest.fixture
def many(desk, acme):
    """100,000 rows of acme and half as many of another tenant, mostly over."""
    other, now = desk.tenant("other"), clock.now()
    with desk.app.app_context():
        with db.engine.begin() as connection, bare(connection, "follow_up"):
            fill(connection, "follow_up", ROWS, lambda n: row(n, acme.id, now))
            fill(connection, "follow_up", OTHERS, lambda n: row(n, other.id, now))
        analyze(db.session())
        db.session.remove()
    return acme


def row(n, tenant_id, now):
    """Of 100, five pending, sixty fired, twenty blocked, the others cancelled."""
    place, minutes = n % 100, n % 50_000 * 60
    pending, fired, blocked = place < 5, place.between(5, 64), place.between(65, 84)
    new, old = (moment(now - timedelta(days=days), minutes) for days in (3, 60))
    at = case((pending, new), else_=old)
    return {
        "tenant_id": tenant_id,
        "id": any_uuid(),
        "agent": numbered("agent-", n % 5),
        "customer": numbered("c-", n % 20_000),
        "at": at,
        "reason": numbered("reason ", n % 300),
        "arm": "schedule",
        "status": case((pending, "pending"), (fired, "fired"), (blocked, "blocked"), else_="cancelled"),
        "blocked_reason": case((blocked, "frequency")),
        "fired_at": case((fired, at)),
        "created_at": at,
        "updated_at": at,
        "attempts": 0,
        "version": 1,
    }


def plans_of(session, work):
    return plans.plans_of(session, work, "follow_up")


def scans(plan):
    return scanned(plan, "follow_up")


CASES = {
    **{tab.value: Filters(tab) for tab in Tab},
    "customer": Filters(customer="c-17"),
    "agent": Filters(agent="agent-3"),
    "reason": Filters(Tab.FIRED, reason="reason 7"),
    "blocked for a cause": Filters(Tab.BLOCKED, blocked=Block.FREQUENCY),
}


def check_no_list_scans_the_table_whatever_it_is_narrowed_to(app, many, now):
    with app.app_context():
        session = db.session()
        scene = Scene.read(session, many, Declared(), now, "UTC")
        for name, filters in CASES.items():
            for after in (None, Cursor(now - timedelta(days=1), uuid4())):
                [plan] = plans_of(session, lambda: queries.page(session, scene, filters, after, LIMIT))  # noqa: B023
                assert not scans(plan), (name, plan)
                if name in set(Tab):
                    # In the order of the index: at most the last of two columns is sorted.
                    assert "Sort  (" not in plan and "USE TEMP B-TREE FOR ORDER BY" not in plan, (name, plan)
        db.session.remove()


def check_a_file_is_read_by_the_indexes_of_its_list(app, many, now):
    with app.app_context():
        session = db.session()
        scene = Scene.read(session, many, Declared(), now, "UTC")
        for name, filters in CASES.items():
            for after in (None, Cursor(now - timedelta(days=1), uuid4())):
                found = []
                [plan] = plans_of(
                    session,
                    lambda: found.extend(exporting.page(session, scene, filters, after, 1_000)),  # noqa: B023
                )
                assert not scans(plan), (name, plan)
                if name in set(Tab):
                    assert "Sort  (" not in plan and "USE TEMP B-TREE FOR ORDER BY" not in plan, (name, plan)
        assert len(found) == 1_000
        db.session.remove()


RARE = {
    # SQLite reads all that is pending rather than sort what the sweep's index finds.
    ("pending", "agent"): "ix_follow_up_due|ix_follow_up_pending\\b",
    ("pending", "arm"): "ix_follow_up_pending_arm",
    ("pending", "reason"): "ix_follow_up_pending_reason",
    **{
        (tab, name): f"ix_follow_up_over_{name}"
        for tab in ("fired", "cancelled")
        for name in ("agent", "arm")
    },
    ("fired", "reason"): "ix_follow_up_over_reason",
}


def check_a_filter_that_nothing_passes_reads_by_its_own_index(app, many, now):
    with app.app_context():
        session = db.session()
        scene = Scene.read(session, many, Declared(), now, "UTC")
        for (tab, name), index in RARE.items():
            filters = Filters(Tab(tab), **{name: "nobody"})
            [plan] = plans_of(session, lambda: queries.page(session, scene, filters, None, LIMIT))  # noqa: B023
            assert re.search(index, plan), (tab, name, plan)
        db.session.remove()


def check_pending_list_goes_by_its_own_index_and_scans_without_it(app, many, now):
    """The test above can fail: without the index, the pending list is no longer read in its order."""
    with app.app_context():
        session = db.session()
        scene = Scene.read(session, many, Declared(), now, "UTC")

        def plan():
            [found] = plans_of(session, lambda: queries.page(session, scene, Filters(), None, LIMIT))
            return found

        assert "ix_follow_up_pending" in plan()
        session.rollback()
        with db.engine.begin() as connection:
            connection.execute(text("DROP INDEX ix_follow_up_pending"))
        try:
            found = plan()
            assert "Sort" in found or "TEMP B-TREE" in found, found
        finally:
            session.rollback()
            index = next(i for i in FollowUp.__table__.indexes if i.name == "ix_follow_up_pending")
            with db.engine.begin() as connection:
                index.create(connection)
            db.session.remove()


def check_search_scans_no_table_whatever_it_is_asked_for(app, many):
    with app.app_context():
        session = db.session()
        for wanted in ("c-17", "reason 7", str(uuid4()), "0123abcd"):
            found = plans_of(session, lambda: search._place(session, many, wanted))  # noqa: B023
            assert found and [plan for plan in found if scans(plan)] == [], wanted
        db.session.remove()


def check_counts_read_no_more_than_they_show(app, many, now):
    with app.app_context():
        session = db.session()
        scene = Scene.read(session, many, Declared(), now, "UTC")
        found = plans_of(session, lambda: queries.counts(session, scene, Filters(), LIMIT))
        assert [plan for plan in found if scans(plan)] == []
        counted = queries.counts(session, scene, Filters(), LIMIT)
        assert counted[Tab.PENDING] == 5_000
        assert counted[Tab.FIRED] == 10_001
        db.session.remove()


def check_all_that_match_are_counted_for_bulk_work_by_the_lists_own_index(app, many, now):
    with app.app_context():
        session = db.session()
        scene = Scene.read(session, many, Declared(), now, "UTC")
        for name, filters in CASES.items():
            takes = domain.cancellable() if filters.tab.waits else domain.rearmable()
            rows = in_bulk.matching(scene, filters, now, takes)
            [plan] = plans_of(session, lambda: bulk_operations.count(session, rows))  # noqa: B023
            assert not scans(plan), (name, plan)
        # Its rows are said to have changed when they are due.
        later = now + timedelta(days=60)
        rows = in_bulk.matching(scene, Filters(), later, domain.cancellable())
        assert bulk_operations.count(session, rows) == 5_000
        session.rollback()
        db.session.remove()


def check_those_whose_task_waits_are_found_from_their_tasks(app, many, now):
    with app.app_context():
        session = db.session()
        fired = select(FollowUp.id).where(FollowUp.tenant_id == many.id, FollowUp.status == "fired")
        ids = session.scalars(fired.limit(5_000)).all()
        tasks = [task(many.id, id, number, now) for number, id in enumerate(ids)]
        bulk.insert_rows(session, AgentTask, tasks)
        session.commit()
        with db.engine.begin() as connection:
            connection.execute(text("ANALYZE"))
        scene = Scene.read(session, many, Declared(), now, "UTC")
        filters = Filters(Tab.FIRED, task=queries.TaskState.UNFINISHED)
        [plan] = plans_of(session, lambda: queries.page(session, scene, filters, None, LIMIT))
        assert not scans(plan), plan
        # By what waits or by state, as the statistics have it; never from the follow-ups.
        assert "ix_agent_task_waiting" in plan or "ix_agent_task_status" in plan, plan
        assert "ix_follow_up_status_updated" not in plan, plan
        assert len(queries.page(session, scene, filters, None, LIMIT).rows) == 13
        db.session.remove()


def check_those_booked_again_are_looked_up_by_their_own_index(app, many):
    with app.app_context():
        session = db.session()
        ids = [uuid4() for _number in range(50)]
        [plan] = plans_of(session, lambda: customers.rearmed_among(session, many, ids))
        assert not scans(plan) and "ix_follow_up_rearmed_from" in plan, plan
        db.session.remove()


def task(tenant_id, followup_id, number, now):
    return {
        "id": uuid4(),
        "tenant_id": tenant_id,
        "followup_id": followup_id,
        "agent": f"agent-{number % 5}",
        "customer": f"c-{number}",
        "session_id": None,
        "command": {},
        "status": "queued" if number < 13 else "done",
        "created_at": now,
        "updated_at": now,
        "version": 1,
    }


def check_page_of_one_reads_by_its_key(app, many, now):
    with app.app_context():
        session = db.session()
        scene = Scene.read(session, many, Declared(), now, "UTC")
        id = session.query(FollowUp.id).filter(FollowUp.tenant_id == many.id).first()[0]
        found = plans_of(session, lambda: queries.one(session, scene, id))
        assert [plan for plan in found if scans(plan)] == []
        db.session.remove()


def check_rows_that_a_page_asks_for_are_read_by_their_keys(app, many, now):
    with app.app_context():
        session = db.session()
        scene = Scene.read(session, many, Declared(), now, "UTC")
        first = session.query(FollowUp.id).filter(FollowUp.tenant_id == many.id).limit(50)
        ids = [id for (id,) in first]
        for name, filters in CASES.items():
            [plan] = plans_of(session, lambda: queries.these(session, scene, filters, ids))  # noqa: B023
            assert not scans(plan) and ("pk_follow_up" in plan or "autoindex_follow_up" in plan), (
                name,
                plan,
            )
        db.session.remove()


def check_those_that_somebody_is_on_are_read_by_their_keys(app, many, now):
    with app.app_context():
        session = db.session()
        scene = Scene.read(session, many, Declared(), now, "UTC")
        ids = list(session.scalars(select(FollowUp.id).where(FollowUp.tenant_id == many.id).limit(1_000)))
        [plan] = plans_of(session, lambda: needs.among(session, scene, ids, before=now))
        assert not scans(plan), plan
        db.session.remove()


def check_needs_of_a_person_are_counted_by_an_index_each(app, many, now):
    # When the blocked ones were new: thirty days before the others are due.
    at = now - timedelta(days=30)
    works = {
        "agents": lambda session, _scene: needs.pending_agents(session, many.id),
        "overdue": lambda session, scene: needs.overdue(session, scene, AGENTS),
        "blocked": lambda session, scene: needs.blocked(session, scene, Block.FREQUENCY),
        "unusable": lambda session, scene: needs.unusable(session, scene, AGENTS),
        "due": lambda session, _scene: needs.due_before(session, [many.id], now),
    }
    found = {}
    with app.app_context():
        session = db.session()
        for name, work in works.items():
            scene = Scene.read(session, many, Declared(), at if name == "blocked" else now, "UTC")
            made = plans_of(session, lambda: found.update({name: work(session, scene)}))  # noqa: B023
            assert [plan for plan in made if scans(plan)] == [], (name, made)
            assert INDEX_OF.get(name, "") in made[0], (name, made)
        db.session.remove()
    assert found["agents"] == AGENTS
    assert 100 < found["overdue"].number <= found["due"] <= 1_001
    assert 100 < found["blocked"].number <= 1_001
    assert list(found["unusable"].agents) == AGENTS


AGENTS = [f"agent-{number}" for number in range(5)]
INDEX_OF = {"agents": "ix_follow_up_due", "overdue": "ix_follow_up_due", "blocked": "ix_follow_up_blocked"}


def test_every_read_of_follow_ups_goes_by_its_indexes(app, many, now):
    """One after the other, since filling the tables takes most of the time."""
    check_no_list_scans_the_table_whatever_it_is_narrowed_to(app, many, now)
    check_a_filter_that_nothing_passes_reads_by_its_own_index(app, many, now)
    check_a_file_is_read_by_the_indexes_of_its_list(app, many, now)
    check_pending_list_goes_by_its_own_index_and_scans_without_it(app, many, now)
    check_search_scans_no_table_whatever_it_is_asked_for(app, many)
    check_counts_read_no_more_than_they_show(app, many, now)
    check_all_that_match_are_counted_for_bulk_work_by_the_lists_own_index(app, many, now)
    check_those_whose_task_waits_are_found_from_their_tasks(app, many, now)
    check_those_booked_again_are_looked_up_by_their_own_index(app, many)
    check_page_of_one_reads_by_its_key(app, many, now)
    check_rows_that_a_page_asks_for_are_read_by_their_keys(app, many, now)
    check_needs_of_a_person_are_counted_by_an_index_each(app, many, now)
    check_those_that_somebody_is_on_are_read_by_their_keys(app, many, now)
