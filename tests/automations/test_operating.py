"""What a person does with one execution: which act is allowed where, and what each leaves behind."""

from datetime import timedelta
from uuid import uuid4

import pytest

from models.automations import refusals
from models.automations.outside import Came
from models.automations.records import ActionEvent, ActionRun, ActionState
from models.errors import Conflict, Invalid, NotFound
from models.transactions import rollback
from tests.automations.test_running import ADD_LABEL, SEND, WEBHOOK, armed
from tests.automations.world import MINUTE, T0, at
from tests.support.create import API, create_tenant

LATER = T0 + 20 * MINUTE
MAIL = {"name": "send_email_to_team", "params": [{"team_ids": ["1"], "message": "look"}]}


class Died(BaseException):
    """The worker's process ended here: no handler of the engine sees it."""


@pytest.fixture
def abandoned(world):
    """A run of label, webhook, message, whose worker died while the webhook was on its way."""
    armed(world, actions=[ADD_LABEL, WEBHOOK, SEND])

    def dies(errand):
        world.outside.got.append(errand)
        raise Died

    worker = world.worker(T0)
    worker.perform = dies
    with pytest.raises(Died):
        worker.work(world.due(T0))
    rollback(world.session)
    world.sweep(LATER)
    return world.row()


def stands(world):
    row = world.row()
    return row.status, row.skip_reason, row.needs_review, world.states(row)


def test_an_abandoned_run_shows_what_may_have_gone_out(world, abandoned):
    assert stands(world) == ("executing", None, True, ["done", "started", "waiting"])
    assert (len(world.outside.got), world.sent()) == (1, [])
    assert world.audited()[-1] == ("execution.needs_review", "abandoned")


def test_settle_closes_an_abandoned_run_as_the_person_says(world, abandoned):
    world.act("settle", abandoned, {1: "done"}, now=LATER, note="The shop has it.")
    assert stands(world) == ("executed", None, False, ["done", "done", "waiting"])
    row = world.row()
    assert (row.settled_by, row.note, row.lock_token) == (API.label, "The shop has it.", None)
    assert world.audited()[-1] == ("execution.settled", "The shop has it.")
    assert world.sweep(LATER + timedelta(days=1)).examined == 0
    assert world.told()[-1] == "execution.executed"


@pytest.mark.parametrize(
    ("unknown", "field"),
    [
        ({}, "unknown.1"),
        ({0: "done", 1: "done"}, "unknown.0"),
        ({1: "maybe"}, "unknown.1"),
        ({9: "done", 1: "done"}, "unknown.9"),
    ],
)
def test_settle_is_refused_when_it_does_not_say_of_each_unknown_action(world, abandoned, unknown, field):
    with pytest.raises(Invalid) as refused:
        world.act("settle", abandoned, unknown, now=LATER)
    assert refused.value.field == field
    rollback(world.session)
    assert stands(world)[0] == "executing"


def test_settle_closes_an_executed_run_with_a_failure_and_moves_nothing(world):
    armed(world, actions=[WEBHOOK, MAIL])
    world.outside.answers = [Came.failed("404"), Came.unknown("cut off")]
    world.sweep(T0)
    world.act("settle", world.row(), {1: "failed"}, now=LATER)
    assert stands(world) == ("executed", None, False, ["failed", "failed"])
    assert world.audited()[-1][0] == "execution.settled"
    with pytest.raises(Conflict, match="nothing to settle"):
        world.act("settle", world.row(), {}, now=LATER)
    rollback(world.session)


def test_drop_gives_an_abandoned_run_up(world, abandoned):
    world.act("drop", abandoned, now=LATER, reason="The customer called.")
    assert stands(world) == ("skipped", "dropped_by_operator", False, ["done", "unknown", "waiting"])
    with pytest.raises(Conflict, match="never re-armed"):
        world.act("rearm", world.row(), now=LATER)
    rollback(world.session)
    assert world.sweep(LATER + timedelta(days=1)).examined == 0
    assert (len(world.outside.got), world.sent()) == (1, [])


def test_rearming_what_is_left_does_only_that_and_under_the_same_keys(world, abandoned):
    world.act("rearm", abandoned, now=LATER)
    assert stands(world) == ("processing", None, False, ["done", "unknown", "waiting"])
    world.sweep(LATER)
    assert stands(world) == ("executed", None, True, ["done", "unknown", "done"])
    assert (len(world.outside.got), world.sent()) == (1, ["Are you still there?"])
    assert world.labels() == ["stale"]
    assert world.row().run == 1


def test_rearming_an_unknown_action_is_done_once_more_when_it_is_ticked(world, abandoned):
    world.act("rearm", abandoned, include_unknown=frozenset({1}), now=LATER)
    world.sweep(LATER)
    assert stands(world) == ("executed", None, False, ["done", "done", "done"])
    first, again = world.outside.got
    assert first.idempotency_key == again.idempotency_key == f"{abandoned.id}:1"
    assert (first.again, again.again) == (False, True)
    history = [(one.from_state, one.to_state) for one in world.session.query(ActionEvent)]
    assert history == [("started", "unknown"), ("unknown", "waiting")]


def test_rearming_a_failed_action_tries_it_again(world):
    armed(world, actions=[WEBHOOK])
    world.outside.answers = [Came.failed("404")]
    world.sweep(T0)
    world.act("rearm", world.row(), now=LATER)
    world.sweep(LATER)
    assert stands(world) == ("executed", None, False, ["done"])
    assert len(world.outside.got) == 2


def test_rearming_is_refused_when_only_an_unknown_action_is_left_and_not_ticked(world):
    armed(world, actions=[WEBHOOK])
    world.outside.answers = [Came.unknown("cut off")]
    world.sweep(T0)
    for ticked in (frozenset(), frozenset({3})):
        with pytest.raises(Invalid) as refused:
            world.act("rearm", world.row(), include_unknown=ticked, now=LATER)
        assert refused.value.field == "include_unknown"
        rollback(world.session)


def test_rearming_against_what_the_checks_say_needs_a_reason(world, abandoned):
    world.put(LATER, status="resolved")
    with pytest.raises(Invalid) as refused:
        world.act("rearm", abandoned, now=LATER)
    assert refused.value.field == "reason"
    rollback(world.session)
    world.act("rearm", abandoned, now=LATER, reason="They still want to know.")
    world.sweep(LATER)
    assert world.sent() == ["Are you still there?"]


def test_cancel_skips_one_that_waits_and_does_it_once(world):
    armed(world)
    world.act("cancel", world.row(), now=T0, reason="not now")
    events = world.audited()
    world.act("cancel", world.row(), now=T0)
    assert (stands(world)[:2], world.audited()) == (("skipped", "cancelled_by_operator"), events)
    assert world.sweep(T0).examined == 0


def test_cancel_is_refused_while_a_worker_holds_the_row(world):
    armed(world)
    world.set(world.row(), status="processing", locked_at=T0, lock_token=uuid4())
    with pytest.raises(Conflict, match="holds it at this moment"):
        world.act("cancel", world.row(), now=T0 + 15 * MINUTE)
    rollback(world.session)
    world.act("cancel", world.row(), now=T0 + 15 * MINUTE + timedelta(seconds=1))
    assert world.row().status == "skipped"


def test_reclaim_takes_a_row_only_from_a_lock_that_is_stale(world):
    armed(world)
    world.set(world.row(), status="processing", locked_at=T0, lock_token=uuid4())
    with pytest.raises(Conflict, match="can't be reclaimed yet"):
        world.act("reclaim", world.row(), now=T0 + 15 * MINUTE)
    rollback(world.session)
    world.act("reclaim", world.row(), now=LATER)
    row = world.row()
    assert (row.status, row.due_at, row.lock_token) == ("pending", LATER, None)
    world.sweep(LATER)
    assert world.row().status == "executed"


def test_rearm_lets_a_skipped_one_run_when_its_reason_stands(world):
    armed(world)
    world.sweep(T0 + timedelta(days=4))
    assert world.row().skip_reason == "expired"
    now = T0 + timedelta(days=5)
    world.act("rearm", world.row(), now=now)
    assert (world.row().status, world.row().due_at) == ("pending", now)
    world.sweep(now)
    assert world.row().status == "executed"


def test_rearm_of_a_skipped_one_is_refused_with_why_when_the_conversation_moved_on(world):
    armed(world)
    row = world.row()
    world.act("cancel", row, now=T0)
    world.put(T0, status="resolved")
    with pytest.raises(Conflict, match="moved on"):
        world.act("rearm", row, now=LATER)
    rollback(world.session)


@pytest.mark.parametrize("verb", ["cancel", "reclaim", "drop", "rearm"])
def test_every_act_is_refused_with_the_row_when_it_moved(world, verb):
    armed(world)
    row = world.row()
    with pytest.raises(Conflict) as refused:
        world.act(verb, row, now=T0, expected_version=row.version + 1)
    assert refused.value.current.id == row.id
    rollback(world.session)


@pytest.mark.parametrize("verb", ["cancel", "reclaim", "drop", "rearm"])
def test_every_act_answers_alike_when_the_row_is_of_another_tenant(world, verb):
    armed(world)
    other = create_tenant(world.session, "other", now=T0)
    row, mine = world.row(), world.tenant
    world.tenant = other
    with pytest.raises(NotFound):
        world.act(verb, row, now=T0)
    rollback(world.session)
    world.tenant = mine


def test_what_is_left_of_a_run_is_not_cancelled_as_if_it_had_never_begun(world, abandoned):
    world.act("rearm", abandoned, now=LATER)
    with pytest.raises(Conflict, match="were done already"):
        world.act("cancel", world.row(), now=LATER)
    rollback(world.session)


def test_a_worker_that_was_only_slow_stops_when_a_person_decided(world):
    """Its token is gone, so that its answer is kept as evidence and its rest is not done."""
    armed(world, actions=[WEBHOOK, SEND])
    seen = []

    def slow(errand):
        world.sweep(LATER)
        seen.append(world.row().status)
        world.act("settle", world.row(), {0: "failed"}, now=LATER)
        return Came.done("200")

    worker = world.worker(T0)
    worker.perform = slow
    worker.work(world.due(T0))
    assert seen == ["executing"]
    assert stands(world) == ("executed", None, False, ["failed", "waiting"])
    assert world.sent() == []
    late = world.session.query(ActionEvent).order_by(ActionEvent.id.desc()).first()
    assert (late.actor, late.from_state, late.to_state, late.detail) == (
        "late answer",
        "failed",
        "failed",
        "done: 200",
    )


def test_every_state_allows_just_these_acts(world):
    """The table of acts: rows are states, and what a person may do with each."""
    armed(world)
    row = world.row()
    table = {}
    for status, locked, review in [
        ("pending", None, False),
        ("processing", T0, False),
        ("processing", at(-60), False),
        ("executing", T0, False),
        ("executing", at(-60), True),
        ("executed", None, False),
        ("executed", None, True),
        ("skipped", None, False),
    ]:
        world.set(row, status=status, locked_at=locked, needs_review=review)
        row = world.row()
        runs = [ActionRun(state=ActionState.WAITING.value)]
        may = {
            "cancel": refusals.refusal_to_cancel(row, runs, T0),
            "reclaim": refusals.refusal_to_reclaim(row, T0),
            "drop": refusals.refusal_to_drop(row, T0),
            "settle": refusals.refusal_to_settle(row, T0),
            "rearm_rest": refusals.refusal_to_rearm_rest(row, runs, T0),
            "rearm": refusals.refusal_to_rearm(row, runs),
        }
        table[status, locked is not None and locked < T0, review] = {n for n, why in may.items() if not why}
    world.set(row, status="pending", needs_review=False)
    assert table == {
        ("pending", False, False): {"cancel"},
        ("processing", False, False): set(),
        ("processing", True, False): {"cancel", "reclaim"},
        ("executing", False, False): set(),
        ("executing", True, True): {"drop", "settle", "rearm_rest"},
        ("executed", False, False): set(),
        ("executed", False, True): {"settle", "rearm_rest"},
        ("skipped", False, False): {"rearm"},
    }
