"""Reading rules: all of a tenant, and one with what came of it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from flask import abort, current_app, g, request

from desk_ui.automations import rules_queries as queries
from desk_ui.automations import rules_views as views
from desk_ui.htmx import render_page
from desk_ui.paging import Cursor, place
from desk_ui.permissions import Permission, requires
from desk_ui.requests import settings_of
from models.automations.records import AutomationRule
from models.base import db

# What takes longer is counted after the page.
SOON = timedelta(milliseconds=300)


@requires(Permission.SEE)
def index() -> Any:
    return render_page("automations/rules.html", "list", view=_list())


def _list() -> views.ListView:
    session, settings = db.session(), settings_of(current_app)
    late = request.args.get("counts") == "1"
    after = place(request.args)
    page = queries.page(session, g.tenant, Cursor.decode(after) if after else None)
    ids = [rule.id for rule in page.rows]
    last_runs = queries.last_runs(session, g.tenant, ids)
    limit = settings.statement_timeout if late else min(SOON, settings.statement_timeout)
    counts = queries.counts(session, g.tenant, ids, limit)
    return views.ListView(page, counts, last_runs, settings, after, late)


@requires(Permission.SEE)
def show(rule_id: UUID) -> Any:
    return render_page("automations/rule.html", "panel", view=detail_of(rule_id))


def detail_of(rule_id: UUID) -> views.DetailView:
    """One rule as its page shows it, read afresh; 404 where there is none."""
    session, settings = db.session(), settings_of(current_app)
    rule = current(rule_id)
    last_run = queries.last_runs(session, g.tenant, [rule_id]).get(rule_id)
    history = queries.history(session, g.tenant, rule_id)
    fault = views.fault_of(rule, settings)
    counts = queries.counts(session, g.tenant, [rule_id], settings.statement_timeout)
    return views.DetailView(rule, fault, counts[rule_id] if counts else None, last_run, history)


def current(rule_id: UUID) -> AutomationRule:
    """One rule as it is now; 404 where there is none."""
    rule = queries.one(db.session(), g.tenant, rule_id)
    if rule is None:
        abort(404)
    return rule
