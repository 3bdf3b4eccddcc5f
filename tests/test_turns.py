"""SQLite's one write lock, under who takes it again and again."""

import threading
import time

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from models import base
from models.base import db

pytestmark = pytest.mark.slow

HOLDS_S = 0.03
WAITS_MS = 3_000


@pytest.fixture
def hog(sqlite_database):
    """Another thread that writes in many short transactions, one right after the other."""
    sqlite_database.reset()
    over = threading.Event()
    begun = threading.Event()

    def write():
        with sqlite_database.app.app_context(), db.engine.connect() as connection:
            while not over.is_set():
                with connection.begin():
                    connection.execute(text("UPDATE tenant SET name = name"))
                    begun.set()
                    time.sleep(HOLDS_S)

    thread = threading.Thread(target=write)
    thread.start()
    begun.wait()
    with sqlite_database.app.app_context():
        yield
        over.set()
        thread.join()
        db.engine.dispose()


def write_beside():
    with db.engine.connect() as connection:
        dbapi = connection.connection.dbapi_connection
        dbapi.execute(f"PRAGMA busy_timeout = {WAITS_MS}")
        try:
            with connection.begin():
                connection.execute(text("UPDATE tenant SET name = name"))
        finally:
            connection.invalidate()


def test_writing_gets_its_turn_when_another_writes_without_a_pause(hog):
    for _ in range(3):
        write_beside()


def test_writing_waits_in_vain_when_the_other_never_gives_way(hog, monkeypatch):
    monkeypatch.setattr(base, "GIVES_WAY_S", 0.0)
    with pytest.raises(OperationalError, match="locked"):
        for _ in range(10):
            write_beside()
