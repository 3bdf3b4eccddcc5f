from datetime import timedelta

import pytest
from sqlalchemy import select, text

from models import endpoints, erasure, handling, idempotency, tokens
from models.actors import Actor
from models.audit import AuditEvent
from models.base import db
from models.conversations import Conversation
from models.errors import Invalid, NotFound, OptedOut
from models.followups import contacts, outcomes, tasks
from models.followups.records import (
    AgentTask,
    Contact,
    ErasedOptOut,
    FollowUp,
    Outcome,
    RevokeEvent,
    TaskEvent,
)
from models.messages import Message
from models.settings import from_env
from tests.followups.world import HOUR, World
from tests.support.create import API, create_tenant

NOTHING = dict.fromkeys(
    ("followups", "tasks", "contacts", "outcomes", "conversations", "messages", "tickets"), 0
)
PERSONAL = "SECRET"
MICROSECOND = timedelta(microseconds=1)


def customer_of(sender: str) -> dict[str, str]:
    return {"type": "customer", "key": sender, "name": f"{PERSONAL} name"}


def live_a_little(world: World, customer: str) -> None:
    """A customer with a row of each kind."""
    for number, hours in enumerate((1, 40)):
        world.book(
            customer, f"{PERSONAL} reason {number}", at=world.now + hours * HOUR, session_id=f"{PERSONAL} s"
        )
    world.fire(world.now + 2 * HOUR)
    task = world.session.scalars(
        select(AgentTask).where(AgentTask.customer == customer, AgentTask.tenant_id == world.tenant.id)
    ).one()
    tasks.claim(world.session, world.tenant.id, task.id, actor=API, now=world.now + 2 * HOUR)
    outcomes.record(
        world.session,
        world.tenant,
        id=f"o-{customer}",
        agent="store-support",
        customer=customer,
        kind="paid",
        occurred_at=world.now,
        now=world.now,
    )
    world.commit()
    conversation = f"v-{customer}"
    sender = customer_of(customer)
    world.say(f"{PERSONAL} words", world.now, sender=sender, conversation_id=conversation)
    world.say(
        "answer", world.now, sender={"type": "agent"}, direction="outgoing", conversation_id=conversation
    )


def erase(world: World, customer: str = "c-1") -> dict[str, int]:
    counts = erasure.erase_customer(
        world.session, world.tenant, customer, actor=API, now=world.now + 3 * HOUR
    )
    world.commit()
    return counts


def everything(world: World) -> str:
    """All that the database holds, as one text."""
    found = []
    for table in db.metadata.sorted_tables:
        found += [str(row) for row in world.session.execute(select(table)).all()]
    return "\n".join(found)


def test_erase_takes_all_rows_of_the_customer_and_none_of_another(world):
    """Case 32."""
    live_a_little(world, "c-1@acme.test")
    live_a_little(world, "c-2")
    contact_id = str(world.contact("c-1@acme.test").id)
    events_before = world.count(AuditEvent)
    counts = erase(world, "c-1@acme.test")
    assert counts == {
        **NOTHING,
        "followups": 2,
        "tasks": 1,
        "contacts": 1,
        "outcomes": 1,
        "conversations": 1,
        "messages": 2,
    }
    for model, left in (
        *((FollowUp, 2), (AgentTask, 1), (TaskEvent, 1), (Contact, 1), (Outcome, 1), (Conversation, 1)),
        (Message, 2),
    ):
        assert world.count(model) == left, model
    [event] = world.session.scalars(select(AuditEvent).where(AuditEvent.action == "customer.erased"))
    assert world.count(AuditEvent) == events_before + 1
    assert event.detail == {"counts": counts}
    assert (event.resource_type, event.resource_id) == ("contact", contact_id)
    assert "c-1@acme.test" not in everything(world)
    assert "c-2" in everything(world)


def test_erase_leaves_no_personal_text_anywhere_when_the_only_customer_goes(world):
    """Case 32."""
    live_a_little(world, "c-1@acme.test")
    assert PERSONAL in everything(world)
    world.revoke("c-1@acme.test")
    erase(world, "c-1@acme.test")
    left = everything(world)
    assert PERSONAL not in left
    assert "c-1@acme.test" not in left


def test_erase_finds_nothing_and_writes_nothing_when_it_is_repeated(world):
    """Case 32."""
    live_a_little(world, "c-1")
    erase(world)
    events = world.count(AuditEvent)
    assert erase(world) == NOTHING
    assert erase(world, "never seen") == NOTHING
    assert world.count(AuditEvent) == events


def test_erase_leaves_the_same_customer_of_another_tenant(world):
    live_a_little(world, "c-1")
    other = create_tenant(world.session, "globex", now=world.now)
    theirs = world.book(tenant=other)
    erase(world)
    assert world.session.scalars(select(FollowUp.id)).all() == [theirs.id]


def test_erase_takes_what_stands_in_conversations_when_there_is_no_contact(world):
    """Case 32."""
    sender = {"type": "agent", "key": "x"}
    world.say("hello", world.now, sender=sender, direction="outgoing", customer="c-1")
    assert world.state() is None
    counts = erase(world)
    assert counts == {**NOTHING, "conversations": 1, "messages": 1}
    [event] = world.session.scalars(select(AuditEvent).where(AuditEvent.action == "customer.erased"))
    assert event.resource_type == "customer"
    assert event.resource_id == contacts.digest(world.tenant, "c-1")


def test_erase_takes_their_messages_in_the_conversations_of_others(world):
    world.say("hello", world.now, sender=customer_of("c-2"), conversation_id="v-1")
    world.say("me too", world.now, sender=customer_of("c-1"), conversation_id="v-1")
    assert erase(world) == {**NOTHING, "contacts": 1, "messages": 1}
    assert world.session.scalars(select(Message.customer)).all() == ["c-2"]
    assert world.count(Conversation) == 1


def test_erase_takes_what_they_wrote_when_the_message_names_another_customer(world):
    world.say("hello", world.now, sender=customer_of("c-2"), conversation_id="v-1")
    world.say(
        f"{PERSONAL} words", world.now, sender=customer_of("c-1"), customer="c-2", conversation_id="v-1"
    )
    world.say("not theirs", world.now, sender={"type": "agent", "key": "c-1"}, customer="c-2")
    assert erase(world) == {**NOTHING, "messages": 1}
    assert sorted(world.session.scalars(select(Message.text))) == ["hello", "not theirs"]


def test_a_booking_is_refused_when_the_erased_customer_had_opted_out(world):
    """Case 32."""
    world.revoke()
    erase(world)
    assert world.count(Contact) == world.count(RevokeEvent) == 0
    [kept] = world.session.scalars(select(ErasedOptOut))
    assert kept.revoked_at == world.now
    assert "c-1" not in kept.digest
    with pytest.raises(OptedOut):
        world.book()
    world.session.rollback()
    assert world.count(Contact) == 0
    world.take({"id": "00000000-0000-0000-0000-000000000001"})
    world.fire(world.now + HOUR)
    assert world.outcome_of("00000000-0000-0000-0000-000000000001") == ("blocked", "consent")


def test_only_a_newer_message_reopens_when_the_erased_customer_had_opted_out(world):
    world.revoke(now=world.now)
    erase(world)
    world.say("late", world.now - HOUR, now=world.now + HOUR)
    assert world.state() is None
    world.say("automatic", world.now + HOUR, auto_reply=True)
    assert world.count(ErasedOptOut) == 1
    world.say("I am back", world.now + HOUR)
    assert world.state() == ("granted", 0)
    assert world.count(ErasedOptOut) == 0
    assert world.book(at=world.now + 3 * HOUR).status == "pending"


def test_a_message_of_the_same_moment_reopens_when_the_erased_customer_had_opted_out(world):
    world.revoke(now=world.now)
    erase(world)
    world.say("hello", world.now - MICROSECOND, now=world.now + HOUR)
    assert world.state() is None
    world.say("hello", world.now, now=world.now + HOUR)
    assert world.state() == ("granted", 0)


def test_a_booking_is_taken_when_the_erased_customer_had_not_opted_out(world):
    world.book()
    erase(world)
    assert world.count(ErasedOptOut) == 0
    assert world.book().status == "pending"


def test_the_hash_holds_for_one_tenant_alone(world):
    world.revoke()
    erase(world)
    other = create_tenant(world.session, "globex", now=world.now)
    assert world.book(tenant=other).status == "pending"
    assert contacts.digest(other, "c-1") != contacts.digest(world.tenant, "c-1")


def test_erasing_twice_keeps_the_last_opt_out(world):
    for hours in (0, 5):
        world.revoke(now=world.now + hours * HOUR)
        erase(world)
    [kept] = world.session.scalars(select(ErasedOptOut))
    assert kept.revoked_at == world.now + 5 * HOUR


def test_erase_of_a_tenant_takes_all_its_customers_and_none_of_another(world):
    """Case 32."""
    live_a_little(world, "c-1")
    live_a_little(world, "c-2")
    world.revoke("c-2")
    mine, world.tenant = world.tenant, create_tenant(world.session, "globex", now=world.now)
    live_a_little(world, "c-1")
    theirs, world.tenant = world.tenant, mine
    counts = erasure.erase_tenant(world.session, world.tenant, actor=API, now=world.now)
    world.commit()
    assert counts == {
        **NOTHING,
        "endpoints": 0,
        "followups": 4,
        "tasks": 2,
        "contacts": 2,
        "outcomes": 2,
        "conversations": 2,
        "messages": 4,
    }
    assert set(world.session.scalars(select(FollowUp.tenant_id))) == {theirs.id}
    [event] = world.session.scalars(select(AuditEvent).where(AuditEvent.action == "tenant.erased"))
    assert (event.resource_type, event.resource_id, event.detail) == ("tenant", "acme", {"counts": counts})
    assert world.count(ErasedOptOut) == 1
    with pytest.raises(OptedOut):
        world.book("c-2")
    world.session.rollback()
    again = erasure.erase_tenant(world.session, world.tenant, actor=API, now=world.now)
    assert again == {**NOTHING, "endpoints": 0}


def test_erase_of_a_tenant_removes_its_endpoints_and_their_secrets(world):
    settings = from_env({"SECRET_KEY": "a-key-for-the-tests"})
    given = {"event_types": ["*"], "settings": settings, "actor": API, "now": world.now}
    urls = [f"https://hooks.example/{PERSONAL}/{number}" for number in range(2)]
    mine, paused = (
        endpoints.add(world.session, world.tenant, url=url, active=not number, **given)[0]
        for number, url in enumerate(urls)
    )
    other = create_tenant(world.session, "globex", now=world.now)
    theirs, _secret = endpoints.add(world.session, other, url=urls[0], **given)
    world.commit()
    counts = erasure.erase_tenant(world.session, world.tenant, actor=API, now=world.now)
    world.commit()
    assert counts == {**NOTHING, "endpoints": 2}
    assert world.actions().count("endpoint.removed") == 2
    for gone in (mine, paused):
        assert (gone.state, gone.secret, gone.url) == ("removed", "", "https://hooks.example")
    assert (theirs.state, theirs.url) == ("active", urls[0])
    assert theirs.secret


@pytest.mark.parametrize("customer", ["", " ", "x" * 201])
def test_erase_is_refused_when_the_customer_is_no_id(world, customer):
    with pytest.raises(Invalid):
        erase(world, customer)
    world.session.rollback()


def test_erase_is_undone_as_a_whole_when_its_transaction_is(world):
    live_a_little(world, "c-1")
    before = world.session.execute(text("SELECT count(*) FROM follow_up")).scalar()
    erasure.erase_customer(world.session, world.tenant, "c-1", actor=API, now=world.now)
    world.session.rollback()
    assert world.session.execute(text("SELECT count(*) FROM follow_up")).scalar() == before
    assert "customer.erased" not in world.actions()


def test_erase_forgets_the_answers_that_were_kept_for_repeats(world):
    token = tokens.add(world.session, world.tenant, name="t", scopes=["ingest"], actor=API, now=world.now)[0]
    calls = {}
    for key, answer in (("a", '{"customer": "c-1"}'), ("b", '{"customer": "c-2"}')):
        calls[key] = idempotency.call_of(
            tenant_id=world.tenant.id, token_id=token.id, method="POST", path="/x", key=key, body=b""
        )
        assert idempotency.begin(world.session, calls[key], world.now) is None
        idempotency.keep(world.session, calls[key], 201, answer)
    world.commit()
    world.book()
    erase(world)
    assert '"c-1"' not in everything(world)
    with pytest.raises(NotFound):
        idempotency.begin(world.session, calls["a"], world.now)
    assert idempotency.begin(world.session, calls["b"], world.now) == (201, '{"customer": "c-2"}')


def test_erase_takes_the_marks_of_who_was_on_it_with_what_they_were_on(world):
    mine, theirs = world.book(), world.book("c-2")
    lead = Actor.operator("7", "lead@acme.test")
    for followup in (mine, theirs):
        one = ("followup", str(followup.id))
        handling.take(world.session, world.tenant, one, refusal=None, actor=lead, now=world.now)
    world.commit()
    erasure.erase_customer(world.session, world.tenant, "c-1", actor=API, now=world.now)
    world.commit()
    assert handling.marked(world.session, world.tenant.id) == {"followup": [str(theirs.id)]}
    erasure.erase_tenant(world.session, world.tenant, actor=API, now=world.now)
    world.commit()
    assert handling.marked(world.session, world.tenant.id) == {}
