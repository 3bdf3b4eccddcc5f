"""The mark up to which append-only rows may be deleted; it can't outlive the transaction that sets it."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import ForeignKey, String, delete, insert
from sqlalchemy.orm import Mapped, Session, mapped_column

from models.base import Base, BigId, table_of


class PurgeMarkKept(Base):
    """Stays empty, which a trigger holds: a mark refers to it, and the database checks that at the commit."""

    __tablename__ = "purge_mark_kept"

    stream: Mapped[str] = mapped_column(String(20), primary_key=True)


class PurgeMark(Base):
    """Rows of `stream` up to this position may be deleted, for as long as this row is there."""

    __tablename__ = "purge_mark"

    stream: Mapped[str] = mapped_column(
        String(20),
        ForeignKey("purge_mark_kept.stream", deferrable=True, initially="DEFERRED"),
        primary_key=True,
    )
    upto_position: Mapped[int] = mapped_column(BigId)


@contextmanager
def marked(session: Session, model: type[Base], upto: int) -> Iterator[None]:
    """Allow the deletion of `model`'s rows up to position `upto` inside the block, which does not commit."""
    stream = table_of(model).name
    session.execute(insert(table_of(PurgeMark)).values(stream=stream, upto_position=upto))
    yield
    session.execute(delete(PurgeMark).where(PurgeMark.stream == stream))
