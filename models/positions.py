"""Positions: the reading order that one holder at a time gives to committed rows."""

from sqlalchemy import String, func, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from models.base import Base, BigId, table_of


class PositionCounter(Base):
    """The last position given in one stream; its row is the lock of whoever gives the next."""

    __tablename__ = "position_counter"

    stream: Mapped[str] = mapped_column(String(20), primary_key=True)
    last: Mapped[int] = mapped_column(BigId, default=0)


def assign(session: Session, model: type[Base], limit: int) -> list[int]:
    """Give the next positions to up to `limit` committed rows of `model` in the order of their ids.

    Ids are given before commits, so a row with a lower id may become visible later: it gets a later
    position, and no reader that went by position misses it. Returns the ids that got one.
    """
    table = table_of(model)
    counter = session.scalars(
        select(PositionCounter).where(PositionCounter.stream == table.name).with_for_update()
    ).one()
    ids = list(
        session.scalars(
            select(table.c.id).where(table.c.position.is_(None)).order_by(table.c.id).limit(limit)
        )
    )
    if not ids:
        return ids
    numbered = (
        select(table.c.id, func.row_number().over(order_by=table.c.id).label("n"))
        .where(table.c.position.is_(None), table.c.id.in_(ids))
        .subquery("numbered")
    )
    session.execute(
        update(table).where(table.c.id == numbered.c.id).values(position=numbered.c.n + counter.last)
    )
    counter.last += len(ids)
    return ids
