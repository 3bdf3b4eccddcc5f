"""What a rule waits on: keys, anchors, and when a newer message takes the place of an older one."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import update

from models import audit, audit_guard, intake
from models.automations import episodes
from models.automations.records import Execution
from models.automations.windows import next_start
from models.conversations import Conversation
from models.intake import IncomingMessage
from tests.automations.world import T0, at
from tests.support.create import API


def of_type(direction):
    condition = {"attribute": "message_type", "operator": "equal_to", "values": [direction]}
    return {"event": "message_created", "conditions": [condition]}


AWAITING, CHASE = of_type("incoming"), of_type("outgoing")


def test_status_key_is_of_the_status_clock(world):
    """Case 1."""
    world.rule()
    world.put(status="open", status_changed_at=T0)
    row = world.row()
    assert (row.episode_key, row.due_at, row.message_id) == ("status:1930384800000000", at(60), None)


def test_status_key_is_the_same_before_the_save_and_after_the_reload(world):
    """Case 2."""
    clock = datetime(2026, 7, 15, 7, 54, 40, 844761, UTC)
    world.rule()
    world.put(status="open", status_changed_at=clock)
    row = world.row()
    assert row.episode_key == "status:1784102080844761"
    assert episodes.current(world.session, row, world.conversation()) == row.episode_key


def test_nothing_is_armed_when_the_status_clock_is_not_known(world):
    """Case 3."""
    world.rule()
    world.put(status="open", status_changed_at=None, created_at=T0 - timedelta(days=730))
    assert world.rows() == []


def test_awaiting_key_is_of_the_message_when_nobody_waits_yet(world):
    """Case 5."""
    world.rule(**AWAITING)
    world.say("in", 1)
    row = world.row()
    assert row.episode_key == "awaiting_agent:1930384800000000"
    assert episodes.current(world.session, row, world.conversation()) == row.episode_key
    _set_waiting(world, None)
    assert episodes.current(world.session, row, world.conversation()) == "awaiting_agent:0"
    world.sweep(at(60))
    assert (world.row().status, world.row().skip_reason) == ("skipped", "episode_moved")


def test_awaiting_key_is_of_the_message_when_it_was_answered_before_it_came_in(world):
    """Case 5."""
    world.rule(**AWAITING)
    world.say("out", 2, 1)
    world.say("in", 1, 0, now=at(2))
    assert world.conversation().waiting_since is None
    row = world.row()
    assert row.episode_key == "awaiting_agent:1930384800000000"
    world.session.execute(update(Conversation).values(waiting_since=T0))
    world.commit()
    world.sweep(at(60))
    assert world.row().status == "executed"


def test_awaiting_keys_differ_when_the_customer_waits_anew(world):
    """Case 6."""
    world.rule(**AWAITING)
    first, second = T0 + timedelta(milliseconds=250), T0 + timedelta(milliseconds=650)
    world.say("in", 1, minutes=0.25 / 60)
    world.say("out", 2, minutes=0.5 / 60)
    world.say("in", 3, minutes=0.65 / 60)
    assert {row.episode_key for row in world.rows()} == {
        "awaiting_agent:1930384800250000",
        "awaiting_agent:1930384800650000",
    }
    assert {row.due_at for row in world.rows()} == {first + timedelta(hours=1), second + timedelta(hours=1)}


def test_reply_chase_key_is_zero_when_the_customer_never_wrote(world):
    """Case 7."""
    world.rule(**CHASE)
    world.say("out", 9)
    assert world.row().episode_key == "reply_chase:0"


def test_reply_chase_of_a_late_message_has_moved_when_the_customer_answered(world):
    """Case 8."""
    world.rule(**CHASE, actions=[{"name": "send_message", "params": ["Still there?"]}])
    world.say("in", 100, -3)
    late = _store(world, "out", 101, -2)
    world.say("in", 102, -1)
    world.arm(late, T0)
    assert world.row().episode_key == "reply_chase:100"
    world.sweep(at(120))
    assert world.row().skip_reason == "episode_moved"
    assert world.sent() == []


def test_due_counts_from_the_anchor_when_the_listener_is_late(world):
    """Case 9."""
    world.rule()
    world.put(status="open", status_changed_at=at(-30))
    assert world.row().due_at == at(30)


def test_status_is_armed_once_when_the_same_stretch_is_seen_again(world):
    """Case 13."""
    world.rule()
    world.put(status="open", status_changed_at=T0)
    world.put(at(30), labels=["vip"])
    assert [row.due_at for row in world.rows()] == [at(60)]


def test_reply_chase_takes_the_newer_message(world):
    """Case 14."""
    world.rule(**CHASE)
    world.say("out", 101, 0)
    late = _store(world, "out", 102, 10)
    world.say("out", 103, 30)
    row = world.row()
    assert (row.message_seq, row.due_at) == (103, at(90))
    world.arm(late, at(40))
    assert (world.row().message_seq, world.row().due_at) == (103, at(90))


def test_one_that_was_executed_is_left_alone_when_a_newer_message_comes(world):
    """Case 15."""
    world.rule(**CHASE)
    world.say("out", 101, 0)
    world.say("out", 103, 30)
    world.sweep(at(91))
    assert world.row().status == "executed"
    world.say("out", 110, 92)
    world.sweep(at(200))
    assert world.row().status == "executed"
    assert world.row().run == 1


def test_one_that_was_skipped_stays_when_the_same_message_is_heard_again(world):
    """Case 16."""
    rule = world.rule(**CHASE)
    received = world.say("out", 101, 0)
    world.set(world.row(), status="skipped", skip_reason="conditions_changed")
    _told(world, world.row(), "skipped")
    world.arm(received, at(10))
    assert (world.row().status, world.row().rule_id) == ("skipped", rule.id)


def test_one_that_a_person_cancelled_stays_when_a_newer_message_comes(world):
    """Case 16."""
    world.rule(**CHASE)
    world.say("out", 101, 0)
    world.act("cancel", world.row(), now=at(10))
    world.say("out", 103, 30)
    assert (world.row().status, world.row().skip_reason) == ("skipped", "cancelled_by_operator")


@pytest.mark.parametrize("reason", ["conditions_changed", "expired"])
def test_one_that_was_skipped_waits_anew_when_a_newer_message_comes(world, reason):
    """Case 17."""
    world.rule(**CHASE)
    world.say("out", 101, 0)
    world.set(world.row(), status="skipped", skip_reason=reason)
    _told(world, world.row(), "skipped")
    world.say("out", 103, 30)
    row = world.row()
    assert (row.status, row.skip_reason, row.message_seq, row.due_at) == ("pending", None, 103, at(90))


def test_awaiting_stays_due_when_the_customer_writes_again(world):
    """Case 18."""
    world.rule(**AWAITING)
    world.say("in", 1, 0)
    world.say("in", 5, 30)
    row = world.row()
    assert (row.message_seq, row.due_at) == (5, at(60))


def test_one_that_a_worker_holds_is_taken_only_when_its_lock_is_stale(world):
    """Case 21."""
    world.rule(**CHASE)
    world.say("out", 101, -20)
    world.set(world.row(), status="processing", locked_at=at(-11), lock_token=world.row().id)
    world.say("out", 111, -0.5, now=T0)
    assert (world.row().status, world.row().message_seq) == ("processing", 101)
    world.set(world.row(), locked_at=at(-16))
    world.say("out", 112, 0)
    row = world.row()
    assert (row.status, row.message_seq, row.due_at) == ("pending", 112, at(60))
    assert row.lock_token is None


def test_a_newer_message_changes_nothing_when_an_action_was_begun(world):
    """What left `waiting` may have gone out, whatever became of the row."""
    world.rule(**CHASE, actions=[{"name": "send_webhook_event", "params": ["https://example.com/h"]}])
    world.say("out", 101, 0)
    world.sweep(at(60))
    world.set(world.row(), status="skipped", skip_reason="expired")
    _told(world, world.row(), "skipped", before="executed")
    world.say("out", 103, 61)
    assert (world.row().status, world.row().message_seq) == ("skipped", 101)


def test_window_opens_the_next_morning_when_it_is_over_for_today():
    zone = ZoneInfo("Europe/Berlin")
    noon = datetime(2031, 3, 4, 12, tzinfo=zone)
    assert next_start(noon, 9 * 60, 17 * 60, zone) is None
    assert next_start(noon.replace(hour=17), 9 * 60, 17 * 60, zone) == datetime(2031, 3, 5, 9, tzinfo=zone)
    assert next_start(noon.replace(hour=8, minute=59), 540, 1020, zone) == datetime(
        2031, 3, 4, 9, tzinfo=zone
    )


def test_window_opens_after_the_skip_when_the_clock_skips_its_start():
    zone = ZoneInfo("Europe/Berlin")
    night = datetime(2031, 3, 30, 1, 0, tzinfo=zone)
    assert next_start(night, 150, 300, zone) == datetime(2031, 3, 30, 1, 30, tzinfo=UTC)


def _store(world, direction, seq, minutes):
    """A message that is stored, of which the rules hear only later."""
    message = IncomingMessage(
        id=f"v-1-m{seq}",
        conversation_id="v-1",
        direction="outgoing",
        created_at=at(minutes),
        seq=seq,
        sender={"type": "agent", "key": "a-1"},
    )
    received = intake.receive_message(
        world.session, world.tenant, message, declared=world.declared, now=at(minutes)
    )
    world.commit()
    return received


def _set_waiting(world, value):
    world.session.execute(update(Conversation).values(waiting_since=value))
    world.commit()


def _told(world, row: Execution, status: str, before: str = "pending") -> None:
    """Append the event that whoever moved the row would have written."""
    audit.append(
        world.session,
        tenant_id=row.tenant_id,
        actor=API,
        action="execution.skipped",
        resource=("execution", str(row.id)),
        now=T0,
        detail={"from": before, "to": status},
    )
    audit_guard.note_changes(world.session, [("execution", row.tenant_id, str(row.id))])
    world.commit()
