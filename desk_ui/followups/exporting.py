"""The follow-ups list as a file: its rows with all the columns that `desk export` gives."""

from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from desk_ui.downloads import Export, Found
from desk_ui.followups import queries
from desk_ui.followups.queries import Filters, Scene
from desk_ui.paging import Cursor
from models.base import table_of
from models.followups.exporting import COLUMNS
from models.followups.records import FollowUp

_WHOLE = tuple(table_of(FollowUp).c[name] for name in COLUMNS)


def export(scene: Scene, filters: Filters) -> Export:
    def read(session: Session, after: Cursor | None, most: int) -> Found:
        return page(session, scene, filters, after, most)

    return Export(f"followups-{filters.tab}", COLUMNS, read)


def page(session: Session, scene: Scene, filters: Filters, after: Cursor | None, most: int) -> Found:
    """Up to `most` rows beyond `after`, each with its place."""
    order = queries.order_of(filters.tab).label("place")
    query = queries.selected(scene, filters, after).with_only_columns(order, *_WHOLE).limit(most)
    found = session.execute(query, queries.values(scene, filters))
    return [(Cursor(place, _id(values)), _named(values)) for place, *values in found]


def _id(values: list[Any]) -> UUID:
    id: UUID = values[COLUMNS.index("id")]
    return id


def _named(values: list[Any]) -> dict[str, Any]:
    return dict(zip(COLUMNS, values, strict=True))
