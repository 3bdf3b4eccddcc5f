"""What an admin of the platform does with tenants and their switches."""

from typing import Any

from flask import abort, g, request, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import asking
from desk_ui.acting import Action, perform, version_shown
from desk_ui.permissions import Permission, actor, requires
from desk_ui.settings import asks
from models import operators, tenants
from models.base import db
from models.operators import Role
from models.tenants import Feature, Tenant
from models.transactions import commit


@requires(Permission.SEE)
def ask_switch(feature: str) -> str:
    return asking.show(_switch(_feature(feature)))


@requires(Permission.TENANTS, action="tenant.feature_switched", resource="tenant", argument="feature")
def switch(feature: str) -> Response:
    """Switch one feature of the tenant, as it was shown, on or off."""
    wanted = _feature(feature)
    on = asks.wants_on(g.tenant.has(wanted))

    def act() -> Tenant:
        changed = tenants.set_features(
            db.session(),
            g.tenant,
            {wanted.value: on},
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
        )
        commit(db.session(), "console.settings.switch")
        return changed

    values = {"name": asks.FEATURES[wanted][0], "tenant": g.tenant.key}
    return perform(
        Action(
            name="tenant.feature_switched",
            resource=("tenant", g.tenant.key),
            act=act,
            done=lambda _tenant: (
                _("Switched on: %(name)s of %(tenant)s.", **values)
                if on
                else _("Switched off: %(name)s of %(tenant)s.", **values)
            ),
            back=lambda _tenant: asks.tenant_page(g.tenant),
            read=lambda: db.session().refresh(g.tenant),
            ask=lambda: _switch(wanted),
        )
    )


@requires(Permission.TENANTS)
def ask_add_tenant() -> str:
    return asking.show(asks.add_tenant())


@requires(Permission.TENANTS, action="tenant.added", resource="tenant")
def add_tenant() -> Response:
    """Make a tenant, with whoever adds it as its admin: nobody else could see it."""

    def act() -> Tenant:
        session, form = db.session(), request.form
        made = tenants.add(
            session,
            key=form.get("key", "").strip(),
            name=form.get("name", "").strip() or None,
            timezone=form.get("timezone", ""),
            actor=actor(),
            now=g.now,
        )
        operators.add(session, g.operator.email, tenant=made, role=Role.ADMIN.value, actor=actor(), now=g.now)
        commit(session, "console.settings.add_tenant")
        return made

    return perform(
        Action(
            name="tenant.added",
            resource=("tenant", request.form.get("key", "")[:63]),
            act=act,
            done=lambda made: _("Added the tenant %(key)s. You are its admin.", key=made.key),
            back=lambda made: url_for("settings.index", tenant=made.key if made else g.tenant.key),
            ask=asks.add_tenant,
        )
    )


def _feature(name: str) -> Feature:
    if name not in set(Feature):
        abort(404)
    return Feature(name)


def _switch(feature: Feature) -> Any:
    return asks.switch(feature, asks.wants_on(g.tenant.has(feature)))
