"""HTMX over plain pages: a whole page or one block of it, and the one way to run an action from a route."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from flask import (
    current_app,
    flash,
    get_template_attribute,
    make_response,
    redirect,
    render_template,
    request,
)
from werkzeug.wrappers import Response

from desk_ui.permissions import record_refusal
from models.base import db, read_only
from models.errors import Conflict, Invalid, NotFound
from models.transactions import rollback

T = TypeVar("T")


def is_htmx() -> bool:
    """Whether a script asks for a part of a page: not for one that is restored from the history."""
    headers = request.headers
    return headers.get("HX-Request") == "true" and "HX-History-Restore-Request" not in headers


def render_page(template: str, block: str, **context: Any) -> str:
    """The whole page, or only its `block` where HTMX asks for it."""
    return render_block(template, block, **context) if is_htmx() else render_template(template, **context)


def render_block(template: str, block: str, **context: Any) -> str:
    """One named block of a page's template, with the same context as the page."""
    current_app.update_template_context(context)
    found = current_app.jinja_env.get_template(template)
    return "".join(found.blocks[block](found.new_context(context)))


def toast(words: str, kind: str = "good") -> str:
    """A toast that HTMX puts in its place beside whatever else the answer holds."""
    return str(get_template_attribute("components/toast.html", "toast_partial")(words, kind))


@dataclass(frozen=True, slots=True)
class Action:
    """One action from a route.

    `act` runs the verb and commits. `read` gives the row as it is now, `show` renders it. `done` says in
    the past tense what happened, `refused` why nothing did. `name` and `resource` are for the audit.
    """

    name: str
    resource: tuple[str, str]
    act: Callable[[], Any]
    read: Callable[[], Any]
    show: Callable[[Any], str]
    done: Callable[[Any], str]
    refused: Callable[[Any, Conflict], str]
    back: str


def perform(action: Action) -> Response:
    """Run `action`. With HTMX: the row and a toast; without: a redirect to `back` with the same words.

    A conflict is 409 with the row as it is now, a value that can't be used 422; both change nothing, and a
    conflict is audited as refused. Raises `NotFound`.
    """
    try:
        result = action.act()
    except NotFound:
        rollback(db.session())
        raise
    except Invalid as fault:
        rollback(db.session())
        return _answer(action, action.read(), fault.detail, "bad", 422)
    except Conflict as fault:
        record_refusal(action.name, action.resource, purpose=fault.code, detail=_state_of(fault.current))
        current = action.read()
        return _answer(action, current, action.refused(current, fault), "warn", 409)
    return _answer(action, result, action.done(result), "good", 200)


def _state_of(current: Any) -> dict[str, Any]:
    return {"state": current.status} if hasattr(current, "status") else {}


def _answer(action: Action, row: Any, words: str, kind: str, status: int) -> Response:
    if not is_htmx():
        flash(words, kind)
        return redirect(action.back, 303)
    with read_only():
        return make_response(action.show(row) + toast(words, kind), status)
