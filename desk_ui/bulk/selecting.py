"""What a person selected in a list: rows as they were shown, or all that match as of when it was read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from urllib.parse import parse_qsl
from uuid import UUID

from flask import g
from flask_babel import gettext as _
from sqlalchemy import ColumnElement, case
from werkzeug.datastructures import MultiDict

from desk_ui.acting import LARGEST_VERSION
from desk_ui.filters import Filters
from desk_ui.paging import LARGEST_ID
from models.clock import EPOCH, iso, parse_time
from models.errors import Invalid

# What one page holds, twice over: who wants more means all that match.
MOST_CHOSEN = 100

Id = UUID | int


@dataclass(frozen=True, slots=True)
class Selection:
    """`chosen` are ids and versions; where `seen` is given, all that `query` matches is meant instead."""

    query: str
    chosen: tuple[tuple[Any, int], ...] = ()
    seen: datetime | None = None

    @classmethod
    def of(cls, form: MultiDict[str, str], id: type[UUID] | type[int]) -> Self:
        """What the form of a list, or that of a question about it, selects. Raises `Invalid`."""
        query = form.get("list", "")
        if form.get("all") or form.get("all_of"):
            return cls(query, seen=_read_at(form.get("seen", "")))
        given = [*form.getlist("row"), *form.get("rows", "").split()]
        chosen = tuple(dict(_row(one, id) for one in given).items())
        if len(chosen) > MOST_CHOSEN:
            raise Invalid("row", f"can be given up to {MOST_CHOSEN} times")
        return cls(query, chosen)

    @property
    def is_empty(self) -> bool:
        return self.seen is None and not self.chosen

    @property
    def hidden(self) -> dict[str, str]:
        """The same for the form of a question."""
        if self.seen is not None:
            return {"list": self.query, "all": "1", "seen": iso(self.seen) or ""}
        return {"list": self.query, "rows": " ".join(f"{id}.{version}" for id, version in self.chosen)}

    def filters(self, kind: type[Any]) -> Any:
        """The list's filters. Raises `Invalid` for one that can't be used: without it, more would match."""
        found, unusable = kind.from_args(dict(parse_qsl(self.query)))
        for fault in unusable:
            raise fault
        assert isinstance(found, Filters)
        return found

    def among(self, id: Any) -> ColumnElement[bool]:
        """Whether the column `id` names one of the chosen."""
        return id.in_([one for one, _version in self.chosen])  # type: ignore[no-any-return]

    def version(self, id: Any) -> ColumnElement[int]:
        """The version in which the chosen row with this id was shown."""
        return case(*((id == one, version) for one, version in self.chosen), else_=0)


def _read_at(text: str) -> datetime:
    """When the list was read, as our own clock wrote it. Raises `Invalid` on `seen`."""
    try:
        at = parse_time(text, "seen")
    except Invalid:
        at = None
    if at is None or not EPOCH <= at <= g.now:
        raise Invalid("seen", _("is not when this list was read; reload it and select again"))
    return at


def read_at(text: str | None) -> datetime | None:
    """When the list was read whose every match a question was about, though it named each row; else None."""
    return _read_at(text) if text else None


def _row(text: str, kind: type[UUID] | type[int]) -> tuple[Id, int]:
    """`<id>.<version>`. Raises `Invalid` on `row`."""
    id, _dot, version = text.rpartition(".")
    try:
        found: Sequence[Any] = (kind(id), int(version) if version.isascii() else -1)
    except ValueError:
        found = (None, -1)
    if not 0 <= found[1] <= LARGEST_VERSION or (isinstance(found[0], int) and not 0 < found[0] <= LARGEST_ID):
        raise Invalid("row", _("is not one of a list; reload it and select again"))
    return found[0], found[1]
