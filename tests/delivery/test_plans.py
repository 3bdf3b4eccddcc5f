"""The plans of delivery's and the audit's queries over 100,000 rows: each goes by an index."""

import re
from contextlib import contextmanager
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import case, event, func, literal, select, update

from models import (
    audit,
    audit_seals,
    deliveries,
    delivery_retention,
    endpoints,
    publishing,
    sending,
)
from models.audit import AuditEvent
from models.base import UtcDateTime, db, is_sqlite, table_of
from models.declarations import Declared
from models.endpoints import WebhookEndpoint
from models.positions import PositionCounter, Span
from models.transactions import commit, rollback
from tests.support.create import API, create_tenant
from tests.support.filling import bare, fill, numbered
from tests.support.plans import analyze

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
    with db.engine.begin() as connection, bare(connection, *LARGE):
        _fill(connection, tenant.id, ids[0], now)
    for first in range(1, ROWS, audit_seals.RANGE):
        audit_seals._seal_range(session, Span(first, first + audit_seals.RANGE - 1), now)
    commit(session, "tests.create")
    analyze(session)
    return tenant, ids


def _fill(connection, tenant_id, endpoint_id, now):
    """All events published, and all rows of the audit sealed but as many as the endpoints' own."""
    event = {"tenant_id": tenant_id, "aggregate_type": "task", "event_type": "task.created", "payload": {}}
    fill(
        connection, "outbox_event", ROWS,
        lambda n: {**event, "id": n, "aggregate_id": numbered("t-", n), "created_at": now, "position": n},
        first=1,
    )  # fmt: skip
    delivery = {"tenant_id": tenant_id, "endpoint_id": endpoint_id, "attempts": 0, "version": 1}
    delivery |= {"created_at": now, "updated_at": now}
    fill(
        connection, "delivery", ROWS,
        lambda n: {**delivery, "id": n, "event_id": n, **_state(n, now)},
        first=1,
    )  # fmt: skip
    attempt = {"from_state": "delivering", "to_state": "delivered", "attempt": 1, "status": 200}
    attempt |= {"tenant_id": tenant_id, "actor": "deliver", "at": now}
    fill(connection, "delivery_event", ROWS, lambda n: {**attempt, "delivery_id": n}, first=1)
    noted = audit.row(tenant_id=tenant_id, actor=API, action="a.b", resource=("r", ""), now=now)
    rows = table_of(AuditEvent)
    first = connection.scalar(select(func.max(rows.c.id))) + 1
    connection.execute(update(rows).values(position=rows.c.id))
    fill(
        connection, "audit_event", ROWS,
        lambda n: {**noted, "id": n, "resource_id": numbered("r-", n), "position": case((n <= ROWS, n))},
        first=first,
    )  # fmt: skip
    connection.execute(update(table_of(PositionCounter)).values(last=ROWS))


def _state(n, now):
    is_open = n % 1_000 == 0
    at = literal(now - timedelta(minutes=1), UtcDateTime())
    return {"state": case((is_open, "pending"), else_="delivered"), "next_attempt_at": case((is_open, at))}


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
