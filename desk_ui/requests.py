"""What surrounds every request: its id, its proxies, reads that can't write, and fresh declarations."""

import re
from contextlib import ExitStack
from uuid import uuid4

from flask import Flask, Response, current_app, g, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.middleware.proxy_fix import ProxyFix

from desk_ui import translating
from models import clock, context, declarations
from models.base import db, read_only
from models.settings import Settings

READING = frozenset({"GET", "HEAD", "OPTIONS"})
_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def register(app: Flask) -> None:
    app.before_request(_begin)
    app.after_request(_name)
    app.teardown_request(_end)
    if hops := settings_of(app).trusted_proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops)  # type: ignore[method-assign]


def settings_of(app: Flask) -> Settings:
    found: Settings = app.extensions["desk_settings"]
    return found


def _begin() -> None:
    given = request.headers.get("X-Request-ID", "")
    g.request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
    g.now = clock.now()
    g.request_scope = ExitStack()
    token = context.request_id.set(g.request_id)
    g.request_scope.callback(context.request_id.reset, token)
    g.request_scope.enter_context(translating.one_language())
    # Machines that ask for the health must get their answer where the database is away.
    if request.endpoint != "static" and request.blueprint != "health":
        declarations.refresh(db.session(), settings_of(current_app).config_file, g.now)
    if request.method in READING:
        g.request_scope.enter_context(read_only())


def _name(response: Response) -> Response:
    response.headers["X-Request-ID"] = g.get("request_id", "")
    return response


def _end(_error: BaseException | None) -> None:
    scope: ExitStack | None = g.pop("request_scope", None)
    if scope is None:
        return
    try:
        db.session.remove()
    except SQLAlchemyError as error:
        # Its connection died after the answer was made, so there is nothing to roll back. Kept, the session
        # would break the answer, and the next request that gets it.
        current_app.logger.warning("a connection was lost at the end of a request: %s", error)
        db.session.registry.clear()
    finally:
        # Whatever happens: a thread that stayed read-only would refuse every write from then on.
        scope.close()
