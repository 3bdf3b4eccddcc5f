"""Executions under two at once, in real processes: whoever is second finds what the first left."""

from collections import Counter

import pytest
from sqlalchemy import select

from models.audit import AuditEvent
from models.automations.records import Execution
from models.transactions import rollback
from tests.automations.conftest import world
from tests.automations.test_episodes import AWAITING, CHASE
from tests.automations.test_running import SEND, WEBHOOK
from tests.automations.world import World, at
from tests.races import executions
from tests.support import forks, processes

pytestmark = pytest.mark.slow

__all__ = ["world"]  # its audit is recounted after each race

MANY = [f"v-{number}" for number in range(12)]
KINDS = {"native": [SEND], "outside": [WEBHOOK, SEND]}


@pytest.fixture
def race(database, session, tmp_path):
    """`race(("work", {...}), ("reply", [...]))`: what came of each."""

    def run(*contenders):
        session.rollback()
        env = processes.environment(tmp_path, database.url)
        found = [(executions.contend, contender) for contender in contenders]
        answers = forks.together(found, env=env, folder=tmp_path)
        session.expire_all()
        return answers

    return run


@pytest.fixture
def work(world: World, tmp_path):
    """What a worker of all rows is given."""

    def given(minutes=0.0, backwards=False):
        ids = [str(row.id) for row in world.rows()]
        return "work", {
            "ids": ids[::-1] if backwards else ids,
            "minutes": minutes,
            "calls": str(tmp_path / "calls"),
        }

    return given


@pytest.fixture
def called(tmp_path):
    """How often each action was called outside."""

    def count() -> Counter[str]:
        path = tmp_path / "calls"
        return Counter(path.read_text().split() if path.exists() else [])

    return count


def chases(world: World, actions) -> str:
    """A message of ours in each conversation, of which a rule chases the reply at T0; the rule's id."""
    made = world.rule(**CHASE, actions=actions)
    for one in MANY:
        world.say("out", 1, -60, called=one)
    return str(made.id)


def statuses(world: World) -> Counter[tuple[str, str | None]]:
    rollback(world.session)
    found = Counter(
        tuple(row) for row in world.session.execute(select(Execution.status, Execution.skip_reason))
    )
    rollback(world.session)
    return found


def started(world: World) -> set[str]:
    """The ids of those that began."""
    begun = select(AuditEvent.resource_id).where(AuditEvent.action == "execution.started")
    return set(world.session.scalars(begun))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [2, 4])
def test_each_row_is_run_by_one_when_workers_run_at_once(world, race, work, called, kind, workers):
    """Case 25."""
    chases(world, KINDS[kind])
    answers = race(*[work(backwards=bool(number % 2)) for number in range(workers)])
    assert sum(answer["executed"] for answer in answers) == len(MANY)
    assert sum(answer["examined"] for answer in answers) == len(MANY)
    assert sum(answer["errors"] for answer in answers) == 0
    assert statuses(world) == {("executed", None): len(MANY)}
    assert len(world.sent()) == len(MANY)
    assert set(called().values()) == ({1} if kind == "outside" else set())
    assert len(called()) == (len(MANY) if kind == "outside" else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_who_answered_is_not_chased_when_the_reply_meets_the_judge(world, race, work, called, kind):
    chases(world, KINDS[kind])
    _counts, made = race(work(), ("reply", MANY[::-1]))
    assert made == [True] * len(MANY)
    found = statuses(world)
    assert set(found) <= {("executed", None), ("skipped", "episode_moved")}
    assert sum(found.values()) == len(MANY)
    # One is chased or skipped: of none is something begun and then taken back.
    assert len(world.sent()) == found["executed", None]
    assert len(called()) == (found["executed", None] if kind == "outside" else 0)
    assert len(started(world)) == found["executed", None]


def test_rows_wait_or_ran_when_the_switch_meets_the_judge(world, race, work):
    chases(world, [SEND])
    race(work(), ("switch_off", None))
    found = statuses(world)
    assert set(found) <= {("executed", None), ("pending", None)}
    assert len(world.sent()) == found["executed", None]
    assert all(row.lock_token is None for row in world.rows())
    world.switch(True, at(1))
    world.sweep(at(1))
    assert (len(world.sent()), set(statuses(world))) == (len(MANY), {("executed", None)})


@pytest.mark.parametrize("kind", KINDS)
def test_rows_ran_by_the_rule_as_it_was_or_are_gone_when_an_edit_meets_the_judge(
    world, race, work, called, kind
):
    rule_id = chases(world, KINDS[kind])
    _counts, version = race(work(), ("edit", rule_id))
    assert version == 2
    world.sweep(at(1))
    found = statuses(world)
    assert set(found) <= {("executed", None)}
    assert len(world.sent()) == found["executed", None]
    assert len(called()) == (found["executed", None] if kind == "outside" else 0)
    assert not any("edited" in world.labels(one) for one in MANY)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_cancelled_or_run_when_a_person_meets_the_claim(world, race, work, called, kind):
    chases(world, KINDS[kind])
    ids = [str(row.id) for row in world.rows()]
    counts, cancelled = race(work(), ("cancel", ids[::-1]))
    found = statuses(world)
    assert set(found) <= {("executed", None), ("skipped", "cancelled_by_operator")}
    assert sum(found.values()) == len(MANY)
    assert cancelled.get("skipped", 0) == found["skipped", "cancelled_by_operator"]
    assert counts["executed"] == found["executed", None] == len(world.sent())
    assert len(called()) == (found["executed", None] if kind == "outside" else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_rest_is_rearmed_once_when_two_people_do_it_and_workers_run(world, race, work, called, kind):
    chases(world, KINDS[kind])
    begun(world)
    rows = world.rows()
    given = {"ids": [str(row.id) for row in rows], "versions": {str(row.id): row.version for row in rows}}
    first, second, *_counts = race(("rearm", given), ("rearm", given), work(20), work(20, backwards=True))
    done = Counter(first) + Counter(second)
    assert done == {"processing": len(MANY), "conflict": len(MANY)}
    world.sweep(at(20))
    found = called()
    found.update(errand.idempotency_key for errand in world.outside.got)
    assert set(found.values()) == ({1} if kind == "outside" else set())
    assert statuses(world) == {("executed", None): len(MANY)}
    assert len(world.sent()) == len(MANY)


def test_the_sweep_and_a_worker_lock_conversations_in_one_order(world, race, work):
    """What was abandoned in the conversations came so in another order than theirs."""
    world.rule(**CHASE, actions=[SEND], execution_delay=80)
    chases(world, [SEND])
    begun(world, marked=False)
    for number, row in enumerate(row for row in world.rows() if row.status == "executing"):
        world.set(row, locked_at=at(-number))
    marked, counts = race(("mark", 20), work(20))
    assert (marked, counts["executed"], counts["errors"]) == (len(MANY), len(MANY), 0)


def begun(world: World, *, marked: bool = True) -> None:
    """Begin each, as a worker does that dies right before its first action, and let the sweep say so."""
    worker, token = world.worker(at(0)), world.rows()[0].id
    assert len(worker._begun(world.due(at(0)), token)) == len(MANY)
    if not marked:
        return
    world.sweep(at(16))
    assert {row.needs_review for row in world.rows()} == {True}
    rollback(world.session)


def test_an_episode_is_armed_once_when_listeners_tell_of_it_at_once(world, race):
    world.rule()
    answers = race(*[("arm", MANY if number % 2 else MANY[::-1]) for number in range(4)])
    assert answers == [len(MANY)] * 4
    assert len(world.rows()) == len(MANY)
    assert Counter(action for action, _kind in world.audited()) == {"execution.armed": len(MANY)}


def test_an_awaiting_customer_is_answered_once_when_messages_meet_the_judge(world, race, work):
    """Each message of the customer's is of the same episode, so that none lets it run again."""
    world.rule(**AWAITING, actions=[SEND])
    for one in MANY:
        world.say("in", 1, -60, called=one)
    race(work(), ("reply", MANY), work(backwards=True))
    world.sweep(at(120))
    assert statuses(world) == {("executed", None): len(MANY)}
    assert len(world.sent()) == len(MANY)
