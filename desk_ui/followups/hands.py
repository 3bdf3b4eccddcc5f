"""Which follow-ups need a person, and who is on them."""

from collections.abc import Collection, Iterable
from uuid import UUID

from desk_ui.followups.asked import Task
from desk_ui.followups.queries import Row, Scene
from desk_ui.handling import marks
from desk_ui.handling.marks import Hand, On
from desk_ui.permissions import Permission
from models.base import db
from models.followups.records import UNFINISHED, Status


def wants_a_person(row: Row, scene: Scene, *, again: bool, waits: bool) -> bool:
    """Whether it is overdue, blocked for what a person can put right, or fired and not finished.

    `again` is whether it was booked again, `waits` whether its task was not finished for too long.
    """
    if row.status == Status.BLOCKED:
        return not again and scene.needs_a_person(row.blocked_reason, row.updated_at)
    return waits if row.status == Status.FIRED else row.overdue


def on_rows(
    rows: Iterable[Row], scene: Scene, again: Collection[UUID], unfinished: Collection[UUID | None]
) -> dict[UUID, On]:
    """Who is on those of `rows` that need a person; no query where none does."""
    wanting = [
        row.id
        for row in rows
        if wants_a_person(row, scene, again=row.id in again, waits=row.id in unfinished)
    ]
    return marks.those_on(db.session(), "followup", wanting)


def hand(
    on: On | None, row: Row, scene: Scene, task: Task | None, *, again: bool, list_query: str
) -> Hand | None:
    """What the page of `row` shows of who is on it; None where it needs nobody."""
    waits = task is not None and task.status in UNFINISHED and task.updated_at <= scene.waiting_since
    if not wants_a_person(row, scene, again=again, waits=waits):
        return None
    fields = {"version": str(row.version), "list": list_query, "shown": "panel"}
    return marks.hand(on, Permission.ACT_ON_FOLLOWUPS, "followups", fields, followup_id=row.id)
