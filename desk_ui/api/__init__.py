"""The HTTP API: one file an area, each call declared by one decorator."""

from flask import Flask, Response, current_app, g, request
from sqlalchemy.exc import OperationalError

from desk_ui.api import (
    audit,
    bodies,
    contacts,
    conversations,
    endpoints,
    events,
    executions,
    followups,
    limits,
    messages,
    openapi,
    outcomes,
    problems,
    rules,
    sweeps,
    tasks,
    tenants,
)
from desk_ui.api.operations import blueprint, unavailable
from desk_ui.api.paths import AnythingConverter, ConversationConverter

# Importing an area declares its calls.
AREAS = (
    audit,
    contacts,
    conversations,
    endpoints,
    events,
    executions,
    followups,
    messages,
    openapi,
    outcomes,
    rules,
    sweeps,
    tasks,
    tenants,
)


def register(app: Flask) -> None:
    """Add the API, its documents and the pages about problems to `app`."""
    app.url_map.converters["anything"] = AnythingConverter
    app.url_map.converters["conversation"] = ConversationConverter
    limits.register(app)
    problems.register(app)
    app.register_blueprint(blueprint)


@blueprint.after_request
def _finish(response: Response) -> Response:
    response.headers.setdefault("Cache-Control", "no-store")
    if response.status_code >= 400:
        bodies.drain(request)
    return response


@blueprint.errorhandler(Exception)
def _unexpected(error: Exception) -> Response:
    """A fault of ours: the caller learns the request's id, the log everything."""
    if isinstance(error, OperationalError):
        return unavailable(error)
    current_app.logger.exception("unexpected fault, request %s", g.request_id, exc_info=error)
    return problems.problem("error", "Something failed on our side, and nothing was done.")
