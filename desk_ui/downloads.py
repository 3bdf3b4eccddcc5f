"""A whole list as a file: every row of its tab and filters, in its order, streamed a page at a time."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from threading import BoundedSemaphore
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import structlog
from flask import Flask, Response, current_app, g, request
from flask_babel import gettext as _
from sqlalchemy.orm import Session

from desk_ui import exporting
from desk_ui.filters import Filters
from desk_ui.paging import Cursor, TooSlow, time_limit
from desk_ui.requests import settings_of
from models.base import db, read_only

# Rows of one page; the second where the first takes too long, as a list shows no more either.
PAGES = (1_000, 50)
# One that is read slowly holds a thread for as long: most of a process's threads are left to the pages.
AT_ONCE = 3
_running = BoundedSemaphore(AT_ONCE)
TYPES = {"csv": "text/csv", "jsonl": "application/x-ndjson"}

log = structlog.get_logger(__name__)

F = TypeVar("F", bound=Filters)
Found = list[tuple[Cursor, Mapping[str, Any]]]


@dataclass(frozen=True)
class Export:
    """What to write: `read(session, after, most)` gives the rows beyond a place, each with its own place.

    `read` is called after the request has ended, so it knows by itself what the request asked for.
    """

    name: str
    columns: tuple[str, ...]
    read: Callable[[Session, Cursor | None, int], Found]


def asked(filters: type[F]) -> F:
    """The filters that the address asks for. Raises `Invalid` for a bad one, which a file could not note."""
    found, unusable = filters.from_args(request.args)
    for fault in unusable:
        raise fault
    return found


def answer(kind: str, export: Export) -> Response:
    """The file, `kind` being `csv` or `jsonl`. Raises `TooSlow` before anything is sent.

    A fault in the middle cuts the connection off, so that a browser calls the download failed, after a last
    line that says so to who has the file all the same. No transaction is open while a row is written out.
    """
    ended = _begun()
    try:
        pages = _pages(current_app._get_current_object(), export, g.now)  # type: ignore[attr-defined]
        rows = chain(next(pages), chain.from_iterable(pages))
    except BaseException:
        ended()
        raise
    blocks = _until(ended, _blocks(kind, export, rows))
    response = Response(blocks, content_type=f"{TYPES[kind]}; charset=utf-8")
    day = f"{g.now.astimezone(ZoneInfo(g.zone)):%Y-%m-%d}"
    response.headers["Content-Disposition"] = (
        f'attachment; filename="{g.tenant.key}-{export.name}-{day}.{kind}"'
    )
    # What stands between should pass on each block, and not wait for the whole.
    response.headers["X-Accel-Buffering"] = "no"
    # Where it is not even begun to be read.
    response.call_on_close(ended)
    return response


def _begun() -> Callable[[], None]:
    """Take one of the places for exports that run; what gives it back. Raises `TooSlow` if there is none."""
    if not _running.acquire(blocking=False):
        raise TooSlow(_("As many exports as can run at once are being written. Try again in a minute."))
    held = [_running]

    def end() -> None:
        if held:
            held.pop().release()

    return end


def _until(ended: Callable[[], None], blocks: Iterator[str]) -> Iterator[str]:
    try:
        yield from blocks
    finally:
        ended()


def _pages(app: Flask, export: Export, now: datetime) -> Iterator[list[Mapping[str, Any]]]:
    """The rows by pages, each read in a transaction of its own.

    A row that changed since the first page was read may have moved on in the order: it is left out, so that
    none stands twice.
    """
    after, size = None, PAGES[0]
    while True:
        found, size = _page(app, export, after, size)
        yield [row for _place, row in found if after is None or not _changed(row, now)]
        if len(found) < size:
            return
        after = found[-1][0]


def _changed(row: Mapping[str, Any], since: datetime) -> bool:
    return "updated_at" in row and row["updated_at"] > since


def _page(app: Flask, export: Export, after: Cursor | None, size: int) -> tuple[Found, int]:
    """One page and of how many rows it may be. Raises `TooSlow`."""
    limit = settings_of(app).statement_timeout
    for most in (one for one in PAGES if one <= size):
        with app.app_context(), read_only():
            session = db.session()
            try:
                with time_limit(session, limit):
                    return export.read(session, after, most), most
            except TooSlow:
                if most == PAGES[-1]:
                    raise
    raise AssertionError("there is a last size")


def _blocks(kind: str, export: Export, rows: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    stopped = _("This export stopped here because of a fault. It is not complete; export again.")
    if kind == "csv":
        blocks = exporting.stream_csv(export.columns, rows)
        last = f'"{stopped}"\r\n'
        yield exporting.BYTE_ORDER_MARK
    else:
        blocks = exporting.stream_jsonl(rows)
        last = exporting.as_json({"error": stopped}) + "\n"
    try:
        yield from blocks
    except Exception as error:
        log.error("an export stopped in the middle", export=export.name, error=type(error).__name__)
        yield last
        raise
