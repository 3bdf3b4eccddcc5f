"""What a person does with a delivery: send a dead one again, or a waiting one ahead of its time."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from flask import g, request, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import asking
from desk_ui.acting import Action, back_or, perform, version_shown
from desk_ui.asking import Ask
from desk_ui.deliveries import addresses, asks, queries, routes, views
from desk_ui.htmx import render_block
from desk_ui.listing import Asked
from desk_ui.paging import Page
from desk_ui.permissions import Permission, actor, requires
from jobs import wake
from models import deliveries, endpoint_urls
from models.base import db
from models.deliveries import Delivery, Readdressed
from models.errors import Conflict
from models.transactions import after_commit, commit


@requires(Permission.SEE)
def ask_rearm(delivery_id: int) -> str:
    return asking.show(asks.rearm(routes.current(delivery_id)))


@requires(
    Permission.ACT_ON_DELIVERIES, action="delivery.rearmed", resource="delivery", argument="delivery_id"
)
def rearm(delivery_id: int) -> Response:
    """Have a dead delivery, as it was shown, sent again from the start."""

    def act() -> Delivery:
        armed = deliveries.rearm(
            db.session(),
            g.tenant.id,
            delivery_id,
            reason=request.form.get("reason", ""),
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
            addresses=addresses.shown(request.form),
        )
        after_commit(db.session(), wake.SWEEP, wake.wake_delivery)
        commit(db.session(), "console.deliveries.rearm")
        return armed

    def ask() -> Ask:
        return asks.rearm(routes.current(delivery_id))

    def done() -> str:
        if views.waits_for_endpoint(routes.current(delivery_id)):
            return _("Re-armed. Its endpoint is paused, so it waits until that is resumed.")
        return _("Re-armed. It is sent as soon as a run takes it.")

    return perform(_on_one("delivery.rearmed", delivery_id, act, done, _("it can't be re-armed"), ask))


@requires(
    Permission.ACT_ON_DELIVERIES, action="delivery.sent_now", resource="delivery", argument="delivery_id"
)
def send(delivery_id: int) -> Response:
    """Have a waiting delivery, as it was shown, sent ahead of its time."""

    def act() -> Delivery:
        due = deliveries.send_now(
            db.session(),
            g.tenant.id,
            delivery_id,
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
            addresses=addresses.shown(request.form),
        )
        after_commit(db.session(), wake.SWEEP, wake.wake_delivery)
        commit(db.session(), "console.deliveries.send")
        return due

    def done() -> str:
        return _("It is due now, and sent as soon as a run takes it.")

    return perform(_on_one("delivery.sent_now", delivery_id, act, done, _("it can't be sent now")))


def _on_one(
    name: str,
    delivery_id: int,
    act: Callable[[], Delivery],
    done: Callable[[], str],
    cannot: str,
    ask: Callable[[], Ask] | None = None,
) -> Action:
    """An action on one delivery, which is shown again as it is then: its row of the list, or its page."""
    in_panel = request.form.get("shown") == "panel"
    return Action(
        name=name,
        resource=("delivery", str(delivery_id)),
        act=act,
        read=lambda: routes.current(delivery_id),
        show=lambda _row: _shown(delivery_id),
        place="#delivery" if in_panel else f"#delivery-{delivery_id}",
        done=lambda _delivery: done(),
        refused=lambda row, fault: _why_refused(row, fault, cannot),
        back=lambda _row: back_or(url_for("deliveries.index", tenant=g.tenant.key)),
        ask=ask,
    )


def _why_refused(row: queries.Row, fault: Conflict, cannot: str) -> str:
    if isinstance(fault, Readdressed):
        return _("%(why)s It is at %(origin)s now.", why=fault.detail, origin=endpoint_urls.origin(row.url))
    return views.why_refused(row, fault, cannot)


def _shown(delivery_id: int) -> str:
    """The row of the list, or the panel of the page, whichever was pressed in."""
    if request.form.get("shown") == "panel":
        return render_block("deliveries/detail.html", "panel", view=routes.detail_of(delivery_id))
    asked: Any = Asked.of(queries.Filters, dict(parse_qsl(request.form.get("list", ""))), int)
    view = views.ListView(asked, Page([routes.current(delivery_id)], None), [])
    return render_block("deliveries/list.html", "rows", view=view)
