"""The database: one declarative base, column types, and how connections and transactions begin."""

from __future__ import annotations

import json
import select
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import psycopg
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session as FlaskSession
from psycopg.pq import TransactionStatus
from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Engine, Integer, MetaData, String, Table, event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column, registry
from sqlalchemy.pool import ConnectionPoolEntry, Pool
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

BUSY_TIMEOUT_MS = 10_000
# SQLite's write lock has no queue: who waits asks again every 100 ms, and meets no moment at which it is free
# while another connection takes it again and again. So one that has held it for this long lets go that long.
HELD_FOR_S, AT_ONCE_S, GIVES_WAY_S = 0.5, 0.005, 0.12
# For how long a connection to PostgreSQL that was put back is taken to be alive unless it says otherwise.
TRUSTED_FOR_S = 5.0
NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

_read_only: ContextVar[bool] = ContextVar("read_only", default=False)


class UtcDateTime(TypeDecorator[datetime]):
    """UTC with microseconds on both databases; always aware; a naive value is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime can't be stored; give it a zone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class StoredJson(TypeDecorator[Any]):
    """JSONB on PostgreSQL, text on SQLite."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        if dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import JSONB

            return dialect.type_descriptor(JSONB())
        return dialect.type_descriptor(JSON())


class Scalar(TypeDecorator[Any]):
    """A text, number or truth value that a source gave, kept with its type; null where there is none."""

    impl = String(250)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class later_of(FunctionElement[datetime]):
    """The latest of some times that are not null: `greatest` on PostgreSQL, `max` on SQLite."""

    inherit_cache = True
    type = UtcDateTime()


@compiles(later_of, "postgresql")
def _greatest(element: later_of, compiler: Any, **kw: Any) -> str:
    return f"greatest({compiler.process(element.clauses, **kw)})"


@compiles(later_of)
def _max(element: later_of, compiler: Any, **kw: Any) -> str:
    return f"max({compiler.process(element.clauses, **kw)})"


# SQLite counts up only an INTEGER primary key; PostgreSQL needs 64 bits.
BigId = BigInteger().with_variant(Integer, "sqlite")

Serial = Annotated[int, mapped_column(BigId, primary_key=True, autoincrement=True)]
Key = Annotated[str, mapped_column(String(63))]
Name = Annotated[str, mapped_column(String(200))]


class DeskSession(FlaskSession):
    """A session that refuses writes going round the audit (see audit_guard)."""


class _Declarative(DeclarativeBase):
    registry = registry(
        metadata=MetaData(naming_convention=NAMES),
        type_annotation_map={datetime: UtcDateTime, dict[str, Any]: StoredJson, list[str]: StoredJson},
    )


db = SQLAlchemy(
    model_class=_Declarative,
    session_options={"class_": DeskSession, "expire_on_commit": False},
)

if TYPE_CHECKING:

    class Base(_Declarative):
        """What every table's class inherits from."""

else:
    Base = db.Model


@contextmanager
def read_only() -> Iterator[None]:
    """Transactions begun inside are read-only: the database refuses a write, and SQLite takes no lock."""
    token = _read_only.set(True)
    try:
        yield
    finally:
        _read_only.reset(token)


@contextmanager
def writable() -> Iterator[None]:
    """Inside `read_only`: transactions begun inside may write, for a short one of another session."""
    token = _read_only.set(False)
    try:
        yield
    finally:
        _read_only.reset(token)


def is_read_only() -> bool:
    return _read_only.get()


def table_of(model: type[Base]) -> Table:
    """The mapped table of `model`."""
    assert isinstance(model.__table__, Table)
    return model.__table__


def is_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


@event.listens_for(Engine, "connect")
def _configure_connection(dbapi_connection: Any, _record: Any) -> None:
    if isinstance(dbapi_connection, sqlite3.Connection):
        # None stops pysqlite from beginning deferred transactions of its own, which claim rows twice.
        dbapi_connection.isolation_level = None
        cursor = dbapi_connection.cursor()
        for pragma in (
            f"busy_timeout = {BUSY_TIMEOUT_MS}",
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "recursive_triggers = ON",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()


@event.listens_for(Pool, "checkin")
def _put_back(_dbapi_connection: Any, record: ConnectionPoolEntry) -> None:
    record.info["put_back"] = time.monotonic()


@event.listens_for(Pool, "checkout")
def _take(dbapi_connection: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
    """Take no connection out of the pool that the server ended; SQLite's don't end.

    A server that ends a connection says so on it, which costs no question to see. What lies between may
    drop one in silence, so that one which rested is asked all the same.
    """
    if isinstance(dbapi_connection, sqlite3.Connection):
        return
    rested = time.monotonic() - record.info.get("put_back", 0.0)
    if dbapi_connection.closed or rested > TRUSTED_FOR_S or _has_news(dbapi_connection):
        _ask(dbapi_connection)


def _has_news(raw: Any) -> bool:
    """Whether something came in that nobody asked for, which to an idle connection is most often its end."""
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _ask(raw: Any) -> None:
    """Raises `InvalidatePoolError`, upon which the pool makes its connections anew."""
    try:
        raw.execute("SELECT 1")
        raw.rollback()
    except psycopg.Error as error:
        raise InvalidatePoolError from error


@event.listens_for(Engine, "begin")
def _begin(connection: Connection) -> None:
    reading = _read_only.get()
    if connection.dialect.name == "sqlite":
        # The pragma holds for the connection, so it is set at each begin; IMMEDIATE takes the write lock
        # before the first read, so that what a transition read can't be stale.
        if not reading:
            _give_way(connection)
        connection.exec_driver_sql(f"PRAGMA query_only = {'ON' if reading else 'OFF'}")
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
    else:
        _begin_reading(connection.connection.dbapi_connection, reading)


def _begin_reading(raw: Any, reading: bool) -> None:
    """Let psycopg say READ ONLY with its BEGIN, which saves the statement that would say it alone."""
    wanted = True if reading else None
    if raw.read_only is not wanted:
        raw.read_only = wanted


def _give_way(connection: Connection) -> None:
    """Wait for a moment where this connection has held SQLite's write lock for long, in many transactions."""
    now = time.monotonic()
    held_since = connection.info.get("held_since", now)
    if now - connection.info.get("ended", 0.0) > AT_ONCE_S:
        held_since = now
    elif now - held_since > HELD_FOR_S:
        time.sleep(GIVES_WAY_S)
        held_since = time.monotonic()
    connection.info["held_since"] = held_since


@event.listens_for(Engine, "rollback")
def _end_reading(connection: Connection) -> None:
    """Let what only read end by COMMIT: at a rollback psycopg forgets which statements are prepared."""
    if connection.closed or connection.invalidated or connection.dialect.name == "sqlite":
        return
    raw: Any = connection.connection.dbapi_connection
    if raw.read_only and raw.info.transaction_status is TransactionStatus.INTRANS:
        # What died meanwhile is left to the rollback that comes now, and told as ever.
        with suppress(psycopg.Error):
            raw.commit()


@event.listens_for(Engine, "commit")
def _ended(connection: Connection) -> None:
    connection.info["ended"] = time.monotonic()
