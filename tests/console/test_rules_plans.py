"""No query of the rules pages scans a table: plans over 100,000 rows on both databases, after ANALYZE."""

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import case

from desk_ui.automations import rules_queries as queries
from desk_ui.settings import queries as settings_queries
from models import conversations
from models.automations import dry_run
from models.automations.records import AutomationRule, Execution
from models.base import db
from models.declarations import Declared
from tests.support import plans
from tests.support.filling import bare, fill, moment, numbered, uuid_of
from tests.support.plans import analyze, scanned
from tests.support.rules import RULE

pytestmark = pytest.mark.slow

ROWS, OWNERS = 100_000, 20
LIMIT = timedelta(seconds=30)
TABLES = ("execution", "conversation", "message")


@pytest.fixture
def many(desk, acme, now):
    """100,000 executions of 20 rules of acme, each on a conversation of its own with one message."""
    start = now - timedelta(days=30)
    with desk.app.app_context():
        with db.engine.begin() as connection, bare(connection, *TABLES):
            owners = [_rule(number, acme.id, start) for number in range(OWNERS)]
            connection.execute(db.metadata.tables["automation_rule"].insert(), owners)
            fill(connection, "conversation", ROWS, lambda n: _conversation(n, acme.id, start), first=1)
            fill(connection, "message", ROWS, lambda n: _message(n, acme.id, start), first=1)
            fill(connection, "execution", ROWS, lambda n: _execution(n, acme.id, start), first=1)
        analyze(db.session())
        db.session.remove()
    return acme


def _rule(number, tenant_id, at):
    return {
        **RULE, "id": UUID(int=number + 1), "tenant_id": tenant_id, "description": "", "active": True,
        "on_failure": "continue", "created_at": at + timedelta(hours=number), "updated_at": at,
        "armed_version": 1, "version": 1,
    }  # fmt: skip


def _conversation(n, tenant_id, at):
    return {
        "id": n, "tenant_id": tenant_id, "source": "native", "external_id": numbered("v-", n),
        "customer": numbered("c-", n % 50_000), "status": "open", "status_changed_at": at, "labels": [],
        "attributes": {}, "auto_reply": False, "replied_seq": 0, "created_at": moment(at, n),
        "updated_at": moment(at, n),
    }  # fmt: skip


def _message(n, tenant_id, at):
    return {
        "id": n, "tenant_id": tenant_id, "conversation_id": n, "source": "native",
        "external_id": numbered("m-", n), "seq": n, "direction": "incoming",
        "sender": {"type": "customer", "key": "c"}, "private": False, "auto_reply": False,
        "customer": numbered("c-", n % 50_000), "text": "hello", "metadata": {}, "created_at": moment(at, n),
        "stored_at": moment(at, n),
    }  # fmt: skip


def _execution(n, tenant_id, at):
    status = case(
        (n % 50 == 1, "pending"), (n % 5_000 == 2, "executing"), (n % 3 == 0, "skipped"), else_="executed"
    )
    return {
        "id": uuid_of(n), "tenant_id": tenant_id, "rule_id": uuid_of(n % OWNERS + 1), "conversation_id": n,
        "episode_key": "status:1930384800000000", "at_once": False, "armed_version": 1, "status": status,
        "due_at": moment(at, n), "lapses_from": moment(at, n), "attempts": 0, "run": 0, "resumed": False,
        "on_failure": "continue", "needs_review": n % 4_000 == 7, "created_at": moment(at, n),
        "updated_at": moment(at, n), "version": 1,
    }  # fmt: skip


def works(session, tenant, now):
    """Each read of the pages, by name."""
    ids = [UUID(int=number + 1) for number in range(OWNERS)]
    rule = dry_run.copy_of(session.get_one(AutomationRule, ids[0]))
    talk = conversations.get(session, tenant.id, "v-99")
    return {
        "counts": lambda: queries.counts(session, tenant, ids, LIMIT),
        "armed": lambda: queries.armed(session, tenant, ids[3], LIMIT),
        "last runs": lambda: queries.last_runs(session, tenant, ids),
        "latest conversations": lambda: queries.latest_conversations(session, tenant),
        "one conversation": lambda: queries.conversation(session, tenant, 77),
        "dry run": lambda: dry_run.dry_run(session, tenant, rule, talk, declared=Declared(), now=now),
        "the switch": lambda: settings_queries.waiting_executions(session, tenant, now),
    }


def check_no_read_scans_a_table(app, many, now):
    with app.app_context():
        session = db.session()
        for name, work in works(session, many, now).items():
            for plan in plans.plans_of(session, work, *TABLES):
                assert not scanned(plan, *TABLES), (name, plan)
        db.session.remove()


def check_counts_read_far_more_without_their_index(app, many):
    """The test above can fail: without its index, the last runs are found another way."""
    index = next(one for one in Execution.__table__.indexes if one.name == "ix_execution_rule")
    ids = [UUID(int=number + 1) for number in range(OWNERS)]
    with app.app_context():
        session = db.session()

        def uses():
            return any(
                index.name in plan
                for plan in plans.plans_of(session, lambda: queries.last_runs(session, many, ids), *TABLES)
            )

        assert uses()
        with plans.without(session, index.name):
            assert not uses()
        db.session.remove()


def check_counts_are_right_and_stop_at_the_cap(app, many, monkeypatch):
    with app.app_context():
        session, rule_id = db.session(), UUID(int=8)
        found = queries.counts(session, many, [rule_id], LIMIT)[rule_id]
        by_hand = {
            name: session.query(Execution).filter_by(rule_id=rule_id, status=name).count()
            for name in ("pending", "executed", "skipped")
        }
        assert {"pending": found.waiting, "executed": found.executed, "skipped": found.skipped} == by_hand
        assert (
            found.review == session.query(Execution).filter_by(rule_id=rule_id, needs_review=True).count() > 0
        )
        monkeypatch.setattr("desk_ui.capped.MOST_COUNTED", 100)
        assert queries.counts(session, many, [rule_id], LIMIT)[rule_id].executed == 101
        db.session.remove()


def test_every_read_of_rules_goes_by_its_indexes(app, many, now, monkeypatch):
    """One after the other, since filling the tables takes most of the time."""
    check_no_read_scans_a_table(app, many, now)
    check_counts_read_far_more_without_their_index(app, many)
    check_counts_are_right_and_stop_at_the_cap(app, many, monkeypatch)
