"""What an admin does with an endpoint; each changes one, as it was shown."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from flask import current_app, g, request, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import asking
from desk_ui.acting import Action, perform, version_shown
from desk_ui.asking import Ask
from desk_ui.endpoints import asks, queries, routes
from desk_ui.htmx import render_block
from desk_ui.permissions import Permission, actor, requires
from desk_ui.requests import settings_of
from jobs import wake
from models import endpoints
from models.base import db
from models.endpoints import WebhookEndpoint
from models.transactions import after_commit, commit


@requires(Permission.ENDPOINTS)
def ask_add() -> str:
    return asking.show(asks.add())


@requires(Permission.ENDPOINTS, action="endpoint.added", resource="endpoint")
def add() -> Response:
    """Have events sent to an address; its secret is shown this once."""

    def act() -> tuple[UUID, str]:
        made, secret = endpoints.add(
            db.session(),
            g.tenant,
            url=request.form.get("url", "").strip(),
            event_types=request.form.getlist("event_types"),
            settings=settings_of(current_app),
            actor=actor(),
            now=g.now,
        )
        commit(db.session(), "console.endpoints.add")
        return made.id, secret

    return perform(
        Action(
            name="endpoint.added",
            resource=("endpoint", ""),
            act=act,
            done=lambda _made: _("Added the endpoint."),
            back=lambda _made: url_for("endpoints.index", tenant=g.tenant.key),
            ask=asks.add,
            tell=lambda made: asks.told(routes.current(made[0]), made[1], rotated=False),
        )
    )


@requires(Permission.ENDPOINTS)
def ask_edit(endpoint_id: UUID) -> str:
    return asking.show(asks.edit(routes.current(endpoint_id)))


@requires(Permission.ENDPOINTS, action="endpoint.updated", resource="endpoint", argument="endpoint_id")
def edit(endpoint_id: UUID) -> Response:
    """Change an endpoint's address and event types."""

    def act() -> WebhookEndpoint:
        changed = _update(
            endpoint_id,
            url=request.form.get("url", "").strip(),
            event_types=request.form.getlist("event_types"),
        )
        commit(db.session(), "console.endpoints.edit")
        return changed

    return perform(_on_one("endpoint.updated", endpoint_id, act, _("Saved the endpoint."), asks.edit))


@requires(Permission.SEE)
def ask_pause(endpoint_id: UUID) -> str:
    return asking.show(asks.pause(routes.current(endpoint_id)))


@requires(Permission.ENDPOINTS, action="endpoint.paused", resource="endpoint", argument="endpoint_id")
def pause(endpoint_id: UUID) -> Response:
    """Send an endpoint nothing until it is resumed."""

    def act() -> WebhookEndpoint:
        paused = _update(endpoint_id, active=False, reason=request.form.get("reason"))
        commit(db.session(), "console.endpoints.pause")
        return paused

    return perform(_on_one("endpoint.paused", endpoint_id, act, _("Paused the endpoint."), asks.pause))


@requires(Permission.SEE)
def ask_resume(endpoint_id: UUID) -> str:
    return asking.show(asks.resume(routes.current(endpoint_id)))


@requires(Permission.ENDPOINTS, action="endpoint.resumed", resource="endpoint", argument="endpoint_id")
def resume(endpoint_id: UUID) -> Response:
    """Send a paused endpoint what waits for it."""

    def act() -> WebhookEndpoint:
        resumed = _update(endpoint_id, active=True)
        after_commit(db.session(), wake.SWEEP, wake.wake_delivery)
        commit(db.session(), "console.endpoints.resume")
        return resumed

    return perform(_on_one("endpoint.resumed", endpoint_id, act, _("Resumed the endpoint."), asks.resume))


@requires(Permission.ENDPOINTS, action="endpoint.tested", resource="endpoint", argument="endpoint_id")
def send_test(endpoint_id: UUID) -> Response:
    """Send an `endpoint.test` event to one endpoint alone."""

    def act() -> None:
        endpoints.test(db.session(), g.tenant.id, endpoint_id, actor=actor(), now=g.now)
        commit(db.session(), "console.endpoints.test")

    done = _("A test is on its way. Its delivery comes under “Recent deliveries” and “Test” on this page.")
    return perform(_on_one("endpoint.tested", endpoint_id, act, done))


@requires(Permission.SEE)
def ask_rotate(endpoint_id: UUID) -> str:
    return asking.show(asks.rotate(routes.current(endpoint_id)))


@requires(Permission.ENDPOINTS, action="endpoint.secret_rotated", resource="endpoint", argument="endpoint_id")
def rotate(endpoint_id: UUID) -> Response:
    """Give an endpoint a new secret, which is shown this once."""

    def act() -> str:
        _endpoint, secret = endpoints.rotate_secret(
            db.session(),
            g.tenant.id,
            endpoint_id,
            settings=settings_of(current_app),
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
        )
        commit(db.session(), "console.endpoints.rotate")
        return secret

    def tell(secret: str) -> asking.Told:
        return asks.told(routes.current(endpoint_id), secret, rotated=True)

    done = _("Rotated the secret.")
    return perform(_on_one("endpoint.secret_rotated", endpoint_id, act, done, asks.rotate, tell=tell))


@requires(Permission.SEE)
def ask_remove(endpoint_id: UUID) -> str:
    return asking.show(asks.remove(routes.current(endpoint_id)))


@requires(Permission.ENDPOINTS, action="endpoint.removed", resource="endpoint", argument="endpoint_id")
def remove(endpoint_id: UUID) -> Response:
    """Remove an endpoint and forget its secret; the next run gives up what waits for it."""

    def act() -> None:
        endpoints.remove(
            db.session(),
            g.tenant.id,
            endpoint_id,
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
        )
        after_commit(db.session(), wake.SWEEP, wake.wake_delivery)
        commit(db.session(), "console.endpoints.remove")

    return perform(
        Action(
            name="endpoint.removed",
            resource=("endpoint", str(endpoint_id)),
            act=act,
            read=lambda: routes.current(endpoint_id),
            done=lambda _none: _("Removed the endpoint."),
            back=lambda _none: url_for("endpoints.index", tenant=g.tenant.key),
            ask=lambda: asks.remove(routes.current(endpoint_id)),
        )
    )


def _update(endpoint_id: UUID, **changes: Any) -> WebhookEndpoint:
    return endpoints.update(
        db.session(),
        g.tenant.id,
        endpoint_id,
        **changes,
        settings=settings_of(current_app),
        actor=actor(),
        now=g.now,
        expected_version=version_shown(),
    )


def _on_one(
    name: str,
    endpoint_id: UUID,
    act: Callable[[], Any],
    done: str,
    ask: Callable[[queries.Row], Ask] | None = None,
    *,
    tell: Callable[[Any], asking.Told] | None = None,
) -> Action:
    """An action on one endpoint, whose page is shown again as it is then."""
    return Action(
        name=name,
        resource=("endpoint", str(endpoint_id)),
        act=act,
        read=lambda: routes.current(endpoint_id),
        show=lambda _row: render_block("endpoints/detail.html", "panel", view=routes.detail_of(endpoint_id)),
        place="#endpoint",
        done=lambda _changed: done,
        back=lambda _row: url_for("endpoints.show", tenant=g.tenant.key, endpoint_id=endpoint_id),
        ask=(lambda: ask(routes.current(endpoint_id))) if ask else None,
        tell=tell,
    )
