"""What needs a person now: how many, counted to a cap, and since when the oldest of them waits."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

MOST = 1_000


@dataclass(frozen=True, slots=True)
class Need:
    """`number` is `MOST` + 1 where there are more than `MOST`; `since` is None where there are none."""

    number: int = 0
    since: datetime | None = None


def read(session: Session, since: Select[Any]) -> Need:
    """Count `since`, a query of the moments since which each waits, the oldest first.

    It reads no more than it counts, so that it must stand in the order of an index.
    """
    waiting = since.limit(MOST + 1).subquery()
    number, oldest = session.execute(select(func.count(), func.min(waiting.c[0]))).one()
    return Need(number, oldest)
