"""Webhooks that sources call: a signature is checked, what came is stored, and applied after the answer."""

import hashlib
import hmac
from datetime import datetime, timedelta

import structlog
from flask import Blueprint, Flask, Response, current_app, g, jsonify, request
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from werkzeug.datastructures import Headers
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from desk_ui.api import bodies
from desk_ui.requests import settings_of
from jobs import wake
from models import connectors, inbound, inbound_events, secrets, tenants
from models.base import db, read_only
from models.clock import EPOCH
from models.connectors import Opened
from models.errors import NotFound
from models.settings import Settings
from models.transactions import after_commit, commit, rollback

SWEEP = "process_inbound"
FRESH_WITHIN = timedelta(minutes=5)
# Stands in for the secret of a tenant that has none, so that each refusal takes as long as any other.
NOBODYS = "0" * 32

log = structlog.get_logger(__name__)
blueprint = Blueprint("hooks", __name__)


def register(app: Flask) -> None:
    app.register_blueprint(blueprint)


@blueprint.post("/hooks/chatwoot/<tenant>")
def chatwoot(tenant: str) -> tuple[Response, int]:
    """Store one event of Chatwoot's. A delivery that came before answers as the first time."""
    try:
        raw = bodies.read(request)
    except RequestEntityTooLarge:
        bodies.drain(request)
        return jsonify(status="refused", detail="A body may hold 1 MiB at most."), 413
    session = db.session()
    found = _connector(session, tenant, settings_of(current_app))
    signed = is_signed(found.secret if found else NOBODYS, raw, request.headers, now=g.now)
    if found is None or not signed:
        return jsonify(status="refused", detail="The signature is not valid."), 401
    told = inbound.read(raw, delivery_id=request.headers.get("X-Chatwoot-Delivery"))
    new = inbound_events.store(session, found.tenant_id, told, now=g.now)
    if new:
        after_commit(session, SWEEP, lambda: wake.wake(SWEEP))
    commit(session, "hooks.store")
    return jsonify(status="stored" if new else "known"), 202


def is_signed(secret: str, raw: bytes, headers: Headers, *, now: datetime) -> bool:
    """Whether `raw` was signed with `secret`, together with a time that is not 5 minutes away from `now`."""
    stamp = headers.get("X-Chatwoot-Timestamp", "")
    given = headers.get("X-Chatwoot-Signature", "")
    signature = hmac.new(secret.encode(), f"{stamp}.".encode() + raw, hashlib.sha256).hexdigest()
    same = hmac.compare_digest(f"sha256={signature}".encode(), given.encode("utf-8", "replace"))
    return same and _is_fresh(stamp, now)


def _is_fresh(stamp: str, now: datetime) -> bool:
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 11):
        return False
    return abs(EPOCH + timedelta(seconds=int(stamp)) - now) <= FRESH_WITHIN


def _connector(session: Session, key: str, settings: Settings) -> Opened | None:
    """The tenant's connector. None where there is no such tenant or connector: all are refused alike."""
    try:
        # SQLite would take the write lock at the first read of a transaction that may write.
        with read_only():
            return connectors.opened(session, tenants.get(session, key), settings)
    except NotFound:
        return None
    except secrets.Unreadable as error:
        log.error("a webhook was refused", tenant=key, why=error.detail)
        return None
    finally:
        rollback(session)


@blueprint.errorhandler(Exception)
def _failed(error: Exception) -> tuple[Response, int] | HTTPException:
    """Whoever calls can send it again; nothing was stored."""
    if isinstance(error, HTTPException):
        return error
    rollback(db.session())
    if isinstance(error, OperationalError):
        log.warning("the database was busy or away", error=str(error.orig))
        answer = jsonify(status="unavailable", detail="The database can't be used at the moment.")
        answer.headers["Retry-After"] = "5"
        return answer, 503
    log.error("a webhook failed", request=g.request_id, exc_info=error)
    return jsonify(status="error", detail="Something failed on our side; nothing was stored."), 500
