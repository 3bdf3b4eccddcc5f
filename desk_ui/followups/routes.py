"""Reading follow-ups: the list with its tabs and filters, and one with all that is known of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from flask import abort, current_app, g, request

from desk_ui import declared, downloads, refreshing
from desk_ui.followups import customers, exporting, queries, views, watching
from desk_ui.followups.detail import DetailView, detail
from desk_ui.followups.queries import Filters, Row, Scene, Tab
from desk_ui.followups.waiting import waiting
from desk_ui.htmx import is_htmx, render_block, render_page
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
    again = _booked_again(asked.filters.tab, page.rows)
    view = views.ListView(asked, page, notes, scene=scene, waiting=found, again=again)
    return view.answer("followups/list.html")


def _booked_again(tab: Tab, rows: Sequence[Row]) -> dict[UUID, UUID]:
    if tab.status not in REARMABLE:
        return {}
    return customers.rearmed_among(db.session(), g.tenant, [row.id for row in rows])


@requires(Permission.SEE)
def rows() -> Any:
    """The rows named by `id` as the list shows them now, for those that a refresh did not find in it."""
    asked, scene = asked_by_address(Filters), scene_at_hand()
    wanted = refreshing.named(request.args, UUID)
    found, left = queries.these(db.session(), scene, asked.filters, wanted)
    again = _booked_again(asked.filters.tab, found)
    view = views.ListView(asked, Page(found, None), [], scene=scene, again=again, left=left)
    return refreshing.answer(view.sign, lambda: render_block("followups/list.html", "rows", view=view))


@requires(Permission.SEE)
def counts() -> Any:
    """The tabs with their counts, which come after the page."""
    asked, scene = asked_by_address(Filters), scene_at_hand()
    found = queries.counts(db.session(), scene, asked.filters, settings_of(current_app).statement_timeout)
    view = views.ListView(asked, Page([], None), [], found, scene=scene)
    return render_block("followups/list.html", "tabs", view=view)


@requires(Permission.SEE)
def export(kind: str) -> Any:
    """Every row of the list as a file, wherever in it one stands."""
    return downloads.answer(kind, exporting.export(scene_at_hand(), downloads.asked(Filters)))


@requires(Permission.SEE)
def show(followup_id: UUID) -> Any:
    followup = booking.find(db.session(), g.tenant.id, followup_id)
    if followup is None:
        abort(404)

    def draw() -> str:
        return render_page("followups/detail.html", "panel", view=detail_of(followup_id))

    # What a refresh asks by costs little; the page itself has no use for it.
    return refreshing.answer(watching.read(db.session(), g.tenant, followup), draw) if is_htmx() else draw()


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
    return replace(found, halted=lines.firing_paused_since(g.now), next_run=lines.next_firing(g.now))
