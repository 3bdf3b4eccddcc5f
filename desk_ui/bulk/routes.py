"""Reading bulk operations: all of them, and one with what became of each of its rows."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from flask import g, render_template, request
from sqlalchemy.orm import Session

from desk_ui import downloads
from desk_ui.bulk import queries, views
from desk_ui.bulk.kinds import KINDS
from desk_ui.bulk.queries import Filters, Result, Results
from desk_ui.downloads import Export, Found
from desk_ui.htmx import partial, render_block
from desk_ui.listing import asked_by_address
from desk_ui.paging import Cursor
from desk_ui.permissions import Permission, requires
from models import bulk_operations
from models.base import db
from models.bulk_operations import MOST
from models.clock import EPOCH

COLUMNS = ("position", "row_id", "result", "reason", "at")


@requires(Permission.SEE)
def index() -> Any:
    asked = asked_by_address(Filters)
    page, notes = asked.read(
        lambda _filters, after, limit: queries.page(db.session(), g.tenant, after, limit)
    )
    return views.ListView(asked, page, notes).answer("bulk/list.html")


@requires(Permission.SEE)
def show(operation_id: UUID) -> Any:
    return render_template("bulk/one.html", view=detail_of(operation_id))


@requires(Permission.SEE)
def progress(operation_id: UUID) -> Any:
    """How far an operation is, for a script; with its results once it has ended."""
    return progress_of(operation_id)


def progress_of(operation_id: UUID) -> str:
    view = detail_of(operation_id)
    shown = render_block("bulk/one.html", "progress", view=view)
    if view.is_running:
        return shown
    return shown + partial("#results", "outerHTML", render_block("bulk/one.html", "results", view=view))


def detail_of(operation_id: UUID) -> views.DetailView:
    """One operation as its page shows it. Raises `NotFound`."""
    operation = bulk_operations.get(db.session(), g.tenant.id, operation_id)
    wanted, _unusable = Results.from_args(request.args)
    after = _after()
    found = queries.results(db.session(), operation.id, wanted, after)
    names = KINDS[operation.verb].named([one.row_id for one in found]) if found else {}
    return views.DetailView(operation, wanted, found, after, names)


def _after() -> int:
    """The position behind which the page begins; what is none begins at the start."""
    given = request.args.get("after", "")
    return min(int(given), MOST) if given.isascii() and given.isdigit() and len(given) < 10 else 0


@requires(Permission.SEE)
def export(operation_id: UUID, kind: str) -> Any:
    """Every result as a file."""
    operation = bulk_operations.get(db.session(), g.tenant.id, operation_id)
    wanted = downloads.asked(Results)
    as_id = KINDS[operation.verb].as_id

    def read(session: Session, after: Cursor | None, most: int) -> Found:
        behind = int(str(after.id)) if after else 0
        found = queries.results(session, operation_id, wanted, behind, most)[:most]
        return [(Cursor(EPOCH, one.position), _row(one, str(as_id(one.row_id)))) for one in found]

    return downloads.answer(kind, Export(f"bulk-{operation_id}", COLUMNS, read))


def _row(one: Result, id: str) -> Mapping[str, Any]:
    return {
        "position": one.position,
        "row_id": id,
        "result": one.state,
        "reason": one.reason,
        "at": one.at,
    }
