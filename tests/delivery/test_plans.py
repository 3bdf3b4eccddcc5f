"""The plans of delivery's and the audit's queries over 100,000 rows: each goes by an index."""

import re
from contextlib import contextmanager
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import DateTime, case, cast, event, insert, literal, null, select, text

from models import (
    audit,
    audit_seals,
    bulk,
    deliveries,
    delivery_retention,
    endpoints,
    outbox,
    publishing,
    sending,
)
from models.base import UtcDateTime, db, is_sqlite, table_of
from models.declarations import Declared
from models.deliveries import Delivery, DeliveryEvent
from models.endpoints import WebhookEndpoint
from models.outbox import OutboxEvent
from models.transactions import commit, rollback
from tests.support.create import API, create_tenant

pytestmark = pytest.mark.slow

ROWS = 100_000
LARGE = ("delivery", "delivery_event", "outbox_event", "audit_event")


@pytest.fixture
def filled(session, now):
    """Two endpoints: one with 100,000 old deliveries and some that are due, one that was removed long ago."""
    tenant = create_tenant(session, now=now)
    ids = [uuid4(), uuid4()]
    for id in ids:
        row = WebhookEndpoint(
            id=id, tenant_id=tenant.id, url="http://x.example/", secret="", event_types=["*"], state="active",
            failures=0, created_at=now, updated_at=now,
        )  # fmt: skip
        session.add(row)
        session.flush()
        audit.append(
            session, tenant_id=tenant.id, actor=API, action="endpoint.added", resource=("endpoint", str(id)),
            now=now, detail={"from": None, "to": "active"},
        )  # fmt: skip
    commit(session, "tests.create")
    for start in range(0, ROWS, 10_000):
        numbers = range(start, start + 10_000)
        task = {"aggregate_type": "task", "event_type": "task.created", "payload": {}}
        events = [{**task, "aggregate_id": f"t-{n}"} for n in numbers]
        bulk.insert_rows(session, OutboxEvent, events, common={"tenant_id": tenant.id, "created_at": now})
        noted = {"action": "a.b", "resource_type": "r", "purpose": None, "detail": {}}
        rows = [{**noted, "resource_id": f"r-{n}"} for n in numbers]
        audit.append_many(session, rows, tenant_id=tenant.id, actor=API, now=now)
    commit(session, "tests.create")
    while outbox.assign_positions(session, 20_000):
        commit(session, "tests.create")
    audit_seals.seal(session, now=now, limit=ROWS)
    session.execute(
        insert(table_of(Delivery)).from_select(
            ["tenant_id", "endpoint_id", "event_id", "state", "attempts", "next_attempt_at", "created_at",
             "updated_at", "version"],
            _deliveries(ids[0], now),
        )
    )  # fmt: skip
    session.execute(insert(table_of(DeliveryEvent)).from_select(list(_HISTORY), _history(now)))
    commit(session, "tests.create")
    with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    return tenant, ids


def _deliveries(endpoint_id, now):
    open_state = OutboxEvent.id % 1_000 == 0
    at = literal(now - timedelta(minutes=1), UtcDateTime())
    none = cast(null(), DateTime(timezone=True))
    return select(
        OutboxEvent.tenant_id,
        literal(endpoint_id, table_of(Delivery).c.endpoint_id.type),
        OutboxEvent.id,
        case((open_state, "pending"), else_="delivered"),
        literal(0),
        case((open_state, at), else_=none),
        literal(now, UtcDateTime()),
        literal(now, UtcDateTime()),
        literal(1),
    )


_HISTORY = ("tenant_id", "delivery_id", "at", "actor", "from_state", "to_state", "attempt", "status")


def _history(now):
    return select(
        Delivery.tenant_id,
        Delivery.id,
        literal(now, UtcDateTime()),
        literal("deliver"),
        literal("delivering"),
        literal("delivered"),
        literal(1),
        literal(200),
    )


@contextmanager
def statements():
    """What this process sends to the database, with its parameters."""
    seen = []

    def note(_connection, _cursor, statement, parameters, _context, _many):
        if re.match(r"\s*(SELECT|UPDATE|DELETE|INSERT|WITH)\b", statement):
            seen.append((statement, parameters))

    event.listen(db.engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(db.engine, "before_cursor_execute", note)


def plans(session, seen):
    """Each different statement of `seen` with its plan."""
    rollback(session)
    explain = "EXPLAIN QUERY PLAN " if is_sqlite(session) else "EXPLAIN "
    found = {}
    with db.engine.connect() as connection:
        for statement, parameters in dict(seen).items():
            lines = connection.exec_driver_sql(explain + statement, parameters)
            found[statement] = "\n".join(str(line[-1]) for line in lines)
    return found


def scans(found):
    """The plans that read a large table from end to end."""
    pattern = rf"(SCAN|Seq Scan on) ({'|'.join(LARGE)})\b(?! USING)"
    return [f"{statement}\n{plan}" for statement, plan in found.items() if re.search(pattern, plan)]


def delivering(session, tenant, ids, now):
    publishing.publish(session, now=now, limit=10)
    due = sending.due_endpoints(session, now)
    assert [one.id for one in due] == [ids[0]]
    rollback(session)
    parcels = sending.claim(session, ids[0], now=now, limit=10)
    assert len(parcels) == 10
    sending.release(session, parcels[1:], now=now)
    sending.record(session, parcels[0], deliveries.Outcome(200, None, 3), now=now)
    deliveries.history(session, deliveries.get(session, tenant.id, parcels[0].delivery_id))
    endpoints.of_tenant(session, tenant.id)
    rollback(session)


def purging(session, tenant, ids, now):
    delivery_retention.purge(session, declared=Declared(), now=now + timedelta(days=31), limit=1_000)
    delivery_retention.purge(session, declared=Declared(), now=now + timedelta(days=29), limit=1_000)


def sealing(session, tenant, ids, now):
    audit_seals.seal(session, now=now, limit=2_000)
    audit_seals.verify(session)
    rollback(session)
    audit_seals.purge(session, before=now + timedelta(days=1), now=now, limit=1_000)


INDEXES = {
    "ix_delivery_due",
    "ix_delivery_event_delivery",
    "ix_delivery_state_updated",
    "uq_delivery_event_endpoint",
    "ix_outbox_event_unpublished",
    "uq_outbox_event_position",
    "ix_audit_event_unplaced",
    "uq_audit_event_position",
}


def test_work_goes_by_its_indexes_when_there_are_100_000_rows(session, now, filled):
    """Fails with any of the indexes dropped: its name is then in no plan."""
    with statements() as seen:
        for work in (delivering, sealing, purging):
            work(session, *filled, now)
    found = plans(session, seen)
    assert not (bad := scans(found)), "\n\n".join(bad)
    used = {index for index in INDEXES if any(index in plan for plan in found.values())}
    assert used == INDEXES
