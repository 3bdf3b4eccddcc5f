"""Reading endpoints: all of a tenant, and one with its last deliveries."""

from typing import Any
from uuid import UUID

from flask import abort, g

from desk_ui.deliveries import queries as deliveries
from desk_ui.endpoints import queries, views
from desk_ui.htmx import render_page
from desk_ui.permissions import Permission, requires
from models.base import db

RECENT = 6


@requires(Permission.SEE)
def index() -> Any:
    return render_page(
        "endpoints/list.html", "list", view=views.ListView(queries.all_of(db.session(), g.tenant))
    )


@requires(Permission.SEE)
def show(endpoint_id: UUID) -> Any:
    return render_page("endpoints/detail.html", "panel", view=detail_of(endpoint_id))


def detail_of(endpoint_id: UUID) -> views.DetailView:
    """One endpoint as its page shows it, read afresh; 404 where there is none."""
    session = db.session()
    return views.DetailView(
        row=current(endpoint_id),
        waiting=deliveries.waiting_for(session, g.tenant, endpoint_id),
        recent=deliveries.of_endpoint(session, g.tenant, endpoint_id, RECENT),
        failed=queries.failed(session, g.tenant, endpoint_id),
        test=queries.last_test(session, g.tenant, endpoint_id),
    )


def current(endpoint_id: UUID) -> queries.Row:
    """One endpoint as it is now; 404 where there is none."""
    row = queries.one(db.session(), g.tenant, endpoint_id)
    if row is None:
        abort(404)
    return row
