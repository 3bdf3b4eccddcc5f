"""What is applied of what came in: once, in whatever order, and without stopping at what can't be applied."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from models import erasure, inbound, inbound_events, intake
from models.automations.records import Execution
from models.followups.records import Contact
from models.inbound_events import InboundEvent
from models.tenants import Tenant
from models.transactions import commit
from tests.automations.world import T0, at
from tests.connectors.world import World, conversation_event, conversation_of, message_event
from tests.support.create import API

STATUS = {"event": "conversation_updated", "execution_delay": 60}
DONE = ("done", b"", [], None)


def resolved(minutes: float, **given):
    changed = [{"status": {"previous_value": "open", "current_value": "resolved"}}]
    given = {"status": "resolved", "changed_attributes": changed, **given}
    return conversation_event("conversation_status_changed", at=at(minutes), **given)


def answer(id: int, minutes: float, **given):
    sender = {"id": 42, "name": "Ann", "type": "user"}
    return message_event(id, at(minutes), message_type="outgoing", sender=sender, **given)


def test_message_is_applied_with_its_conversation_and_armed(world: World):
    world.rule(event="message_created", execution_delay=60)
    counts = world.take(conversation_event("conversation_created"), message_event())
    assert (counts.examined, counts.changed, counts.errors, counts.capped) == (2, 2, 0, False)
    assert counts.own == {"applied": 2, "armed": 0, "failed": 0}
    known, [message], row = world.known(), world.messages(), world.row()
    assert (known.status, known.customer, known.waiting_since) == ("open", "c-1", T0)
    assert (message.external_id, message.seq, message.source, message.text) == (
        "501",
        501,
        "chatwoot",
        "hello",
    )
    assert (row.message_id, row.episode_key) == (message.id, "awaiting_agent:1930384800000000")
    assert [(e.state, e.raw, e.happenings, e.next_attempt_at) for e in world.events()] == [DONE, DONE]


def test_customer_is_heard_when_they_write(world: World):
    world.take(message_event())
    assert world.session.scalars(select(Contact.customer)).all() == ["c-1"]


def test_processing_again_changes_nothing(world: World):
    world.rule(event="message_created", execution_delay=60)
    world.take(message_event())
    version = world.row().version
    assert world.process().examined == 0
    assert world.store(message_event()) == 0
    assert (world.row().version, world.count(Execution)) == (version, 1)


def test_message_is_stored_and_armed_once_when_two_deliveries_bring_it(world: World):
    world.rule(event="message_created", execution_delay=None)
    world.store(message_event(), message_event(), ids=("a", "b"))
    assert world.process().changed == 2
    assert (len(world.messages()), world.count(Execution)) == (1, 1)


def test_changed_status_takes_the_payloads_updated_at_to_the_microsecond(world: World):
    world.rule(**STATUS)
    exact = at(3) + timedelta(microseconds=844761)
    world.take(conversation_event("conversation_created"), resolved(0, updated_at=exact.timestamp()))
    assert world.known().status_changed_at == exact
    assert world.rows()[-1].due_at == exact + timedelta(minutes=60)


def test_older_event_changes_nothing_when_a_newer_one_is_known(world: World):
    world.take(
        conversation_event("conversation_updated", at=at(5), labels=["vip"], status="pending"),
        conversation_event("conversation_updated", at=at(2), labels=["late"], status="open"),
    )
    known = world.known()
    assert (known.labels, known.status) == (["vip"], "pending")


def test_status_is_held_since_the_first_event_that_told_it_when_that_comes_last(world: World):
    world.rule(**STATUS)
    stories = [
        conversation_event("conversation_created"),
        resolved(2),
        conversation_event("conversation_updated", at=at(4), status="resolved", labels=["vip"]),
    ]
    world.take(*reversed(stories), now=at(5))
    assert world.known().status_changed_at == at(2)
    keys = {row.episode_key for row in world.rows()}
    assert "status:1930384920000000" in keys
    world.sweep(at(63))
    ran = [(row.episode_key, row.status) for row in world.rows() if row.status == "executed"]
    assert ran == [("status:1930384920000000", "executed")]


def test_clock_stays_when_what_waited_on_it_may_have_run(world: World):
    world.rule(**{**STATUS, "execution_delay": 10})
    world.take(conversation_event("conversation_created"))
    world.take(conversation_event("conversation_updated", at=at(4), status="resolved", labels=["vip"]))
    world.sweep(at(14))
    world.take(resolved(2), now=at(15))
    assert world.known().status_changed_at == at(4)
    world.sweep(at(16))
    executed = [row.episode_key for row in world.rows() if row.status == "executed"]
    assert executed == ["status:1930385040000000"]


def test_status_is_of_a_new_stretch_when_another_one_between_is_told_of_late(world: World):
    world.take(conversation_event("conversation_created"), resolved(1), resolved(6), now=at(7))
    world.take(conversation_event("conversation_updated", at=at(4), status="open"), now=at(20))
    assert world.known().status_changed_at == at(6)


def test_clock_is_unknown_when_an_old_conversation_is_first_heard_of(world: World):
    """Case 3. Nobody here saw when its status changed: no row."""
    world.rule(**STATUS)
    world.take(conversation_event("conversation_updated", at=at(600), created_at=T0.timestamp()), now=at(600))
    assert (world.known().status_changed_at, world.rows()) == (None, [])


def test_clock_is_of_its_making_when_a_young_conversation_is_first_heard_of_by_a_message(world: World):
    world.rule(**STATUS)
    world.take(message_event(at=at(0.5)))
    assert (world.known().status_changed_at, world.row().due_at) == (T0, at(60))
    world.take(conversation_event("conversation_created"))
    assert world.row().due_at == at(60)


def test_reply_is_chased_when_the_customers_message_before_it_comes_late(world: World):
    world.rule(event="message_created", execution_delay=60)
    world.take(answer(502, 3), now=at(4))
    world.take(message_event(501, at(1)), now=at(5))
    world.sweep(at(63))
    by_key = {row.episode_key: row.status for row in world.rows()}
    assert by_key["reply_chase:501"] == "executed"
    assert by_key["reply_chase:0"] == "skipped"


def test_nothing_is_begun_when_a_message_comes_after_what_followed_it_may_have_run(world: World):
    world.rule(event="message_created", execution_delay=10)
    world.take(answer(502, 3), now=at(4))
    world.sweep(at(13))
    assert world.row().status == "executed"
    world.take(message_event(501, at(1)), now=at(14))
    assert len(world.messages()) == 2
    assert world.row().status == "executed"


def test_waiting_is_not_begun_when_the_reply_came_first(world: World):
    world.take(answer(502, 3), message_event(501, at(1)), now=at(4))
    assert world.known().waiting_since is None


def test_message_reads_as_it_does_now_when_it_was_edited(world: World):
    world.take(message_event())
    edited = message_event(content="goodbye", conversation=conversation_of(at=at(2)))
    world.take({**edited, "event": "message_updated"})
    assert [one.text for one in world.messages()] == ["goodbye"]
    world.take(
        {**message_event(content="old", conversation=conversation_of(at=at(1))), "event": "message_updated"}
    )
    assert [one.text for one in world.messages()] == ["goodbye"]


def test_edit_stands_when_the_message_itself_comes_after_it(world: World):
    edited = message_event(content="goodbye", conversation=conversation_of(at=at(2)))
    world.take({**edited, "event": "message_updated"}, message_event())
    assert [one.text for one in world.messages()] == ["goodbye"]


@pytest.mark.parametrize(
    "document",
    [
        answer(502, 1, content_attributes={"recovery_desk_key": "an-id:0"}),
        answer(502, 1, content_attributes={"automation_rule_id": 3}),
        message_event(502, message_type="activity", sender=None),
        message_event(502, content_attributes={"email": {"auto_reply": True}}),
    ],
    ids=["ours", "chatwoot's rule", "activity", "auto-reply"],
)
def test_nothing_is_armed_when_a_rule_or_a_machine_wrote_it(world: World, document):
    """Case 65. Event performed by a rule, an activity message, an e-mail flagged auto-reply: no row."""
    world.take(conversation_event("conversation_created"))
    world.rule(event="message_created", execution_delay=60)
    world.take(document, now=at(2))
    assert (len(world.messages()), world.rows()) == (1, [])


def test_one_row_waits_when_a_conversation_is_made_pending_and_updated(world: World):
    """Case 66. Created pending, a delayed `conversation_updated` rule: 1 row; an update after: still 1."""
    world.rule(
        **STATUS,
        conditions=[{"attribute": "status", "operator": "equal_to", "values": ["pending"], "joiner": None}],
    )
    world.take(conversation_event("conversation_created", status="pending"))
    assert world.row().due_at == at(60)
    world.take(conversation_event("conversation_updated", at=at(1), status="pending", labels=["vip"]))
    assert world.row().due_at == at(60)


def test_poison_event_waits_longer_each_time_and_stops_no_other(world: World, monkeypatch):
    world.store(message_event(501), message_event(502))
    real = intake.receive_message

    def raise_at_501(session, tenant, given, **more):
        if given.id == "501":
            raise RuntimeError("a customer's words")
        return real(session, tenant, given, **more)

    monkeypatch.setattr(intake, "receive_message", raise_at_501)
    counts = world.process()
    assert (counts.errors, counts.changed, counts.faults[0]["row"][:13]) == (1, 1, "inbound event")
    bad, good = world.events()
    assert (bad.state, bad.attempts, good.state) == ("stored", 1, "done")
    assert (bad.next_attempt_at, bad.error) == (T0 + timedelta(seconds=30), "It raised RuntimeError.")
    assert world.process().examined == 0
    assert world.process(T0 + timedelta(seconds=30)).errors == 1
    monkeypatch.undo()
    assert world.process(at(60)).own["applied"] == 1
    assert {one.state for one in world.events()} == {"done"}


def test_event_is_failed_for_good_when_it_raised_12_times(world: World, monkeypatch):
    world.store(message_event())

    def broken(*_args, **_more):
        raise RuntimeError

    monkeypatch.setattr(intake, "receive_message", broken)
    now = T0
    for _ in range(12):
        world.process(now)
        now += timedelta(hours=2)
    event = world.event()
    assert (event.state, event.attempts, event.next_attempt_at) == ("failed", 12, None)
    monkeypatch.undo()
    assert world.process(now).examined == 0


def test_event_is_armed_by_the_next_run_when_the_first_died_between_its_transactions(
    world: World, monkeypatch
):
    world.rule(event="message_created", execution_delay=None)
    world.store(message_event())

    class Died(BaseException):
        pass

    def die(*_args, **_more):
        raise Died

    monkeypatch.setattr(intake, "arm", die)
    with pytest.raises(Died):
        world.process()
    world.session.rollback()
    assert (world.event().state, len(world.messages()), world.rows()) == ("applied", 1, [])
    monkeypatch.undo()
    assert world.process().own == {"applied": 0, "armed": 1, "failed": 0}
    assert (world.event().state, len(world.rows())) == ("done", 1)


def test_ids_that_run_at_once_are_handed_on_after_their_commit(world: World):
    world.rule(event="message_created", execution_delay=None)
    world.store(message_event())
    handed = []

    def take(ids):
        assert not world.session.in_transaction()
        handed.extend(ids)

    inbound.process(world.session, declared=world.declared, now=T0, limit=10, at_once=take)
    assert handed == [world.row().id]


def test_run_is_capped_when_more_waits(world: World):
    world.store(*(message_event(500 + number) for number in range(1, 4)))
    assert (world.process(limit=2).capped, world.process(limit=2).capped) == (True, False)


def test_change_arms_nothing_when_our_own_action_made_it(world: World):
    label = [{"name": "resolve_conversation", "params": []}]
    world.rule(event="message_created", execution_delay=10, actions=label)
    resolved_rule = world.rule(event="conversation_resolved", execution_delay=None)
    world.take(message_event())
    world.sweep(at(10))
    world.take(resolved(10.1), now=at(10.2))
    assert world.known().status == "resolved"
    assert [row for row in world.rows() if row.rule_id == resolved_rule.id] == []
    world.take(conversation_event("conversation_updated", at=at(12), status="open"), resolved(13), now=at(30))
    assert len([row for row in world.rows() if row.rule_id == resolved_rule.id]) == 1


def erase(world: World, customer: str) -> None:
    tenant = world.session.get_one(Tenant, world.tenant.id)
    erasure.erase_customer(world.session, tenant, customer, actor=API, now=T0)
    commit(world.session, "tests.erase")


def test_nothing_told_of_a_customer_is_left_when_they_are_erased(world: World):
    world.take(conversation_event("conversation_created"), message_event())
    other = conversation_of(8, meta={"sender": {"id": 2, "identifier": "c-2"}})
    world.store(
        message_event(502),
        conversation_event("conversation_updated", at=at(1)),
        message_event(503, conversation=conversation_of(meta=None)),
        message_event(504, conversation=other, sender={"id": 2, "identifier": "c-2"}),
    )
    erase(world, "c-1")
    [left] = world.events()
    assert (left.conversation, left.customer) == ("8", "c-2")
    assert world.process().examined == 1


def test_events_are_purged_when_they_were_over_a_week_ago(world: World):
    world.take(message_event(501))
    world.store(message_event(502))
    assert inbound_events.purge(world.session, now=T0 + timedelta(days=7), limit=10) == 0
    later = T0 + timedelta(days=7, microseconds=1)
    assert inbound_events.purge(world.session, now=later, limit=10) == 1
    world.finish()
    [left] = world.events()
    assert left.state == "stored"


def test_words_of_a_customer_are_in_no_event_that_is_done(world: World):
    world.take(message_event(content="my secret"))
    columns = select(func.count()).select_from(InboundEvent).where(InboundEvent.raw != b"")
    assert world.session.scalar(columns) == 0
