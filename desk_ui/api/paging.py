"""Lists: newest first, by time and id, so that rows made while a reader walks move no page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from flask import current_app
from itsdangerous import BadData, URLSafeSerializer
from sqlalchemy import Select, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from desk_ui.api.fields import Paged
from models.clock import EPOCH, micros
from models.errors import Invalid

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Order:
    """The order of one list: by time, then by id, newest first. `name` ties its cursors to it."""

    name: str
    at: InstrumentedAttribute[datetime]
    id: InstrumentedAttribute[Any]


def page(
    session: Session, query: Select[T], order: Order, *, limit: int, cursor: str | None
) -> tuple[Sequence[T], str | None]:
    """The rows of one page and the cursor of the next. Raises `Invalid` on `cursor`."""
    if cursor is not None:
        query = query.where(tuple_(order.at, order.id) < tuple_(*_read(order, cursor)))
    newest = query.order_by(order.at.desc(), order.id.desc()).limit(limit + 1)
    rows = session.scalars(newest).all()
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    at, row_id = getattr(last, order.at.key), getattr(last, order.id.key)
    kept = str(row_id) if isinstance(row_id, UUID) else row_id
    return rows[:limit], write_cursor(order.name, [micros(at), kept])


def by_key(found: Mapping[str, V], name: str, given: Paged) -> tuple[list[V], str | None]:
    """The same for a list that is in memory, by its keys. Raises `Invalid` on `cursor`."""
    keys = sorted(found)
    if given.cursor is not None:
        [last] = read_cursor(name, given.cursor)
        keys = [key for key in keys if key > last]
    shown = keys[: given.limit]
    return [found[key] for key in shown], write_cursor(name, [shown[-1]]) if len(keys) > len(shown) else None


def write_cursor(name: str, values: list[Any]) -> str:
    """A cursor of the list `name`, signed: nobody but us makes one."""
    text = _serializer(name).dumps(values)
    return text.decode() if isinstance(text, bytes) else text


def read_cursor(name: str, cursor: str) -> list[Any]:
    """What `write_cursor` was given. Raises `Invalid` for anything else."""
    try:
        values: list[Any] = _serializer(name).loads(cursor)
    except BadData:
        raise Invalid("cursor", "is not one that this list gave") from None
    return values


def _read(order: Order, cursor: str) -> tuple[datetime, Any]:
    at, row_id = read_cursor(order.name, cursor)
    given = UUID(row_id) if order.id.type.python_type is UUID else row_id
    return EPOCH + timedelta(microseconds=at), given


def _serializer(name: str) -> URLSafeSerializer:
    key = current_app.secret_key
    assert key is not None
    return URLSafeSerializer(key, salt=f"api-cursor:{name}")
