"""Who is on a delivery that needs a person."""

from collections.abc import Mapping
from typing import Any

from flask import g, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import asking
from desk_ui.addresses import list_query
from desk_ui.deliveries import routes
from desk_ui.handling import acts
from desk_ui.handling.acts import Subject
from desk_ui.htmx import render_block
from desk_ui.permissions import Permission, requires
from models import delivery_needs, endpoint_urls


@requires(Permission.SEE)
def ask_take_over(delivery_id: int) -> str:
    return asking.show(acts.ask(_subject(delivery_id)))


@requires(
    Permission.ACT_ON_DELIVERIES, action="delivery.taken_on", resource="delivery", argument="delivery_id"
)
def take_on(delivery_id: int) -> Response:
    return acts.take_on(_subject(delivery_id))


@requires(Permission.ACT_ON_DELIVERIES, action="delivery.let_go", resource="delivery", argument="delivery_id")
def let_go(delivery_id: int) -> Response:
    return acts.let_go(_subject(delivery_id))


def _subject(delivery_id: int) -> Subject:
    row = routes.current(delivery_id)
    at: Mapping[str, Any] = {"tenant": g.tenant.key, "delivery_id": delivery_id}

    def refusal() -> str | None:
        now = routes.current(delivery_id)
        return delivery_needs.refusal_to_take(now.state, now.endpoint_state)

    def show() -> str:
        return render_block("deliveries/detail.html", "panel", view=routes.detail_of(delivery_id))

    return Subject(
        resource=("delivery", str(delivery_id)),
        called=_("the delivery to %(origin)s", origin=endpoint_urls.origin(row.url)),
        url=url_for("deliveries.take_on", **at),
        page=url_for("deliveries.show", **at, list=list_query() or None),
        refusal=refusal,
        show=show,
        place="#delivery",
    )
