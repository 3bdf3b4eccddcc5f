"""What was run, or ended by a person, is not run again by what comes later."""

from datetime import timedelta
from uuid import uuid4

import pytest

from models.automations import upkeep
from models.automations.outside import Came
from models.automations.refusals import refusal_to_rearm
from models.automations.running import Worker
from models.declarations import Declared
from models.transactions import rollback
from tests.automations.test_episodes import AWAITING, CHASE
from tests.automations.test_running import SEND, STATUS_OPEN, WEBHOOK, armed
from tests.automations.world import T0, at

DAY = 24 * 60
SHORT = Declared(1, {"retention": {"executions": "1d"}})
INACTIVE = {"trigger": "inactivity", "event": "conversation_updated"}


def test_a_status_is_not_run_twice_when_its_execution_is_kept_for_a_short_time(world):
    world.declared = SHORT
    armed(world, actions=[SEND])
    world.sweep(T0)
    world.sweep(at(2 * DAY))
    world.put(at(2 * DAY), labels=["vip"])
    world.sweep(at(2 * DAY))
    assert world.sent() == ["Are you still there?"]


def test_who_still_waits_is_not_written_to_twice_when_executions_are_kept_for_a_short_time(world):
    world.declared = SHORT
    world.rule(**AWAITING, actions=[SEND])
    world.say("in", 1, -60)
    world.sweep(T0)
    world.sweep(at(2 * DAY))
    world.say("in", 2, 2 * DAY)
    world.sweep(at(2 * DAY))
    assert world.sent() == ["Are you still there?"]


def test_what_a_person_cancelled_is_kept_for_as_long_as_it_could_be_armed_again(world):
    world.rule(execution_delay=43_200, actions=[SEND])
    world.put(T0, status="open", status_changed_at=T0)
    world.act("cancel", world.row(), now=at(1))
    due = at(30 * DAY)
    world.sweep(due + timedelta(minutes=2))
    world.put(due + timedelta(minutes=2), labels=["vip"])
    world.sweep(due + timedelta(minutes=2))
    assert world.sent() == []
    assert upkeep.purge(world.session, declared=world.declared, now=at(34 * DAY), limit=10) == 1


def abandoned(world, **given):
    """A run that ended before its first action, of which a person let the rest go on."""
    armed(world, actions=[SEND], **given)
    picked, worker = world.due(T0), world.worker(T0)
    worker._begun(picked, uuid4())
    rollback(world.session)
    world.sweep(at(16))
    world.act("rearm", world.row(), now=at(16))
    assert (world.row().status, world.row().resumed) == ("processing", True)
    rollback(world.session)


def test_one_that_was_cancelled_is_judged_like_any_other_when_it_is_armed_again(world):
    abandoned(world, conditions=[STATUS_OPEN])
    world.act("cancel", world.row(), now=at(16))
    world.act("rearm", world.row(), now=at(17))
    world.put(at(18), status="resolved")
    world.sweep(at(19))
    assert (world.row().status, world.row().skip_reason) == ("skipped", "episode_moved")
    assert world.sent() == []


def test_a_newer_message_leaves_what_a_person_let_go_on(world):
    world.rule(**CHASE, actions=[SEND])
    world.say("out", 1, -60)
    picked, worker = world.due(T0), world.worker(T0)
    worker._begun(picked, uuid4())
    world.sweep(at(16))
    world.act("rearm", world.row(), now=at(16))
    world.act("reclaim", world.row(), now=at(16))
    world.say("out", 2, 17)
    assert (world.row().message_seq, world.row().due_at) == (1, at(16))
    world.sweep(at(17))
    assert world.sent() == ["Are you still there?"]


def test_a_later_run_is_not_taken_for_settled_when_the_first_was(world):
    world.rule(**INACTIVE, actions=[WEBHOOK])
    world.outside.answers = [Came.unknown("cut off"), Came.failed("404")]
    world.say("in", 1, -60)
    world.sweep(T0)
    world.act("settle", world.row(), {0: "failed"}, note="asked them", now=at(1))
    world.say("in", 2, 2)
    world.sweep(at(62))
    row = world.row()
    assert (row.run, row.needs_review) == (2, True)
    assert (row.settled_by, row.settled_at, row.note) == (None, None, None)


@pytest.mark.parametrize("runs", [0, 1])
def test_a_cancelled_wait_for_quiet_may_be_rearmed_whatever_ran_before(world, runs):
    world.rule(**INACTIVE, actions=[SEND])
    world.say("in", 1, -60)
    if runs:
        world.sweep(T0)
        world.say("in", 2, 1)
    world.act("cancel", world.row(), now=at(2))
    row, actions = world.row(), world.actions(world.row())
    assert refusal_to_rearm(row, actions) is None
    world.act("rearm", row, now=at(120))
    world.sweep(at(120))
    assert len(world.sent()) == runs + 1


def test_a_run_that_raises_is_left_to_a_person_and_stops_no_other(world):
    armed(world, actions=[WEBHOOK, SEND])
    armed(world, called="v-2", actions=[WEBHOOK, SEND])
    first = world.due(T0)[0]

    def broken(errand):
        if errand.execution_id == str(first):
            raise RuntimeError("a fault of ours")
        return world.outside(errand)

    counts = Worker(world.session, world.declared, lambda: T0, broken).work(world.due(T0))
    assert (counts.errors, counts.own["executed"]) == (1, len(world.rows()) - 1)
    [fault] = counts.faults
    assert (fault["tenant_id"], fault["row"]) == (world.tenant.id, str(first))
    world.sweep(at(16))
    [row] = [row for row in world.rows() if row.id == first]
    assert (row.status, row.needs_review, world.states(row)) == ("executing", True, ["started", "waiting"])
