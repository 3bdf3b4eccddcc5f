"""Append-only, held by the database itself: what passes, and every way round that is refused."""

import pytest
from sqlalchemy import delete, insert, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from models import audit, audit_seals, audit_triggers, outbox, positions, purge_marks
from models.audit import AuditEvent
from models.base import db, table_of
from models.outbox import OutboxEvent
from models.purge_marks import PurgeMark
from models.transactions import commit, rollback
from tests.support.create import API

TABLES = {"audit_event": AuditEvent, "outbox_event": OutboxEvent}


@pytest.fixture
def rows(session, now):
    """Three events in each table, the first two with a position (sealed, in the audit)."""
    for n in range(3):
        audit.append(session, tenant_id=1, actor=API, action="a.b", resource=("r", f"r-{n}"), now=now)
        outbox.enqueue(
            session, tenant_id=1, event_type="task.created", aggregate=("task", f"{n}"), payload={}, now=now
        )
        commit(session, "tests.create")
        if n == 1:
            audit_seals.seal(session, now=now, limit=100)
            outbox.assign_positions(session, 100)
            commit(session, "tests.create")


def run(statement, *, loose=False):
    """Run SQL on a connection of its own; `loose`: as a tool would open it, without our pragmas."""
    rollback(db.session())
    with db.engine.connect() as connection:
        sqlite = db.engine.dialect.name == "sqlite"
        if loose and sqlite:
            connection.exec_driver_sql("PRAGMA recursive_triggers = OFF")
        try:
            with connection.begin_nested() if connection.in_transaction() else connection.begin():
                connection.exec_driver_sql(statement)
        finally:
            if loose and sqlite:
                connection.rollback()
                connection.exec_driver_sql("PRAGMA recursive_triggers = ON")
                connection.rollback()


COLUMN = {"audit_event": "resource_id", "outbox_event": "aggregate_id"}
REFUSED = [
    "UPDATE {table} SET {column} = 'x' WHERE id = 1",
    "UPDATE {table} SET {column} = 'x' WHERE id = 3",
    "UPDATE {table} SET position = 9 WHERE id = 1",
    "UPDATE {table} SET position = NULL WHERE id = 1",
    "UPDATE {table} SET position = 9, {column} = 'x' WHERE id = 3",
    "UPDATE {table} SET id = 77 WHERE id = 3",
    "UPDATE {table} SET tenant_id = NULL WHERE id = 3",
    "DELETE FROM {table} WHERE id = 1",
    "DELETE FROM {table} WHERE id = 3",
    "DELETE FROM {table}",
]
SQLITE_ONLY = [
    "INSERT OR REPLACE INTO {table} SELECT * FROM {table} WHERE id = 3",
    "REPLACE INTO {table} SELECT * FROM {table} WHERE id = 1",
    "UPDATE OR REPLACE {table} SET position = 1 WHERE id = 3",
    "UPDATE OR REPLACE {table} SET id = 1 WHERE id = 3",
]
POSTGRESQL_ONLY = [
    "TRUNCATE {table} CASCADE",
    "INSERT INTO {table} SELECT * FROM {table} WHERE id = 3 ON CONFLICT (id) DO UPDATE SET {column} = 'x'",
    "MERGE INTO {table} t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
]


@pytest.mark.parametrize("table", TABLES)
def test_database_refuses_every_change_when_a_row_stands(session, rows, table):
    own = SQLITE_ONLY if db.engine.dialect.name == "sqlite" else POSTGRESQL_ONLY
    for statement in (*REFUSED, *own):
        for loose in (False, True):
            with pytest.raises(DBAPIError, match="append-only"):
                run(statement.format(table=table, column=COLUMN[table]), loose=loose)
    assert len(session.scalars(select(TABLES[table])).all()) == 3


@pytest.mark.parametrize("table", TABLES)
def test_database_refuses_a_row_when_it_brings_its_position(session, rows, table):
    names = ", ".join(audit_triggers.COLUMNS[table])
    chosen = names.replace("id, ", "99, ", 1)
    with pytest.raises(DBAPIError, match="append-only"):
        run(f"INSERT INTO {table} ({names}, position) SELECT {chosen}, 50 FROM {table} WHERE id = 3")


@pytest.mark.parametrize("table", TABLES)
def test_database_takes_the_first_position_when_nothing_else_changes(session, rows, table):
    assert len(positions.assign(session, TABLES[table], 100)) == 1
    commit(session, "tests.create")
    assert session.scalars(select(table_of(TABLES[table]).c.position).order_by("id")).all() == [1, 2, 3]


@pytest.mark.parametrize("table", TABLES)
def test_triggers_guard_every_column_when_the_table_has_one_more(table):
    """A column that is added later has to be named in audit_triggers too."""
    columns = {column.name for column in table_of(TABLES[table]).columns}
    assert columns == {*audit_triggers.COLUMNS[table], "position"}


@pytest.mark.parametrize("statement", ["UPDATE {t} SET count = 1", "DELETE FROM {t}", "TRUNCATE {t}"])
def test_database_refuses_a_change_of_a_seal_when_one_stands(session, rows, statement):
    if statement.startswith("TRUNCATE") and db.engine.dialect.name == "sqlite":
        statement = "INSERT OR REPLACE INTO {t} SELECT * FROM {t}"
    for loose in (False, True):
        with pytest.raises(DBAPIError, match="append-only"):
            run(statement.format(t="audit_seal"), loose=loose)


def test_database_deletes_up_to_the_mark_when_it_is_set(session, rows):
    with purge_marks.marked(session, AuditEvent, 1):
        session.execute(delete(AuditEvent).where(AuditEvent.id == 1))
        with pytest.raises(DBAPIError, match="append-only"), session.begin_nested():
            session.execute(delete(AuditEvent).where(AuditEvent.id == 2))
    commit(session, "tests.purge")
    assert session.scalars(select(AuditEvent.id).order_by(AuditEvent.id)).all() == [2, 3]
    with pytest.raises(DBAPIError, match="append-only"):
        session.execute(delete(AuditEvent).where(AuditEvent.id == 2))


def test_database_deletes_no_audit_row_when_it_is_not_sealed(session, rows):
    positions.assign(session, AuditEvent, 100)
    commit(session, "tests.create")
    with purge_marks.marked(session, AuditEvent, 1_000):
        for id in (3,):
            with pytest.raises(DBAPIError, match="append-only"), session.begin_nested():
                session.execute(delete(AuditEvent).where(AuditEvent.id == id))


def test_database_refuses_a_commit_when_a_mark_is_left_in_it(session, rows):
    session.execute(insert(PurgeMark).values(stream="audit_event", upto_position=1_000))
    session.execute(delete(AuditEvent).where(AuditEvent.id == 1))
    with pytest.raises(IntegrityError):
        commit(session, "tests.purge")
    rollback(session)
    assert len(session.scalars(select(AuditEvent)).all()) == 3


def test_database_refuses_to_keep_a_mark_when_someone_would_allow_it(session, rows):
    with pytest.raises(DBAPIError, match="append-only"):
        run("INSERT INTO purge_mark_kept (stream) VALUES ('audit_event')")


def test_positions_follow_commits_when_ids_do_not(postgresql_database, now):
    """A row that becomes visible after higher ids were numbered comes after them, never between.

    On SQLite there is one writer at a time, so that ids are given in the order of the commits.
    """
    postgresql_database.reset()
    with postgresql_database.app.app_context(), db.engine.connect() as slow:
        session = db.session()
        event = {"tenant_id": 1, "aggregate_type": "task", "event_type": "task.created", "payload": {}}
        slow.execute(insert(OutboxEvent).values(**event, aggregate_id="slow", created_at=now))
        session.execute(insert(OutboxEvent).values(**event, aggregate_id="quick", created_at=now))
        commit(session, "tests.create")
        assert len(outbox.assign_positions(session, 100)) == 1
        commit(session, "tests.create")
        slow.commit()
        outbox.assign_positions(session, 100)
        commit(session, "tests.create")
        found = session.execute(
            select(OutboxEvent.aggregate_id, OutboxEvent.position).order_by(OutboxEvent.id)
        )
        assert found.all() == [("slow", 2), ("quick", 1)]
