"""What a person does with a follow-up."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from flask import abort, g, request, url_for
from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.wrappers import Response

from desk_ui import asking, local_time, words
from desk_ui.acting import Action, back_or, perform, version_shown
from desk_ui.asking import Ask
from desk_ui.followups import asks, customers, marking, offers, queries, rearm_asks, routes, views
from desk_ui.followups.foretelling import at_its_time
from desk_ui.htmx import render_block
from desk_ui.listing import Asked
from desk_ui.paging import Page
from desk_ui.permissions import Permission, actor, requires
from models import declarations, text
from models.base import db, read_only
from models.errors import AlreadyPending, Conflict
from models.followups import contacts, transitions, undoing
from models.followups.foresight import foresee
from models.followups.records import REARMABLE, ContactState, FollowUp
from models.transactions import commit
from models.transitions import check_version


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

    cannot = _("it can't be cancelled")
    action = _on_one("followup.cancelled", followup_id, act, _cancelled, cannot)
    return perform(replace(action, offer=offers.after_cancel))


@requires(Permission.SEE)
def ask_reschedule(followup_id: UUID) -> str:
    return asking.show(_asked(asks.reschedule, followup_id))


@requires(
    Permission.ACT_ON_FOLLOWUPS, action="followup.rescheduled", resource="followup", argument="followup_id"
)
def reschedule(followup_id: UUID) -> Response:
    """Give a pending follow-up, as it was shown, another time in the page's zone."""

    def act() -> FollowUp:
        moved = transitions.reschedule(
            db.session(),
            g.tenant.id,
            followup_id,
            local_time.instant("at", request.form.get("at", ""), g.zone),
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
        )
        commit(db.session(), "console.followups.reschedule")
        return moved

    cannot = _("it can't be rescheduled")
    return perform(_on_one("followup.rescheduled", followup_id, act, _rescheduled, cannot, asks.reschedule))


@requires(Permission.SEE)
def ask_rearm(followup_id: UUID) -> str:
    return asking.show(_asked(rearm_asks.rearm, followup_id))


@requires(Permission.ACT_ON_FOLLOWUPS, action="followup.rearmed", resource="followup", argument="followup_id")
def rearm(followup_id: UUID) -> Response:
    """Book a cancelled or blocked follow-up, as it was shown, again.

    From its own page the new one's comes next; from the list one stays there.
    """

    def act() -> FollowUp:
        _check_consent(_current(followup_id).customer)
        made = transitions.rearm(
            db.session(),
            g.tenant,
            followup_id,
            local_time.instant("at", request.form.get("at", ""), g.zone),
            declared=declarations.current(db.session()),
            actor=actor(),
            now=g.now,
            reason=text.required(request.form.get("reason"), "reason"),
            expected_version=version_shown(),
            known=request.form.get("known", ""),
        )
        commit(db.session(), "console.followups.rearm")
        return made

    action = _on_one("followup.rearmed", followup_id, act, _rearmed, "", rearm_asks.rearm)
    action = replace(action, refused=_rearm_refused)
    if request.form.get("shown") == "panel":
        action = replace(action, show=None, back=lambda made: _page_of(made))
    return perform(action)


def _check_consent(customer: str) -> None:
    """Raises `Conflict` where booking would record consent, and the question did not say so."""
    contact = contacts.lock(db.session(), g.tenant.id, customer)
    if contact is None and not request.form.get("consent"):
        raise Conflict(_("There is no consent on record any more, so nothing was booked."))


def _page_of(followup: FollowUp) -> str:
    return url_for("followups.show", tenant=g.tenant.key, followup_id=followup.id)


@requires(Permission.SEE)
def ask_revoke(followup_id: UUID) -> str:
    return asking.show(_asked(asks.revoke, followup_id))


@requires(Permission.ACT_ON_FOLLOWUPS, action="contact.revoked", resource="followup", argument="followup_id")
def revoke(followup_id: UUID) -> Response:
    """Opt the customer out, as their contact was shown; all that waits is cancelled with it."""
    customer = _current(followup_id).customer

    def act() -> int | None:
        was_open = _is_open(customer, version_shown())
        cancelled = contacts.revoke(
            db.session(),
            g.tenant,
            customer,
            by="operator",
            actor=actor(),
            now=g.now,
            reason=request.form.get("reason", "").strip() or None,
        )
        commit(db.session(), "console.followups.revoke")
        return cancelled if was_open else None

    action = _on_one("contact.revoked", followup_id, act, partial(_revoked, customer), "", asks.revoke)
    return perform(replace(action, refused=lambda _row, fault: fault.detail))


def _is_open(customer: str, version: int) -> bool:
    """Whether the contact, now locked, is open; to close one that is closed changes nothing.

    Raises `Conflict` where it changed since it was shown: something was sent, or the customer wrote.
    """
    contact = contacts.lock(db.session(), g.tenant.id, customer)
    if contact is not None and contact.state == ContactState.REVOKED:
        return False
    if contact is not None:
        check_version(contact, version, "contact")
    return True


def _on_one(
    name: str,
    followup_id: UUID,
    act: Callable[[], Any],
    done: Callable[[Any], str],
    cannot: str,
    ask: Callable[[queries.Row, queries.Scene], Ask] | None = None,
) -> Action:
    """An action on one follow-up, which is shown again as it is then: its row of the list, or its page."""
    in_panel = request.form.get("shown") == "panel"
    return Action(
        name=name,
        resource=("followup", str(followup_id)),
        act=act,
        read=lambda: _current(followup_id),
        show=lambda _row: _shown(followup_id),
        place="#followup" if in_panel else f"#followup-{followup_id}",
        done=done,
        refused=lambda row, fault: _refused(row, fault, cannot),
        back=lambda _row: back_or(url_for("followups.index", tenant=g.tenant.key)),
        ask=(lambda: _asked(ask, followup_id)) if ask else None,
    )


def _asked(ask: Callable[[queries.Row, queries.Scene], Ask], followup_id: UUID) -> Ask:
    return ask(_current(followup_id), routes.scene_at_hand())


def _current(followup_id: UUID) -> queries.Row:
    row = queries.one(db.session(), routes.scene_at_hand(), followup_id)
    if row is None:
        abort(404)
    return row


def _cancelled(row: FollowUp) -> str:
    if row.cancelled_by == g.operator.email:
        done = _("Cancelled the follow-up to %(customer)s.", customer=row.customer)
        return offers.instead_of_undo(done, row) if undoing.due_too_soon(row, g.now) else done
    return _(
        "The follow-up to %(customer)s was cancelled already, by %(who)s.",
        customer=row.customer,
        who=row.cancelled_by,
    )


def _revoked(customer: str, cancelled: int | None) -> str:
    if cancelled is None:
        return _("%(customer)s had opted out already.", customer=customer)
    if not cancelled:
        return _("Opted %(customer)s out. Nothing was pending.", customer=customer)
    return ngettext(
        "Opted %(customer)s out, and cancelled %(num)s follow-up.",
        "Opted %(customer)s out, and cancelled %(num)s follow-ups.",
        cancelled,
        customer=customer,
    )


def _rearmed(row: FollowUp) -> str:
    at = words.day_and_time(row.at, g.now, g.zone)
    found = [
        _("Booked the follow-up to %(customer)s again, for %(at)s.", customer=row.customer, at=at),
        _at_its_time(row),
    ]
    contact = customers.contact(db.session(), g.tenant, row.customer)
    if customers.consented_with(row, contact):
        found.append(_("Consent is recorded for this customer, in your name."))
    said = " ".join(one for one in found if one)
    if request.form.get("shown") == "panel":
        return said
    return rearm_asks.with_link(said, _page_of(row), _("Show the new one"))


def _rearm_refused(row: queries.Row, fault: Conflict) -> str:
    if isinstance(fault, AlreadyPending):
        return rearm_asks.already_pending(fault.prior_id)
    return _asked(rearm_asks.rearm, row.id).refusal or fault.detail


def _rescheduled(row: FollowUp) -> str:
    at = words.day_and_time(row.at, g.now, g.zone)
    done = _("Rescheduled the follow-up to %(customer)s for %(at)s.", customer=row.customer, at=at)
    return f"{done} {_at_its_time(row)}".rstrip()


def _at_its_time(row: FollowUp) -> str:
    """What would come of one with a new time, when that has come."""
    with read_only():
        scene = routes.scene_at_hand()
        foresight = foresee(db.session(), row, declared=scene.declared, now=g.now)
        return at_its_time(row, foresight, scene)


def _refused(row: queries.Row, fault: Conflict, cannot: str) -> str:
    last = queries.last_change(db.session(), g.tenant, row.id)
    return marking.why_refused(row, fault, routes.scene_at_hand(), last, cannot)


def _shown(followup_id: UUID) -> str:
    """The row of the list, or the panel of the page, whichever was pressed in."""
    if request.form.get("shown") == "panel":
        return render_block("followups/detail.html", "panel", view=routes.detail_of(followup_id))
    asked = Asked.of(queries.Filters, dict(parse_qsl(request.form.get("list", ""))))
    row = _current(followup_id)
    again = customers.rearmed_among(db.session(), g.tenant, [row.id] if row.status in REARMABLE else [])
    view: Any = views.ListView(asked, Page([row], None), [], scene=routes.scene_at_hand(), again=again)
    return render_block("followups/list.html", "rows", view=view)
