"""Two at once: a rule that changes while a worker begins, two who change it, two who import the same."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from sqlalchemy import select

from models import audit
from models.automations import rules
from models.automations.importing import Outcome, import_rules
from models.automations.records import AutomationRule, Execution, Status
from models.base import db
from models.errors import Conflict, DeskError
from models.tenants import Tenant
from models.transactions import commit
from models.transitions import move
from tests.automations.test_importing import CHASE
from tests.automations.test_rules import LATER, SYSTEM, arm, create
from tests.conftest import T
from tests.support.create import API, create_tenant
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow


@pytest.fixture
def tenant(session):
    return create_tenant(session, now=T)


def in_threads(app, *works):
    """What each of `works` returns or raises, each with a session of its own, all at once."""
    barrier = Barrier(len(works))

    def run(work):
        with app.app_context(), db.session.session_factory() as own:
            barrier.wait()
            try:
                return work(own)
            except DeskError as error:
                return error

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


@pytest.mark.parametrize("to", [Status.EXECUTING, Status.PENDING])
def test_change_waits_for_a_worker_and_frees_only_what_has_not_begun(app, session, tenant, to):
    rule = create(session, tenant)
    execution_id = arm(session, rule, Status.PROCESSING).id
    session.rollback()
    holds, waits = Event(), Event()

    def work(own):
        found = own.scalars(select(Execution).where(Execution.id == execution_id).with_for_update()).one()
        holds.set()
        # Until the other has begun: on PostgreSQL it waits for the row, on SQLite to begin at all.
        eventually(waits.is_set)
        move(own, found, to.value, actor=SYSTEM, now=LATER, action="execution.tests")
        commit(own, "tests.race")

    def change(own):
        eventually(holds.is_set)
        waits.set()
        found = own.get_one(Tenant, tenant.id)
        rules.set_active(own, found, rule.id, False, actor=API, now=LATER)
        commit(own, "tests.race")

    assert in_threads(app, work, change) == [None, None]
    left = session.scalars(select(Execution.status)).all()
    assert left == (["executing"] if to is Status.EXECUTING else [])


def test_a_worker_finds_nothing_to_write_when_the_change_was_first(app, session, tenant):
    rule = create(session, tenant)
    execution_id = arm(session, rule, Status.PROCESSING).id
    session.rollback()
    freed, waits = Event(), Event()

    def change(own):
        rules.delete(own, own.get_one(Tenant, tenant.id), rule.id, actor=API, now=LATER)
        freed.set()
        eventually(waits.is_set)
        commit(own, "tests.race")

    def work(own):
        eventually(freed.is_set)
        waits.set()
        query = select(Execution).where(Execution.id == execution_id).with_for_update()
        return own.scalars(query).one_or_none()

    assert in_threads(app, change, work) == [None, None]
    assert session.scalars(select(Execution.id)).all() == []


def test_one_of_two_who_change_a_rule_is_told_that_it_moved(app, session, tenant):
    rule = create(session, tenant)
    arm(session, rule)
    session.rollback()

    def change(given):
        def work(own):
            found = own.get_one(Tenant, tenant.id)
            rules.change(own, found, rule.id, given, actor=API, now=LATER, expected_version=1)
            commit(own, "tests.race")

        return work

    results = in_threads(app, change({"name": "A"}), change({"active": False}))
    assert sorted(map(type, results), key=str) == sorted([type(None), Conflict], key=str)
    session.expire_all()
    assert session.get_one(AutomationRule, rule.id).version == 2


def test_two_imports_at_once_make_no_twin(app, session, tenant):
    session.rollback()
    document = json.dumps([CHASE, {**CHASE, "name": "Other"}])

    def take(own):
        result = import_rules(own, own.get_one(Tenant, tenant.id), document, actor=API, now=T)
        commit(own, "tests.race")
        return sorted(one.outcome for one in result.rules)

    results = in_threads(app, take, take)
    assert sorted(results) == [[Outcome.KNOWN] * 2, [Outcome.TAKEN] * 2]
    assert len(session.scalars(select(AutomationRule)).all()) == 2
    told = select(audit.AuditEvent).where(audit.AuditEvent.action == "rule.created")
    assert len(session.scalars(told).all()) == 2
