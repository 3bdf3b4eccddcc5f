"""Reading follow-ups: the list with its tabs and filters, and one with all that is known of it."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from flask import abort, current_app, g, request

from desk_ui import declared
from desk_ui.followups import customers, queries, views
from desk_ui.followups.detail import DetailView, detail
from desk_ui.followups.queries import Filters, Scene
from desk_ui.followups.waiting import waiting
from desk_ui.htmx import render_block, render_page
from desk_ui.listing import asked_by_address
from desk_ui.paging import Page
from desk_ui.permissions import Permission, requires
from desk_ui.requests import settings_of
from desk_ui.sweeps import lines
from models.base import db
from models.followups import booking
from models.followups.records import REARMABLE


@requires(Permission.SEE)
def index() -> Any:
    asked, scene = asked_by_address(Filters), scene_at_hand()
    page, notes = asked.read(lambda *given: queries.page(db.session(), scene, *given))
    found = waiting(db.session(), scene, asked.filters)
    again: frozenset[UUID] = frozenset()
    if asked.filters.tab.status in REARMABLE:
        again = customers.rearmed_among(db.session(), g.tenant, [row.id for row in page.rows])
    view = views.ListView(asked, page, notes, scene=scene, waiting=found, again=again)
    return render_page("followups/list.html", "list", view=view)


@requires(Permission.SEE)
def counts() -> Any:
    """The tabs with their counts, which come after the page."""
    asked, scene = asked_by_address(Filters), scene_at_hand()
    found = queries.counts(db.session(), scene, asked.filters, settings_of(current_app).statement_timeout)
    view = views.ListView(asked, Page([], None), [], found, scene=scene)
    return render_block("followups/list.html", "tabs", view=view)


@requires(Permission.SEE)
def show(followup_id: UUID) -> Any:
    shown = detail_of(followup_id)
    if shown is None:
        abort(404)
    return render_page("followups/detail.html", "panel", view=shown)


def detail_of(followup_id: UUID) -> DetailView | None:
    """One follow-up as its page shows it, read afresh."""
    followup = booking.find(db.session(), g.tenant.id, followup_id)
    if followup is None:
        return None
    after = settings_of(current_app).attention_after
    return detail(db.session(), scene_at_hand(), followup, request.values.get("list", ""), after)


def scene_at_hand() -> Scene:
    after = settings_of(current_app).attention_after
    found = Scene.read(db.session(), g.tenant, declared.at_hand()[0], g.now, g.zone, after)
    firing = next((line for line in lines.recent(g.now) if line.key == "fire_followups"), None)
    return replace(found, halted=firing is not None and firing.paused is not None)
