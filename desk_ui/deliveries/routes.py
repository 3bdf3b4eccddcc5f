"""Reading deliveries: the list with its tabs and filters, and one with each attempt at it."""

from typing import Any

from flask import abort, current_app, g, request

from desk_ui import downloads, refreshing
from desk_ui.deliveries import exporting, queries, views
from desk_ui.deliveries.detail import DetailView, detail, sign_of
from desk_ui.deliveries.queries import Filters
from desk_ui.handling import marks
from desk_ui.htmx import render_block, render_page
from desk_ui.listing import asked_by_address
from desk_ui.paging import Page
from desk_ui.permissions import Permission, requires
from desk_ui.requests import settings_of
from models.base import db


@requires(Permission.SEE)
def index() -> Any:
    asked = asked_by_address(Filters, int)
    page, notes = asked.read(lambda *given: queries.page(db.session(), g.tenant, g.zone, *given))
    choices = queries.endpoint_choices(db.session(), g.tenant, asked.filters.receiver)
    view = views.ListView(asked, page, notes, choices=choices)
    return view.answer("deliveries/list.html")


@requires(Permission.SEE)
def rows() -> Any:
    """The rows named by `id` as the list shows them now, for those that a refresh did not find in it."""
    asked, wanted = asked_by_address(Filters, int), refreshing.named(request.args, int)
    found, left = queries.these(db.session(), g.tenant, g.zone, asked.filters, wanted)
    view = views.ListView(asked, Page(found, None), [], left=left)
    return refreshing.answer(view.sign, lambda: render_block("deliveries/list.html", "rows", view=view))


@requires(Permission.SEE)
def counts() -> Any:
    """The tabs with their counts, which come after the page."""
    asked, limit = asked_by_address(Filters, int), settings_of(current_app).statement_timeout
    found = queries.counts(db.session(), g.tenant, g.zone, asked.filters, limit)
    return render_block("deliveries/list.html", "tabs", view=views.ListView(asked, Page([], None), [], found))


@requires(Permission.SEE)
def export(kind: str) -> Any:
    """Every row of the list as a file, wherever in it one stands."""
    return downloads.answer(kind, exporting.export(g.tenant, g.zone, downloads.asked(Filters)))


@requires(Permission.SEE)
def show(delivery_id: int) -> Any:
    sign = sign_of(current(delivery_id), marks.one_on(db.session(), "delivery", delivery_id))

    def draw() -> str:
        return render_page("deliveries/detail.html", "panel", view=detail_of(delivery_id))

    return refreshing.answer(sign, draw)


def detail_of(delivery_id: int) -> DetailView:
    """One delivery as its page shows it, read afresh; 404 where there is none."""
    return detail(db.session(), current(delivery_id), request.values.get("list", ""))


def current(delivery_id: int) -> queries.Row:
    """One delivery as it is now; 404 where there is none."""
    row = queries.one(db.session(), g.tenant, delivery_id)
    if row is None:
        abort(404)
    return row
