"""Who may do what: each route declares its permission, one guard enforces it, buttons ask the same."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from flask import Flask, abort, current_app, flash, g, redirect, request, session, url_for
from flask_babel import gettext as _
from flask_login import current_user
from flask_security.utils import logout_user
from flask_wtf.csrf import CSRFProtect
from werkzeug.wrappers import Response

from desk_ui import local_time, words
from desk_ui.addresses import local_path, outside_console, path_of
from desk_ui.requests import READING, settings_of
from models import accounts, audit, operators, text
from models.actors import Actor
from models.base import db
from models.clock import micros
from models.errors import NotFound
from models.operators import Role
from models.tenants import PLATFORM, Tenant
from models.transactions import commit, rollback

F = TypeVar("F", bound=Callable[..., Any])

csrf = CSRFProtect()


class Permission(StrEnum):
    """What a route asks for. All but the first two are held in the tenant that the address names."""

    PUBLIC = "public"
    SIGNED_IN = "signed_in"
    SEE = "see"
    ACT_ON_FOLLOWUPS = "followups.act"
    ACT_ON_EXECUTIONS = "executions.act"
    HOLD_AGENTS = "agents.hold"
    RULES = "rules"
    ACT_ON_DELIVERIES = "deliveries.act"
    ENDPOINTS = "endpoints"
    OPERATORS = "operators"
    TOKENS = "tokens"
    SWEEPS = "sweeps"
    TENANTS = "tenants"
    VERIFY_AUDIT = "audit.verify"


_LEADS = frozenset({Role.LEAD, Role.ADMIN})
_ADMINS = frozenset({Role.ADMIN})
MAY: dict[Permission, frozenset[Role]] = {
    Permission.SEE: frozenset(Role),
    Permission.ACT_ON_FOLLOWUPS: frozenset({Role.MARKETER}) | _LEADS,
    Permission.ACT_ON_EXECUTIONS: _LEADS,
    Permission.HOLD_AGENTS: _LEADS,
    Permission.RULES: _LEADS,
    Permission.ACT_ON_DELIVERIES: _LEADS,
    Permission.ENDPOINTS: _ADMINS,
    Permission.OPERATORS: _ADMINS,
    Permission.TOKENS: _ADMINS,
    Permission.SWEEPS: _ADMINS,
    Permission.TENANTS: _ADMINS,
    Permission.VERIFY_AUDIT: _ADMINS,
}
# What concerns all tenants is asked of the role in `platform`, whichever tenant is at hand.
OF_PLATFORM = frozenset({Permission.SWEEPS, Permission.TENANTS})


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a route declared: its permission, and for one that acts, how the audit names its refusal."""

    permission: Permission
    action: str | None = None
    resource: str | None = None
    argument: str | None = None


def requires(
    permission: Permission,
    *,
    action: str | None = None,
    resource: str | None = None,
    argument: str | None = None,
) -> Callable[[F], F]:
    """Decorator of a view. A refusal is audited as `action` on `resource`, whose id is the `argument`."""

    def declare(view: F) -> F:
        view.requirement = Requirement(permission, action, resource, argument)  # type: ignore[attr-defined]
        return view

    return declare


def requirement_of(app: Flask, endpoint: str) -> Requirement | None:
    """What the view of `endpoint` declared, or None if it forgot to."""
    found: Requirement | None = getattr(app.view_functions[endpoint], "requirement", None)
    return found


def refusal(permission: Permission) -> str | None:
    """Why the person at hand may not do this in the tenant at hand; None where they may."""
    if permission in OF_PLATFORM:
        if role_in(PLATFORM) in MAY[permission]:
            return None
        if permission is Permission.TENANTS:
            return _("Only an admin of %(platform)s switches this, or adds tenants.", platform=PLATFORM)
        return _("This concerns all tenants, so it needs an admin of %(platform)s.", platform=PLATFORM)
    role: Role | None = g.get("role")
    if role is not None and role in MAY[permission]:
        return None
    return _(
        "Your role in %(tenant)s is %(role)s; this needs %(roles)s. Ask an admin of %(tenant)s.",
        tenant=g.tenant.key,
        role=words.ROLES[role] if role else _("none"),
        roles=_who_may(permission),
    )


def _who_may(permission: Permission) -> str:
    """`an admin`, `a lead or admin`: the roles that hold `permission`, the least first."""
    *others, last = (str(words.ROLES[role]) for role in Role if role in MAY[permission])
    if not others:
        return _("an %(role)s", role=last)
    return _("a %(others)s or %(last)s", others=", ".join(others), last=last)


def may(permission: Permission) -> bool:
    return refusal(permission) is None


def role_in(key: str) -> Role | None:
    """The role of the person at hand in the tenant `key`."""
    return next((role for tenant, role in g.get("memberships") or [] if tenant.key == key), None)


def actor() -> Actor:
    """The person at hand, as transitions take them."""
    return operators.as_actor(g.operator)


def register(app: Flask) -> None:
    csrf.init_app(app)
    app.before_request(_guard)


def _guard() -> Response | None:
    """Nothing of the console is served without a declared permission that the person holds."""
    g.operator = g.tenant = g.role = g.zone = g.declared = None
    g.memberships = []
    if outside_console(request.path) or request.endpoint == "static":
        return None
    _load_operator()
    if request.endpoint is None:
        return None
    required = requirement_of(current_app, request.endpoint)
    if required is None:
        raise RuntimeError(f"{request.endpoint} declares no permission")
    if required.permission is not Permission.PUBLIC and g.operator is None:
        return to_sign_in()
    if request.method not in READING:
        csrf.protect()
    if required.permission in MAY:
        _enter_tenant(required)
    return None


def _load_operator() -> None:
    """Set `g.operator` and `g.memberships`, unless the session is older than sessions may be."""
    if not current_user.is_authenticated:
        return
    hours = settings_of(current_app).session_hours
    age = micros(g.now) - int(session.get("signed_in_at", 0))
    if age > hours * 3_600 * 1_000_000:
        logout_user()
        return
    g.operator = current_user.operator
    g.memberships = current_user.memberships


def to_sign_in() -> Response:
    """Send a signed-out person to sign in, and back to where they were; HTMX reloads the whole page."""
    acting = request.method not in READING
    if acting:
        flash(
            _(
                "You were signed out, so this was not done. "
                "Check what was saved, and do it again if it is missing."
            ),
            "warn",
        )
    wanted = _acted_at() if acting else local_path(request.full_path.rstrip("?"))
    if "HX-Request" not in request.headers:
        return redirect(url_for("account.sign_in", to=wanted), 303)
    answer = current_app.response_class(status=401)
    wanted = path_of(request.headers.get("HX-Current-URL")) or wanted
    answer.headers["HX-Redirect"] = url_for("account.sign_in", to=wanted)
    return answer


def _acted_at() -> str | None:
    """The page on which a form was pressed."""
    return local_path(request.form.get("back")) or path_of(request.referrer)


def _enter_tenant(required: Requirement) -> None:
    """Set the tenant that the address names; one without a membership answers like one that is not there."""
    key = (request.view_args or {}).pop("tenant", None)
    found: tuple[Tenant, Role] | None = next((m for m in g.memberships if m[0].key == key), None)
    if found is None:
        abort(404)
    g.tenant, g.role = found
    # The times of a form are meant in the zone in which it was shown, whatever was chosen since.
    g.zone = local_time.shown_in(request.form) or g.operator.timezone or g.tenant.timezone
    if session.get("tenant") != g.tenant.key:
        session["tenant"] = g.tenant.key
    reason = refusal(required.permission)
    if reason is not None:
        _audit_refusal(required)
        abort(403, reason)


def _audit_refusal(required: Requirement) -> None:
    if required.action is None or required.resource is None or request.method in READING:
        return
    named = (request.view_args or {}).get(required.argument or "", "")
    if required.resource == "tenant":
        named = g.tenant.key
    if required.resource == "operator" and named != "" and not _is_known_here(named):
        named = ""
    record_refusal(required.action, (required.resource, str(named)), purpose="role")


def _is_known_here(operator_id: int) -> bool:
    """Else the audit of a tenant would tell who has an account elsewhere, by ids that were only guessed."""
    try:
        accounts.member(db.session(), g.tenant, operator_id)
    except NotFound:
        return False
    return True


def record_refusal(
    action: str, resource: tuple[str, str], *, purpose: str, detail: dict[str, Any] | None = None
) -> None:
    """Audit an action that was refused, in a transaction of its own.

    The id may be what somebody typed into an address: it is cut, and left out where it can't be stored.
    """
    kind, named = resource[0], resource[1][: text.ID_LENGTH]
    found = db.session()
    rollback(found)
    audit.append(
        found,
        tenant_id=g.tenant.id,
        actor=actor(),
        action=action,
        resource=(kind, named if text.is_storable(named) else ""),
        now=g.now,
        purpose=purpose,
        detail=detail,
        result=audit.Result.REFUSED,
    )
    commit(found, "console.refused")
