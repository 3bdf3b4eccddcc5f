"""What every answer carries against misuse: headers, cookies, static files that never change, limits."""

import hashlib
from datetime import timedelta
from functools import cache
from pathlib import Path

from flask import Flask, request
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from werkzeug.wrappers import Response

from desk_ui.addresses import outside_console
from models.settings import Settings

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
YEAR = 31_536_000


def register(app: Flask) -> Limiter:
    """Cookies, headers and the limiter, which `auth` uses."""
    settings: Settings = app.extensions["desk_settings"]
    secure = settings.secure_cookies
    app.config.update(
        SESSION_COOKIE_NAME="__Host-desk" if secure else "desk",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=secure,
        PERMANENT_SESSION_LIFETIME=timedelta(hours=settings.session_hours),
        # Else an answer that is still under way when somebody signs out would sign them in again.
        SESSION_REFRESH_EACH_REQUEST=False,
        # The token lives as long as the session; who signs in again is told kindly (desk_ui/errors.py).
        WTF_CSRF_TIME_LIMIT=None,
        WTF_CSRF_CHECK_DEFAULT=False,
        SEND_FILE_MAX_AGE_DEFAULT=0,
    )
    app.after_request(_guarded)
    app.jinja_env.globals["asset"] = _asset_of(app)
    limiter = Limiter(
        get_remote_address,
        storage_uri=settings.redis_url or "memory://",
        in_memory_fallback_enabled=settings.redis_url is not None,
        strategy="moving-window",
    )
    limiter.init_app(app)
    app.extensions["desk_limiter"] = limiter
    return limiter


def _guarded(response: Response) -> Response:
    if outside_console(request.path):
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        return response
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint == "static":
        unchanging = "v" in request.args
        response.headers["Cache-Control"] = (
            f"public, max-age={YEAR}, immutable" if unchanging else "public, no-cache"
        )
    else:
        response.headers["Cache-Control"] = "no-store"
        # By this the page's script (answers.js) knows our answers from those of what stands between.
        response.headers["X-Desk"] = "1"
        response.headers.add("Vary", "HX-Request, Cookie")
    return response


def _asset_of(app: Flask):  # type: ignore[no-untyped-def]
    folder = Path(app.static_folder or "")

    @cache
    def asset(name: str) -> str:
        """The address of a static file, which changes with its content."""
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        return f"{app.static_url_path}/{name}?v={digest[:16]}"

    return asset
