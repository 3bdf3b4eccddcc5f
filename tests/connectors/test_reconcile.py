"""Conversations in which something runs soon are read again, and what was lost is applied first."""

import json
from datetime import timedelta
from typing import Any

import pytest

from jobs import reconcile
from models import tenants
from models.actors import Actor
from tests.automations.world import T0, at
from tests.connectors.world import World
from tests.support.chatwoot import Chatwoot

ADMIN = Actor.operator("1", "admin@acme.test")
SEND = [{"name": "send_message", "params": ["Are you still there?"]}]


def told(fake: Chatwoot) -> list[dict[str, Any]]:
    """What its webhooks say of what happened since this was asked last."""
    return [json.loads(event["body"]) for event in fake.tell("take_events")]


@pytest.fixture
def there(fake: Chatwoot, connect, world: World) -> Chatwoot:
    """Conversation 7, of which this desk knows that the customer wrote at T0."""
    connect(fake.url)
    fake.create(7, T0.timestamp())
    fake.say(7, T0.timestamp(), "incoming", "hello")
    world.take(*told(fake))
    return fake


def run(world: World, now, limit: int = 200):
    counts = reconcile.reconcile(
        world.session, settings=world.settings, declared=world.declared, now=now, limit=limit
    )
    world.session.expire_all()
    return counts


def armed(world: World, there: Chatwoot) -> None:
    """A rule that waits an hour for an answer to the message at +1, which was told of."""
    world.rule(event="message_created", execution_delay=60)
    there.say(7, at(1).timestamp(), "incoming", "anybody?")
    world.take(*told(there), now=at(1))


def test_rule_is_not_run_when_the_answer_was_told_of_by_no_webhook(world, there):
    armed(world, there)
    there.say(7, at(30).timestamp(), "outgoing", "I am here")
    told(there)
    counts = run(world, at(58))
    assert (counts.own, counts.errors) == ({"read": 1, "gone": 0}, 0)
    assert [one.text for one in world.messages()] == ["hello", "anybody?", "I am here"]
    assert world.known().waiting_since is None
    world.sweep(at(60))
    [row] = [one for one in world.rows() if one.episode_key.startswith("awaiting")]
    assert (row.status, row.skip_reason) == ("skipped", "episode_moved")


def test_message_that_was_lost_is_armed_too(world, there):
    armed(world, there)
    there.say(7, at(30).timestamp(), "outgoing", "I am here")
    told(there)
    run(world, at(58))
    [chase] = [one for one in world.rows() if one.episode_key.startswith("reply_chase")]
    assert chase.due_at == at(90)


def test_only_what_runs_within_2_minutes_is_read(world, there):
    armed(world, there)
    assert run(world, at(57.9)).examined == 0
    assert there.requests() == []
    assert run(world, at(58)).examined == 1
    paths = [one["path"].rpartition("/conversations/")[2] for one in there.requests("GET")]
    assert paths == ["7", "7/messages"]


def test_reading_again_changes_nothing_when_nothing_was_lost(world, there):
    armed(world, there)
    before = [(row.episode_key, row.due_at, row.version) for row in world.rows()]
    known = world.known()
    state = (known.status_changed_at, known.waiting_since, known.labels, known.attributes)
    run(world, at(59))
    known = world.known()
    assert [(row.episode_key, row.due_at, row.version) for row in world.rows()] == before
    assert (known.status_changed_at, known.waiting_since, known.labels, known.attributes) == state


def test_history_that_is_read_begins_nothing(world, there):
    """What was said before this desk watched is stored, and arms no rule; what was said since does."""
    there.create(8, at(-5_000).timestamp())
    for number in range(3):
        there.say(8, at(-4_000 + number).timestamp(), "outgoing", f"old {number}")
    told(there)
    world.rule()
    there.do({"act": "set", "id": 8, "at": at(0).timestamp(), "status": "pending"})
    world.take(*told(there))
    [waiting] = world.rows()
    world.rule(event="message_created", execution_delay=90)
    there.say(8, at(1).timestamp(), "outgoing", "new")
    told(there)
    run(world, at(59))
    assert [one.text for one in world.messages() if one.text != "hello"] == ["old 0", "old 1", "old 2", "new"]
    assert waiting.id in {row.id for row in world.rows()}
    assert [row.due_at for row in world.rows()] == [at(60), at(91)]


def test_conversation_that_is_gone_is_noted_and_nothing_else(world, there):
    armed(world, there)
    there.do({"act": "remove", "id": 7})
    counts = run(world, at(59))
    assert (counts.own, counts.errors) == ({"read": 0, "gone": 1}, 0)
    assert (world.events()[-1].state, world.events()[-1].error) == ("done", "Chatwoot has it no more (404).")
    assert world.row().status == "pending"


@pytest.mark.parametrize("how", ["500", "429", "cut", "401"])
def test_run_says_what_it_could_not_read_and_the_row_stays(world, there, how):
    armed(world, there)
    there.fail("conversations/7", how)
    counts = run(world, at(59))
    assert (counts.errors, counts.own["read"], counts.faults[0]["row"]) == (1, 0, "conversation 7")
    assert world.row().status == "pending"


def test_limit_bounds_what_is_read(world, there):
    world.rule(event="message_created", execution_delay=10)
    for id in (11, 12, 13):
        there.create(id, T0.timestamp())
        there.say(id, at(1).timestamp(), "incoming", "hello")
    world.take(*told(there), now=at(1))
    counts = run(world, at(10), limit=2)
    assert (counts.examined, counts.capped) == (2, True)


def test_nothing_is_read_when_the_tenants_rules_are_switched_off(world, there):
    armed(world, there)
    tenant = tenants.get(world.session, "acme")
    tenants.set_features(world.session, tenant, {"delayed_automations": False}, actor=ADMIN, now=at(2))
    world.finish()
    assert run(world, at(59)).examined == 0


def test_conversation_of_our_own_is_not_asked_for_there(world, there):
    world.rule(event="message_created", execution_delay=60)
    world.say("in", 1)
    assert run(world, at(60) + timedelta(seconds=1)).examined == 0
