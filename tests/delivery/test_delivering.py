"""From the outbox to a receiver: what is sent, and what each kind of answer makes of the delivery."""

import dataclasses
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import func, select, update

from jobs.delivery.webhook import deliver_due
from models import deliveries, endpoints, outbox, publishing, sending
from models.base import db, table_of
from models.deliveries import Delivery, Outcome, State
from models.errors import Conflict, Invalid, NotFound
from models.outbox import OutboxEvent
from models.transactions import commit, rollback
from tests.support.create import API, create_tenant
from tests.support.sink import documents, drip, drip_headers, garbage, hang, hang_up, huge, status
from tests.support.waiting import eventually

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


def test_deliver_reaches_only_endpoints_that_asked_when_there_are_several(
    session, now, receiver, add_endpoint, enqueue
):
    other = create_tenant(session, "other", now=now)
    add_endpoint(receiver.url("/all"))
    add_endpoint(receiver.url("/tasks"), event_types=("task.created", "contact.revoked"))
    add_endpoint(receiver.url("/paused"), active=False)
    add_endpoint(receiver.url("/other"), to=other)
    enqueue(event_type="followup.fired")
    enqueue(event_type="task.created")
    counts = deliver_due(session, now=now, limit=LIMIT)
    assert counts.own["published"] == 2
    paths = ("/all", "/tasks", "/paused", "/other")
    kinds = {path: [d["type"] for d in documents(receiver.at(path))] for path in paths}
    assert sorted(kinds["/all"]) == ["followup.fired", "task.created"]
    assert (kinds["/tasks"], kinds["/paused"], kinds["/other"]) == (["task.created"], [], [])


def test_deliver_waits_for_a_paused_endpoint_when_it_is_resumed(
    session, now, receiver, tenant, settings, add_endpoint, enqueue
):
    endpoint, _secret = add_endpoint(receiver.url())
    enqueue()
    publishing.publish(session, now=now, limit=LIMIT)
    given = {"settings": settings, "actor": API, "now": now}
    endpoints.update(session, tenant.id, endpoint.id, active=False, **given)
    commit(session, "tests.act")
    assert deliver_due(session, now=now, limit=LIMIT).examined == 0
    assert only(session).state == State.PENDING
    endpoints.update(session, tenant.id, endpoint.id, active=True, **given)
    commit(session, "tests.act")
    assert deliver_due(session, now=now, limit=LIMIT).own["delivered"] == 1


def test_deliver_gives_up_what_waits_when_the_endpoint_was_removed(
    session, now, receiver, tenant, add_endpoint, enqueue
):
    endpoint, _secret = add_endpoint(receiver.url())
    enqueue()
    publishing.publish(session, now=now, limit=LIMIT)
    endpoints.remove(session, tenant.id, endpoint.id, actor=API, now=now)
    commit(session, "tests.act")
    assert deliver_due(session, now=now, limit=LIMIT).own["dead"] == 1
    assert receiver.received == []
    delivery = only(session)
    assert (delivery.state, delivery.last_error) == ("dead", "The endpoint was removed.")
    with pytest.raises(Conflict, match="endpoint was removed"):
        deliveries.rearm(session, tenant.id, delivery.id, reason="again", actor=API, now=now)
    rollback(session)


def test_deliver_says_what_to_do_when_the_secret_can_not_be_read(
    session, now, app, receiver, settings, monkeypatch, add_endpoint, enqueue
):
    add_endpoint(receiver.url())
    enqueue()
    other = dataclasses.replace(settings, secret_key="another key of some length")
    monkeypatch.setitem(app.extensions, "desk_settings", other)
    assert deliver_due(session, now=now, limit=LIMIT).own["failed"] == 1
    assert "SECRET_KEY has changed" in only(session).last_error
    assert receiver.received == []


def test_deliver_signs_with_the_new_secret_when_it_was_rotated_between_attempts(
    session, now, receiver, tenant, settings, add_endpoint, enqueue
):
    endpoint, _first = add_endpoint(receiver.url())
    receiver.script(status(503))
    enqueue()
    deliver_due(session, now=now, limit=LIMIT)
    _endpoint, second = endpoints.rotate_secret(
        session, tenant.id, endpoint.id, settings=settings, actor=API, now=now
    )
    commit(session, "tests.act")
    deliver_due(session, now=now + timedelta(minutes=1), limit=LIMIT)
    assert receiver.received[1].verified(second)


def test_deliver_takes_a_claim_again_when_its_lease_ran_out(session, now, receiver, add_endpoint, enqueue):
    endpoint, _secret = add_endpoint(receiver.url())
    [event_id] = enqueue()
    publishing.publish(session, now=now, limit=LIMIT)
    [lost] = sending.claim(session, endpoint.id, now=now, limit=10)
    assert deliver_due(session, now=now + timedelta(minutes=4, seconds=50), limit=LIMIT).examined == 0
    assert deliver_due(session, now=now + timedelta(minutes=5), limit=LIMIT).own["delivered"] == 1
    [request] = receiver.received
    assert request.webhook_id == lost.webhook_id == f"evt_{event_id}"
    delivery = only(session)
    assert delivery.attempts == 2
    assert [event.to_state for event in deliveries.history(session, delivery)] == ["failed", "delivered"]
    rollback(session)
    late = sending.record(session, lost, Outcome(500, "Answered 500.", 1), now=now + timedelta(minutes=6))
    assert late is None
    assert only(session).state == State.DELIVERED
    assert "after the delivery had been taken again" in deliveries.history(session, delivery)[-1].error


def test_deliver_is_dead_when_the_last_attempt_was_lost(session, now, receiver, add_endpoint, enqueue):
    endpoint, _secret = add_endpoint(receiver.url())
    enqueue()
    publishing.publish(session, now=now, limit=LIMIT)
    for n in range(12):
        assert len(sending.claim(session, endpoint.id, now=now + n * timedelta(minutes=5), limit=1)) == 1
    assert deliver_due(session, now=now + timedelta(hours=2), limit=LIMIT).own["delivered"] == 0
    assert only(session).state == State.DEAD
    assert receiver.received == []


def test_deliver_gives_back_the_rest_of_a_batch_when_the_host_is_in_trouble(
    session, now, receiver, add_endpoint, enqueue
):
    """The first shows it; the others go back as they were, no attempt counted."""
    add_endpoint(receiver.url())
    receiver.script(status(503))
    enqueue(6)
    counts = deliver_due(session, now=now, limit=LIMIT)
    assert (counts.own["failed"], counts.examined) == (1, 1)
    states = Counter((d.state, d.attempts) for d in session.scalars(select(Delivery)))
    assert states == {("failed", 1): 1, ("pending", 0): 5}
    rollback(session)
    # Once more with care: one at a time, which it answers, and all the others follow in the same run.
    assert deliver_due(session, now=now, limit=LIMIT).own["delivered"] == 5


def test_deliver_goes_on_with_other_events_when_one_alone_is_refused(
    session, now, receiver, add_endpoint, enqueue
):
    add_endpoint(receiver.url())
    receiver.script(status(200), status(422), status(200), status(400))
    enqueue(30)
    counts = deliver_due(session, now=now, limit=LIMIT)
    assert (counts.own["failed"], counts.own["delivered"]) == (2, 28)


def test_deliver_is_capped_when_the_limit_is_reached(session, now, receiver, add_endpoint, enqueue):
    add_endpoint(receiver.url())
    enqueue(25)
    first = deliver_due(session, now=now, limit=20)
    assert (first.examined, first.own["delivered"], first.capped) == (20, 20, True)
    second = deliver_due(session, now=now, limit=20)
    assert (second.examined, second.capped) == (5, False)


def test_deliver_serves_others_when_an_endpoint_hangs(session, now, receiver, add_endpoint, enqueue):
    """The one hangs until all of the other's events have arrived: had they waited for it, none would."""
    add_endpoint(receiver.url("/slow"))
    add_endpoint(receiver.url("/quick"))
    enqueue(40)

    def wait_for_the_others(handler):
        eventually(lambda: len(receiver.at("/quick")) == 40, within=9)
        status(503)(handler)

    receiver.script(wait_for_the_others, *[status(503)] * 50, path="/slow")
    counts = deliver_due(session, now=now, limit=LIMIT)
    assert counts.own["delivered"] == 40
    assert len(receiver.at("/slow")) <= 4


def test_deliver_serves_others_when_more_endpoints_hang_than_there_are_senders(
    session, now, receiver, add_endpoint, enqueue
):
    for n in range(20):
        failing, _secret = add_endpoint(receiver.url(f"/failing-{n}"))
        failing.failures = 3
    add_endpoint(receiver.url("/quick"))
    commit(session, "tests.create")
    enqueue(10)

    def wait_for_the_others(handler):
        eventually(lambda: len(receiver.at("/quick")) == 10, within=9)
        status(503)(handler)

    for n in range(20):
        receiver.script(wait_for_the_others, *[status(503)] * 9, path=f"/failing-{n}")
    assert deliver_due(session, now=now, limit=LIMIT).own["delivered"] == 10


def test_deliver_sends_what_is_enqueued_meanwhile_when_an_endpoint_hangs(
    session, now, app, receiver, add_endpoint, enqueue, tenant
):
    add_endpoint(receiver.url("/slow"), event_types=("followup.fired",))
    add_endpoint(receiver.url("/quick"), event_types=("task.created",))
    enqueue(event_type="followup.fired")

    def enqueue_and_wait(handler):
        with app.app_context():
            outbox.enqueue(
                db.session(),
                tenant_id=2,
                event_type="task.created",
                aggregate=("task", "t"),
                payload={},
                now=now,
            )
            commit(db.session(), "tests.create")
        eventually(lambda: len(receiver.at("/quick")) == 1, within=9)
        status(200)(handler)

    receiver.script(enqueue_and_wait, path="/slow")
    assert tenant.id == 2
    assert deliver_due(session, now=now, limit=LIMIT).own["delivered"] == 2


def test_deliver_holds_no_transaction_when_it_sends(session, now, receiver, add_endpoint, enqueue):
    """Another connection takes the write lock while a request is on its way."""
    add_endpoint(receiver.url())
    enqueue()
    found = []

    def write_and_answer(handler):
        with db_engine.begin() as connection:
            found.append(connection.execute(update(table_of(Delivery)).values(last_status=1)).rowcount)
        status(200)(handler)

    db_engine = db.engine
    receiver.script(write_and_answer)
    assert deliver_due(session, now=now, limit=LIMIT).own["delivered"] == 1
    assert found == [1]


@pytest.mark.slow
def test_deliver_fails_after_ten_seconds_when_nothing_or_too_little_comes(
    session, now, receiver, add_endpoint, enqueue
):
    for path, behaviour in {"/hang": hang, "/drip": drip, "/headers": drip_headers}.items():
        add_endpoint(receiver.url(path))
        receiver.script(behaviour, path=path)
    enqueue()
    assert deliver_due(session, now=now, limit=LIMIT).own["failed"] == 3
    errors = set(session.scalars(select(Delivery.last_error)))
    assert errors == {"There was no whole answer within 10 s."}


def test_publish_gives_each_event_one_position_and_delivery_when_repeated(
    session, now, receiver, add_endpoint, enqueue
):
    add_endpoint(receiver.url("/a"))
    add_endpoint(receiver.url("/b"), event_types=("followup.fired", "task.created"))
    enqueue(2_500)
    assert publishing.publish(session, now=now, limit=10_000) == 2_500
    assert publishing.publish(session, now=now, limit=10_000) == 0
    positions = session.scalars(select(OutboxEvent.position).order_by(OutboxEvent.position)).all()
    assert positions == list(range(1, 2_501))
    assert session.scalars(select(func.count()).select_from(Delivery)).one() == 5_000


def test_rearm_gives_all_attempts_again_under_the_same_id_when_dead(
    session, now, receiver, tenant, add_endpoint, enqueue
):
    add_endpoint(receiver.url())
    receiver.script(status(410))
    enqueue()
    deliver_due(session, now=now, limit=LIMIT)
    dead = only(session)
    with pytest.raises(Conflict):
        deliveries.send_now(session, tenant.id, dead.id, actor=API, now=now)
    rollback(session)
    given = {"reason": "it is back", "expected_version": dead.version}
    deliveries.rearm(session, tenant.id, dead.id, actor=API, now=now, **given)
    commit(session, "tests.act")
    armed = only(session)
    assert (armed.state, armed.attempts) == ("pending", 0)
    with pytest.raises(Conflict) as refusal:
        deliveries.rearm(session, tenant.id, armed.id, reason="again", actor=API, now=now)
    assert refusal.value.current.id == armed.id
    rollback(session)
    assert deliver_due(session, now=now, limit=LIMIT).own["delivered"] == 1
    assert len({request.webhook_id for request in receiver.received}) == 1
    told = [(event.actor, event.to_state, event.error) for event in deliveries.history(session, armed)]
    assert told == [
        ("deliver", "dead", "Answered 410."),
        ("tests", "pending", "it is back"),
        ("deliver", "delivered", None),
    ]


def test_send_now_brings_the_next_attempt_forward_when_it_waits(
    session, now, receiver, tenant, add_endpoint, enqueue
):
    add_endpoint(receiver.url())
    receiver.script(status(429, Retry_After="86400"))
    enqueue()
    deliver_due(session, now=now, limit=LIMIT)
    waiting = only(session)
    deliveries.send_now(session, tenant.id, waiting.id, actor=API, now=now)
    commit(session, "tests.act")
    assert deliver_due(session, now=now, limit=LIMIT).own["delivered"] == 1


def test_send_now_is_refused_and_rearm_waits_when_the_endpoint_is_paused(
    session, now, settings, receiver, tenant, add_endpoint, enqueue
):
    endpoint, _secret = add_endpoint(receiver.url())
    receiver.script(status(410))
    enqueue()
    deliver_due(session, now=now, limit=LIMIT)
    dead = only(session)
    endpoints.update(session, tenant.id, endpoint.id, active=False, settings=settings, actor=API, now=now)
    deliveries.rearm(session, tenant.id, dead.id, reason="again", actor=API, now=now)
    commit(session, "tests.act")
    with pytest.raises(Conflict, match="paused"):
        deliveries.send_now(session, tenant.id, dead.id, actor=API, now=now)
    rollback(session)
    assert deliver_due(session, now=now, limit=LIMIT).examined == 0


@pytest.mark.parametrize("reason", ["", "  ", "a" * 501, "half\x00"])
def test_rearm_is_invalid_when_no_reason_is_given_that_can_be_kept(
    session, now, receiver, tenant, add_endpoint, enqueue, reason
):
    add_endpoint(receiver.url())
    receiver.script(status(410))
    enqueue()
    deliver_due(session, now=now, limit=LIMIT)
    with pytest.raises(Invalid, match="reason"):
        deliveries.rearm(session, tenant.id, only(session).id, reason=reason, actor=API, now=now)
    rollback(session)


def test_verbs_are_refused_when_the_delivery_moved_or_is_of_another_tenant(
    session, now, receiver, tenant, add_endpoint, enqueue
):
    other = create_tenant(session, "other", now=now)
    add_endpoint(receiver.url())
    receiver.script(status(410))
    enqueue()
    deliver_due(session, now=now, limit=LIMIT)
    dead = only(session)
    for verb in (partial(deliveries.rearm, reason="again"), deliveries.send_now):
        with pytest.raises(NotFound):
            verb(session, other.id, dead.id, actor=API, now=now)
        with pytest.raises(Conflict):
            verb(session, tenant.id, dead.id, actor=API, now=now, expected_version=1)
    rollback(session)


def test_state_moves_only_as_the_table_says(now):
    for before in State:
        for after in State:
            delivery = Delivery(state=before.value, version=1)
            if after in deliveries.MOVES.get(before, ()) or before == after == State.DELIVERING:
                deliveries.set_state(delivery, after, now)
                assert delivery.version == 2
            else:
                with pytest.raises(ValueError, match="may not move"):
                    deliveries.set_state(delivery, after, now)
