"""Keyset pages: a cursor that is an instant and an id, and a limit on how long a list may take."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from sqlalchemy import Boolean, ColumnElement, literal, tuple_
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.functions import FunctionElement

from models.base import is_read_only, is_sqlite
from models.clock import EPOCH, micros
from models.errors import DeskError, Invalid
from models.transactions import rollback

ROWS = 50
MOST_COUNTED = 10_000
LARGEST_ID = 2**63 - 1

T = TypeVar("T")


class TooSlow(DeskError):
    """A list that took longer than `DESK_STATEMENT_TIMEOUT`."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page goes on: after the row with this instant, to the microsecond, and this id."""

    at: datetime
    id: UUID | int

    @classmethod
    def decode(cls, text: str, id: type[UUID] | type[int] = UUID) -> Self:
        """`id` is the type of the list's ids. Raises `Invalid` on `after`."""
        instant, _, last = text.partition("-")
        try:
            found = UUID(hex=last) if id is UUID else int(last)
            if isinstance(found, int) and not 0 <= found <= LARGEST_ID:
                raise ValueError
            return cls(EPOCH + timedelta(microseconds=int(instant)), found)
        except (ValueError, OverflowError):
            raise Invalid("after", "is not a place in this list") from None

    def encode(self) -> str:
        last = self.id.hex if isinstance(self.id, UUID) else self.id
        return f"{micros(self.at)}-{last}"

    def after(self, at: Any, id: Any, *, newest_first: bool) -> ColumnElement[bool]:
        """The condition of the rows beyond this place.

        As one comparison of pairs, so that an index goes straight to it however many rows share the instant.
        """
        here = tuple_(literal(self.at, at.type), literal(self.id, id.type))
        if newest_first:
            return _guess(at <= self.at) & (tuple_(at, id) < here)
        return _guess(at >= self.at) & (tuple_(at, id) > here)


class _guess(FunctionElement[bool]):
    """A condition that follows from another: PostgreSQL guesses better by it how many rows there are.

    SQLite would choose another index for it.
    """

    inherit_cache = True
    type = Boolean()


@compiles(_guess)
def _said(element: _guess, compiler: Any, **given: Any) -> str:
    return str(compiler.process(element.clauses, **given))


@compiles(_guess, "sqlite")
def _left_out(_element: _guess, _compiler: Any, **_given: Any) -> str:
    return "1"


def place(args: Mapping[str, str], id: type[UUID] | type[int] = UUID) -> str | None:
    """The place in a list that `args` names, if it is one."""
    try:
        return Cursor.decode(args.get("after", ""), id).encode()
    except Invalid:
        return None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Up to `ROWS` rows, and the cursor of the next page if there is one."""

    rows: list[T]
    following: str | None


@contextmanager
def time_limit(session: Session, limit: timedelta) -> Iterator[None]:
    """Stop what takes longer than `limit` inside the block. Raises `TooSlow`, the transaction rolled back.

    On PostgreSQL a read-only transaction keeps the limit until it ends, which saves the statement that
    would lift it.
    """
    raw: Any = session.connection().connection.dbapi_connection
    sqlite = is_sqlite(session)
    if sqlite:
        deadline = time.monotonic() + limit.total_seconds()
        raw.set_progress_handler(lambda: time.monotonic() > deadline, 20_000)
    else:
        milliseconds = max(1, limit // timedelta(milliseconds=1))
        # A list is narrowed to anything, so that no plan made for any value at all would do.
        session.connection().exec_driver_sql(
            f"SET LOCAL statement_timeout = {milliseconds}; SET LOCAL plan_cache_mode = force_custom_plan"
        )
    try:
        yield
    except DBAPIError as error:
        # Whatever it is, nothing more can be said to the database in this transaction.
        rollback(session)
        if not isinstance(error, OperationalError):
            raise
        if sqlite and "interrupted" not in str(error.orig):
            raise
        if not sqlite and getattr(error.orig, "sqlstate", None) != "57014":
            raise
        raise TooSlow("This took too long. Narrow it down with the filters.") from None
    finally:
        if sqlite:
            raw.set_progress_handler(None, 0)
        elif session.in_transaction() and not is_read_only():
            session.connection().exec_driver_sql("SET LOCAL statement_timeout = DEFAULT")
