from datetime import timedelta

import pytest
from sqlalchemy import select

from models.audit import AuditEvent
from models.errors import Conflict, Invalid, NotFound
from models.followups import contacts, tasks
from models.followups.records import FollowUp, RevokeEvent, TaskEvent
from models.messages import Message
from models.outbox import OutboxEvent
from tests.followups.world import DAY, HOUR, World
from tests.support.create import API, create_tenant

MINUTE = timedelta(minutes=1)
STOP = "NÃO quero  mais contato."


@pytest.fixture
def world(world: World) -> World:
    world.declare(cancel_keywords=["não quero mais contato"])
    return world


def test_a_keyword_revokes_and_cancels_all_that_waits(world):
    """Case 29."""
    fired = world.book(reason="fired")
    world.fire(world.now + 2 * HOUR)
    now = world.now + 2 * HOUR
    pending = [world.book(now=now, reason="one"), world.book(now=now, reason="two", agent="another")]
    world.say(STOP, now)
    assert world.state() == ("revoked", 1)
    assert [world.outcome_of(row)[0] for row in pending] == ["cancelled", "cancelled"]
    assert world.outcome_of(fired) == ("fired", None)
    assert [task.status for task in world.tasks()] == ["cancelled"]
    assert world.contact().revoked_by == "keyword"
    assert world.contact().revoked_at == now
    [event] = world.session.scalars(select(RevokeEvent))
    assert (event.customer, event.at, event.source) == ("c-1", now, "keyword")
    assert world.actions()[-3:].count("followup.cancelled") == 2
    assert "contact.revoked" in world.actions("contact")
    assert world.told().count("contact.revoked") == 1


def test_a_keyword_makes_the_contact_as_revoked_when_there_is_none(world):
    """Case 29."""
    world.say(STOP, world.now)
    assert world.state() == ("revoked", 0)
    assert world.actions() == ["contact.revoked"]


@pytest.mark.parametrize("sender", ["agent", "assistant", "bot", "rule", "system"])
def test_the_same_words_change_nothing_when_another_writes_them(world, sender):
    """Case 30."""
    followup = world.book()
    world.say(STOP, world.now, sender={"type": sender, "key": "x"}, customer="c-1", direction="outgoing")
    assert world.state() == ("granted", 0)
    assert world.outcome_of(followup)[0] == "pending"
    assert world.revokes() == 0


def test_the_same_words_change_nothing_when_they_stand_in_a_private_note(world):
    """Case 30."""
    world.book()
    world.say(STOP, world.now, private=True)
    assert world.state() == ("granted", 0)


def test_a_message_acts_once_when_it_is_delivered_twice(world):
    """Case 30."""
    world.book()
    assert world.say(STOP, world.now, id="m-1")
    assert not world.say(STOP, world.now, id="m-1", now=world.now + HOUR)
    assert world.revokes() == 1
    assert world.count(Message) == 1
    world.say("hello again", world.now + HOUR)
    assert not world.say(STOP, world.now, id="m-1", now=world.now + 2 * HOUR)
    assert world.state() == ("granted", 0)


def test_a_message_is_a_conflict_when_its_id_has_other_content(world):
    world.say("one", world.now, id="m-1")
    with pytest.raises(Conflict):
        world.say("two", world.now, id="m-1")
    world.session.rollback()
    assert world.count(Message) == 1


def test_a_newer_message_reopens_the_contact_and_leaves_what_was_cancelled(world):
    """Case 31."""
    followup = world.book()
    world.say(STOP, world.now)
    world.say("where is my order?", world.now + MINUTE)
    assert world.state() == ("granted", 0)
    assert world.outcome_of(followup)[0] == "cancelled"
    assert world.actions("contact") == ["contact.granted", "contact.revoked", "contact.granted"]
    assert world.revokes() == 1


def test_an_older_message_does_not_reopen_when_it_arrives_late(world):
    """Case 31."""
    world.revoke(now=world.now)
    world.say("where is my order?", world.now - MINUTE, now=world.now + HOUR)
    assert world.state() == ("revoked", 0)
    world.say("hello", world.now + MINUTE, now=world.now + HOUR)
    assert world.state() == ("granted", 0)


@pytest.mark.parametrize(
    ("ahead", "state"),
    [
        (timedelta(microseconds=-1), "revoked"),
        (timedelta(0), "granted"),
        (timedelta(microseconds=1), "granted"),
    ],
)
def test_a_message_is_held_against_the_opt_out_to_the_microsecond(world, ahead, state):
    """Case 31."""
    world.revoke(now=world.now)
    world.say("hello", world.now + ahead, now=world.now + HOUR)
    assert world.state()[0] == state


def test_a_message_from_the_future_counts_as_written_now(world):
    """Case 31. A source whose clock runs ahead can't lift an opt-out that comes after its message."""
    world.revoke(now=world.now)
    world.say("hello", world.now + DAY, now=world.now - MINUTE)
    assert world.state()[0] == "revoked"


def test_an_opt_out_counts_by_when_it_was_written_when_messages_arrive_out_of_order(world):
    world.say("hello", world.now + MINUTE, now=world.now + HOUR)
    world.say(STOP, world.now, now=world.now + HOUR)
    # Late or not, they asked for it; only something written after it lifts it.
    assert world.state()[0] == "revoked"
    assert world.contact().revoked_at == world.now
    world.say("and now?", world.now + 2 * MINUTE, now=world.now + HOUR)
    assert world.state()[0] == "granted"


def test_a_keyword_moves_the_opt_out_on_and_never_back_when_it_is_said_again(world):
    world.say(STOP, world.now)
    world.say(STOP, world.now + HOUR)
    assert (world.contact().revoked_at, world.revokes()) == (world.now + HOUR, 2)
    world.say(STOP, world.now + MINUTE, now=world.now + 2 * HOUR)
    assert (world.contact().revoked_at, world.revokes()) == (world.now + HOUR, 3)
    world.say("and now?", world.now + 2 * MINUTE, now=world.now + 2 * HOUR)
    assert world.state()[0] == "revoked"
    assert world.actions("contact") == ["contact.revoked"]
    assert world.told() == ["contact.revoked"]


def test_a_message_says_that_it_reopened_the_contact(world):
    world.revoke()
    world.say("hello", world.now + MINUTE)
    [event] = world.session.scalars(select(AuditEvent).where(AuditEvent.action == "contact.granted"))
    assert (event.purpose, event.detail) == ("message", {"from": "revoked", "to": "granted"})
    assert (event.actor_type, event.actor_id) == ("customer", str(world.contact().id))


def test_an_auto_reply_reopens_nothing(world):
    world.revoke(now=world.now)
    world.say("I am out of office", world.now + HOUR, auto_reply=True)
    assert world.state() == ("revoked", 0)


def test_an_auto_reply_makes_no_contact_and_resets_no_counter(world):
    world.say("I am out of office", world.now, auto_reply=True)
    assert world.state() is None
    world.book()
    world.fire(world.now + 2 * HOUR)
    world.say("I am out of office", world.now + 3 * HOUR, auto_reply=True)
    assert world.state() == ("granted", 1)


def test_a_message_resets_the_counter_when_it_answers(world):
    world.book()
    world.fire(world.now + 2 * HOUR)
    world.say("thank you", world.now + 3 * HOUR)
    assert world.state() == ("granted", 0)
    # A counter is no state: there is nothing for the audit to tell.
    assert world.actions("contact") == ["contact.granted"]


def test_a_message_makes_a_granted_contact_when_there_is_none(world):
    world.say("hello", world.now)
    assert world.state() == ("granted", 0)
    [event] = world.session.scalars(select(AuditEvent).where(AuditEvent.action == "contact.granted"))
    assert (event.actor_type, event.purpose) == ("customer", "message")
    assert event.actor_id == event.resource_id == str(world.contact().id)


def test_a_message_is_held_against_every_agents_keywords_when_it_names_none(world):
    agents = {
        "one": {"followup": {"cancel_keywords": ["stop"]}},
        "two": {"followup": {"cancel_keywords": ["basta"], "max_frequency": "broken"}},
    }
    world.declared = type(world.declared)(50, {"agents": agents})
    world.say("basta", world.now, agent="one")
    assert world.state()[0] == "granted"
    world.say("basta", world.now + MINUTE, agent=None)
    assert world.state()[0] == "revoked"


def test_keywords_stay_in_force_when_the_policy_is_faulty(world):
    world.declare(cancel_keywords=["stop", ""], max_frequency="2/3w")
    world.say("please STOP!", world.now)
    assert world.state()[0] == "revoked"


def test_a_message_touches_the_customer_of_its_conversation_when_it_names_none(world):
    world.say("hello", world.now, sender={"type": "customer", "key": "c-9"}, conversation_id="v-9")
    world.say(STOP, world.now + MINUTE, sender={"type": "customer"}, conversation_id="v-9")
    assert world.state("c-9")[0] == "revoked"


def test_a_message_of_another_tenant_touches_nothing_here(world):
    world.book()
    mine, world.tenant = world.tenant, create_tenant(world.session, "globex", now=world.now)
    world.say(STOP, world.now)
    assert world.state()[0] == "revoked"
    world.tenant = mine
    assert world.state() == ("granted", 0)


def test_revoke_touches_nothing_of_another_customer_or_tenant_or_that_was_claimed(world):
    other = create_tenant(world.session, "globex", now=world.now)
    theirs = [{"customer": "c-2"}, {"tenant": other}]
    for given in ({}, {"reason": "taken"}, *theirs):
        world.book(**given)
    now = world.now + 2 * HOUR
    world.fire(now)
    taken = next(task for task in world.tasks() if "taken" in task.command["message"])
    tasks.claim(world.session, world.tenant.id, taken.id, actor=API, now=now)
    world.book(now=now)
    for given in theirs:
        world.book(now=now, **given)

    assert world.revoke(now=now) == 1
    left = {(row.tenant_id, row.customer, row.status) for row in world.session.scalars(select(FollowUp))}
    mine = world.tenant.id
    assert {row for row in left if row[2] != "fired"} == {
        (mine, "c-1", "cancelled"),
        (mine, "c-2", "pending"),
        (other.id, "c-1", "pending"),
    }
    assert {(task.tenant_id, task.customer, task.status) for task in world.tasks()} == {
        *((mine, "c-1", "dispatched"), (mine, "c-1", "cancelled")),
        *((mine, "c-2", "queued"), (other.id, "c-1", "queued")),
    }
    last = world.session.scalars(select(TaskEvent).where(TaskEvent.to_status == "cancelled")).one()
    assert last.reason == "opted_out"


@pytest.mark.parametrize("by", ["operator", "channel", "api"])
def test_revoke_acts_as_a_keyword_does(world, by):
    followup = world.book()
    assert world.revoke(by=by) == 1
    assert world.state()[0] == "revoked"
    assert world.contact().revoked_by == by
    assert world.outcome_of(followup)[0] == "cancelled"
    [event] = world.session.scalars(select(OutboxEvent).where(OutboxEvent.event_type == "contact.revoked"))
    assert event.payload == {"contact_id": str(world.contact().id), "by": by}


def test_revoke_changes_nothing_when_it_is_repeated(world):
    world.revoke()
    before = world.contact()
    stamp, version = before.updated_at, before.version
    assert world.revoke(now=world.now + HOUR) == 0
    assert (world.contact().updated_at, world.contact().version) == (stamp, version)
    assert world.contact().revoked_at == world.now
    assert world.revokes() == 1
    assert world.actions("contact") == ["contact.revoked"]


def test_revoke_makes_the_cell_and_keeps_its_event_when_it_is_granted_again(world):
    world.revoke("new@acme.test")
    assert world.state("new@acme.test") == ("revoked", 0)
    world.say("hi", world.now + HOUR, sender={"type": "customer", "key": "new@acme.test"})
    assert world.state("new@acme.test") == ("granted", 0)
    assert world.revokes() == 1


def test_a_revoke_after_a_reopening_is_another_event(world):
    for hours in (0, 2):
        world.revoke(now=world.now + hours * HOUR)
        world.say("hello", world.now + (hours + 1) * HOUR)
    assert world.revokes() == 2
    assert len(world.actions("contact")) == 4


@pytest.mark.parametrize("customer", ["", " ", "x" * 201, "\x00"])
def test_revoke_is_refused_when_the_customer_is_no_id(world, customer):
    with pytest.raises(Invalid) as raised:
        world.revoke(customer)
    assert raised.value.field == "customer"


def test_get_contact_is_not_found_when_never_messaged(world):
    with pytest.raises(NotFound):
        contacts.get(world.session, world.tenant.id, "c-1")


def test_a_customer_may_have_any_characters_in_their_id(world):
    for customer in ("a/b", "x/revoke", "../..", "ü@acme.test", "a b", "%2F", "'; DROP TABLE contact; --"):
        world.book(customer)
        assert world.revoke(customer) == 1
        assert world.state(customer)[0] == "revoked"
    assert world.count(FollowUp) == 7


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"direction": "sideways"}, "direction"),
        ({"sender": {"type": "ghost"}}, "sender.type"),
        ({"sender": {"type": "customer", "key": "x" * 201}}, "sender.key"),
        ({"id": " "}, "id"),
        ({"conversation_id": ""}, "conversation_id"),
        ({"customer": ""}, "customer"),
        ({"agent": ""}, "agent"),
    ],
)
def test_a_message_is_refused_when_a_field_is_faulty(world, given, field):
    with pytest.raises(Invalid) as raised:
        world.say("hello", world.now, **given)
    assert raised.value.field == field
    world.session.rollback()
    assert world.count(Message) == 0


def test_a_revoke_by_hand_is_recorded_with_its_actor(world):
    world.revoke("lead@acme.test")
    [event] = world.session.scalars(select(AuditEvent).where(AuditEvent.action == "contact.revoked"))
    assert (event.actor_type, event.actor_id) == (API.type.value, API.id)
    assert "lead@acme.test" not in str(event.detail) + event.resource_id
