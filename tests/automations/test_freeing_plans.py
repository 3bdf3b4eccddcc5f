"""Freeing among 100,000 executions goes by an index, and looks at few of them where none is outdated."""

import pytest
from sqlalchemy import case, select, text

from models.automations import rules
from models.automations.records import AutomationRule, Execution
from models.base import db
from models.transactions import rollback
from tests.conftest import T
from tests.support.filling import bare, fill, moment, numbered, uuid_of
from tests.support.plans import analyze, plans_of, scanned, without

pytestmark = pytest.mark.slow

ROWS, RULES = 100_000, 49
CHANGED, GONE = 7, RULES


@pytest.fixture
def large(session):
    """49 rules with 2,000 executions each, some under an older version; and those of one that is gone."""
    with db.engine.begin() as connection, bare(connection, "execution", "automation_rule"):
        tenant = {"key": "t1", "name": "t", "timezone": "UTC", "features": {}, "created_at": T}
        connection.execute(db.metadata.tables["tenant"].insert(), [tenant])
        tenant_id = connection.scalar(text("SELECT id FROM tenant WHERE key = 't1'"))
        fill(
            connection,
            "automation_rule",
            RULES,
            lambda n: {
                "id": uuid_of(n, 1),
                "tenant_id": tenant_id,
                "name": numbered("rule ", n),
                "description": "",
                "event": "message_created",
                "conditions": [],
                "actions": [],
                "active": True,
                "on_failure": "continue",
                "created_at": T,
                "updated_at": T,
                "armed_version": case((n == CHANGED, 2), else_=1),
                "version": 1,
            },
        )
        fill(
            connection,
            "execution",
            ROWS,
            lambda n: {
                "id": uuid_of(n, 2),
                "tenant_id": tenant_id,
                "rule_id": uuid_of(n % (RULES + 1), 1),
                "conversation_id": n,
                "episode_key": numbered("status:", n),
                "at_once": False,
                "armed_version": case((n < ROWS // 2, 1), (n % (RULES + 1) == CHANGED, 2), else_=1),
                "status": case((n % 3 == 0, "executed"), (n % 3 == 1, "processing"), else_="pending"),
                "due_at": moment(T, n),
                "lapses_from": moment(T, n),
                "attempts": 0,
                "run": 0,
                "resumed": False,
                "on_failure": "continue",
                "needs_review": False,
                "created_at": moment(T, n),
                "updated_at": moment(T, n),
                "version": 1,
            },
        )
    analyze(session)
    return session


def check_goes_by_the_index(plans):
    """Each step along the rules, and the oldest armed row of each in either status."""
    for question in [plan for plan in plans if "rules" in plan]:
        assert question.count("ix_execution_rule") >= 3, question
    check_takes_no_more_than_it_frees(plans)


def check_takes_no_more_than_it_frees(plans):
    """A sort would read all that a rule has armed, to take some."""
    assert [plan for plan in plans if scanned(plan, "execution")] == []
    assert [plan for plan in plans if "Sort" in plan or "USE TEMP B-TREE" in plan] == []


def test_free_outdated_goes_by_an_index_and_frees_what_is_outdated_alone(large):
    def free():
        freed.append(rules.free_outdated(large, limit=1_000))

    freed = []
    check_goes_by_the_index(plans_of(large, free, "execution"))
    assert freed == [1_000]
    while freed[-1]:
        free()
    gone = len([n for n in range(ROWS) if n % (RULES + 1) == GONE and n % 3])
    old = len([n for n in range(ROWS // 2) if n % (RULES + 1) == CHANGED and n % 3])
    assert sum(freed) == gone + old
    rollback(large)
    with without(large, "ix_execution_rule"), pytest.raises(AssertionError):
        check_goes_by_the_index(plans_of(large, free, "execution"))


def test_change_of_a_rule_goes_by_an_index(large):
    rule = large.scalars(select(AutomationRule).where(AutomationRule.name == "rule 3")).one()
    large.rollback()

    def free():
        freed.append(rules.freeing.free(large, rule, limit=100))

    freed = []
    plans = plans_of(large, free, "execution")
    assert freed == [100]
    assert [plan for plan in plans if scanned(plan, "execution")] == []
    left = select(Execution.id).where(Execution.rule_id == rule.id, Execution.status != "executed")
    assert (
        len(large.scalars(left).all())
        == len([n for n in range(ROWS) if n % (RULES + 1) == 3 and n % 3]) - 100
    )
    rollback(large)
