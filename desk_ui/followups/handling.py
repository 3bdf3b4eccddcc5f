"""Who is on a follow-up that needs a person."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from flask import abort, g, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import asking
from desk_ui.addresses import list_query
from desk_ui.followups import queries, routes
from desk_ui.handling import acts
from desk_ui.handling.acts import Subject
from desk_ui.htmx import render_block
from desk_ui.permissions import Permission, requires
from models.base import db
from models.followups import needs


@requires(Permission.SEE)
def ask_take_over(followup_id: UUID) -> str:
    return asking.show(acts.ask(_subject(followup_id)))


@requires(
    Permission.ACT_ON_FOLLOWUPS, action="followup.taken_on", resource="followup", argument="followup_id"
)
def take_on(followup_id: UUID) -> Response:
    return acts.take_on(_subject(followup_id))


@requires(Permission.ACT_ON_FOLLOWUPS, action="followup.let_go", resource="followup", argument="followup_id")
def let_go(followup_id: UUID) -> Response:
    return acts.let_go(_subject(followup_id))


def _subject(followup_id: UUID) -> Subject:
    scene = routes.scene_at_hand()
    row = queries.one(db.session(), scene, followup_id)
    if row is None:
        abort(404)
    at: Mapping[str, Any] = {"tenant": g.tenant.key, "followup_id": followup_id}

    def show() -> str:
        return render_block("followups/detail.html", "panel", view=routes.detail_of(followup_id))

    return Subject(
        resource=("followup", str(followup_id)),
        called=_("the follow-up to %(customer)s", customer=row.customer),
        url=url_for("followups.take_on", **at),
        page=url_for("followups.show", **at, list=list_query() or None),
        refusal=lambda: needs.refusal_to_take(db.session(), scene, followup_id, before=scene.waiting_since),
        show=show,
        place="#followup",
    )
