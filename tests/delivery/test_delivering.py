"""From the outbox to a receiver: what is sent, and what each kind of answer makes of the delivery."""

from datetime import timedelta

from sqlalchemy import select

from jobs.delivery.webhook import deliver_due
from models import deliveries
from models.deliveries import Delivery, State
from models.outbox import OutboxEvent
from models.transactions import rollback
from tests.support.sink import garbage, hang_up, huge, status

LIMIT = 1_000


def only(session):
    [delivery] = session.scalars(select(Delivery).execution_options(populate_existing=True))
    rollback(session)
    return delivery


def test_deliver_sends_a_signed_document_when_an_event_is_due(session, now, receiver, add_endpoint, enqueue):
    _endpoint, secret = add_endpoint(receiver.url())
    [event_id] = enqueue()
    counts = deliver_due(session, now=now, limit=LIMIT)
    assert counts.own == {"published": 1, "delivered": 1, "failed": 0, "dead": 0}
    [request] = receiver.received
    assert request.verified(secret) == {
        "id": event_id,
        "type": "followup.fired",
        "timestamp": "2031-08-14T12:00:00.000000Z",
        "data": {"followup_id": "f-0", "arm": "schedule"},
    }
    assert request.webhook_id == f"evt_{event_id}"
    assert request.headers["content-type"] == "application/json"
    delivery = only(session)
    assert (delivery.state, delivery.attempts, delivery.last_status) == (State.DELIVERED, 1, 200)
    assert [event.to_state for event in deliveries.history(session, delivery)] == ["delivered"]
    assert session.scalars(select(OutboxEvent.position)).all() == [1]


def test_deliver_sends_nothing_again_when_it_was_delivered(session, now, receiver, add_endpoint, enqueue):
    add_endpoint(receiver.url())
    enqueue(30)
    deliver_due(session, now=now, limit=LIMIT)
    again = deliver_due(session, now=now + timedelta(days=2), limit=LIMIT)
    assert again.examined == 0
    assert len({request.webhook_id for request in receiver.received}) == len(receiver.received) == 30


def test_deliver_tries_again_under_the_same_id_when_answered_500(
    session, now, receiver, add_endpoint, enqueue
):
    _endpoint, secret = add_endpoint(receiver.url())
    receiver.script(status(500))
    enqueue()
    counts = deliver_due(session, now=now, limit=LIMIT)
    assert counts.own["failed"] == 1
    delivery = only(session)
    assert (delivery.state, delivery.last_status, delivery.last_error) == ("failed", 500, "Answered 500.")
    wait = delivery.next_attempt_at - now
    assert timedelta(seconds=7.5) <= wait <= timedelta(seconds=15)
    assert deliver_due(session, now=now + timedelta(seconds=7), limit=LIMIT).examined == 0
    assert deliver_due(session, now=now + timedelta(seconds=16), limit=LIMIT).own["delivered"] == 1
    first, second = receiver.received
    assert first.webhook_id == second.webhook_id
    assert first.body == second.body
    second.verified(secret)


def test_deliver_gives_up_when_answered_410(session, now, receiver, add_endpoint, enqueue):
    add_endpoint(receiver.url())
    receiver.script(status(410))
    enqueue()
    assert deliver_due(session, now=now, limit=LIMIT).own["dead"] == 1
    assert only(session).state == State.DEAD
    assert deliver_due(session, now=now + timedelta(days=3), limit=LIMIT).examined == 0


def test_deliver_waits_as_asked_when_answered_429_with_retry_after(
    session, now, receiver, add_endpoint, enqueue
):
    add_endpoint(receiver.url())
    receiver.script(status(429, Retry_After="3600"))
    enqueue()
    deliver_due(session, now=now, limit=LIMIT)
    delivery = only(session)
    assert delivery.state == State.FAILED
    assert timedelta(hours=1) <= delivery.next_attempt_at - now < timedelta(hours=1, seconds=30)


def test_deliver_follows_no_redirect_when_answered_302(session, now, receiver, add_endpoint, enqueue):
    add_endpoint(receiver.url())
    receiver.script(status(302, Location=receiver.url("/elsewhere")))
    enqueue()
    deliver_due(session, now=now, limit=LIMIT)
    assert receiver.at("/elsewhere") == []
    assert "redirects are not followed" in only(session).last_error


def test_deliver_counts_as_delivered_when_the_answer_is_huge(session, now, receiver, add_endpoint, enqueue):
    add_endpoint(receiver.url())
    receiver.script(huge(5_000_000))
    enqueue()
    assert deliver_due(session, now=now, limit=LIMIT).own["delivered"] == 1


def test_deliver_fails_when_the_connection_closes_or_speaks_no_http(
    session, now, receiver, add_endpoint, enqueue
):
    add_endpoint(receiver.url())
    receiver.script(hang_up, garbage)
    enqueue(2)
    counts = deliver_due(session, now=now, limit=LIMIT)
    assert counts.own["failed"] == 2
    assert counts.errors == 0


def test_deliver_is_dead_after_twelve_attempts_when_all_fail(session, now, receiver, add_endpoint, enqueue):
    add_endpoint(receiver.url())
    receiver.script(*[status(500)] * 20)
    enqueue()
    waits, at = [], now
    for _ in range(12):
        deliver_due(session, now=at, limit=LIMIT)
        delivery = only(session)
        if delivery.next_attempt_at:
            waits.append(delivery.next_attempt_at - at)
            at = delivery.next_attempt_at
    assert delivery.state == State.DEAD
    assert delivery.attempts == len(receiver.received) == 12
    assert len(waits) == 11
    assert timedelta(hours=18) <= max(waits) <= timedelta(hours=24, seconds=30)
    assert len(deliveries.history(session, delivery)) == 12
