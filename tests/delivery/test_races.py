"""Processes at once: each delivery is attempted once, each event gets one position, and one chain is made."""

import json
import threading

import pytest
from sqlalchemy import func, select

from jobs.delivery.webhook import LANES
from models import audit, audit_seals
from models.audit import AuditEvent
from models.clock import iso
from models.deliveries import Delivery, DeliveryEvent
from models.outbox import OutboxEvent
from models.transactions import commit, rollback
from tests.support.create import API
from tests.support.processes import running
from tests.support.sink import status

pytestmark = pytest.mark.slow

EVENTS = 200


@pytest.fixture
def processes(database, tmp_path):
    with running(tmp_path, database.url, None, DESK_WEBHOOK_HOSTS="127.0.0.1") as started:
        yield started


def test_two_processes_attempt_each_delivery_once_when_they_run_at_once(
    session, now, receiver, add_endpoint, enqueue, processes
):
    add_endpoint(receiver.url())
    enqueue(EVENTS)
    rollback(session)
    # One process sends to one endpoint over no more than its lanes: more at once shows that both are at it.
    both = threading.Barrier(LANES + 1)

    def wait_for_the_other(handler):
        both.wait(timeout=30)
        status(200)(handler)

    receiver.script(*[wait_for_the_other] * (LANES + 1))
    racing = [processes.desk("sweep", "deliver", "--at", iso(now), "--json") for _ in range(2)]
    assert [process.popen.wait(60) for process in racing] == [0, 0], processes.dead()
    counts = [json.loads(process.output().splitlines()[-1]) for process in racing]
    assert sum(count["delivered"] for count in counts) == EVENTS
    assert all(count["delivered"] > 0 for count in counts)
    assert sum(count["published"] for count in counts) == EVENTS
    arrived = [request.webhook_id for request in receiver.received]
    assert len(arrived) == len(set(arrived)) == EVENTS
    assert set(session.execute(select(Delivery.state, Delivery.attempts))) == {("delivered", 1)}
    assert session.scalars(select(func.count()).select_from(DeliveryEvent)).one() == EVENTS
    positions = session.scalars(select(OutboxEvent.position).order_by(OutboxEvent.position)).all()
    assert positions == list(range(1, EVENTS + 1))


def test_four_processes_make_one_chain_when_they_seal_at_once(session, now, processes):
    rows = [
        {"action": "a.b", "resource_type": "r", "resource_id": f"r-{n}", "purpose": None, "detail": {}}
        for n in range(5_000)
    ]
    audit.append_many(session, rows, tenant_id=1, actor=API, now=now)
    commit(session, "tests.create")
    racing = [processes.desk("sweep", "seal_audit", "--at", iso(now), "--json") for _ in range(4)]
    assert [process.popen.wait(60) for process in racing] == [0] * 4, processes.dead()
    counts = [json.loads(process.output().splitlines()[-1]) for process in racing]
    sealed = sum(count["sealed"] for count in counts)
    assert sealed >= len(rows)
    # Each run by hand leaves an event of its own, which a run after it may have sealed.
    whole = session.scalars(select(func.count()).select_from(AuditEvent)).one()
    rollback(session)
    audit_seals.snapshot(session)
    found = audit_seals.verify(session)
    assert (found.ok, found.sealed, found.unsealed) == (True, sealed, whole - sealed)
