"""How many calls a minute: for each token, and for each address that shows none that is valid."""

import hashlib

from flask import Flask, Response, current_app, request
from flask_limiter import Limiter
from flask_limiter.errors import RateLimitExceeded

from desk_ui.api import problems
from desk_ui.api.operations import blueprint
from desk_ui.requests import settings_of

UNAUTHORIZED_A_MINUTE = 300


def register(app: Flask) -> None:
    """Count in Redis where REDIS_URL is set, so that all web processes share the count; else in memory."""
    # Before the limiter's own, and so run after it: that one puts Retry-After on every answer.
    app.after_request(_only_when_refused)
    redis_url = settings_of(app).redis_url
    limiter = Limiter(
        _address,
        app=app,
        storage_uri=redis_url or "memory://",
        storage_options={"socket_connect_timeout": 1} if redis_url else {},
        strategy="moving-window" if redis_url is None else "fixed-window",
        in_memory_fallback_enabled=redis_url is not None,
        # It asks Redis again for its headers, after the effect: losing Redis there must not turn what was
        # done into a 500.
        swallow_errors=True,
        headers_enabled=True,
        key_prefix="api",
    )
    limiter.shared_limit(_rate, scope="calls", key_func=_token)(blueprint)
    limiter.shared_limit(
        f"{UNAUTHORIZED_A_MINUTE} per minute", scope="unauthorized", deduct_when=_was_unauthorized
    )(blueprint)


def _only_when_refused(response: Response) -> Response:
    if response.status_code < 400 or response.status_code == 422:
        response.headers.pop("Retry-After", None)
    return response


@blueprint.errorhandler(RateLimitExceeded)
def refuse(error: RateLimitExceeded) -> Response:
    """429; the limiter adds Retry-After."""
    return problems.problem("rate-limited", f"There may be {error.description}. Wait, then send it again.")


def _rate() -> str:
    return f"{settings_of(current_app).api_rate} per minute"


def _address() -> str:
    return request.remote_addr or "unknown"


def _token() -> str:
    """The token's digest, never the token: it stands in Redis. Without one, the address."""
    given = request.headers.get("Authorization")
    if not given:
        return _address()
    return hashlib.sha256(given.encode("utf-8", "surrogateescape")).hexdigest()


def _was_unauthorized(response: Response) -> bool:
    return response.status_code == 401
