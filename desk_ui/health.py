"""What machines ask: whether the process is up, whether it can serve, whether all of it works, figures."""

import hmac
import ipaddress
from collections.abc import Callable

import redis
from flask import Blueprint, Flask, Response, current_app, g, jsonify, request
from sqlalchemy.exc import SQLAlchemyError

from desk_ui import metrics
from desk_ui.requests import settings_of
from jobs import queues, schedule
from jobs import redis as servers
from jobs.app import MIGRATIONS
from models import declarations, sweep_states
from models.base import db
from models.database import is_current

blueprint = Blueprint("health", __name__)

Check = Callable[[], str | None]
SHOWN = 300


def register(app: Flask) -> None:
    app.register_blueprint(blueprint)


@blueprint.get("/healthz")
def healthz() -> Response:
    """The process is up."""
    return jsonify(status="ok")


@blueprint.get("/readyz/web")
def readyz_web() -> tuple[Response, int]:
    """The web process can serve: database and migrations. For balancers."""
    return _answer({"database": _database, "migrations": _migrations})


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """All of the installation works: also Redis, a worker of each queue, no sweep late. For alarms."""
    return _answer(
        {
            "database": _database,
            "migrations": _migrations,
            "redis": _redis,
            "workers": _workers,
            "schedule": _schedule,
        }
    )


@blueprint.get("/metrics")
def figures() -> Response | tuple[Response, int]:
    """Figures for Prometheus: with the token of `DESK_METRICS_TOKEN`, else for this machine alone."""
    if not _may_read_figures():
        return jsonify(status="refused", detail="The figures need the token of DESK_METRICS_TOKEN."), 401
    try:
        return Response(metrics.render(settings_of(current_app), g.now), content_type=metrics.CONTENT_TYPE)
    except SQLAlchemyError as error:
        detail = f"The database can't be used ({type(error).__name__})."
        return jsonify(status="unready", faults={"database": detail}), 503


def _answer(checks: dict[str, Check]) -> tuple[Response, int]:
    faults = {name: fault for name, check in checks.items() if (fault := check())}
    if faults:
        return jsonify(status="unready", faults=faults), 503
    return jsonify(status="ok"), 200


def _database() -> str | None:
    try:
        db.session().connection().exec_driver_sql("SELECT 1")
    except SQLAlchemyError as error:
        db.session.remove()
        return f"The database can't be used ({type(error).__name__})."
    return None


def _migrations() -> str | None:
    try:
        current = is_current(db.session().connection(), str(MIGRATIONS))
    except SQLAlchemyError:
        db.session.remove()
        return "The migrations can't be read."
    return None if current else "The database is not up to date. Run: desk db upgrade"


def _redis() -> str | None:
    try:
        servers.connect(settings_of(current_app), timeout=2).ping()
    except servers.NoServer as error:
        return str(error)
    except redis.RedisError as error:
        return f"Redis does not answer ({type(error).__name__})."
    return None


def _workers() -> str | None:
    try:
        alive = queues.alive_workers(servers.connect(settings_of(current_app), timeout=2), g.now)
    except (redis.RedisError, servers.NoServer):
        return "Without Redis no worker can be seen."
    missing = [name for name in queues.QUEUES if not alive[name]]
    return f"No worker is alive for: {', '.join(missing)}." if missing else None


def _schedule() -> str | None:
    session = db.session()
    try:
        cadences = schedule.cadences(declarations.current(session))
        late = sweep_states.late(session, cadences, now=g.now)
    except SQLAlchemyError:
        db.session.remove()
        return "The schedule can't be read."
    return f"Late: {', '.join(state.name for state in late)}." if late else None


def _may_read_figures() -> bool:
    token = settings_of(current_app).metrics_token
    if token is None:
        return _is_this_machine()
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return hmac.compare_digest(given.encode(), token.encode())


def _is_this_machine() -> bool:
    # Behind a proxy that is not declared every client seems to be this machine.
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        return ipaddress.ip_address(request.remote_addr or "").is_loopback
    except ValueError:
        return False
