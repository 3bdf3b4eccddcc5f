"""One's own account: password, second factor, time zone, sessions."""

from datetime import timedelta
from typing import Any

import segno
from flask import (
    Flask,
    current_app,
    flash,
    g,
    make_response,
    redirect,
    render_template,
    request,
    session,
    url_for,
)
from flask_babel import gettext as _
from flask_babel import lazy_gettext
from flask_limiter import Limiter
from flask_security.proxies import _security
from flask_security.utils import hash_password, login_user, logout_user, verify_password
from flask_wtf import FlaskForm
from markupsafe import Markup
from werkzeug.wrappers import Response
from wtforms import PasswordField
from wtforms.validators import DataRequired, Length

from desk_ui import asking, limits, local_time, refreshing
from desk_ui.accounts import Account
from desk_ui.addresses import local_path
from desk_ui.asking import Ask, Field
from desk_ui.htmx import is_htmx, toast
from desk_ui.permissions import Permission, actor, requires
from desk_ui.requests import settings_of
from models import accounts, preferences, second_factor
from models.base import db
from models.clock import EPOCH, micros
from models.errors import Invalid
from models.operators import LINK_LASTS
from models.transactions import commit, rollback

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1000
MICROSECOND = timedelta(microseconds=1)


class PasswordForm(FlaskForm):  # type: ignore[misc]
    """A new password, and the present one where there is one."""

    present = PasswordField(lazy_gettext("Present password"))
    wanted = PasswordField(
        lazy_gettext("New password"),
        validators=[
            DataRequired(lazy_gettext("Give a new password.")),
            Length(
                min=SHORTEST_PASSWORD,
                max=LONGEST_PASSWORD,
                message=lazy_gettext("Use at least 12 characters."),
            ),
        ],
    )


def register(app: Flask, limiter: Limiter) -> None:
    slow = limits.by_address(limiter)
    guessed = limits.by_account(limiter, _session_account, limits.OF_CODES)
    factor = "/profile/second-factor"
    for rule, view, method in (
        ("/profile", profile, "GET"),
        ("/profile/password", slow(guessed(set_password)), "POST"),
        ("/profile/timezone", set_timezone, "POST"),
        ("/profile/refresh", set_refresh, "POST"),
        ("/profile/sessions-end", sign_out_everywhere, "POST"),
        (factor, ask_factor_on, "GET"),
        (factor, slow(guessed(turn_factor_on)), "POST"),
        (f"{factor}/removal", ask_factor_off, "GET"),
        (f"{factor}/removal", slow(guessed(turn_factor_off)), "POST"),
        (f"{factor}/recovery-codes", ask_codes, "GET"),
        (f"{factor}/recovery-codes", slow(guessed(renew_codes)), "POST"),
    ):
        app.add_url_rule(rule, f"account.{view.__name__}", view, methods=[method])


@requires(Permission.SIGNED_IN)
def profile() -> str:
    return _profile(PasswordForm())


def _profile(form: PasswordForm) -> str:
    hours = settings_of(current_app).session_hours
    return render_template(
        "auth/profile.html",
        form=form,
        asks_present=_asks_present(),
        factor=second_factor.state(db.session(), g.operator),
        zones=_zones(),
        hours=hours,
        signed_in_at=EPOCH + session["signed_in_at"] * MICROSECOND,
    )


@requires(Permission.SIGNED_IN)
def set_password() -> Any:
    form = PasswordForm(request.form)
    if not form.validate() or not _present_is_right(form):
        return _profile(form), 422
    hashed = hash_password(_security.password_util.normalize(form.wanted.data))
    accounts.set_password(db.session(), g.operator, hashed, actor=actor(), now=g.now)
    commit(db.session(), "console.password")
    _go_on_signed_in()
    flash(_("Your password is set. You were signed out everywhere else."), "good")
    return redirect(url_for("account.profile"), 303)


@requires(Permission.SIGNED_IN)
def set_timezone() -> Response:
    """Raises `Invalid` on `timezone`."""
    wanted = request.form.get("timezone") or None
    accounts.set_timezone(db.session(), g.operator, wanted, actor=actor(), now=g.now)
    commit(db.session(), "console.timezone")
    if wanted:
        flash(_("Times are in %(zone)s now.", zone=wanted), "good")
    else:
        flash(_("Times are in the zone of each tenant now."), "good")
    return redirect(url_for("account.profile"), 303)


@requires(Permission.SIGNED_IN)
def set_refresh() -> Response:
    """How often lists are read again. Raises `Invalid` on `refresh`."""
    wanted = preferences.as_refresh(request.form.get("refresh", ""))
    preferences.set_refresh(db.session(), g.operator, wanted, actor=actor(), now=g.now)
    commit(db.session(), "console.refresh")
    if wanted:
        done = _("Lists are read again every %(span)s now.", span=refreshing.span(wanted))
    else:
        done = _("Lists are read again only when you reload them now.")
    if is_htmx():
        return make_response(toast(done))
    flash(done, "good")
    return redirect(local_path(request.form.get("back")) or url_for("account.profile"), 303)


@requires(Permission.SIGNED_IN)
def sign_out_everywhere() -> Response:
    accounts.sign_out_everywhere(db.session(), g.operator, actor=actor(), now=g.now)
    commit(db.session(), "console.sign_out_everywhere")
    logout_user()
    session.clear()
    flash(_("You are signed out everywhere, here too."), "good")
    return redirect(url_for("account.sign_in"), 303)


@requires(Permission.SIGNED_IN)
def ask_factor_on() -> Any:
    if second_factor.is_on(db.session(), g.operator):
        return redirect(url_for("account.profile"), 303)
    return _setup_page(second_factor.new_setup(g.operator, secret_key=_key()))


@requires(Permission.SIGNED_IN)
def turn_factor_on() -> Any:
    """The recovery codes, shown once. Raises `Invalid` on `setup`, `Conflict` where it is on already."""
    setup = second_factor.setup_of(g.operator, request.form.get("setup", ""), secret_key=_key())
    if _asks_present() and not _is_password(request.form.get("present", "")):
        return _setup_page(setup, present=_("This is not your present password.")), 422
    given = request.form.get("code", "")
    try:
        codes = second_factor.turn_on(
            db.session(), g.operator, setup.sealed, given, secret_key=_key(), actor=actor(), now=g.now
        )
    except Invalid as fault:
        rollback(db.session())
        return _setup_page(setup, code=fault.why), 422
    commit(db.session(), "console.factor.on")
    _go_on_signed_in()
    return _codes_page(codes, _("The second factor is on. You were signed out everywhere else."))


@requires(Permission.SIGNED_IN)
def ask_factor_off() -> Any:
    return _ask_if_on(_factor_off)


@requires(Permission.SIGNED_IN)
def turn_factor_off() -> Any:
    if not _is_proven():
        return _not_proven(_factor_off)
    second_factor.turn_off(db.session(), g.operator, actor=actor(), now=g.now)
    commit(db.session(), "console.factor.off")
    flash(_("The second factor is off. The recovery codes are void."), "good")
    return redirect(url_for("account.profile"), 303)


@requires(Permission.SIGNED_IN)
def ask_codes() -> Any:
    return _ask_if_on(_new_codes)


@requires(Permission.SIGNED_IN)
def renew_codes() -> Any:
    """New recovery codes, shown once. Raises `Conflict` where the factor is off."""
    if not _is_proven():
        return _not_proven(_new_codes)
    codes = second_factor.renew_codes(db.session(), g.operator, actor=actor(), now=g.now)
    commit(db.session(), "console.factor.codes")
    return _codes_page(codes, _("These are your new recovery codes. Those before are void."))


def _setup_page(setup: second_factor.Setup, *, present: str = "", code: str = "") -> str:
    fields = [
        Field(
            "code",
            _("Code that the app shows"),
            longest=10,
            autocomplete="one-time-code",
            fault=code,
        )
    ]
    if _asks_present():
        fields.append(_password_field("present", _("Present password"), fault=present))
    drawn = segno.make(setup.uri, micro=False).svg_inline(
        svgclass="qr", lineclass=None, light="#fff", omitsize=True
    )
    return render_template("auth/factor_on.html", setup=setup, fields=fields, drawn=Markup(drawn))


def _codes_page(codes: list[str], words: str) -> str:
    return render_template("auth/recovery_codes.html", codes=codes, says=words)


def _factor_off() -> Ask:
    return Ask(
        title=_("Switch the second factor off"),
        says=[_("A password or a sign-in link alone signs you in then. The recovery codes are void.")],
        fields=[_proof_field()],
        verb=_("Switch off"),
        kind="danger",
        url=url_for("account.turn_factor_off"),
        back=url_for("account.profile"),
    )


def _new_codes() -> Ask:
    return Ask(
        title=_("Make new recovery codes"),
        says=[
            _(
                "You get %(n)s new codes, shown once. Those that you have are void then.",
                n=second_factor.CODES,
            )
        ],
        fields=[_proof_field()],
        verb=_("Make new codes"),
        url=url_for("account.renew_codes"),
        back=url_for("account.profile"),
    )


def _ask_if_on(ask: Any) -> Any:
    if not second_factor.is_on(db.session(), g.operator):
        return redirect(url_for("account.profile"), 303)
    return asking.show(ask())


def _not_proven(ask: Any) -> Any:
    rollback(db.session())
    fault = Invalid("proof", "is neither your password nor a code that can be used now")
    return asking.show(ask().refilled(request.form, fault)), 422


def _proof_field() -> Field:
    return _password_field("proof", _("Your password, or a code of the app"))


def _password_field(name: str, label: str, fault: str = "") -> Field:
    return Field(
        name, label, kind="password", longest=LONGEST_PASSWORD, autocomplete="current-password", fault=fault
    )


def _zones() -> list[tuple[str, str]]:
    """What can be chosen, each with its words; blank stands for the zone of the tenant."""
    tenant = next((tenant for tenant, _role in g.memberships if tenant.key == session.get("tenant")), None)
    as_tenant = _("As the tenant (%(zone)s)", zone=tenant.timezone) if tenant else _("As the tenant")
    return [("", as_tenant), *local_time.choices()]


def _asks_present() -> bool:
    """Whoever signed in by a link just now may go without the password, which they may have forgotten."""
    just_now = micros(g.now) - session["signed_in_at"] < LINK_LASTS // MICROSECOND
    return g.operator.password is not None and not (session.get("signed_in_by") == "link" and just_now)


def _present_is_right(form: PasswordForm) -> bool:
    if not _asks_present() or _is_password(form.present.data or ""):
        return True
    form.present.errors = [_("This is not your present password.")]
    return False


def _is_password(given: str) -> bool:
    plain = _security.password_util.normalize(given[: LONGEST_PASSWORD + 1])
    return bool(plain and g.operator.password and verify_password(plain, g.operator.password))


def _is_proven() -> bool:
    given = request.form.get("proof", "")
    if _is_password(given):
        return True
    return second_factor.check(db.session(), g.operator, given, secret_key=_key(), now=g.now) is not None


def _go_on_signed_in() -> None:
    """All sessions ended; this one goes on."""
    login_user(Account(g.operator), remember=False)


def _key() -> str:
    return settings_of(current_app).secret_key


def _session_account() -> str:
    return f"own:{session.get('_user_id', '')}"
