"""Reading bulk operations: all of them, and one with what became of each of its rows."""

from typing import Any
from uuid import UUID

from flask import g, render_template, request
from sqlalchemy.orm import Session

from desk_ui import downloads
from desk_ui.bulk import queries, views
from desk_ui.bulk.kinds import KINDS, Described
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
    """How far an operation is, for a script, with the results that stand on the page."""
    return progress_of(operation_id)


def progress_of(operation_id: UUID) -> str:
    view = detail_of(operation_id)
    shown = render_block("bulk/one.html", "progress", view=view)
    return shown + partial("#results", "outerMorph", render_block("bulk/one.html", "results", view=view))


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
    kind_of, tenant_id = KINDS[operation.verb], g.tenant.id

    def read(session: Session, after: Cursor | None, most: int) -> Found:
        behind = int(str(after.id)) if after else 0
        found = queries.results(session, operation_id, wanted, behind, most)[:most]
        ids = [kind_of.as_id(one.row_id) for one in found]
        known = kind_of.described(session, tenant_id, ids) if ids else {}
        absent = dict.fromkeys(kind_of.columns)
        rows = [_row(one, str(id), known.get(str(id), absent)) for one, id in zip(found, ids, strict=True)]
        return [(Cursor(EPOCH, one.position), row) for one, row in zip(found, rows, strict=True)]

    columns = ("position", "row_id", *kind_of.columns, "result", "why", "at")
    return downloads.answer(kind, Export(f"bulk-{operation_id}", columns, read))


def _row(one: Result, id: str, described: Described) -> Described:
    """`why` is why it was not done; a follow-up's own `reason` stands among what is `described`."""
    outcome = {"result": one.state, "why": one.reason, "at": one.at}
    return {"position": one.position, "row_id": id, **described, **outcome}
