"""SIGKILL at every fault point of delivery, sealing and purging, and what the next run makes of it."""

import re
import signal
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from jobs.delivery.webhook import deliver_due
from models import audit, audit_seals, deliveries, delivery_retention, endpoints, publishing
from models.audit import AuditEvent
from models.clock import iso
from models.declarations import Declared
from models.deliveries import Delivery, DeliveryEvent
from models.outbox import OutboxEvent
from models.purge_marks import PurgeMark
from models.transactions import commit, rollback
from tests.kills import acts
from tests.support import forks
from tests.support.create import API
from tests.support.processes import environment
from tests.support.sink import status

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
FILES = (
    "models/publishing.py",
    "models/sending.py",
    "models/delivery_retention.py",
    "models/audit_seals.py",
    "jobs/delivery/webhook.py",
)
DELIVER = ["deliveries.publish", "deliveries.claim", "deliveries.send", "deliveries.record"]
RETENTION = ["deliveries.retention", "deliveries.outbox_retention"]
OTHERS = ["deliveries.release", "deliveries.bury", *RETENTION, "audit.seal", "audit.purge"]
SIDES = ("before", "after")


@pytest.fixture
def kill_at(database, tmp_path, session):
    """Run `desk sweep NAME --at` in a process of its own that ends at a fault point."""
    env = environment(tmp_path, database.url, DESK_WEBHOOK_HOSTS="127.0.0.1")
    (tmp_path / "desk.toml").write_text('[retention]\naudit = "30d"\n')

    def run(point, name, at):
        rollback(session)
        act = ["desk", "sweep", name, "--at", iso(at), "--json"]
        given = {**env, "DESK_FAULTS": point}
        code, output = forks.run(acts.do, act, env=given, log=tmp_path / "sweep.log")
        assert code == -signal.SIGKILL, output
        session.expire_all()

    return run


def test_points_are_all_killed_at_when_the_code_has_more_of_them():
    found = set()
    for name in FILES:
        code = (ROOT / name).read_text()
        found |= set(re.findall(r'commit\([^)"]*"([^"]+)"\)', code))
        found |= {point.rpartition(":")[0] for point in re.findall(r'faults\.reach\("([^"]+)"\)', code)}
    assert found == {*DELIVER, *OTHERS}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("point", DELIVER)
def test_delivery_loses_nothing_when_killed(
    session, now, receiver, add_endpoint, enqueue, kill_at, point, side
):
    """Each event arrives; only what was on its way may arrive again, under the same id."""
    _endpoint, secret = add_endpoint(receiver.url())
    ids = {f"evt_{id}" for id in enqueue(3)}
    kill_at(f"{point}:{side}", "deliver", now)
    later = now + timedelta(minutes=6)
    deliver_due(session, now=later, limit=100)
    arrived = [request.webhook_id for request in receiver.received]
    assert set(arrived) == ids
    may_repeat = point == "deliveries.record" or (point, side) == ("deliveries.send", "after")
    assert max(Counter(arrived).values()) <= (2 if may_repeat else 1)
    assert all(request.verified(secret) for request in receiver.received)
    rollback(session)
    assert set(session.scalars(select(Delivery.state))) == {"delivered"}
    assert deliver_due(session, now=later + timedelta(days=1), limit=100).examined == 0


@pytest.mark.parametrize("side", SIDES)
def test_release_loses_nothing_when_killed(session, now, receiver, add_endpoint, enqueue, kill_at, side):
    add_endpoint(receiver.url())
    receiver.script(status(503))
    ids = {f"evt_{id}" for id in enqueue(4)}
    kill_at(f"deliveries.release:{side}", "deliver", now)
    deliver_due(session, now=now + timedelta(minutes=6), limit=100)
    assert {request.webhook_id for request in receiver.received} == ids
    assert len(receiver.received) == 5
    assert set(session.scalars(select(Delivery.state))) == {"delivered"}


@pytest.mark.parametrize("side", SIDES)
def test_bury_gives_each_up_once_when_killed(
    session, now, tenant, receiver, add_endpoint, enqueue, kill_at, side
):
    endpoint, _secret = add_endpoint(receiver.url())
    enqueue(3)
    publishing.publish(session, now=now, limit=100)
    endpoints.remove(session, tenant.id, endpoint.id, actor=API, now=now)
    commit(session, "tests.act")
    kill_at(f"deliveries.bury:{side}", "deliver", now)
    deliver_due(session, now=now, limit=100)
    for delivery in session.scalars(select(Delivery)).all():
        assert delivery.state == "dead"
        assert len(deliveries.history(session, delivery)) == 1


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("point", RETENTION)
def test_retention_goes_on_when_killed(session, now, receiver, add_endpoint, enqueue, kill_at, point, side):
    add_endpoint(receiver.url())
    enqueue(3)
    deliver_due(session, now=now, limit=100)
    later = now + timedelta(days=31)
    kill_at(f"{point}:{side}", "retention", later)
    models = (Delivery, DeliveryEvent, OutboxEvent)
    kept = [session.scalars(select(func.count()).select_from(model)).one() for model in models]
    first = [3, 3, 3] if side == "before" else [0, 0, 3]
    assert kept == (first if point == RETENTION[0] else [0, 0, 3 if side == "before" else 0])
    rollback(session)
    delivery_retention.purge(session, declared=Declared(), now=later, limit=100)
    assert session.scalars(select(func.count()).select_from(OutboxEvent)).one() == 0


@pytest.mark.parametrize("side", SIDES)
def test_seal_makes_a_whole_chain_when_killed(session, now, tenant, kill_at, side):
    note(session, now)
    kill_at(f"audit.seal:{side}", "seal_audit", now)
    note(session, now)
    audit_seals.seal(session, now=now, limit=100)
    found = verified(session)
    assert (found.ok, found.unsealed) == (True, 0)
    assert found.sealed == session.scalars(select(func.count()).select_from(AuditEvent)).one()


@pytest.mark.parametrize("side", SIDES)
def test_purge_takes_rows_and_tells_of_it_or_does_neither_when_killed(session, now, tenant, kill_at, side):
    note(session, now)
    audit_seals.seal(session, now=now, limit=100)
    kill_at(f"audit.purge:{side}", "retention", now + timedelta(days=31))
    told = session.scalars(select(AuditEvent).where(AuditEvent.action == "audit.purged")).all()
    assert len(told) == (0 if side == "before" else 1)
    assert verified(session).ok
    assert session.scalars(select(PurgeMark)).all() == []


def note(session, now):
    audit.append(session, tenant_id=1, actor=API, action="contact.noted", resource=("contact", "c"), now=now)
    commit(session, "tests.create")


def verified(session):
    rollback(session)
    audit_seals.snapshot(session)
    found = audit_seals.verify(session)
    rollback(session)
    return found
