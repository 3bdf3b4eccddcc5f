"""How long deliveries, the outbox and the audit are kept."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from jobs.delivery.webhook import deliver_due
from jobs.sweeps.retention import retention
from models import audit_seals, delivery_retention
from models import retention as rules
from models.audit import AuditEvent
from models.clock import parse_duration
from models.declarations import Declared
from models.deliveries import Delivery, DeliveryEvent
from models.outbox import OutboxEvent
from models.transactions import rollback
from tests.support.sink import status

DAY = timedelta(days=1)


def left(session):
    rollback(session)
    return [
        session.scalars(select(func.count()).select_from(model)).one()
        for model in (Delivery, DeliveryEvent, OutboxEvent)
    ]


def declare(**kept):
    return Declared(1, {"retention": kept})


@pytest.fixture
def three(session, now, receiver, add_endpoint, enqueue):
    """One delivery of each kind: delivered, dead, and one that waits."""
    add_endpoint(receiver.url())
    receiver.script(status(200), status(410), status(500))
    enqueue(3)
    deliver_due(session, now=now, limit=100)


def test_purge_takes_what_was_delivered_when_it_is_older_than_thirty_days(session, now, three):
    counts = delivery_retention.purge(session, declared=Declared(), now=now + 29 * DAY, limit=100)
    assert counts.changed == 0
    counts = delivery_retention.purge(session, declared=Declared(), now=now + 31 * DAY, limit=100)
    assert counts.own == {"deliveries": 1, "events": 1}
    assert left(session) == [2, 2, 2]
    assert set(session.scalars(select(Delivery.state))) == {"dead", "failed"}


def test_purge_leaves_what_waits_when_it_is_however_old(session, now, three):
    delivery_retention.purge(session, declared=Declared(), now=now + 4_000 * DAY, limit=100)
    assert session.scalars(select(Delivery.state)).all() == ["failed"]
    assert left(session) == [1, 1, 1]


def test_purge_leaves_events_when_nobody_was_given_their_position(session, now, enqueue):
    enqueue(2)
    counts = delivery_retention.purge(session, declared=Declared(), now=now + 100 * DAY, limit=100)
    assert counts.own == {"deliveries": 0, "events": 0}
    assert left(session)[2] == 2


def test_purge_follows_the_declaration_when_there_is_one(session, now, three):
    kept = declare(deliveries="1d", dead_deliveries="2d", outbox="3d")
    delivery_retention.purge(session, declared=kept, now=now + 1.5 * DAY, limit=100)
    assert left(session) == [2, 2, 3]
    delivery_retention.purge(session, declared=kept, now=now + 2.5 * DAY, limit=100)
    assert left(session) == [1, 1, 3]
    delivery_retention.purge(session, declared=kept, now=now + 3.5 * DAY, limit=100)
    assert left(session) == [1, 1, 1]


def test_purge_takes_nothing_when_the_declaration_is_faulty(session, now, three):
    faulty = declare(deliveries="1 day")
    assert [fault.path for fault in rules.faults(faulty)] == ["retention.deliveries"]
    assert delivery_retention.purge(session, declared=faulty, now=now + 400 * DAY, limit=100).changed == 0
    assert [fault.path for fault in rules.faults(declare(sessions="1d"))] == ["retention.sessions"]


def test_purge_is_capped_when_the_limit_is_reached(session, now, receiver, add_endpoint, enqueue):
    add_endpoint(receiver.url())
    enqueue(12)
    deliver_due(session, now=now, limit=100)
    counts = delivery_retention.purge(session, declared=Declared(), now=now + 31 * DAY, limit=10)
    assert (counts.examined, counts.capped) == (10, True)
    assert left(session) == [2, 2, 12]


def test_defaults_are_durations_when_they_are_given():
    for name, value in rules.DEFAULTS.items():
        assert value is None or parse_duration(value, name)


def test_sweep_keeps_the_audit_when_no_duration_is_declared(session, now, three):
    audit_seals.seal(session, now=now, limit=100)
    before = session.scalars(select(func.count()).select_from(AuditEvent)).one()
    counts = retention(session, now=now + 4_000 * DAY, limit=100)
    assert "audit_events" not in counts.own
    assert session.scalars(select(func.count()).select_from(AuditEvent)).one() >= before
