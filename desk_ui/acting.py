"""The one way to run an action from a route: commit it, say what became of it, show what is so now."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import g, make_response, redirect, request
from werkzeug.urls import iri_to_uri
from werkzeug.wrappers import Response

from desk_ui import asking
from desk_ui.addresses import local_path
from desk_ui.asking import Ask, Told
from desk_ui.htmx import is_htmx, partial, toast
from desk_ui.offering import Offer, flash_with
from desk_ui.permissions import record_refusal
from models import once
from models.base import db, read_only
from models.errors import Conflict, Invalid, NotFound
from models.transactions import rollback

LARGEST_VERSION = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Action:
    """One action from a route.

    `act` runs the verb and commits. `done` says in the past tense what happened. `back` is where a page
    without a script goes on, given what `act` returned.

    `name` and `resource` are for the audit of a refusal; `refused` gives its words, from what `read` found.

    What HTMX shows: `show(row)` as the element at `place` (a selector), or where there is none, the page at
    `back` anew. With `ask`, the act came from a question, which is shown again where it was refused. With
    `tell`, the answer is a secret, shown once. With `anew`, an act that was asked about and is done leads to
    the page at `back`, since more of it changed than `show` would show. With `apart`, the form stands
    elsewhere than what it acts on, as in a toast.

    `warns`, given what `act` returned, says that not all was done.

    `offer`, given what `act` returned, is to take it back, which stands beside the answer.
    """

    name: str
    resource: tuple[str, str]
    act: Callable[[], Any]
    done: Callable[[Any], str]
    back: Callable[[Any], str]
    read: Callable[[], Any] = lambda: None
    refused: Callable[[Any, Conflict], str] = lambda _row, fault: fault.detail
    show: Callable[[Any], str] | None = None
    place: str | None = None
    ask: Callable[[], Ask] | None = None
    tell: Callable[[Any], Told] | None = None
    anew: bool = False
    apart: bool = False
    warns: Callable[[Any], bool] = lambda _result: False
    offer: Callable[[Any], Offer | None] = lambda _result: None


def perform(action: Action) -> Response:
    """Run `action`. With HTMX: what it acted on and a toast; without: a redirect with the same words.

    A conflict is 409 and audited as refused, a value that can't be used 422; both change nothing, say why,
    show what is so now, and keep what was typed. Raises `NotFound`.
    """
    try:
        use_up()
        result = action.act()
    except NotFound:
        rollback(db.session())
        raise
    except Invalid as fault:
        rollback(db.session())
        return _refused(action, action.read(), fault.detail, "bad", 422, fault)
    except Conflict as fault:
        record_refusal(action.name, action.resource, purpose=fault.code, detail=_state_of(fault.current))
        current = action.read()
        twice = isinstance(fault, once.SentTwice)
        return _refused(
            action, current, fault.detail if twice else action.refused(current, fault), "warn", 409
        )
    if action.tell is not None:
        with read_only():
            return make_response(asking.tell(action.tell(result)))
    with read_only():
        offer = action.offer(result)
    done, closing = action.done(result), action.ask is not None
    kind = "warn" if action.warns(result) else "good"
    return _answer(action, result, done, kind, 200, closing=closing, offer=offer)


def use_up() -> None:
    """Let the form at hand act once. What is no token is as none: the person's own browser sent it.

    Raises `once.SentTwice`.
    """
    try:
        token = UUID(request.form.get("once", ""))
    except ValueError:
        return
    once.claim(db.session(), token, now=g.now)


def back_or(url: str) -> str:
    """Where the form said that it came from, if that is on this site, else `url`."""
    return local_path(request.form.get("back")) or url


def version_shown() -> int:
    """The version of the row that the person saw. Raises `Invalid` on `version`."""
    given = request.form.get("version", "")
    if not given.isascii() or not given.isdigit() or len(given) > 10 or int(given) > LARGEST_VERSION:
        raise Invalid("version", "is missing; reload the page and try again")
    return int(given)


def _state_of(current: Any) -> dict[str, Any]:
    found = getattr(current, "status", None) or getattr(current, "state", None)
    return {"state": found} if isinstance(found, str) else {}


def _refused(
    action: Action, row: Any, words: str, kind: str, status: int, fault: Invalid | None = None
) -> Response:
    if action.ask is None:
        return _answer(action, row, words, kind, status)
    with read_only():
        ask = action.ask().refilled(request.form, fault, note="" if fault else words)
        answer = asking.show(ask)
        if is_htmx() and action.show is not None and action.place is not None and row is not None:
            answer = partial("#dialog", "innerHTML", answer) + partial(
                action.place, "outerHTML", action.show(row)
            )
        return make_response(answer, status)


def _answer(
    action: Action,
    row: Any,
    words: str,
    kind: str,
    status: int,
    *,
    closing: bool = False,
    offer: Offer | None = None,
) -> Response:
    """`closing` says that a dialog is open, which this answer closes."""
    if not is_htmx() or action.show is None or (closing and action.anew):
        flash_with(words, kind, offer)
        back = action.back(row)
        if not is_htmx():
            return redirect(back, 303)
        answer = make_response("", status)
        # A header holds ASCII only; a redirect's own is written so by Werkzeug.
        answer.headers["HX-Redirect"] = iri_to_uri(back)
        return answer
    with read_only():
        shown = action.show(row)
        if closing or action.apart:
            assert action.place is not None
            shown = partial(action.place, "outerHTML", shown)
        if closing:
            shown += partial("#dialog", "innerHTML", "")
        return make_response(shown + toast(words, kind, offer), status)
