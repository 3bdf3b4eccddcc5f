"""Reading the audit, and verifying that nobody changed it."""

from typing import Any
from urllib.parse import parse_qsl

from flask import abort, g, render_template, request, url_for

from desk_ui import downloads
from desk_ui.audit import customers, exporting, queries, views
from desk_ui.audit.queries import Filters
from desk_ui.listing import asked_by_address
from desk_ui.paging import MOST_COUNTED
from desk_ui.permissions import Permission, requires
from models import audit_seals
from models.base import db
from models.transactions import rollback

# About as many as can be digested while a person waits; beyond, the command does it.
MOST_VERIFIED = 100_000


@requires(Permission.SEE)
def index() -> Any:
    asked, session = asked_by_address(Filters, int), db.session()
    page, notes = asked.read(lambda *given: queries.page(session, g.tenant, g.zone, *given))
    chain = queries.chain(session, MOST_COUNTED)
    people = queries.operators(session, g.tenant, page.rows)
    removed = queries.removed(session, g.tenant, page.rows)
    named = customers.named(session, g.tenant, page.rows)
    notes += views.notes(asked.filters)
    view = views.AuditView(asked, page, notes, chain=chain, people=people, removed=removed, customers=named)
    return view.answer("audit/list.html", views=views)


@requires(Permission.SEE)
def export(kind: str) -> Any:
    """Every event of the list as a file, wherever in it one stands."""
    return downloads.answer(kind, exporting.export(g.tenant, g.zone, downloads.asked(Filters)))


@requires(Permission.SEE)
def show(event_id: int) -> Any:
    event = queries.one(db.session(), g.tenant, event_id)
    if event is None:
        abort(404)
    filters, _unusable = Filters.from_args(dict(parse_qsl(request.args.get("list", ""))))
    back = url_for("audit.index", tenant=g.tenant.key, **filters.as_params())
    gone = queries.removed(db.session(), g.tenant, [event])
    place = None if gone else views.place_of(event.resource_type, event.resource_id)
    view = views.EventView(event, place, views.customer_of(event), views.person_of(event))
    return render_template("audit/event.html", event=event, view=view, views=views, back=back)


@requires(Permission.VERIFY_AUDIT)
def verification() -> Any:
    """Recompute the chain of the whole installation, where it is short enough to wait for."""
    session = db.session()
    chain = queries.chain(session, MOST_COUNTED)
    found = None
    if chain.sealed <= MOST_VERIFIED:
        rollback(session)
        audit_seals.snapshot(session)
        found = audit_seals.verify(session)
    return render_template("audit/verification.html", chain=chain, found=found, most=MOST_VERIFIED)
