"""What is offered about a follow-up for a while: to take its cancel back."""

from flask import g, request, url_for
from flask_babel import gettext as _
from markupsafe import Markup

from desk_ui.acting import back_or
from desk_ui.addresses import list_query
from desk_ui.offering import Offer
from desk_ui.permissions import Permission, may
from models.base import db
from models.followups import undoing
from models.followups.records import FollowUp


def undo(followup: FollowUp, *, shown: str, list_query: str, back: str = "") -> Offer | None:
    """To take the cancel of `followup` back; None where that can't be, or the person may not.

    `shown` is where it is offered: beside its `row`, or on its own page (`panel`).
    """
    allowed = may(Permission.ACT_ON_FOLLOWUPS)
    until = undoing.undo_until(db.session(), followup, g.now) if allowed else None
    if until is None:
        return None
    return Offer(
        verb=_("Undo"),
        about=_("the cancel of the follow-up to %(customer)s", customer=followup.customer),
        url=url_for("followups.restore", tenant=g.tenant.key, followup_id=followup.id),
        until=until,
        over=_("It is too late to take it back. Re-arm it instead."),
        late=_("Too late to undo"),
        fields={"back": back, "list": list_query, "shown": shown},
        place="" if shown == "panel" else f"#followup-{followup.id}",
    )


def instead_of_undo(done: str, followup: FollowUp) -> Markup:
    """What was `done` to one that is due too soon to be taken back, and the way to book it again."""
    url = url_for(
        "followups.ask_rearm",
        tenant=g.tenant.key,
        followup_id=followup.id,
        list=list_query() or None,
        shown=request.form.get("shown") or None,
    )
    why = _("It was due too soon to be taken back.")
    link = Markup('<a href="%s" hx-get="%s" hx-target="#dialog" hx-swap="innerHTML">%s</a>')
    return Markup("%s %s ") % (done, why) + link % (url, url, _("Re-arm it for later instead"))


def after_cancel(followup: FollowUp) -> Offer | None:
    """The offer beside the answer to a cancel, which is shown where that was pressed."""
    return undo(
        followup,
        shown="panel" if request.form.get("shown") == "panel" else "row",
        back=back_or(url_for("followups.index", tenant=g.tenant.key)),
        list_query=list_query(),
    )
