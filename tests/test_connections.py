"""Connections to PostgreSQL between transactions: what the server keeps of them, and what ended meanwhile."""

import psycopg
import pytest
from sqlalchemy import text, update
from sqlalchemy.exc import DBAPIError

from models.base import db, read_only
from models.tenants import Tenant

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

CUT = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
PREPARED = text("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT%'")
MANY = 10


def read(statement):
    with read_only():
        found = db.session.execute(statement).scalar_one()
        db.session.remove()
    return found


def test_reads_keep_what_the_server_prepared_when_they_end(app):
    with app.app_context():
        db.session.remove()
        # One connection for all: each keeps its own.
        db.engine.dispose()
        assert [read(PREPARED) for _ in range(MANY)][-1] > 0


def test_read_succeeds_when_the_server_ended_the_resting_connection(app, database):
    with app.app_context():
        first = read(text("SELECT pg_backend_pid()"))
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute(CUT)
        assert read(text("SELECT pg_backend_pid()")) != first


def test_write_is_refused_only_inside_a_read_when_both_use_one_connection(app):
    change = update(Tenant).values(name="Acme").execution_options(synchronize_session=False)
    with app.app_context():
        for _ in range(2):
            with read_only():
                with pytest.raises(DBAPIError, match="read-only"):
                    db.session.execute(change)
                db.session.remove()
            db.session.execute(change)
            db.session.remove()
