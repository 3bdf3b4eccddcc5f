"""A worker that is only slow, against what people and the sweep do meanwhile: each effect is had once."""

import json
import threading
from collections import Counter

import pytest
from sqlalchemy import select

from models.automations import refusals
from models.automations.outside import Came
from models.automations.records import ActionEvent, ActionRun
from models.automations.refusals import refusal_to_rearm_rest
from models.clock import iso
from models.transactions import rollback
from tests.automations.receivers import receivers
from tests.automations.slow import CLAIMED, JUDGED, Slow
from tests.automations.test_episodes import CHASE
from tests.automations.test_running import SEND, armed
from tests.automations.world import T0, World, at
from tests.kills import acts as desk
from tests.support import forks
from tests.support.processes import environment
from tests.support.sink import status
from tests.support.waiting import eventually

HOOKS = [{"name": "send_webhook_event", "params": [f"https://example.com/{n}"]} for n in range(3)]
NATIVE = [{"name": "send_message", "params": [f"action {n}"]} for n in range(3)]


@pytest.fixture
def slow(world: World, app):
    """`slow(calls={0})`: a worker that stands in its first call, or at a place by its clock."""
    begun = []

    def start(**given) -> Slow:
        rollback(world.session)
        found = Slow(app, world, world.rows()[0].id, **given)
        begun.append(found)
        rollback(world.session)
        return found.__enter__()

    yield start
    for found in begun:
        found.__exit__()


def calls(world: World) -> list[int]:
    """How often each of the three actions was called."""
    keys = Counter(errand.idempotency_key.rpartition(":")[2] for errand in world.outside.got)
    return [keys[str(position)] for position in range(3)]


def late(world: World) -> list[tuple[int, int, str]]:
    """What came in late: run, position, and what it said."""
    query = (
        select(ActionRun.run, ActionRun.position, ActionEvent.detail)
        .join(ActionRun, ActionRun.id == ActionEvent.action_run_id)
        .where(ActionEvent.actor == "late answer")
        .order_by(ActionEvent.id)
    )
    found = [tuple(row) for row in world.session.execute(query)]
    rollback(world.session)
    return found


def stands(world: World) -> tuple[str, list[str], bool]:
    row = world.row()
    return row.status, world.states(row), row.needs_review


ANSWERED = [(1, 0, "done: 200")]


@pytest.mark.parametrize("first", ["the run", "the slow one"])
def test_the_rest_is_done_once_when_it_is_rearmed_from_a_slow_worker(world, slow, first):
    armed(world, actions=HOOKS)
    worker = slow(calls={0})
    world.sweep(at(20))
    assert stands(world) == ("executing", ["started", "waiting", "waiting"], True)
    token = world.row().lock_token
    world.act("rearm", world.row(), now=at(20))
    assert world.row().lock_token not in (None, token)
    if first == "the run":
        world.sweep(at(20))
    counts = worker.end()
    world.sweep(at(20))
    assert counts.own["lost"] == 1
    assert calls(world) == [1, 1, 1]
    assert stands(world) == ("executed", ["unknown", "done", "done"], True)
    assert late(world) == ANSWERED


def test_a_slow_worker_writes_nothing_when_another_does_the_rest_at_that_moment(world, slow):
    """Both take it for executing: the token alone says whose it is."""
    armed(world, actions=HOOKS)
    first = slow(calls={0})
    world.act("rearm", world.row(), now=at(20))
    second = slow(calls={0}, minutes=20)
    assert stands(world) == ("executing", ["unknown", "started", "waiting"], False)
    assert first.end().own["lost"] == 1
    assert stands(world) == ("executing", ["unknown", "started", "waiting"], False)
    assert calls(world) == [1, 1, 0]
    assert second.end().own["executed"] == 1
    assert stands(world) == ("executed", ["unknown", "done", "done"], True)
    assert calls(world) == [1, 1, 1]
    assert late(world) == ANSWERED


def test_an_unknown_action_is_had_twice_only_when_a_person_ticked_it(world, slow):
    armed(world, actions=HOOKS)
    worker = slow(calls={0})
    world.act("rearm", world.row(), include_unknown=frozenset({0}), now=at(20))
    world.sweep(at(20))
    worker.end()
    assert calls(world) == [2, 1, 1]
    assert {errand.idempotency_key for errand in world.outside.got} == {
        f"{world.row().id}:{position}" for position in range(3)
    }
    assert [errand.again for errand in world.outside.got] == [False, True, False, False]
    assert stands(world) == ("executed", ["done", "done", "done"], False)
    assert late(world) == ANSWERED


@pytest.mark.parametrize("unsent", [False, True])
@pytest.mark.parametrize("said", ["done", "failed"])
def test_what_a_person_settled_stands_when_the_slow_worker_comes_back(world, slow, said, unsent):
    armed(world, actions=HOOKS)
    worker = slow(calls={0}, unsent=unsent)
    world.act("settle", world.row(), {0: said}, now=at(20))
    worker.end()
    world.sweep(at(20))
    assert calls(world) == [1, 0, 0]
    assert stands(world) == ("executed", [said, "waiting", "waiting"], False)
    assert late(world) == ANSWERED


def test_what_a_person_dropped_stays_so_when_the_slow_worker_comes_back(world, slow):
    armed(world, actions=HOOKS)
    worker = slow(calls={1})
    world.act("drop", world.row(), now=at(20))
    worker.end()
    world.sweep(at(20))
    assert calls(world) == [1, 1, 0]
    assert stands(world) == ("skipped", ["done", "unknown", "waiting"], False)
    assert late(world) == [(1, 1, "done: 200")]
    row = world.row()
    assert (row.lock_token, row.skip_reason) == (None, "dropped_by_operator")


def test_no_machine_takes_a_run_from_a_slow_worker(world, slow):
    armed(world, actions=HOOKS)
    worker = slow(calls={0})
    for minutes in (1, 16, 20):
        assert world.sweep(at(minutes)).examined == 0
    worker.end()
    assert calls(world) == [1, 1, 1]
    assert stands(world) == ("executed", ["done", "done", "done"], False)
    assert late(world) == []


def test_a_slow_worker_that_came_back_is_no_abandoned_run_any_more(world, slow):
    """It was said to need a person, and then went on: nobody may take from it what it does at this moment."""
    armed(world, actions=HOOKS)
    worker = slow(calls={0, 1})
    world.sweep(at(20))
    seen = world.row().version
    worker.go_on()
    worker.wait()
    row, runs = world.row(), world.actions(world.row())
    assert stands(world) == ("executing", ["done", "started", "waiting"], False)
    assert refusal_to_rearm_rest(row, runs, at(21)) is not None
    assert refusals.refusal_to_settle(row, at(21)) is not None
    assert refusals.refusal_to_drop(row, at(21)) is not None
    assert row.version > seen
    assert world.audited(row)[-1] == ("execution.went_on", None)
    rollback(world.session)
    worker.end(21)
    assert stands(world) == ("executed", ["done", "done", "done"], False)
    assert calls(world) == [1, 1, 1]


@pytest.mark.parametrize("first", ["the run", "the slow one"])
def test_a_reclaimed_row_is_run_once_when_its_worker_is_slow(world, slow, first):
    armed(world, actions=HOOKS)
    worker = slow(clock=CLAIMED)
    assert world.row().status == "processing"
    world.act("reclaim", world.row(), now=at(20))
    if first == "the run":
        world.sweep(at(20))
    counts = worker.end()
    world.sweep(at(20))
    assert (counts.own["executed"], calls(world)) == (0, [1, 1, 1])
    assert stands(world) == ("executed", ["done", "done", "done"], False)


def test_a_row_that_the_sweep_took_again_is_run_once_when_its_worker_is_slow(world, slow):
    armed(world, actions=HOOKS)
    worker = slow(clock=CLAIMED)
    assert world.sweep(at(15)).examined == 0
    assert world.sweep(at(20)).own["executed"] == 1
    assert worker.end().own["executed"] == 0
    assert calls(world) == [1, 1, 1]
    assert stands(world) == ("executed", ["done", "done", "done"], False)


def test_a_row_is_taken_from_the_sweep_that_took_it_when_both_are_slow(world, slow):
    """The second holds it by a token of its own; the first finds nothing though the row is processing."""
    armed(world, actions=HOOKS)
    first = slow(clock=CLAIMED)
    second = slow(clock=CLAIMED, minutes=20)
    assert first.end(20).own["executed"] == 0
    assert calls(world) == [0, 0, 0]
    assert second.end(20).own["executed"] == 1
    assert calls(world) == [1, 1, 1]


def test_a_cancelled_row_is_not_run_when_its_worker_is_slow(world, slow):
    armed(world, actions=HOOKS)
    worker = slow(clock=CLAIMED)
    world.act("cancel", world.row(), now=at(20))
    worker.end()
    assert calls(world) == [0, 0, 0]
    assert stands(world) == ("skipped", [], False)


def test_a_row_that_a_newer_message_armed_anew_is_not_run_by_its_slow_worker(world, slow):
    world.rule(**CHASE, actions=[SEND])
    world.say("out", 1, -60)
    worker = slow(clock=CLAIMED)
    world.say("out", 2, 20)
    worker.end()
    assert (world.row().status, world.row().due_at, world.sent()) == ("pending", at(80), [])


@pytest.mark.parametrize(("stands_at", "sent"), [(CLAIMED, 0), (JUDGED, 3)])
def test_a_reply_is_seen_when_it_came_before_the_judge(world, slow, stands_at, sent):
    world.rule(**CHASE, actions=NATIVE)
    world.say("out", 1, -60)
    worker = slow(clock=stands_at)
    world.say("in", 2, 1)
    worker.end(2)
    assert len(world.sent()) == sent
    assert world.row().skip_reason == ("episode_moved" if stands_at == CLAIMED else None)


def test_a_row_waits_when_its_tenant_is_switched_off_before_the_judge(world, slow):
    armed(world, actions=HOOKS)
    worker = slow(clock=CLAIMED)
    world.switch(False, at(1))
    assert worker.end(2).own["waiting"] == 1
    assert (world.row().status, world.row().lock_token, calls(world)) == ("pending", None, [0, 0, 0])


@pytest.mark.parametrize("settled", [False, True])
def test_what_began_is_not_armed_anew_by_a_newer_message(world, slow, settled):
    """Though none of its actions was begun: one run for each episode."""
    world.rule(**CHASE, actions=NATIVE)
    world.say("out", 1, -60)
    worker = slow(clock=JUDGED)
    if settled:
        world.act("settle", world.row(), {}, now=at(20))
    world.say("out", 2, 21)
    assert (world.row().status, world.row().message_seq) == ("executed" if settled else "executing", 1)
    worker.end(22)
    assert len(world.sent()) == (0 if settled else 3)
    assert world.row().status == "executed"


def test_a_row_whose_rule_was_changed_is_not_run_by_its_slow_worker(world, slow):
    rule = armed(world, actions=HOOKS)
    worker = slow(clock=CLAIMED)
    world.change(rule, at(1), actions=HOOKS[:1])
    worker.end(2)
    assert (world.rows(), calls(world)) == ([], [0, 0, 0])


@pytest.mark.parametrize("verb", ["rearm", "settle", "drop"])
def test_our_own_data_is_changed_once_when_a_person_acts_before_the_slow_worker(world, slow, verb):
    armed(world, actions=NATIVE)
    worker = slow(clock=JUDGED)
    assert stands(world) == ("executing", ["waiting"] * 3, False)
    args = [{}] if verb == "settle" else []
    world.act(verb, world.row(), *args, now=at(20))
    worker.end()
    world.sweep(at(20))
    texts = ["action 0", "action 1", "action 2"]
    assert world.sent() == (texts if verb == "rearm" else [])
    state, states = {
        "rearm": ("executed", ["done"] * 3),
        "settle": ("executed", ["waiting"] * 3),
        "drop": ("skipped", ["waiting"] * 3),
    }[verb]
    assert stands(world) == (state, states, False)


def test_our_own_data_is_changed_once_when_the_slow_worker_is_first(world, slow):
    armed(world, actions=NATIVE)
    worker = slow(clock=JUDGED)
    world.sweep(at(20))
    seen = world.row()
    assert seen.needs_review
    worker.end()
    assert stands(world) == ("executed", ["done"] * 3, False)
    runs = world.actions(seen)
    assert refusal_to_rearm_rest(world.row(), runs, at(21)) is not None
    assert world.sent() == ["action 0", "action 1", "action 2"]


def test_a_late_answer_is_kept_with_its_own_run_when_there_was_another_since(world, slow):
    world.rule(trigger="inactivity", event="conversation_updated", actions=HOOKS)
    world.say("in", 1, -60)
    world.outside.answers = [Came.done("the first run"), *[Came.done("200")] * 3]
    worker = slow(calls={0})
    world.act("settle", world.row(), {0: "failed"}, now=at(20))
    world.say("in", 2, 21)
    world.sweep(at(81))
    assert (world.row().status, world.row().run) == ("executed", 2)
    worker.end(90)
    assert late(world) == [(1, 0, "done: the first run")]


def test_the_late_answer_of_one_that_is_gone_is_no_fault(world, slow):
    armed(world, actions=HOOKS)
    worker = slow(calls={0})
    world.act("settle", world.row(), {0: "done"}, now=at(20))
    long_after = at(60 * 24 * 60)
    world.sweep(long_after)
    assert world.rows() == []
    assert worker.end().own["lost"] == 1


@pytest.mark.slow
def test_the_rest_is_done_once_when_a_process_is_slow(world, app, database, tmp_path):
    """A process of its own, whose call a receiver answers only after all is over."""
    answer = threading.Event()

    def when_told(handler):
        answer.wait(60)
        status(200)(handler)

    with receivers(world, app, tmp_path) as found:
        found.armed("webhook")
        found.hook.script(when_told, path="/0")
        rollback(world.session)
        env = environment(tmp_path, database.url, **found.env)
        act = ["desk", "sweep", "run_executions", "--at", iso(T0), "--json"]
        process = forks.Forked(desk.do, act, env=env, log=tmp_path / "slow.log")
        eventually(lambda: found.hook.at("/0"))
        found.sweep(20)
        assert found.may(20) == ["settle", "drop", "re-arm the rest"]
        world.act("rearm", world.row(), now=at(20))
        found.sweep(20)
        answer.set()
        assert process.wait(60) == 0
        counts = json.loads((tmp_path / "slow.log").read_text().splitlines()[-1])
        assert counts["lost"] == 1
        assert found.got() == [1, 1, 1]
        assert found.ledger() == "executed: unknown, done, done"
        assert late(world) == [(1, 0, "done: Answered 200.")]
