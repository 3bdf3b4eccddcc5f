"""What a person does with a follow-up."""

from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from flask import abort, g, request, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui.addresses import local_path
from desk_ui.followups import queries, routes, views
from desk_ui.htmx import Action, perform, render_block
from desk_ui.paging import Page, place
from desk_ui.permissions import Permission, actor, requires
from models.base import db
from models.errors import Conflict, Invalid
from models.followups import transitions
from models.followups.records import FollowUp
from models.transactions import commit

LARGEST_VERSION = 2**31 - 1


@requires(
    Permission.ACT_ON_FOLLOWUPS, action="followup.cancelled", resource="followup", argument="followup_id"
)
def cancel(followup_id: UUID) -> Response:
    """Cancel a pending follow-up, as it was shown."""

    def act() -> FollowUp:
        cancelled = transitions.cancel(
            db.session(),
            g.tenant.id,
            followup_id,
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
        )
        commit(db.session(), "console.followups.cancel")
        return cancelled

    return perform(
        Action(
            name="followup.cancelled",
            resource=("followup", str(followup_id)),
            act=act,
            read=lambda: _current(followup_id),
            show=lambda row: _shown(row.id),
            done=_cancelled,
            refused=_refused,
            back=local_path(request.form.get("back")) or url_for("followups.index", tenant=g.tenant.key),
        )
    )


def version_shown() -> int:
    """The version of the row that the person saw. Raises `Invalid` on `version`."""
    given = request.form.get("version", "")
    if not given.isascii() or not given.isdigit() or len(given) > 10 or int(given) > LARGEST_VERSION:
        raise Invalid("version", "is missing; reload the page and try again")
    return int(given)


def _current(followup_id: UUID) -> queries.Row:
    row = queries.one(db.session(), routes.scene_at_hand(), followup_id)
    if row is None:
        abort(404)
    return row


def _cancelled(row: FollowUp) -> str:
    if row.cancelled_by == g.operator.email:
        return _("Cancelled the follow-up to %(customer)s.", customer=row.customer)
    return _(
        "The follow-up to %(customer)s was cancelled already, by %(who)s.",
        customer=row.customer,
        who=row.cancelled_by,
    )


def _refused(row: queries.Row, fault: Conflict) -> str:
    last = queries.last_change(db.session(), g.tenant, row.id)
    return views.why_not_cancelled(row, fault, routes.scene_at_hand(), last)


def _shown(followup_id: UUID) -> str:
    """The row of the list, or the panel of the page, whichever was pressed in."""
    if request.form.get("shown") == "panel":
        return render_block("followups/detail.html", "panel", view=routes.detail_of(followup_id))
    given = dict(parse_qsl(request.form.get("list", "")))
    filters, _unusable = queries.Filters.from_args(given)
    view: Any = views.ListView(
        routes.scene_at_hand(), filters, Page([_current(followup_id)], None), [], place(given)
    )
    return render_block("followups/list.html", "rows", view=view)
