"""Signing in by password or by a one-time link, signing out, and one's own password and theme."""

from typing import Any

from flask import Flask, abort, current_app, flash, g, redirect, render_template, request, session, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext
from flask_limiter import Limiter
from flask_security import Security
from flask_security.forms import LoginForm
from flask_security.proxies import _security
from flask_security.utils import hash_password, login_user, logout_user, verify_password
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import PasswordField, StringField
from wtforms.validators import DataRequired, Length

from desk_ui.accounts import Account, Accounts
from desk_ui.addresses import local_path
from desk_ui.permissions import Permission, actor, requires
from models import operators
from models.base import db
from models.clock import micros
from models.errors import Forbidden
from models.operators import LONGEST_EMAIL, Operator
from models.transactions import commit, rollback

SHORTEST_PASSWORD = 12
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


class PasswordForm(FlaskForm):  # type: ignore[misc]
    """A new password, and the present one where there is one."""

    present = PasswordField(lazy_gettext("Present password"))
    wanted = PasswordField(
        lazy_gettext("New password"),
        validators=[
            DataRequired(lazy_gettext("Give a new password.")),
            Length(min=SHORTEST_PASSWORD, max=1000, message=lazy_gettext("Use at least 12 characters.")),
        ],
    )


def register(app: Flask, limiter: Limiter) -> None:
    app.config.update(
        SECURITY_PASSWORD_SINGLE_HASH={"argon2"},
        SECURITY_PASSWORD_LENGTH_MIN=SHORTEST_PASSWORD,
        SECURITY_API_ENABLED_METHODS=["session"],
        SECURITY_DEFAULT_REMEMBER_ME=False,
    )
    Security(app, Accounts(), register_blueprint=False)
    # Flask-Login would bind a session to the browser's name and address; ours end by time instead.
    app.config["SESSION_PROTECTION"] = None
    slow = limiter.limit("20 per minute; 100 per hour", methods=["POST"])
    slower = limiter.limit(
        "10 per 10 minutes", methods=["POST"], key_func=_address_given, deduct_when=_was_refused
    )
    # Added to each application, because the limits that the rules carry belong to one.
    for rule, view, methods in (
        ("/sign-in", slow(slower(sign_in)), ["GET", "POST"]),
        ("/sign-in/<secret>", limiter.limit("30 per minute")(sign_in_by_link), ["GET", "POST"]),
        ("/sign-out", sign_out, ["POST"]),
        ("/profile", profile, ["GET"]),
        ("/profile/password", slow(set_password), ["POST"]),
        ("/profile/theme", set_theme, ["POST"]),
        ("/", home, ["GET"]),
    ):
        app.add_url_rule(rule, f"account.{view.__name__}", view, methods=methods)


@requires(Permission.PUBLIC)
def sign_in() -> Any:
    wanted = local_path(request.values.get("to"))
    if g.operator is not None:
        return redirect(wanted or url_for("account.home"), 303)
    form = SignInForm()
    if request.method == "GET":
        return render_template("auth/sign_in.html", form=form, to=wanted)
    if form.validate():
        operator: Operator = form.user.operator
        _begin_session(operator, by="password")
        commit(db.session(), "console.sign_in.password")
        return redirect(wanted or url_for("account.home"), 303)
    if form.email.data and form.password.data and form.user is not None:
        rollback(db.session())
        operators.sign_in_refused(db.session(), form.user.operator, now=g.now)
        commit(db.session(), "console.sign_in.refused")
    return render_template("auth/sign_in.html", form=form, to=wanted, refused=True), 401


@requires(Permission.PUBLIC)
def sign_in_by_link(secret: str) -> Any:
    """Opening the link only shows a button: mail scanners and previews open links too."""
    if request.method == "GET":
        operator = operators.peek_link(db.session(), secret, now=g.now)
        return render_template("auth/link.html", operator=operator), 200 if operator else 403
    try:
        operator = operators.use_link(db.session(), secret, now=g.now)
    except Forbidden:
        rollback(db.session())
        return render_template("auth/link.html", operator=None), 403
    _begin_session(operator, by="link")
    commit(db.session(), "console.sign_in.link")
    return redirect(url_for("account.home"), 303)


def _begin_session(operator: Operator, *, by: str) -> None:
    operators.signed_in(db.session(), operator, by=by, now=g.now)
    flashes = session.get("_flashes")
    session.clear()
    if flashes:
        session["_flashes"] = flashes
    login_user(Account(operator), remember=False, authn_via=[by])
    session.permanent = True
    session["signed_in_at"] = micros(g.now)
    session["signed_in_by"] = by


@requires(Permission.SIGNED_IN)
def sign_out() -> Response:
    logout_user()
    session.clear()
    flash(_("You are signed out."), "good")
    return redirect(url_for("account.sign_in"), 303)


@requires(Permission.SIGNED_IN)
def profile() -> str:
    return render_template("auth/profile.html", form=PasswordForm())


@requires(Permission.SIGNED_IN)
def set_password() -> Any:
    form = PasswordForm()
    if not form.validate() or not _present_is_right(form):
        return render_template("auth/profile.html", form=form), 422
    hashed = hash_password(_security.password_util.normalize(form.wanted.data))
    operators.set_password(db.session(), g.operator, hashed, actor=actor(), now=g.now)
    commit(db.session(), "console.password")
    # All sessions ended with the old password; this one goes on.
    login_user(Account(g.operator), remember=False)
    flash(_("Your password is set. You were signed out everywhere else."), "good")
    return redirect(url_for("account.profile"), 303)


def _present_is_right(form: PasswordForm) -> bool:
    """Whoever signed in by a link just now may set a password without knowing the old one."""
    if g.operator.password is None or session.get("signed_in_by") == "link":
        return True
    given = _security.password_util.normalize(form.present.data or "")
    if given and verify_password(given, g.operator.password):
        return True
    form.present.errors = [_("This is not your present password.")]
    return False


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
    return redirect(url_for("followups.index", tenant=last if last in keys else keys[0]))


def _address_given() -> str:
    return f"account:{request.form.get('email', '').strip().lower()[:LONGEST_EMAIL]}"


def _was_refused(response: Response) -> bool:
    return response.status_code == 401
