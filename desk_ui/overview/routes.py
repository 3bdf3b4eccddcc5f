"""Reading what needs a person: the page, and the numbers of the navigation."""

from typing import Any

from flask import g, render_template

from desk_ui.htmx import partial, render_block
from desk_ui.overview import queries, views
from desk_ui.permissions import Permission, requires
from desk_ui.sweeps import routes as sweeps
from models.base import db


@requires(Permission.SEE)
def index() -> Any:
    session = db.session()
    found = queries.keep(queries.read(session, g.now))
    view = views.OverviewView(found, sweeps.shown(session, list(found.sweeps)))
    return render_template("overview/index.html", view=view)


@requires(Permission.SEE)
def needs() -> str:
    """The numbers beside the areas, which come after the page."""
    found = queries.areas(db.session(), g.now)
    return "".join(
        partial(
            f"#needs-{area}",
            "innerHTML",
            render_block("overview/needs.html", "number", area=area, count=count),
        )
        for area, count in found.items()
    )
