"""What has waited for too long is announced once an episode, and a task that nobody took is shown."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from models import tenants
from models.declarations import Declared
from models.followups import stranded, tasks
from models.followups.firing import fire_due
from models.followups.records import AgentTask, FollowUp, TaskStatus
from models.outbox import OutboxEvent
from models.transactions import commit
from tests.support.create import API, create_followup, create_tenant
from tests.support.declare import STORE_SUPPORT, declared

AFTER = timedelta(minutes=15)
HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)


def announced(session: Session) -> list[tuple[str, str]]:
    events = session.scalars(select(OutboxEvent).where(OutboxEvent.event_type == "attention.needed"))
    return [(event.payload["reason"], event.aggregate_id) for event in events]


def test_announce_tells_once_when_a_due_record_is_not_taken(session: Session, now: datetime) -> None:
    tenant = create_tenant(session, now=now)
    followup = create_followup(session, tenant, now=now)
    late = now + HOUR + AFTER

    assert stranded.announce(session, after=AFTER, now=late - timedelta(seconds=1)) == []
    [found] = stranded.announce(session, after=AFTER, now=late)
    assert (found.reason, found.resource) == ("followups_overdue", ("followup", str(followup.id)))
    assert stranded.announce(session, after=AFTER, now=late + HOUR) == []
    assert announced(session) == [("followups_overdue", str(followup.id))]


def test_announce_tells_again_when_a_new_episode_begins(session: Session, now: datetime) -> None:
    tenant = create_tenant(session, now=now)
    first = create_followup(session, tenant, now=now)
    stranded.announce(session, after=AFTER, now=now + 2 * HOUR)
    fire_due(session, declared=declared(), now=now + 2 * HOUR, limit=10)
    stranded.announce(session, after=AFTER, now=now + 2 * HOUR)
    second = create_followup(session, tenant, now=now, reason="another", at=now + 3 * HOUR)
    stranded.announce(session, after=AFTER, now=now + 4 * HOUR)

    overdue = [id for reason, id in announced(session) if reason == "followups_overdue"]
    assert overdue == [str(first.id), str(second.id)]


@pytest.mark.parametrize("how", ["held", "switched off"])
def test_announce_says_nothing_when_the_work_is_paused(session: Session, now: datetime, how: str) -> None:
    tenant = create_tenant(session, now=now)
    create_followup(session, tenant, now=now)
    if how == "held":
        tenants.hold(session, tenant, "store-support", held=True, reason=None, actor=API, now=now)
    else:
        tenants.set_features(session, tenant, {"followups": False}, actor=API, now=now)
    commit(session, "tests.create")

    assert stranded.announce(session, after=AFTER, now=now + 2 * HOUR) == []


def test_announce_names_a_record_that_fails_when_it_waits_for_its_next_attempt(
    session: Session, now: datetime
) -> None:
    tenant = create_tenant(session, now=now)
    followup = create_followup(session, tenant, now=now)
    followup.attempts, followup.next_attempt_at = 3, now + 3 * HOUR
    commit(session, "tests.create")

    [found] = stranded.announce(session, after=AFTER, now=now + 2 * HOUR)
    assert (found.reason, found.since) == ("followups_failing", followup.at)


def test_announce_names_a_task_when_nobody_took_it(session: Session, now: datetime) -> None:
    tenant = create_tenant(session, now=now)
    create_followup(session, tenant, now=now)
    fire_due(session, declared=declared(), now=now + HOUR, limit=10)
    fired = session.scalars(select(FollowUp).execution_options(populate_existing=True)).one()

    assert stranded.announce(session, after=AFTER, now=now + HOUR + AFTER / 2) == []
    [found] = stranded.announce(session, after=AFTER, now=now + HOUR + AFTER)
    assert (found.reason, found.resource) == ("tasks_waiting", ("task", str(fired.task_id)))
    [task] = stranded.waiting_tasks(session, tenant.id, before=now + HOUR, limit=5)
    assert (task.followup_id, task.status) == (fired.id, "queued")


def test_announce_names_the_oldest_of_each_tenant_when_many_wait(session: Session, now: datetime) -> None:
    firsts = []
    for key in ("acme", "globex"):
        tenant = create_tenant(session, key, now=now)
        for minutes, agent, reason in ((3, "b", "x"), (1, "a", "y"), (2, "a", "x")):
            at = now + HOUR + timedelta(minutes=minutes)
            made = create_followup(session, tenant, now=now, at=at, agent=agent, reason=reason)
            firsts += [str(made.id)] if minutes == 1 else []

    found = stranded.announce(session, after=AFTER, now=now + 2 * HOUR)
    assert [one.resource[1] for one in found] == firsts
    assert {one.reason for one in found} == {"followups_overdue"}


@pytest.mark.parametrize(("early", "told"), [(timedelta(0), True), (MICROSECOND, False)])
def test_announce_names_a_record_that_failed_once_when_the_time_is_up(
    session: Session, now: datetime, early: timedelta, told: bool
) -> None:
    tenant = create_tenant(session, now=now)
    fails = [create_followup(session, tenant, now=now, reason=reason) for reason in ("one", "two")]
    fails[1].at += MICROSECOND
    for followup in fails:
        followup.attempts, followup.next_attempt_at = 1, now + 9 * HOUR
    commit(session, "tests.create")

    found = stranded.announce(session, after=AFTER, now=now + HOUR + AFTER - early)
    assert [one.resource for one in found] == ([("followup", str(fails[0].id))] if told else [])
    assert announced(session) == ([("followups_failing", str(fails[0].id))] if told else [])


def test_announce_names_none_of_a_held_agent_when_another_waits_too(session: Session, now: datetime) -> None:
    tenant = create_tenant(session, now=now)
    create_followup(session, tenant, now=now)
    younger = create_followup(session, tenant, now=now, agent="another", at=now + HOUR + AFTER)
    tenants.hold(session, tenant, "store-support", held=True, reason=None, actor=API, now=now)
    commit(session, "tests.create")

    [found] = stranded.announce(session, after=AFTER, now=now + 2 * HOUR)
    assert found.resource == ("followup", str(younger.id))


def test_waiting_tasks_come_oldest_first_and_only_those_asked_for(session: Session, now: datetime) -> None:
    tenant = create_tenant(session, now=now)
    both = Declared(9, {"agents": {"store-support": STORE_SUPPORT, "another": STORE_SUPPORT}})
    for minutes, agent, customer in (
        (0, "another", "c-1"),
        (2, "store-support", "c-1"),
        (1, "another", "c-2"),
    ):
        at = now + HOUR + timedelta(minutes=minutes)
        create_followup(session, tenant, now=now, at=at, agent=agent, customer=customer)
        fire_due(session, declared=both, now=at, limit=10)
    later = now + 2 * HOUR
    done = session.scalars(select(AgentTask).order_by(AgentTask.updated_at)).first()
    tasks.claim(session, tenant.id, done.id, actor=API, now=now + HOUR)

    def waiting(limit: int = 9, **given: str) -> list[tuple[str, str, str, timedelta]]:
        rows = stranded.waiting_tasks(session, tenant.id, before=later, limit=limit, **given)
        return [(row.agent, row.customer, row.status, row.since - now - HOUR) for row in rows]

    minute = timedelta(minutes=1)
    first = ("another", "c-1", "dispatched", 0 * minute)
    second, third = ("another", "c-2", "queued", minute), ("store-support", "c-1", "queued", 2 * minute)
    assert waiting() == [first, second, third]
    assert waiting(limit=2) == [first, second]
    assert waiting(agent="another") == [first, second]
    assert waiting(customer="c-1") == [first, third]
    tasks.report(session, tenant.id, done.id, TaskStatus.DONE, actor=API, now=now + HOUR)
    assert waiting() == [second, third]
