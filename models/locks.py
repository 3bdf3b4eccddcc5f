"""Row locks, and their one order: ticket, conversation, contact (several: by id), then a row of an area.

Nothing takes them the other way round. A bulk operation is locked before all of these, since it is held while
one of its items is done, and so is an inbound event while it is applied. A sweep picks ids without locks and
then locks in this order. On SQLite the transaction holds the write lock from its first statement, so these
only re-read.
"""

from typing import TypeVar

from sqlalchemy import Select
from sqlalchemy.orm import Session

T = TypeVar("T")


def one(session: Session, query: Select[T]) -> T | None:
    """The row of `query`, locked and read again, or None."""
    return session.scalars(query.with_for_update().execution_options(populate_existing=True)).one_or_none()
