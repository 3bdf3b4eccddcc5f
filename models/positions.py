"""Positions: the reading order that one holder at a time gives to committed rows."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import CursorResult, String, Table, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import bulk, locks
from models.base import Base, BigId, table_of


class PositionCounter(Base):
    """The last position given in one stream; its row is the lock of whoever gives the next."""

    __tablename__ = "position_counter"

    stream: Mapped[str] = mapped_column(String(20), primary_key=True)
    last: Mapped[int] = mapped_column(BigId, default=0)


@dataclass(frozen=True, slots=True)
class Span:
    """Positions from `first` to `last`, both included; none where `last` is before `first`."""

    first: int
    last: int

    def __len__(self) -> int:
        return max(0, self.last - self.first + 1)


def lock(session: Session, model: type[Base]) -> PositionCounter:
    """The stream's counter, held until the commit: no one else gives positions meanwhile."""
    name = table_of(model).name
    counter = locks.one(session, select(PositionCounter).where(PositionCounter.stream == name))
    if counter is None:
        raise RuntimeError(f"there is no position counter for {name}; the migration makes it")
    return counter


def assign(session: Session, model: type[Base], limit: int) -> Span:
    """Give the next positions to up to `limit` committed rows of `model` in the order of their ids.

    Ids are given before commits, so a row with a lower id may become visible later: it gets a later
    position, and no reader that went by position misses it. Returns the positions that were given.
    """
    table = table_of(model)
    counter = lock(session, model)
    waiting = select(table.c.id).where(table.c.position.is_(None)).order_by(table.c.id).limit(limit)
    given = Span(counter.last + 1, counter.last)
    rows = [
        {"id": id, "position": position}
        for position, id in enumerate(session.scalars(waiting).all(), start=given.first)
    ]
    if rows:
        given = Span(given.first, given.last + len(rows))
        _place(session, table, rows)
        counter.last = given.last
    return given


def _place(session: Session, table: Table, rows: bulk.Rows) -> None:
    """Write the positions of `rows`. Nobody else can change those rows: who holds the counter is alone."""
    placed = bulk.rows_as_table(session, "placed", {"id": BigId, "position": BigId}, rows)
    result: CursorResult[Any] = session.execute(  # type: ignore[assignment]
        update(table).where(table.c.id == placed.c.id).values(position=placed.c.position)
    )
    if result.rowcount != len(rows):
        raise RuntimeError(f"{result.rowcount} rows got a position where {len(rows)} were expected")
