"""Fixtures that every test may use: both databases, fresh for each test, and an application on them."""

import gc
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import event, text
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from models.settings import Settings, from_env

os.environ.setdefault("SECRET_KEY", "a-secret-key-for-the-tests-only")

from jobs.app import make_app
from models.base import db
from tests.support import postgres

T = datetime(2031, 8, 14, 12, 0, tzinfo=UTC)
SERVER, NO_SERVER = "DESK_TEST_POSTGRES", "unused"

_servers = ExitStack()


@event.listens_for(Engine, "connect")
def _wait_for_no_disk(connection: Any, _record: Any) -> None:
    """As on the tests' PostgreSQL: a test's database need not outlive the machine."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a PostgreSQL, what needs one is left out."""
    if os.environ.get(SERVER) != NO_SERVER:
        return
    without = [one for one in items if not _needs_postgresql(one)]
    config.hook.pytest_deselected(items=[one for one in items if one not in without])
    items[:] = without


def _needs_postgresql(item: pytest.Item) -> bool:
    called = getattr(item, "callspec", None)
    asked = getattr(item, "fixturenames", ())
    return "postgresql_database" in asked or bool(called and "postgresql" in called.params.values())


def pytest_collection_finish() -> None:
    """What is imported stays, so looking through it for garbage again and again is time lost."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """One PostgreSQL server for all workers, started by the process that leads them."""
    if SERVER not in os.environ and not config.option.collectonly:
        os.environ[SERVER] = _servers.enter_context(postgres.server())


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        _servers.close()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A skipped test proves nothing: it fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and not hasattr(session.config, "workerinput") and reporter.stats.get("skipped"):
        reporter.write_line("a test was skipped: that counts as a failure", red=True)
        session.exitstatus = 1


@dataclass(frozen=True)
class Database:
    """A migrated, empty database, and how to make it so again."""

    dialect: str
    url: str
    app: Flask
    template: Path | None

    def reset(self) -> None:
        """Empty all tables but what the migration put there."""
        with self.app.app_context():
            db.session.remove()
            if self.template is not None:
                db.engine.dispose()
                path = Path(self.url.removeprefix("sqlite:///"))
                for suffix in ("-wal", "-shm"):
                    path.with_name(path.name + suffix).unlink(missing_ok=True)
                # A new file: a connection left open on the former would share its memory with new ones.
                fresh = path.with_suffix(".new")
                shutil.copyfile(self.template, fresh)
                fresh.replace(path)
                return
            with db.engine.begin() as connection:
                # Replica mode leaves the triggers out that refuse a TRUNCATE of the audit.
                connection.execute(text("SET LOCAL session_replication_role = replica"))
                names = [t.name for t in db.metadata.sorted_tables if t.name not in KEPT]
                if connection.scalar(text("SELECT pg_database_size(current_database())")) > LARGE_BYTES:
                    connection.execute(text(f"TRUNCATE {', '.join(names)} RESTART IDENTITY CASCADE"))
                else:
                    # Fifty times faster than TRUNCATE, which makes a new file for each table and index.
                    connection.exec_driver_sql(" ".join(f"DELETE FROM {name};" for name in names))
                    connection.execute(text(RESTART))
                connection.execute(text(SEED))


KEPT = {"alembic_version"}
LARGE_BYTES = 40_000_000
RESTART = "SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, 1, false) FROM pg_sequences"
SEED = """
    INSERT INTO position_counter (stream, last) VALUES ('audit_event', 0), ('outbox_event', 0);
    INSERT INTO tenant (key, name, timezone, features, created_at) VALUES
    ('platform', 'Platform', 'UTC', '{"followups": true, "delayed_automations": true}', CURRENT_TIMESTAMP)
"""


def settings_for(url: str, folder: Path, **env: str) -> Settings:
    """The settings of a process of its own on the database `url`, with its files in `folder`."""
    return from_env(
        {"DATABASE_URL": url, "DESK_VAR": str(folder), "SECRET_KEY": os.environ["SECRET_KEY"], **env}
    )


@pytest.fixture(scope="session")
def worker_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="desk-tests-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def sqlite_database(worker_folder: Path) -> Iterator[Database]:
    template, path = worker_folder / "template.db", worker_folder / "desk.db"
    app = make_app(settings_for(f"sqlite:///{template}", worker_folder))
    with app.app_context():
        upgrade()
        db.engine.dispose()
    app = make_app(settings_for(f"sqlite:///{path}", worker_folder))
    yield Database("sqlite", f"sqlite:///{path}", app, template)


@pytest.fixture(scope="session")
def postgresql_database(worker_folder: Path, worker_id: str) -> Iterator[Database]:
    server, name = os.environ[SERVER], f"desk_{worker_id}"
    postgres.execute(server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")
    url = postgres.database_url(server, name)
    app = make_app(settings_for(url, worker_folder))
    with app.app_context():
        upgrade()
    yield Database("postgresql", url, app, None)
    with app.app_context():
        db.engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Database:
    """An empty, migrated database: each test runs on both kinds."""
    found: Database = request.getfixturevalue(f"{request.param}_database")
    found.reset()
    return found


@pytest.fixture
def app(database: Database) -> Iterator[Flask]:
    """The bare application of the engine, its context pushed."""
    with database.app.app_context():
        yield database.app
        db.session.remove()


@pytest.fixture
def session(app: Flask) -> Session:
    return db.session()


@pytest.fixture
def now() -> datetime:
    """The moment at which the cases are told."""
    return T
