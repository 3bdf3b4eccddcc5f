"""What a dry run foretells is what arming and running then do, and nothing is written for it."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from models.audit import AuditEvent
from models.automations import dry_run
from models.automations.dry_run import Hindrance
from models.automations.records import Execution, Skip
from models.conversations import Conversation
from models.declarations import Declared
from models.transactions import rollback
from tests.automations.world import T0, at


def of_type(direction):
    return [{"attribute": "message_type", "operator": "equal_to", "values": [direction], "joiner": None}]


STATUS = [{"attribute": "status", "operator": "equal_to", "values": ["open"], "joiner": None}]
RULES = {
    "status": {"conditions": STATUS},
    "awaiting an agent": {"event": "message_created", "conditions": of_type("incoming")},
    "reply chase": {"event": "message_created", "conditions": of_type("outgoing")},
    "inactivity": {"trigger": "inactivity", "conditions": STATUS},
}


def tried(world, rule, *, now=T0, declared=None, called="v-1"):
    """A dry run of the stored rule; it writes nothing."""
    before = world.count(AuditEvent), world.count(Execution), world.count(Conversation)
    found = dry_run.dry_run(
        world.session,
        world.tenant,
        dry_run.copy_of(rule),
        world.conversation(called),
        declared=declared or Declared(),
        now=now,
    )
    assert not world.session.new and not world.session.dirty
    rollback(world.session)
    assert (world.count(AuditEvent), world.count(Execution), world.count(Conversation)) == before
    return found


def happen(world):
    """A conversation with a question and an answer."""
    world.put(at(-30), status="open", created_at=at(-30), updated_at=at(-30))
    world.say("in", 1, -20)
    world.say("out", 2, -10)


@pytest.mark.parametrize("name", RULES)
def test_dry_run_names_the_episode_and_due_time_that_arming_then_has(world, name):
    happen(world)
    if name == "awaiting an agent":
        world.say("in", 3, -5)
    rule = world.rule(**RULES[name], active=False)
    before = tried(world, rule)
    assert before.arms and before.known is None
    world.change(rule, active=True)
    if name == "status":
        world.put(T0, labels=["x"], updated_at=T0)
    else:
        world.say("in" if name == "awaiting an agent" else "out", 4, 0)
    armed, found = world.row(), tried(world, rule)
    assert armed.episode_key == found.episode.key == before.episode.key
    assert (armed.due_at, found.known.id) == (found.due_at, armed.id)


def test_dry_run_says_that_it_would_be_skipped_where_the_run_then_skips_it(world):
    happen(world)
    rule = world.rule(event="message_created", conditions=of_type("incoming"))
    assert tried(world, rule).passes is Skip.EPISODE_MOVED
    chase = world.rule(event="message_created", conditions=of_type("outgoing"))
    assert tried(world, chase).passes is None
    world.say("in", 3, 0)
    assert tried(world, chase).passes is Skip.EPISODE_MOVED
    late = tried(world, chase, now=T0 + timedelta(days=4))
    assert late.passes is Skip.EXPIRED


def test_dry_run_looks_at_the_newest_message_for_which_the_conditions_hold(world):
    happen(world)
    world.say("activity", 3, -5)
    rule = world.rule(event="message_created", conditions=of_type("incoming"))
    assert tried(world, rule).message.seq == 1
    none = world.rule(event="message_created", conditions=of_type("template"))
    found = tried(world, none)
    assert (found.message.seq, found.matches, found.arms) == (2, False, False)
    assert [(one.found, one.holds) for one in found.explained] == [("outgoing", False)]


@pytest.mark.parametrize(
    ("given", "rule", "hindrance"),
    [
        ({}, {"event": "message_created"}, Hindrance.NO_MESSAGE),
        ({"status_changed_at": None}, {}, Hindrance.NO_CLOCK),
        ({"auto_reply": True}, {"event": "conversation_created"}, Hindrance.AUTO_REPLY),
        ({"auto_reply": True}, {"event": "conversation_resolved"}, None),
    ],
)
def test_dry_run_says_why_nothing_would_be_armed(world, given, rule, hindrance):
    world.put(at(-30), status="open", **given)
    found = tried(world, world.rule(**rule))
    assert (found.hindrance, found.arms) == (hindrance, hindrance is None)


def test_dry_run_says_so_when_the_feature_is_off_though_a_rule_without_a_delay_goes_on(world):
    happen(world)
    delayed, at_once = world.rule(), world.rule(execution_delay=None)
    world.switch(False, T0)
    assert tried(world, delayed).hindrance is Hindrance.FEATURE_OFF
    assert tried(world, at_once).arms


def test_dry_run_names_the_hours_by_the_clock_of_the_inbox(world):
    world.put(at(-30), status="open", inbox_id=7, created_at=at(-30), updated_at=at(-30))
    declared = Declared(1, {"inboxes": {"7": {"timezone": "Asia/Tokyo"}}})
    found = tried(world, world.rule(window_start=540, window_end=1_020), declared=declared)
    # Due at 10:30 in UTC, which is 19:30 in Tokyo.
    assert found.zone == ZoneInfo("Asia/Tokyo")
    assert found.opens.astimezone(found.zone).isoformat() == "2031-03-05T09:00:00+09:00"
    inside = tried(world, world.rule(window_start=540, window_end=1_200), declared=declared)
    assert inside.opens is None


def test_dry_run_of_what_is_only_typed_leaves_no_row_in_the_session(world):
    happen(world)
    stored = world.rule()
    given = {"event": "conversation_updated", "conditions": STATUS, "actions": [], "execution_delay": 60}
    for rule_id in (None, stored.id):
        rule = dry_run.typed(given, world.tenant.id, rule_id)
        found = dry_run.dry_run(
            world.session, world.tenant, rule, world.conversation(), declared=Declared(), now=T0
        )
        assert found.arms and found.known is None
        assert rule not in world.session
    world.session.flush()
    assert world.session.scalars(select(Execution)).all() == []
