"""The chain over the audit: what sealing makes, and what verifying finds once a row was changed behind it."""

from datetime import timedelta

import pytest
from sqlalchemy import select, text

from models import audit, audit_seals
from models.audit import AuditEvent
from models.audit_seals import AuditSeal
from models.base import db
from models.transactions import commit, rollback
from tests.support.create import API

MANY = 25


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch):
    monkeypatch.setattr(audit_seals, "RANGE", 10)


@pytest.fixture
def write(session, now):
    """Append a number of events of the tenant `platform`."""

    def events(number):
        rows = [
            {
                "action": "contact.noted",
                "resource_type": "contact",
                "resource_id": f"c-{n}",
                "purpose": None,
                "detail": {"n": n, "text": "não \u2028 quero", "price": 1.5, "none": None},
            }
            for n in range(number)
        ]
        audit.append_many(session, rows, tenant_id=1, actor=API, now=now)
        commit(session, "tests.create")

    return events


@pytest.fixture
def behind(app):
    """Run a statement behind the triggers, as whoever owns the database could."""

    def run(statement):
        rollback(db.session())
        with db.engine.begin() as connection:
            if db.engine.dialect.name == "postgresql":
                connection.execute(text("SET LOCAL session_replication_role = replica"))
                connection.execute(text(statement))
                return
            triggers = connection.execute(
                text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            ).all()
            for name, _sql in triggers:
                connection.exec_driver_sql(f"DROP TRIGGER {name}")
            connection.execute(text(statement))
            for _name, sql in triggers:
                connection.exec_driver_sql(sql)

    return run


def verified(session):
    rollback(session)
    audit_seals.snapshot(session)
    found = audit_seals.verify(session)
    rollback(session)
    return found


def test_seal_covers_every_event_in_ranges_when_run(session, now, write):
    write(MANY)
    counts = audit_seals.seal(session, now=now, limit=10_000)
    assert counts.own == {"ranges": 3, "sealed": MANY}
    assert not counts.capped
    seals = session.scalars(select(AuditSeal).order_by(AuditSeal.id)).all()
    assert [(seal.first_position, seal.last_position, seal.count) for seal in seals] == [
        (1, 10, 10),
        (11, 20, 10),
        (21, 25, 5),
    ]
    found = verified(session)
    assert (found.ok, found.ranges, found.sealed, found.unsealed) == (True, 3, MANY, 0)
    assert found.head == seals[-1].digest


def test_seal_goes_on_where_it_ended_when_run_again(session, now, write):
    write(10)
    audit_seals.seal(session, now=now, limit=10_000)
    assert audit_seals.seal(session, now=now, limit=10_000).own == {"ranges": 0, "sealed": 0}
    write(5)
    assert verified(session).unsealed == 5
    audit_seals.seal(session, now=now, limit=10_000)
    found = verified(session)
    assert (found.ok, found.ranges, found.sealed, found.unsealed) == (True, 2, 15, 0)


def test_seal_is_capped_when_the_limit_is_reached(session, now, write):
    write(30)
    counts = audit_seals.seal(session, now=now, limit=20)
    assert (counts.own["sealed"], counts.capped) == (20, True)
    assert verified(session).unsealed == 10


def test_verify_holds_when_nothing_was_ever_sealed(session):
    found = verified(session)
    assert (found.ok, found.ranges, found.head) == (True, 0, None)


TAMPERED = {
    "a detail": ("UPDATE audit_event SET detail = '{\"n\": 8}' WHERE position = 15", (11, 20)),
    "a time": ("UPDATE audit_event SET at = '2020-01-01 00:00:00.000000' WHERE position = 3", (1, 10)),
    "an actor": ("UPDATE audit_event SET actor_label = 'another' WHERE position = 21", (21, 25)),
    "a tenant": ("UPDATE audit_event SET request_id = 'x' WHERE position = 10", (1, 10)),
    "a row gone": ("DELETE FROM audit_event WHERE position = 14", (11, 20)),
    "the first row gone": ("DELETE FROM audit_event WHERE position = 1", (1, 10)),
    "the first range gone": ("DELETE FROM audit_event WHERE position <= 10", (1, 10)),
    "the last row gone": ("DELETE FROM audit_event WHERE position = 25", (21, 25)),
    "a seal's digest": (
        "UPDATE audit_seal SET digest = replace(digest, '1', 'z') WHERE first_position = 11",
        (11, 20),
    ),
    "a seal's count": ("UPDATE audit_seal SET count = 9 WHERE first_position = 1", (1, 10)),
    "a seal's end": ("UPDATE audit_seal SET last_position = 19 WHERE first_position = 11", (11, 19)),
    "a seal gone": ("DELETE FROM audit_seal WHERE first_position = 11", (21, 25)),
    "the last seal gone": ("DELETE FROM audit_seal WHERE first_position = 21", (21, 25)),
    "all seals gone": ("DELETE FROM audit_seal", (1, 25)),
    "the order": ("UPDATE audit_event SET position = 5000 WHERE position = 7", (1, 10)),
    "a row after the last": ("UPDATE audit_event SET position = 26 WHERE position IS NULL", (26, 26)),
    "the counter": ("UPDATE position_counter SET last = 36 WHERE stream = 'audit_event'", (26, 36)),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_verify_names_the_first_bad_range_when_changed_behind_the_triggers(session, now, write, behind, what):
    write(MANY)
    audit_seals.seal(session, now=now, limit=10_000)
    write(1)
    assert verified(session).ok
    statement, bad = TAMPERED[what]
    behind(statement)
    found = verified(session)
    assert not found.ok
    assert (found.bad.first, found.bad.last) == bad
    assert found.why


def test_verify_names_the_range_when_a_row_was_put_in_the_place_of_another(session, now, write, behind):
    write(9)
    audit_seals.seal(session, now=now, limit=10_000)
    write(1)
    behind("DELETE FROM audit_event WHERE position = 5")
    behind("UPDATE audit_event SET position = 5 WHERE position IS NULL")
    found = verified(session)
    assert (found.ok, found.bad.first) == (False, 1)


def test_purge_deletes_whole_ranges_and_writes_one_event_when_they_are_old(session, now, write):
    write(MANY)
    audit_seals.seal(session, now=now, limit=10_000)
    later = now + timedelta(days=400)
    write(10)
    audit_seals.seal(session, now=later, limit=10_000)
    counts = audit_seals.purge(session, before=later - timedelta(days=30), now=later, limit=21)
    assert (counts.own["purged"], counts.capped) == (20, True)
    found = verified(session)
    assert (found.ok, found.purged_upto, found.sealed) == (True, 20, 15)
    [event] = session.scalars(select(AuditEvent).where(AuditEvent.action == "audit.purged"))
    assert event.detail == {"rows": 20, "ranges": 2, "upto_position": 20}
    assert len(session.scalars(select(AuditSeal)).all()) == 4
    again = audit_seals.purge(session, before=later - timedelta(days=30), now=later, limit=10_000)
    assert (again.own["purged"], again.capped) == (5, False)
    audit_seals.seal(session, now=later, limit=10_000)
    assert verified(session).ok
    assert audit_seals.purge(session, before=later - timedelta(days=30), now=later, limit=10_000).changed == 0


def test_purge_leaves_what_is_not_sealed_when_it_is_old(session, now, write):
    write(10)
    later = now + timedelta(days=400)
    assert audit_seals.purge(session, before=later, now=later, limit=10_000).own == {"purged": 0}
    assert len(session.scalars(select(AuditEvent)).all()) == 10


def test_verify_names_the_range_when_rows_were_purged_without_saying_so(session, now, write, behind):
    write(MANY)
    audit_seals.seal(session, now=now, limit=10_000)
    audit_seals.purge(session, before=now + timedelta(days=1), now=now, limit=10)
    assert verified(session).ok
    behind("DELETE FROM audit_event WHERE position <= 20")
    found = verified(session)
    assert (found.ok, found.bad.first, found.bad.last) == (False, 11, 20)
