"""The sweep, the claim, the checks in their order, and what a run leaves behind."""

from datetime import timedelta
from uuid import uuid4

import pytest

from models.automations import actions, claiming, effects, judging, upkeep
from models.automations.outside import Came
from models.automations.records import Execution
from models.errors import Invalid
from models.transactions import rollback
from tests.automations.test_episodes import AWAITING, CHASE
from tests.automations.world import MINUTE, T0, at

MICRO = timedelta(microseconds=1)
WEBHOOK = {"name": "send_webhook_event", "params": ["https://example.com/hook"]}
SEND = {"name": "send_message", "params": ["Are you still there?"]}
ADD_LABEL = {"name": "add_label", "params": ["stale"]}
STATUS_OPEN = {"attribute": "status", "operator": "equal_to", "values": ["open"]}


def armed(world, minutes=0, called="v-1", **rule):
    """A rule and one execution of it, due `minutes` from T0."""
    made = world.rule(**rule)
    world.put(at(minutes - 60), called, status="open", status_changed_at=at(minutes - 60))
    return made


def test_due_exactly_now_is_swept_and_claimed_and_a_microsecond_later_is_not(world):
    """Case 24."""
    armed(world)
    [id] = [row.id for row in world.rows()]
    assert world.due(T0 - MICRO) == []
    assert claiming.claim(world.session, [id], token=uuid4(), now=T0 - MICRO) == []
    assert world.due(T0) == [id]
    assert claiming.claim(world.session, [id], token=uuid4(), now=T0) == [id]
    rollback(world.session)


def test_claim_leaves_one_that_is_due_later_by_now(world):
    """Case 26."""
    armed(world)
    picked = world.due(T0)
    world.set(world.row(), due_at=at(60), lapses_from=at(60))
    world.worker(T0).work(picked)
    assert (world.row().status, world.labels()) == ("pending", [])


@pytest.mark.parametrize("status", ["executed", "skipped", "executing"])
def test_what_runs_or_is_over_is_neither_swept_nor_claimed(world, status):
    """Case 28."""
    armed(world)
    row = world.row()
    world.set(row, status=status, locked_at=at(-600))
    assert world.due(at(60)) == []
    assert claiming.claim(world.session, [row.id], token=uuid4(), now=at(60)) == []
    rollback(world.session)
    world.set(row, status="pending", locked_at=None)


def test_the_sweep_takes_the_longest_due_first_and_says_that_it_was_capped(world):
    """Case 29."""
    world.rule()
    for minutes in (-1, -3, -2):
        called = f"v{minutes}"
        world.put(at(minutes - 60), called, status="open", status_changed_at=at(minutes - 60))
    picked = claiming.pick(world.session, now=T0, limit=2)
    rollback(world.session)
    due = {row.id: row.due_at for row in world.rows()}
    assert [due[id] for id in picked.ids] == [at(-3), at(-2)]
    assert picked.capped is True
    assert claiming.pick(world.session, now=T0, limit=3).capped is False
    rollback(world.session)


def test_a_row_whose_checks_pass_is_executed(world):
    """Case 32."""
    armed(world)
    counts = world.sweep(T0)
    row = world.row()
    assert (row.status, row.skip_reason, row.lock_token) == ("executed", None, None)
    assert world.labels() == ["stale"]
    assert counts.as_dict()["executed"] == 1
    assert world.audited() == [
        ("execution.armed", "status"),
        ("execution.started", "due"),
        ("execution.executed", "done"),
    ]
    assert world.told() == ["execution.executed"]


def test_lateness_ends_a_row_only_when_it_is_strictly_too_late(world):
    """Case 33."""
    armed(world)
    world.sweep(T0 + judging.LATENESS_CAP + MICRO)
    assert (world.row().status, world.row().skip_reason) == ("skipped", "expired")
    assert world.labels() == []


def test_a_row_that_is_exactly_as_late_as_may_be_runs(world):
    """Case 33."""
    armed(world)
    world.sweep(T0 + judging.LATENESS_CAP)
    assert world.row().status == "executed"


@pytest.mark.parametrize(("late", "reason"), [(timedelta(days=4), "expired"), (MINUTE, "rule_inactive")])
def test_lateness_goes_before_the_rule_being_switched_off(world, late, reason):
    """Case 34."""
    rule = armed(world)
    rule.active = False
    world.commit()
    world.sweep(T0 + late)
    assert world.row().skip_reason == reason


def test_an_episode_that_moved_goes_before_conditions_that_fail(world):
    """Case 35."""
    armed(world, conditions=[STATUS_OPEN])
    world.put(at(-1), status="resolved")
    world.sweep(T0)
    assert world.row().skip_reason == "episode_moved"


def test_conditions_that_fail_skip_when_the_episode_stands(world):
    """Case 36."""
    pending = {"attribute": "status", "operator": "equal_to", "values": ["pending"], "joiner": None}
    outgoing = {**CHASE["conditions"][0], "joiner": "and"}
    world.rule(event="message_created", conditions=[outgoing, pending], actions=[SEND])
    world.put(at(-61), status="pending")
    world.say("out", 1, -60)
    world.put(at(-1), status="open")
    world.sweep(T0)
    assert world.row().skip_reason == "conditions_changed"
    assert world.sent() == []


def test_a_label_that_the_rule_excludes_skips(world):
    """Case 37."""
    no_feature = {"attribute": "labels", "operator": "not_equal_to", "values": ["feature"]}
    outgoing = {**CHASE["conditions"][0], "joiner": "and"}
    world.rule(event="message_created", conditions=[outgoing, no_feature])
    world.put(at(-61), labels=["bug"])
    world.say("out", 1, -60)
    world.put(at(-1), labels=["bug", "feature"])
    world.sweep(T0)
    assert world.row().skip_reason == "conditions_changed"


def test_a_row_stays_as_it_is_when_the_switch_is_off_at_processing(world):
    """Case 39."""
    armed(world)
    picked = world.due(T0)
    world.switch(False, T0)
    world.worker(T0).work(picked)
    row = world.row()
    assert (row.status, row.due_at, row.skip_reason, row.lock_token) == ("pending", T0, None, None)
    assert world.due(T0) == []


def test_a_row_whose_check_raises_is_tried_again_when_its_lock_is_stale(world, monkeypatch):
    """Case 40."""
    armed(world)
    armed(world, called="v-2", actions=[SEND])
    real = judging.standing

    def broken(session, facts, *, now):
        if facts.conversation.external_id == "v-1" and now == T0:
            raise RuntimeError("a fault of ours")
        return real(session, facts, now=now)

    monkeypatch.setattr(judging, "standing", broken)
    counts = world.sweep(T0)
    assert counts.errors >= 1
    failing = [row for row in world.rows() if row.status == "processing"]
    assert failing and all(row.attempts == 1 for row in failing)
    assert world.labels("v-1") == []
    assert world.sweep(T0 + 15 * MINUTE).examined == 0
    world.sweep(T0 + 15 * MINUTE + timedelta(seconds=1))
    assert {row.status for row in world.rows()} == {"executed"}
    assert world.labels("v-1") == ["stale"]


def test_a_run_whose_process_died_is_left_to_a_person(world):
    """Case 41."""
    armed(world, actions=[SEND])
    world.sweep(T0)
    assert world.sent() == ["Are you still there?"]
    world.set(world.row(), status="executing", locked_at=T0)
    later = T0 + 20 * MINUTE
    assert world.due(later) == []
    counts = world.sweep(later)
    assert claiming.count_abandoned(world.session, later) == 1
    assert counts.examined == 0
    assert (world.row().status, world.row().needs_review) == ("executing", True)
    assert world.sent() == ["Are you still there?"]
    assert world.told()[-1] == "execution.needs_review"
    world.set(world.row(), status="executed", locked_at=None)


def test_the_rest_is_done_when_one_action_raises(world):
    """Case 42."""
    armed(world, actions=[WEBHOOK, ADD_LABEL])
    world.outside.answers = [Came.failed("It was refused: 404.")]
    world.sweep(T0)
    row = world.row()
    assert (row.status, row.needs_review, world.labels()) == ("executed", True, ["stale"])
    assert world.states(row) == ["failed", "done"]
    assert len(world.outside.got) == 1
    assert world.told() == ["execution.executed", "execution.needs_review"]


def test_the_rest_waits_when_the_rule_stops_at_a_failure(world):
    armed(world, actions=[WEBHOOK, ADD_LABEL], on_failure="stop")
    world.outside.answers = [Came.unknown("no answer within 10 s")]
    world.sweep(T0)
    assert world.states(world.row()) == ["unknown", "waiting"]
    assert (world.row().status, world.row().needs_review, world.labels()) == ("executed", True, [])


def test_a_native_action_that_raises_is_its_own_failure(world, monkeypatch):
    armed(world, actions=[ADD_LABEL, {"name": "assign_agent", "params": ["last_responding_agent"]}, SEND])
    world.sweep(T0)
    row = world.row()
    assert world.states(row) == ["done", "failed", "done"]
    assert world.actions(row)[1].error.startswith("No person has answered")
    assert (row.needs_review, world.sent()) == (True, ["Are you still there?"])


def test_each_action_sees_the_conversation_as_the_one_before_left_it(world):
    armed(
        world,
        actions=[
            {"name": "resolve_conversation", "params": []},
            {"name": "change_status", "params": ["pending"]},
            {"name": "add_label", "params": ["one", "two"]},
            {"name": "remove_label", "params": ["one"]},
            {"name": "change_priority", "params": ["high"]},
            {"name": "mute_conversation", "params": []},
            {"name": "assign_team", "params": [7]},
        ],
    )
    world.sweep(T0)
    found = world.conversation()
    assert (found.status, found.labels, found.priority, found.team_id) == ("pending", ["two"], "high", 7)
    assert found.attributes["muted"] is True
    assert found.status_changed_at == T0
    assert [row.status for row in world.rows()] == ["executed"]


def test_a_message_of_a_rule_neither_answers_the_customer_nor_arms_a_rule(world):
    world.rule(**AWAITING, actions=[SEND])
    world.rule(**CHASE)
    world.say("in", 1, -60)
    world.sweep(T0)
    assert world.sent() == ["Are you still there?"]
    assert world.conversation().waiting_since == at(-60)
    assert len(world.rows()) == 1


def test_a_rule_without_a_delay_runs_whatever_the_switch_says(world):
    """Case 44."""
    world.rule()
    at_once = world.rule(execution_delay=None, event="conversation_created")
    world.switch(False, at(-90))
    world.put(at(-61), status="open")
    [row] = world.rows()
    assert (row.rule_id, row.episode_key.partition(":")[0]) == (at_once.id, "event")
    world.sweep(at(-61))
    assert (world.row().status, world.labels()) == ("executed", ["stale"])


def test_resuming_lets_only_what_came_too_late_be_due_now(world):
    """Case 45."""
    armed(world, called="old", minutes=-5 * 24 * 60)
    world.put(at(-2 * 24 * 60 - 60), "young", status="open")
    world.switch(False, at(-10))
    world.switch(True, T0)
    due = {world.session.get(Execution, row.id).due_at for row in world.rows()}
    assert due == {T0, at(-2 * 24 * 60)}
    world.sweep(T0)
    assert {row.status for row in world.rows()} == {"executed"}


def test_resuming_takes_what_was_processing_only_when_its_lock_is_stale(world):
    """Case 46."""
    armed(world, minutes=-5 * 24 * 60)
    token = uuid4()
    world.set(world.row(), status="processing", lock_token=token, locked_at=at(-1))
    world.switch(False, at(-1))
    world.switch(True, T0)
    assert (world.row().status, world.row().lock_token) == ("processing", token)
    world.set(world.row(), locked_at=at(-5 * 24 * 60))
    world.switch(False, T0)
    world.switch(True, T0)
    assert (world.row().status, world.row().due_at, world.row().lock_token) == ("pending", T0, None)


def test_purge_takes_only_what_has_been_over_for_longer_than_is_kept(world):
    """Case 49."""
    ages = {"executed": 31, "skipped": 1, "pending": 90, "executing": 90}
    world.rule()
    for status in ages:
        world.put(at(-60), status, status="open")
    by_name = {}
    for row in world.rows():
        by_name[world.session.get(Execution, row.id).conversation_id] = row
    for row, (status, days) in zip(by_name.values(), ages.items(), strict=True):
        world.set(row, status=status, updated_at=T0 - timedelta(days=days), locked_at=T0)
    assert upkeep.purge(world.session, declared=world.declared, now=T0, limit=100) == 1
    assert sorted(row.status for row in world.rows()) == ["executing", "pending", "skipped"]
    for row in world.rows():
        world.set(row, status="pending")


def test_purge_leaves_what_needs_a_person_however_old_it_is(world):
    armed(world, actions=[WEBHOOK])
    world.outside.answers = [Came.unknown("cut off")]
    world.sweep(T0)
    long_after = T0 + timedelta(days=400)
    assert upkeep.purge(world.session, declared=world.declared, now=long_after, limit=100) == 0


def test_a_changed_rule_frees_what_waits_and_keeps_what_ran(world):
    """Case 50."""
    rule = armed(world)
    world.sweep(T0)
    world.put(at(1), "v-2", status="open", status_changed_at=at(1))
    world.change(rule, actions=[SEND])
    assert [row.status for row in world.rows()] == ["executed"]
    world.put(at(2), "v-3", status="open", status_changed_at=at(2))
    world.change(rule, active=False)
    world.change(rule, active=True)
    assert [row.status for row in world.rows()] == ["executed"]
    world.put(at(3), "v-4", status="open", status_changed_at=at(3))
    world.change(rule, name="another name")
    assert sorted(row.status for row in world.rows()) == ["executed", "pending"]


def test_what_was_armed_under_another_version_never_runs(world):
    rule = armed(world)
    rule.armed_version += 1
    world.commit()
    world.sweep(T0)
    assert world.rows() == []
    assert world.labels() == []
    assert world.audited()[-1] == ("execution.freed", "rule_changed")


def test_a_closed_window_lets_a_row_wait_and_that_is_no_lateness(world):
    armed(world, window_start=9 * 60, window_end=9 * 60 + 30)
    world.sweep(T0)
    row = world.row()
    opens = T0 + timedelta(hours=23)
    assert (row.status, row.not_before, row.due_at) == ("pending", opens, T0)
    assert world.due(opens - MICRO) == []
    world.sweep(opens + timedelta(days=2, hours=23, minutes=59))
    assert world.row().status == "pending"
    world.sweep(opens + timedelta(days=3, minutes=1))
    assert world.row().status == "executed"


INACTIVE = {"trigger": "inactivity", "event": "conversation_updated"}


def test_inactivity_has_one_row_whose_clock_moves_forward(world):
    """Case 52."""
    world.rule(**INACTIVE)
    world.say("in", 1, 0)
    row = world.row()
    assert (row.episode_key, row.message_id, row.due_at) == ("inactivity", None, at(60))
    world.say("in", 2, 30)
    assert [one.due_at for one in world.rows()] == [at(90)]


def test_inactivity_waits_anew_when_the_customer_writes_after_a_run(world):
    """Case 53."""
    world.rule(**INACTIVE, actions=[SEND])
    world.say("in", 1, 0)
    world.sweep(at(61))
    assert world.row().status == "executed"
    world.say("in", 2, 100)
    assert (world.row().status, world.row().due_at) == ("pending", at(160))
    world.sweep(at(160))
    row = world.row()
    assert (row.status, row.run) == ("executed", 2)
    keys = {f"{row.id}:0", f"{row.id}:2:0"}
    assert len(world.sent()) == 2
    assert {action.idempotency_key for action in world.actions(row)} < keys


def test_inactivity_waits_on_when_there_was_activity_that_nobody_armed(world):
    """Case 54."""
    world.rule(**INACTIVE)
    world.say("in", 1, 0)
    found = world.conversation()
    found.last_activity_at = at(50)
    world.commit()
    world.sweep(at(60))
    assert (world.row().status, world.row().due_at, world.labels()) == ("pending", at(110), [])


def test_inactivity_asks_whether_some_message_meets_its_conditions(world):
    asked = {"attribute": "content", "operator": "contains", "values": ["refund"]}
    world.rule(**INACTIVE, conditions=[asked])
    world.say("in", 1, 0, text="hello")
    assert world.rows() == []
    world.say("in", 2, 5, text="I want a refund")
    world.sweep(at(65))
    assert world.row().status == "executed"


def test_inactivity_of_an_abandoned_run_is_noted_and_arms_nothing(world):
    """Case 58."""
    world.rule(**INACTIVE)
    world.say("in", 1, 0)
    world.set(world.row(), status="executing", locked_at=at(60), lock_token=uuid4())
    world.say("in", 2, 65)
    assert (world.row().status, world.row().activity_seen_at) == ("executing", at(65))
    world.sweep(at(80))
    assert (world.row().status, world.row().needs_review) == ("executing", True)
    world.set(world.row(), status="pending", locked_at=None, needs_review=False)


def test_what_a_rule_did_or_no_person_wrote_arms_nothing(world):
    """Case 65."""
    public = {**CHASE["conditions"][0], "joiner": "and"}
    world.rule(
        event="message_created",
        conditions=[public, {"attribute": "private_note", "operator": "equal_to", "values": [False]}],
    )
    world.say("out", 1, 0, sender={"type": "rule", "key": "r"})
    world.say("activity", 2, 1, sender={"type": "system"})
    world.say("out", 3, 2, auto_reply=True)
    world.say("out", 4, 3, private=True)
    assert world.rows() == []
    world.say("out", 5, 4)
    assert len(world.rows()) == 1


def test_a_conversation_born_in_its_status_is_armed_once(world):
    """Case 66."""
    world.rule(conditions=[{"attribute": "status", "operator": "equal_to", "values": ["pending"]}])
    world.put(status="pending", created_at=T0)
    assert [row.due_at for row in world.rows()] == [at(60)]
    world.put(at(5), priority="high", updated_at=at(5))
    assert [row.due_at for row in world.rows()] == [at(60)]


def test_a_stored_rule_that_no_longer_parses_is_an_error_and_stops_no_other(world):
    rule = armed(world)
    armed(world, called="v-2")
    rule.conditions = [{"attribute": "mood", "operator": "equal_to", "values": ["good"], "joiner": None}]
    world.commit()
    counts = world.sweep(T0)
    assert counts.errors >= 1
    assert "executed" in {row.status for row in world.rows()}


def test_a_stored_rule_that_no_longer_parses_keeps_no_message_out(world):
    rule = world.rule(**AWAITING)
    rule.conditions = [{"attribute": "mood", "operator": "equal_to", "values": ["good"], "joiner": None}]
    world.rule(**AWAITING)
    world.commit()
    world.say("in", 1, 0)
    assert [row.rule_id for row in world.rows()] != [rule.id]
    assert len(world.rows()) == 1


def test_every_action_has_an_effect_or_goes_outside():
    native = {name for name in actions.ActionName if actions.is_native(name, "native")}
    assert native == set(effects._EFFECTS)
    assert not any(actions.is_native(name, "chatwoot") for name in actions.ActionName)


def test_rule_is_refused_when_nothing_is_to_be_done(world):
    with pytest.raises(Invalid, match="actions"):
        world.rule(actions=[])
