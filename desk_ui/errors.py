"""Error pages in the console's own look; what goes wrong under HTMX is said in a toast and swaps nothing."""

from typing import Any

import structlog
from flask import Flask, flash, g, make_response, redirect, render_template, request
from flask_babel import gettext as _
from flask_security.core import AnonymousUser
from flask_wtf.csrf import CSRFError
from sqlalchemy.exc import DatabaseError, OperationalError
from werkzeug.exceptions import HTTPException, InternalServerError
from werkzeug.wrappers import Response

from desk_ui.addresses import local_path, outside_console
from desk_ui.htmx import is_htmx, toast
from desk_ui.paging import TooSlow
from models.base import db
from models.errors import DeskError, Forbidden, Invalid, NotFound
from models.transactions import is_refused_row, rollback, said

log = structlog.get_logger(__name__)

# Said where a person stands in a tenant and the database is well, so that they keep the way on.
WITH_NAVIGATION = frozenset({403, 404})


def register(app: Flask) -> None:
    """Errors of the console only: the API and the hooks answer with problem documents of their own."""
    app.register_error_handler(CSRFError, _expired)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(DeskError, _desk_error)
    app.register_error_handler(OperationalError, _database_away)
    app.register_error_handler(DatabaseError, _database_refused)


def _expired(error: CSRFError) -> Any:
    """A form of an old session: nothing was done, and the person gets the page afresh."""
    words = _("This page was too old to act on, so nothing was done. Please do it again.")
    back = local_path(request.form.get("back"))
    if is_htmx():
        answer = make_response("", 400)
        flash(words, "warn")
        answer.headers["HX-Refresh"] = "true"
        return answer
    if back is not None:
        flash(words, "warn")
        return redirect(back, 303)
    return _page(400, _("This page was too old to act on"), _("Nothing was done. Reload it and try again."))


def _http_error(error: HTTPException) -> Any:
    if outside_console(request.path) or error.code is None or error.code < 400:
        return error
    if isinstance(error, InternalServerError):
        _know_nobody()
    title, words = _words(error)
    answer = _page(error.code, title, words)
    for name, value in error.get_headers():
        if name in {"Retry-After", "Allow"}:
            answer.headers[name] = value
    return answer


def _desk_error(error: DeskError) -> Any:
    if outside_console(request.path):
        raise error
    rollback(db.session())
    code = {NotFound: 404, Forbidden: 403, Invalid: 422, TooSlow: 503}.get(type(error), 409)
    title, words = _words(code) if code == 404 else (_("This can't be done"), error.detail)
    return _page(code, title, words)


def _database_away(error: OperationalError) -> Any:
    """503: the database was busy for longer than a page waits, or is away."""
    if outside_console(request.path):
        raise error
    log.warning("the database was busy or away", error=str(error.orig))
    rollback(db.session())
    _know_nobody()
    words = _("The database is busy or can't be reached. Come back in a moment, and check what was saved.")
    answer = _page(503, _("Not available at the moment"), words)
    answer.headers["Retry-After"] = "5"
    return answer


def _know_nobody() -> None:
    """Have the page made without asking who it is for, which may be what failed."""
    g.operator = g.tenant = None
    g.memberships = []
    # The templates are given Flask-Login's user.
    g._login_user = AnonymousUser()


def _database_refused(error: DatabaseError) -> Any:
    """409: a constraint or a trigger of the database did not take the row, and would not the next time."""
    if outside_console(request.path) or not is_refused_row(error):
        raise error
    log.error("the database refused a row", path=request.path, error=said(error))
    rollback(db.session())
    return _page(409, _("This can't be done"), _("The database refused to store it. Nothing was done."))


def _words(error: HTTPException | int) -> tuple[str, str]:
    code = error if isinstance(error, int) else error.code
    if isinstance(error, InternalServerError):
        log.error("page failed", path=request.path, exc_info=error.original_exception)
    known = {
        404: (_("There is nothing here"), _("The address is wrong, or what it showed is gone.")),
        403: (_("You may not do this"), _("Ask an admin of this tenant for another role.")),
        405: (_("This address can't be opened so"), _("Go back and use the page's own buttons.")),
        413: (_("That was too much to send"), _("Nothing was done. Send less.")),
        422: (_("That can't be used"), _("Nothing was done. Go back and check what you entered.")),
        429: (_("Too many tries"), _("Wait a few minutes, then try again.")),
        500: (
            _("Something went wrong here"),
            _("It was written down. Check what was saved."),
        ),
    }
    title, words = known.get(code or 500, (_("That did not work"), _("Go back and try again.")))
    if code == 403 and isinstance(error, HTTPException) and error.description != type(error).description:
        words = str(error.description)
    return title, words


def _page(code: int, title: str, words: str) -> Response:
    if is_htmx():
        asked = _("Request %(id)s.", id=g.get("request_id", "")) if code >= 500 else ""
        return make_response(toast(f"{title}. {words} {asked}".rstrip(), "bad"), code)
    inside = code in WITH_NAVIGATION and g.get("operator") is not None and g.get("tenant") is not None
    layout = "base.html" if inside else "plain.html"
    # Not named `words`, which the layout has for its own.
    shown = render_template("errors/error.html", layout=layout, code=code, title=title, says=words)
    return make_response(shown, code)
