from datetime import timedelta

import pytest
from sqlalchemy import select

from models.audit import AuditEvent
from models.declarations import Declared
from models.followups import outcomes, tasks, transitions
from models.followups.records import AgentTask, Contact, FollowUp, Outcome, RevokeEvent, TaskEvent, TaskStatus
from models.followups.retention import purge
from models.messages import Message
from models.retention import faults
from tests.followups.world import DAY, HOUR, World
from tests.support.create import API, create_tenant

MICROSECOND = timedelta(microseconds=1)
LIMIT = 10_000


def run(world: World, now=None, *, limit: int = LIMIT, **retention: object):
    tables = {**world.declared.tables, **({"retention": retention} if retention else {})}
    counts = purge(world.session, declared=Declared(1, tables), now=now or world.now, limit=limit)
    world.session.expire_all()
    return counts


def ids(world: World) -> set:
    return set(world.session.scalars(select(FollowUp.id)))


def test_purge_takes_what_is_strictly_older_and_lapses_what_is_absurdly_late(world):
    """Case 33."""
    long_ago, yesterday = world.now - 91 * DAY, world.now - DAY
    fired = world.book(now=long_ago - HOUR, at=long_ago)
    world.fire(long_ago)
    blocked = world.book(now=yesterday - HOUR, at=yesterday, agent="undeclared")
    world.fire(yesterday)
    assert (world.outcome_of(fired)[0], world.outcome_of(blocked)[0]) == ("fired", "blocked")
    late = "00000000-0000-0000-0000-000000000001"
    world.take({"id": late, "at": long_ago, "reason": "late"}, now=yesterday)
    ahead = world.book(at=world.now + DAY)
    counts = run(world)
    # The fired one's task was never taken either: it lapses too.
    assert (counts.own["purged"], counts.own["lapsed"]) == (1, 2)
    assert ids(world) == {ahead.id, blocked.id}
    [event] = world.session.scalars(select(AuditEvent).where(AuditEvent.action == "followup.lapsed"))
    assert event.resource_id == late
    assert (event.detail["from"], event.detail["to"]) == ("pending", None)
    assert (event.actor_type, event.actor_id) == ("system", "retention")


@pytest.mark.parametrize(
    ("age", "left"), [(90 * DAY, 1), (90 * DAY + MICROSECOND, 0), (90 * DAY - MICROSECOND, 1)]
)
def test_purge_is_strict_to_the_microsecond_for_what_is_over(world, age, left):
    """Case 33."""
    followup = world.book(now=world.now - age - HOUR, at=world.now + DAY)
    transitions.cancel(world.session, world.tenant.id, followup.id, actor=API, now=world.now - age)
    world.commit()
    run(world)
    assert len(ids(world)) == left


@pytest.mark.parametrize(
    ("age", "left"), [(90 * DAY, 1), (90 * DAY + MICROSECOND, 0), (90 * DAY - MICROSECOND, 1)]
)
def test_purge_is_strict_to_the_microsecond_for_what_is_pending(world, age, left):
    """Case 33."""
    world.take({"at": world.now - age})
    counts = run(world)
    assert len(ids(world)) == left
    assert counts.own["lapsed"] == 1 - left


def test_purge_goes_by_the_declared_retention(world):
    world.take({"at": world.now - 10 * DAY}, {"at": world.now - 40 * DAY, "reason": "older"})
    assert run(world, followups="30d").own["lapsed"] == 1
    assert run(world, followups="9d").own["lapsed"] == 1
    assert ids(world) == set()


@pytest.mark.parametrize(
    ("retention", "path"),
    [
        ({"followups": "90"}, "retention.followups"),
        ({"followups": 90}, "retention.followups"),
        ({"followups": "0d"}, "retention.followups"),
        ({"followups": ""}, "retention.followups"),
        ({"messages": "3w"}, "retention.messages"),
        ({"unknown": "3d"}, "retention.unknown"),
    ],
)
def test_purge_takes_nothing_and_counts_an_error_when_the_retention_is_faulty(world, retention, path):
    world.take({"at": world.now - 1_000 * DAY})
    assert [fault.path for fault in faults(Declared(1, {"retention": retention}))] == [path]
    counts = run(world, **retention)
    assert (counts.examined, counts.errors) == (0, 1)
    assert path in counts.faults[0]["error"]
    assert len(ids(world)) == 1


def test_purge_serves_all_tenants(world):
    world.take({"at": world.now - 91 * DAY})
    world.tenant = create_tenant(world.session, "globex", now=world.now)
    world.take({"at": world.now - 91 * DAY})
    assert run(world).own["lapsed"] == 2


def test_purge_stops_at_its_limit_and_says_so(world):
    world.take(*({"at": world.now - 91 * DAY} for _ in range(1_203)))
    counts = run(world, limit=700)
    assert (counts.own["lapsed"], counts.examined, counts.capped) == (700, 700, True)
    counts = run(world)
    assert (counts.own["lapsed"], counts.capped) == (503, False)
    assert len(world.actions("followup")) == 2 * 1_203


def fired_task(world: World, now) -> AgentTask:
    world.book(now=now - HOUR, at=now)
    world.fire(now)
    return world.tasks()[0]


@pytest.mark.parametrize("outcome", [None, TaskStatus.DONE, TaskStatus.FAILED])
def test_purge_takes_a_task_with_its_history_when_it_was_taken_long_ago(world, outcome):
    long_ago = world.now - 91 * DAY
    task = fired_task(world, long_ago)
    tasks.claim(world.session, world.tenant.id, task.id, actor=API, now=long_ago)
    if outcome:
        tasks.report(world.session, world.tenant.id, task.id, outcome, actor=API, now=long_ago)
    world.commit()
    counts = run(world)
    assert (counts.own["tasks"], counts.own["purged"]) == (1, 1)
    assert world.count(AgentTask) == world.count(TaskEvent) == 0


def test_purge_cancels_a_task_with_its_reason_when_nobody_took_it(world):
    task = fired_task(world, world.now - 91 * DAY)
    assert run(world).own["lapsed"] == 1
    assert [row.status for row in world.session.scalars(select(AgentTask))] == ["cancelled"]
    [event] = world.session.scalars(select(TaskEvent))
    assert (event.task_id, event.reason, event.actor) == (task.id, "lapsed", "retention")
    run(world, world.now + 91 * DAY)
    assert world.count(AgentTask) == world.count(TaskEvent) == 0


def test_purge_keeps_consent_and_opt_outs_whatever_their_age(world):
    world.book(now=world.now - 500 * DAY, at=world.now - 499 * DAY)
    world.revoke("c-2", now=world.now - 500 * DAY)
    run(world)
    assert (world.count(Contact), world.count(RevokeEvent)) == (2, 1)
    assert world.state("c-2")[0] == "revoked"


def test_purge_takes_outcomes_with_the_followups_they_belong_to(world):
    for id, age in (("old", 91 * DAY), ("new", DAY)):
        outcomes.record(
            world.session,
            world.tenant,
            id=id,
            agent="a",
            customer="c-1",
            kind="paid",
            occurred_at=world.now - age,
            now=world.now - age,
        )
    world.commit()
    assert run(world).own["outcomes"] == 1
    assert world.session.scalars(select(Outcome.id)).all() == ["new"]


def test_purge_takes_messages_only_where_that_is_declared(world):
    for conversation, age in (("v-1", 400 * DAY), ("v-2", DAY)):
        world.say("hello", world.now - age, conversation_id=conversation)
    assert run(world).own["messages"] == 0
    counts = run(world, messages="365d")
    assert (counts.own["messages"], counts.own["conversations"]) == (1, 1)
    assert world.count(Message) == 1


def test_purge_keeps_a_fired_one_while_a_ceiling_counts_it(world):
    world.declare(max_frequency="1/365d")
    fired = world.book().id
    world.fire(world.now + HOUR)
    later = world.now + 120 * DAY
    assert run(world, later).own["purged"] == 0
    second = world.book(now=later - HOUR, at=later, reason="another")
    world.fire(later)
    assert world.outcome_of(second) == ("blocked", "frequency")
    assert fired in ids(world)
    assert run(world, world.now + 366 * DAY).own["purged"] >= 1
    assert fired not in ids(world)
