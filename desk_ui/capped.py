"""Counts that stop at a cap and give up after a time, many of them in one statement."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Select, func, literal, select, union_all
from sqlalchemy.orm import Session

from desk_ui.paging import MOST_COUNTED, TooSlow, time_limit

Counts = Mapping[Any, int | None]


def counts(session: Session, queries: Mapping[Any, Select[Any]], limit: timedelta) -> Counts:
    """Each query's rows, counted to one above the cap; None for all where it takes longer than `limit`."""
    keys = list(queries)
    if not keys:
        return {}
    try:
        with time_limit(session, limit):
            rows = session.execute(union_all(*_capped(queries.values())))
            found = {keys[number]: count for number, count in rows}
    except TooSlow:
        return dict.fromkeys(keys)
    return found


def _capped(queries: Iterable[Select[Any]]) -> Iterator[Select[Any]]:
    for number, query in enumerate(queries):
        capped = query.limit(MOST_COUNTED + 1).subquery()
        yield select(literal(number), func.count()).select_from(capped)
