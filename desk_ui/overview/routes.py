"""Reading what needs a person: the page, and the numbers of the navigation."""

from typing import Any

from flask import g, make_response
from werkzeug.wrappers import Response

from desk_ui import around, refreshing
from desk_ui.htmx import partial, render_block, render_page
from desk_ui.overview import queries, views
from desk_ui.permissions import Permission, requires
from desk_ui.sweeps import routes as sweeps
from models.base import db


@requires(Permission.SEE)
def index() -> Any:
    session = db.session()
    found = queries.keep(queries.read(session, g.now))
    view = views.OverviewView(found, sweeps.shown(session, list(found.sweeps)))
    return refreshing.answer(view.sign, lambda: render_page("overview/index.html", "overview", view=view))


@requires(Permission.SEE)
def needs() -> Response:
    """The numbers beside the areas, which come after the page, and how the sweeps stand as of now."""
    numbers = queries.areas(db.session(), g.now)
    parts = {f"#needs-{area}": _drawn("number", area=area, count=count) for area, count in numbers.items()}
    parts["#health"] = _drawn("health")
    # What stays as it is stays there, with the focus that is on it.
    found: Response = make_response("".join(partial(at, "innerMorph", drawn) for at, drawn in parts.items()))
    found.headers[around.HEADER] = around.told(moved=True)
    return found


def _drawn(part: str, **context: Any) -> str:
    return render_block("overview/needs.html", part, **context)
