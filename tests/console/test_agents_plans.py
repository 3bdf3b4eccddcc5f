"""No query of the agents pages scans a table: plans over 100,000 rows on both databases, after ANALYZE."""

from datetime import timedelta

import pytest
from sqlalchemy import case

from desk_ui.agents import queries
from desk_ui.followups import customers
from desk_ui.followups.queries import Row, Scene
from models.base import db
from models.declarations import Declared
from models.followups import booking, since
from models.followups.records import FollowUp
from tests.console.test_plans import many
from tests.support import plans
from tests.support.filling import any_uuid, bare, fill, numbered
from tests.support.plans import analyze, scanned

pytestmark = pytest.mark.slow

LIMIT = timedelta(seconds=30)
TABLES = ("follow_up", "contact")
__all__ = ["many"]


def plans_of(session, work):
    return plans.plans_of(session, work, *TABLES)


def scans(plan):
    return scanned(plan, *TABLES)


@pytest.fixture
def with_contacts(desk, many, now):
    with desk.app.app_context():
        with db.engine.begin() as connection, bare(connection, "contact"):
            fill(connection, "contact", 30_000, lambda n: contact(n, many.id, now))
        analyze(db.session())
        db.session.remove()
    return many


def contact(n, tenant_id, now):
    return {
        "id": any_uuid(),
        "tenant_id": tenant_id,
        "customer": numbered("c-", n),
        "state": case((n % 10 == 0, "revoked"), else_="granted"),
        "sends_without_reply": 0,
        "created_at": now,
        "updated_at": now,
        "version": 1,
    }


def works(session, scene, tenant):
    """Each read of the pages, by name."""
    row = session.query(FollowUp).filter(FollowUp.tenant_id == tenant.id).first()
    thin = Row(
        **{name: getattr(row, name) for name in Row._fields if name not in ("overdue", "held", "zone")}
    )
    agents = [f"agent-{n}" for n in range(5)]
    return {
        "agents": lambda: queries.agents_with_rows(session, tenant),
        "has rows": lambda: queries.has_rows(session, tenant, "agent-3"),
        "arms": lambda: queries.arms(session, tenant, "agent-3"),
        "pending": lambda: queries.pending(session, tenant, agents, LIMIT),
        "overdue": lambda: queries.overdue(session, scene, agents, LIMIT),
        "due": lambda: queries.due(session, tenant, "agent-3", scene.now, LIMIT),
        "contacts": lambda: queries.contacts(session, tenant, LIMIT),
        "by arm": lambda: queries.by_arm(session, tenant, "agent-3", ["schedule", "B"], LIMIT),
        "waiting": lambda: customers.waiting(session, tenant, thin.customer),
        "twin": lambda: booking.pending_twin(session, tenant.id, thin),
        "rearmed": lambda: customers.rearmed_as(session, tenant, thin.id),
        "since": lambda: since.read(session, row),
    }


def check_no_read_of_the_agents_or_of_a_customer_scans_a_table(app, with_contacts, now):
    with app.app_context():
        session = db.session()
        scene = Scene.read(session, with_contacts, Declared(), now, "UTC")
        for name, work in works(session, scene, with_contacts).items():
            for plan in plans_of(session, work):
                # Where most of a table is in one state, to read it from its start reaches the cap soonest.
                found = plan.replace("Seq Scan on contact", "", 1) if name == "contacts" else plan
                assert not scans(found), (name, plan)
                assert name != "contacts" or "ix_contact_state" in plan, plan
        db.session.remove()


def check_counts_of_arms_go_by_their_own_index_and_read_far_more_without_it(app, many, now):
    """The test above can fail: without its index, the counts of one arm read another way."""
    index = next(i for i in FollowUp.__table__.indexes if i.name == "ix_follow_up_agent_arm")
    with app.app_context():
        session = db.session()

        def plan():
            [found] = plans_of(session, lambda: queries.by_arm(session, many, "agent-3", ["schedule"], LIMIT))
            return found

        assert index.name in plan()
        session.rollback()
        with db.engine.begin() as connection:
            index.drop(connection)
        try:
            assert index.name not in plan()
        finally:
            session.rollback()
            with db.engine.begin() as connection:
                index.create(connection)
            db.session.remove()


def check_counts_are_right_and_stop_at_the_cap(app, many, now):
    with app.app_context():
        session = db.session()
        found = queries.by_arm(session, many, "agent-3", ["schedule"], LIMIT)
        assert {status.value: count for (_arm, status), count in found.items()} == {
            "pending": 1_000,
            "fired": 10_001,
            "blocked": 4_000,
            "cancelled": 3_000,
        }
        assert queries.agents_with_rows(session, many) == [f"agent-{n}" for n in range(5)]
        assert queries.arms(session, many, "agent-3") == ["schedule"]
        db.session.remove()


def test_every_read_of_agents_goes_by_its_indexes(app, many, with_contacts, now):
    """One after the other, since filling the tables takes most of the time."""
    check_no_read_of_the_agents_or_of_a_customer_scans_a_table(app, with_contacts, now)
    check_counts_of_arms_go_by_their_own_index_and_read_far_more_without_it(app, many, now)
    check_counts_are_right_and_stop_at_the_cap(app, many, now)
