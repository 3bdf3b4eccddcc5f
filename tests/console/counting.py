"""Counting the statements of a page."""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask
from sqlalchemy import event

from models.base import db


@contextmanager
def selects(app: Flask) -> Iterator[list[str]]:
    """The SELECTs that are run inside, as they come."""
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if statement.lstrip().startswith(("SELECT", "WITH")):
            seen.append(statement)

    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)
