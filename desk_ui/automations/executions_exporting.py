"""The executions list as a file: states, times and codes, never what was said."""

from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from desk_ui.automations import executions_queries as queries
from desk_ui.automations.executions_queries import Filters, Scene
from desk_ui.downloads import Export, Found
from desk_ui.paging import Cursor

_OF_EXECUTION = (
    *("id", "rule_id", "status", "skip_reason", "needs_review", "episode_key", "due_at", "not_before"),
    *("run", "attempts", "locked_at", "began_at", "settled_by", "settled_at"),
    *("created_at", "updated_at", "version"),
)
COLUMNS = (*_OF_EXECUTION, "rule", "conversation", "source", "customer")


def export(scene: Scene, filters: Filters) -> Export:
    def read(session: Session, after: Cursor | None, most: int) -> Found:
        return page(session, scene, filters, after, most)

    return Export(f"executions-{filters.tab}", COLUMNS, read)


def page(session: Session, scene: Scene, filters: Filters, after: Cursor | None, most: int) -> Found:
    """Up to `most` rows beyond `after`, each with its place."""
    selected = queries.selected(filters, after).limit(most)
    of_conversation = ("external_id", "source", "customer")
    query = queries.named(selected, filters.tab, "place", *_OF_EXECUTION, of_conversation=of_conversation)
    found = session.execute(query, queries.values(scene, filters))
    return [(Cursor(place, _id(given)), _named(given)) for place, *given in found]


def _id(given: list[Any]) -> UUID:
    id: UUID = given[0]
    return id


def _named(given: list[Any]) -> dict[str, Any]:
    return dict(zip(COLUMNS, given, strict=True))
