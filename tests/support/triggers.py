"""A trigger of the database that refuses rows, as one that somebody added to it."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import Connection

from models.base import db

MESSAGE = "not on my watch"


@contextmanager
def refusing(event: str, table: str) -> Iterator[None]:
    """Inside, each `event` (INSERT, UPDATE) on `table` raises."""
    with db.engine.begin() as connection:
        _create(connection, event, table)
    try:
        yield
    finally:
        with db.engine.begin() as connection:
            on = "" if connection.dialect.name == "sqlite" else f" ON {table}"
            connection.exec_driver_sql(f"DROP TRIGGER refusing{on}")


def _create(connection: Connection, event: str, table: str) -> None:
    head = f"CREATE TRIGGER refusing BEFORE {event} ON {table}"
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"{head} BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END")
        return
    connection.exec_driver_sql(
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{MESSAGE}'; END $$"
    )
    connection.exec_driver_sql(f"{head} FOR EACH ROW EXECUTE FUNCTION refuse()")
