"""The only way to commit, what runs after it, and the rule that no transaction spans an outside call."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DatabaseError, DataError, DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from models import faults

_AFTER_COMMIT = "after_commit_work"


def commit(session: Session, point: str) -> None:
    """Commit the transaction; `point` names its two fault points, `<point>:before` and `<point>:after`.

    Raises `audit_guard.AuditMismatch` where a status changed without its one audit event. Work that was
    registered with `after_commit` runs once the commit has succeeded.
    """
    session.flush()
    faults.reach(f"{point}:before")
    session.commit()
    faults.reach(f"{point}:after")
    for work in session.info.pop(_AFTER_COMMIT, {}).values():
        work()


def rollback(session: Session) -> None:
    """Drop the transaction and the work that waited for its commit."""
    session.info.pop(_AFTER_COMMIT, None)
    session.rollback()


def after_commit(session: Session, key: str, work: Callable[[], None]) -> None:
    """Run `work` after the commit of this transaction, once for each `key`; never after a rollback."""
    session.info.setdefault(_AFTER_COMMIT, {})[key] = work


@contextmanager
def savepoint(session: Session) -> Iterator[None]:
    """A savepoint that is released at the end and rolled back alone if the block raises."""
    with session.begin_nested():
        yield


def is_lost_race(error: DBAPIError) -> bool:
    """Whether PostgreSQL gave this transaction up for another's sake (deadlock, serialization)."""
    return getattr(error.orig, "sqlstate", None) in {"40P01", "40001"}


def is_refused_row(error: DatabaseError) -> bool:
    """Whether the database itself refused a row: a constraint, or a trigger that raises."""
    by_trigger = getattr(error.orig, "sqlstate", None) == "P0001"
    return by_trigger or isinstance(error, IntegrityError | DataError)


def said(error: DBAPIError) -> str:
    """What the database said, without what PostgreSQL adds of the row: customers' words are for no log."""
    return str(error.orig).partition("\n")[0]


def assert_none_open(session: Session) -> None:
    """Raise `RuntimeError` if a transaction is open: called before each call to the outside.

    On SQLite one attribute read after a commit would hold the write lock through the call.
    """
    if session.in_transaction():
        raise RuntimeError("a transaction is open while a call goes outside")
