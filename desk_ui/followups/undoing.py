"""Taking a cancel back: the new follow-up stands where the cancelled one stood."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from flask import abort, g, request, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import words
from desk_ui.acting import Action, back_or, perform
from desk_ui.addresses import list_query
from desk_ui.followups import queries, rearm_asks, routes, views
from desk_ui.htmx import render_block
from desk_ui.listing import Asked
from desk_ui.paging import Page
from desk_ui.permissions import Permission, actor, requires
from models import declarations
from models.base import db
from models.errors import AlreadyPending, Conflict
from models.followups import undoing
from models.followups.records import FollowUp
from models.transactions import commit


@requires(
    Permission.ACT_ON_FOLLOWUPS, action="followup.restored", resource="followup", argument="followup_id"
)
def restore(followup_id: UUID) -> Response:
    """Book again, as it was, what was cancelled just now; the new one stands in its place."""

    def act() -> FollowUp:
        made = undoing.undo_cancel(
            db.session(),
            g.tenant,
            followup_id,
            declared=declarations.current(db.session()),
            actor=actor(),
            now=g.now,
        )
        commit(db.session(), "console.followups.restore")
        return made

    action = Action(
        name="followup.restored",
        resource=("followup", str(followup_id)),
        act=act,
        read=lambda: _current(followup_id),
        show=lambda row: _row(row.id),
        place=f"#followup-{followup_id}",
        apart=True,
        done=_restored,
        refused=_refused,
        back=lambda _row: back_or(url_for("followups.index", tenant=g.tenant.key)),
    )
    if request.form.get("shown") == "panel":
        action = replace(action, show=None, back=_page)
    return perform(action)


def _restored(row: FollowUp) -> str:
    at = words.day_and_time(row.at, g.now, g.zone)
    return _(
        "Taken back: the follow-up to %(customer)s is booked again, for %(at)s.",
        customer=row.customer,
        at=at,
    )


def _refused(row: queries.Row, fault: Conflict) -> str:
    """Why not, of which customer, and the way to it: the answer may stand far from where it was pressed."""
    if isinstance(fault, AlreadyPending):
        return rearm_asks.already_pending(fault.prior_id)
    said = _(
        "Not taken back, the follow-up to %(customer)s: %(why)s", customer=row.customer, why=fault.detail
    )
    return rearm_asks.with_link(said, _page(row), _("Show it"))


def _page(row: Any) -> str:
    return url_for("followups.show", tenant=g.tenant.key, followup_id=row.id, list=list_query() or None)


def _row(followup_id: UUID) -> str:
    asked = Asked.of(queries.Filters, dict(parse_qsl(request.form.get("list", ""))))
    page = Page([_current(followup_id)], None)
    view: Any = views.ListView(asked, page, [], scene=routes.scene_at_hand())
    return render_block("followups/list.html", "rows", view=view)


def _current(followup_id: UUID) -> queries.Row:
    row = queries.one(db.session(), routes.scene_at_hand(), followup_id)
    if row is None:
        abort(404)
    return row
