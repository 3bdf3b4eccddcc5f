"""Signing in by password or one-time link, with a second factor where one is on; signing out; colours."""

from datetime import timedelta
from typing import Any

from flask import (
    Flask,
    Request,
    abort,
    current_app,
    flash,
    g,
    redirect,
    render_template,
    request,
    session,
    url_for,
)
from flask_babel import gettext as _
from flask_babel import lazy_gettext, ngettext
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_security import Security
from flask_security.forms import LoginForm
from flask_security.utils import login_user, logout_user
from markupsafe import Markup
from sqlalchemy import select
from werkzeug.wrappers import Response
from wtforms import PasswordField, StringField
from wtforms.validators import DataRequired, Length

from desk_ui import limits
from desk_ui.accounts import Account, Accounts
from desk_ui.addresses import local_path
from desk_ui.permissions import Permission, requires
from desk_ui.requests import settings_of
from models import accounts, operators, second_factor
from models.base import db
from models.clock import micros
from models.errors import Forbidden
from models.operators import LONGEST_EMAIL, Operator
from models.transactions import commit, rollback

HALF = "half_signed_in"
HALF_LASTS = timedelta(minutes=10)
MICROSECOND = timedelta(microseconds=1)
THEMES = ("auto", "light", "dark")
YEAR = 31_536_000


class SignInForm(LoginForm):  # type: ignore[misc]
    """Flask-Security's form, which takes as long for an unknown address as for a known one."""

    email = StringField(
        lazy_gettext("Mail address"),
        validators=[DataRequired(lazy_gettext("Give your mail address.")), Length(max=LONGEST_EMAIL)],
    )
    password = PasswordField(
        lazy_gettext("Password"),
        validators=[DataRequired(lazy_gettext("Give your password.")), Length(max=1000)],
    )


def register(app: Flask, limiter: Limiter) -> None:
    app.config.update(
        SECURITY_PASSWORD_SINGLE_HASH={"argon2"},
        SECURITY_API_ENABLED_METHODS=["session"],
        SECURITY_DEFAULT_REMEMBER_ME=False,
    )
    Security(app, Accounts(), register_blueprint=False)
    # People are known by their session alone; Flask-Security would look for a token too, in a body of JSON.
    app.login_manager.request_loader(_nobody)
    # Flask-Login would bind a session to the browser's name and address; ours end by time instead.
    app.config["SESSION_PROTECTION"] = None
    slow = limits.by_address(limiter)
    guessed = limits.by_account(limiter, _address_given)
    stepped = limits.by_account(limiter, _half_signed_in_id, limits.OF_CODES)
    # Added to each application, because the limits that the rules carry belong to one.
    for rule, view, methods in (
        ("/sign-in", slow(guessed(sign_in)), ["GET", "POST"]),
        ("/two-factor", slow(stepped(second_step)), ["GET", "POST"]),
        ("/sign-in/<secret>", limiter.limit("30 per minute")(sign_in_by_link), ["GET", "POST"]),
        ("/sign-out", sign_out, ["POST"]),
        ("/profile/theme", set_theme, ["POST"]),
        ("/", home, ["GET"]),
    ):
        app.add_url_rule(rule, f"account.{view.__name__}", view, methods=methods)


def _nobody(_request: Request) -> None:
    """Whom a request without a session is from."""


@requires(Permission.PUBLIC)
def sign_in() -> Any:
    wanted = local_path(request.values.get("to"))
    if g.operator is not None:
        return redirect(wanted or url_for("account.home"), 303)
    # Given, since a form that looks for itself takes JSON too, and fails at some.
    form = SignInForm(request.form)
    if request.method != "POST":
        return render_template("auth/sign_in.html", form=form, to=wanted)
    if form.validate():
        answer = _first_step(form.user.operator, "password", wanted)
        commit(db.session(), "console.sign_in.password")
        return answer
    if form.email.data and form.password.data and form.user is not None:
        rollback(db.session())
        accounts.sign_in_refused(db.session(), form.user.operator, now=g.now)
        commit(db.session(), "console.sign_in.refused")
    return render_template("auth/sign_in.html", form=form, to=wanted, refused=True), 401


@requires(Permission.PUBLIC)
def sign_in_by_link(secret: str) -> Any:
    """Opening the link only shows a button: mail scanners and previews open links too."""
    if request.method != "POST":
        operator = operators.peek_link(db.session(), secret, now=g.now)
        return render_template("auth/link.html", operator=operator), 200 if operator else 403
    try:
        operator = operators.use_link(db.session(), secret, now=g.now)
    except Forbidden:
        rollback(db.session())
        return render_template("auth/link.html", operator=None), 403
    answer = _first_step(operator, "link", None)
    commit(db.session(), "console.sign_in.link")
    return answer


def _first_step(operator: Operator, by: str, wanted: str | None) -> Response:
    """Sign in whoever proved to be `operator`, or ask for the second factor first where one is on."""
    if not second_factor.is_on(db.session(), operator):
        begin_session(operator, by=by)
        return redirect(wanted or url_for("account.home"), 303)
    if by == "link":
        accounts.link_used(db.session(), operator, now=g.now)
    _clear_session()
    session[HALF] = {"account": operator.fs_uniquifier, "by": by, "at": micros(g.now)}
    return redirect(url_for("account.second_step", to=wanted), 303)


@requires(Permission.PUBLIC)
def second_step() -> Any:
    """The code of whoever gave a password or a link, without which they are not signed in."""
    wanted = local_path(request.values.get("to"))
    operator = _half_signed_in()
    if operator is None:
        if g.operator is None:
            flash(_("Sign in first."), "warn")
        return redirect(url_for("account.sign_in", to=wanted), 303)
    if request.method != "POST":
        return render_template("auth/second_step.html", to=wanted)
    found, key = db.session(), settings_of(current_app).secret_key
    used = second_factor.check(found, operator, request.form.get("code", ""), secret_key=key, now=g.now)
    if used is None:
        rollback(found)
        accounts.sign_in_refused(found, operator, now=g.now, purpose="second_factor")
        commit(found, "console.second_step.refused")
        return render_template("auth/second_step.html", to=wanted, refused=True), 401
    begin_session(operator, by=session[HALF]["by"], factor=used)
    _say_what_is_left(operator, used)
    commit(found, "console.sign_in.second_step")
    return redirect(wanted or url_for("account.home"), 303)


def _say_what_is_left(operator: Operator, used: second_factor.Kind) -> None:
    state = second_factor.state(db.session(), operator)
    if used is second_factor.Kind.RECOVERY_CODE and state is not None:
        left = ngettext(
            "%(num)s recovery code is left.", "%(num)s recovery codes are left.", state.codes_left
        )
        flash(_("You signed in with a recovery code, which is void now. %(left)s", left=left), "warn")


def _half_signed_in() -> Operator | None:
    """Whoever gave the first factor in this browser not long ago, and has changed nothing since."""
    half = session.get(HALF)
    if half is None or micros(g.now) - half["at"] > HALF_LASTS // MICROSECOND:
        return None
    query = select(Operator).where(Operator.fs_uniquifier == half["account"], Operator.active)
    return db.session().scalars(query).one_or_none()


def begin_session(operator: Operator, *, by: str, factor: str | None = None) -> None:
    accounts.signed_in(db.session(), operator, by=by, now=g.now, factor=factor)
    _clear_session()
    login_user(Account(operator), remember=False, authn_via=[by])
    session.permanent = True
    session["signed_in_at"] = micros(g.now)
    session["signed_in_by"] = by
    if by == "link" and operator.password is None:
        place = Markup('<a href="{}">{}</a>').format(url_for("account.profile"), _("Set a password"))
        flash(Markup(_("%(place)s, or you will need another link.")) % {"place": place}, "warn")


def _clear_session() -> None:
    """Forget all but what is still to be said."""
    flashes = session.get("_flashes")
    session.clear()
    if flashes:
        session["_flashes"] = flashes


@requires(Permission.SIGNED_IN)
def sign_out() -> Response:
    logout_user()
    session.clear()
    flash(_("You are signed out."), "good")
    return redirect(url_for("account.sign_in"), 303)


@requires(Permission.PUBLIC)
def set_theme() -> Response:
    theme = request.form.get("theme", "")
    if theme not in THEMES:
        abort(422)
    answer = redirect(local_path(request.form.get("back")) or url_for("account.home"), 303)
    secure = current_app.config["SESSION_COOKIE_SECURE"]
    answer.set_cookie("theme", theme, max_age=YEAR, secure=secure, httponly=True, samesite="Lax", path="/")
    return answer


@requires(Permission.SIGNED_IN)
def home() -> Any:
    """The tenant that the person saw last, else their first."""
    keys = [tenant.key for tenant, _role in g.memberships]
    if not keys:
        return render_template("auth/no_tenant.html"), 403
    last = session.get("tenant")
    return redirect(url_for("overview.index", tenant=last if last in keys else keys[0]))


def _address_given() -> str:
    return request.form.get("email", "").strip().lower()[:LONGEST_EMAIL]


def _half_signed_in_id() -> str:
    """The account, not the session: who has the password begins as many sessions as they like."""
    operator = _half_signed_in()
    return f"code:{operator.id}" if operator else f"code:{get_remote_address()}"
