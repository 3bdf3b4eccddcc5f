"""Writing many rows in one statement, where a flush of the session would write them one by one."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import inspect
from sqlalchemy.orm import Session

from models import bulk
from models.base import Base, Scalar, table_of

Rows = list[dict[str, Any]]
_GATHERED = "gathered_rows"


def add(session: Session, model: type[Base], row: dict[str, Any]) -> None:
    """Add a row, within `writing` at its end. Its table is not audited and has no defaults but the id."""
    gathered: defaultdict[type[Base], Rows] | None = session.info.get(_GATHERED)
    if gathered is None:
        session.add(model(**row))
    else:
        gathered[model].append(row)


@contextmanager
def writing(session: Session, *changed: type[Base]) -> Iterator[None]:
    """Write what the block adds, and what it changes in rows of the tables `changed`, set-wise at its end.

    Those rows leave the session; the rest is flushed. Nothing is written where the block raises. Raises
    `RuntimeError` where a changed row is gone.
    """
    gathered: defaultdict[type[Base], Rows] = defaultdict(list)
    session.info[_GATHERED] = gathered
    try:
        yield
    finally:
        del session.info[_GATHERED]
    # All are taken out of the session before the first statement, which would flush them one by one.
    updates = _changes(session, changed)
    for model, rows in gathered.items():
        bulk.insert_rows(session, model, rows)
    for model, rows in updates:
        bulk.update_rows(session, model, rows, where=(), common={})
    session.flush()


def _changes(session: Session, models: Sequence[type[Base]]) -> list[tuple[type[Base], Rows]]:
    """What changed, apart by which columns did."""
    found: defaultdict[tuple[type[Base], frozenset[str]], Rows] = defaultdict(list)
    # Left to the flush: values that are not stored as JSON would hold them.
    encoded = {
        model: {c.key for c in table_of(model).columns if isinstance(c.type, Scalar)} for model in models
    }
    for row in session.dirty:
        model, state = type(row), inspect(row)
        names = frozenset(state.committed_state)
        if model in encoded and names and not names & encoded[model]:
            given = {"id": state.dict["id"]} | {name: state.dict[name] for name in names}
            found[model, names].append(given)
            session.expunge(row)
    return [(model, rows) for (model, _names), rows in found.items()]
