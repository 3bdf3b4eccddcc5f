"""Reading sweeps: how all of them stand, and one with its runs."""

from typing import Any

from flask import abort, g
from sqlalchemy.orm import Session

from desk_ui import refreshing
from desk_ui.htmx import render_page
from desk_ui.listing import asked_by_address
from desk_ui.permissions import Permission, requires
from desk_ui.sweeps import lines, queries, views
from desk_ui.sweeps.lines import Line
from desk_ui.sweeps.queries import Filters
from models import sweep_trends
from models.base import db
from models.tenants import Tenant


@requires(Permission.SEE)
def index() -> Any:
    session = db.session()
    found = lines.read(session, g.now)
    faults = queries.faults(session, _of_whom(), now=g.now, sweep=None)
    view = views.IndexView(shown(session, found), [views.fault_line(one) for one in faults])
    return refreshing.answer(view.sign, lambda: render_page("sweeps/index.html", "list", view=view))


@requires(Permission.SEE)
def show(name: str) -> Any:
    """One sweep, its runs, and the rows that failed in them."""
    session, line = db.session(), line_of(name)
    asked = asked_by_address(Filters, id=int)
    page, notes = asked.read(lambda *given: queries.page(session, name, *given))
    faults = queries.faults(session, _of_whom(), now=g.now, sweep=name)
    view = views.RunsView(
        asked,
        page,
        notes,
        sweep=shown(session, [line])[0],
        faults=[views.fault_line(one) for one in faults],
    )
    return view.answer("sweeps/show.html")


def line_of(name: str) -> Line:
    """The sweep called `name` as it stands; 404 where there is none."""
    return next((line for line in lines.read(db.session(), g.now) if line.key == name), None) or abort(404)


def shown(session: Session, found: list[Line]) -> list[views.Shown]:
    whose = _of_whom()
    trends = sweep_trends.trends(
        session, [line.key for line in found], now=g.now, tenant_id=whose.id if whose else None
    )
    asked = queries.asked_for(session)
    return [views.shown(line, trends[line.key], asked) for line in found]


def _of_whom() -> Tenant | None:
    """Whose failed rows the person may see: the tenant's at hand, or None for all."""
    tenant: Tenant = g.tenant
    return None if views.sees_all() else tenant
