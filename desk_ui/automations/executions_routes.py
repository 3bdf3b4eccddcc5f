"""Reading executions: the list with its tabs and filters, and one with its ledger."""

from typing import Any
from uuid import UUID

from flask import abort, current_app, g, request

from desk_ui import declared, downloads, refreshing
from desk_ui.addresses import list_query
from desk_ui.automations import executions_exporting as exporting
from desk_ui.automations import executions_queries as queries
from desk_ui.automations import executions_views as views
from desk_ui.automations import executions_watching
from desk_ui.automations.executions_detail import DetailView, detail, find
from desk_ui.automations.executions_queries import Filters, Scene
from desk_ui.automations.executions_views import SWEEP, ListView
from desk_ui.htmx import is_htmx, render_block, render_page
from desk_ui.listing import Asked, asked_by_address
from desk_ui.paging import Page
from desk_ui.permissions import Permission, requires
from desk_ui.requests import settings_of
from desk_ui.sweeps import lines
from models.base import db


@requires(Permission.SEE)
def index() -> Any:
    asked, scene = asked_by_address(Filters), scene_at_hand()
    page, notes = asked.read(lambda *given: queries.page(db.session(), scene, *given))
    return list_of(asked, page, notes, scene).answer("automations/executions.html")


def list_of(asked: Asked[Filters], page: Page[queries.Row], notes: list[str], scene: Scene) -> ListView:
    choices = queries.rules(db.session(), scene.tenant, asked.filters.rule)
    return views.ListView(asked, page, notes, scene=scene, choices=choices)


@requires(Permission.SEE)
def rows() -> Any:
    """The rows named by `id` as the list shows them now, for those that a refresh did not find in it."""
    asked, scene = asked_by_address(Filters), scene_at_hand()
    wanted = refreshing.named(request.args, UUID)
    found, left = queries.these(db.session(), scene, asked.filters, wanted)
    view = views.ListView(asked, Page(found, None), [], scene=scene, left=left)

    def draw() -> str:
        return render_block("automations/executions.html", "rows", view=view)

    return refreshing.answer(view.sign, draw, SWEEP)


@requires(Permission.SEE)
def counts() -> Any:
    """The tabs with their counts, which come after the page."""
    asked, scene = asked_by_address(Filters), scene_at_hand()
    found = queries.counts(db.session(), scene, asked.filters, settings_of(current_app).statement_timeout)
    view = views.ListView(asked, Page([], None), [], found, scene=scene)
    return render_block("automations/executions.html", "tabs", view=view)


@requires(Permission.SEE)
def export(kind: str) -> Any:
    """Every row of the list as a file, wherever in it one stands."""
    return downloads.answer(kind, exporting.export(scene_at_hand(), downloads.asked(Filters)))


@requires(Permission.SEE)
def show(execution_id: UUID) -> Any:
    scene = scene_at_hand()
    execution = find(db.session(), scene, execution_id)
    if execution is None:
        abort(404)

    def draw() -> str:
        return render_page("automations/execution.html", "panel", view=detail_of(execution_id))

    # What a refresh asks by costs little; the page itself has no use for it.
    sign = executions_watching.read(db.session(), scene, execution) if is_htmx() else ""
    return refreshing.answer(sign, draw, SWEEP)


def detail_of(execution_id: UUID) -> DetailView:
    """One execution as its page shows it, read afresh; 404 where there is none."""
    scene = scene_at_hand()
    execution = find(db.session(), scene, execution_id)
    if execution is None:
        abort(404)
    return detail(db.session(), scene, execution, list_query())


def current(execution_id: UUID) -> queries.Row:
    """One execution as it is now; 404 where there is none."""
    row = queries.one(db.session(), g.tenant, execution_id)
    if row is None:
        abort(404)
    return row


def scene_at_hand() -> Scene:
    return Scene(
        tenant=g.tenant,
        declared=declared.at_hand()[0],
        now=g.now,
        zone=g.zone,
        halted=lines.paused_since(SWEEP, g.now),
        next_run=lines.next_of(SWEEP, g.now),
    )
