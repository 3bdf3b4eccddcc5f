"""The keys that press what is on a page, in one list: the page that tells of them, and the switch."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flask import Flask, abort, current_app, redirect, request, url_for
from werkzeug.wrappers import Response

from desk_ui import areas
from desk_ui.addresses import local_path, path_of
from desk_ui.htmx import is_htmx, render_page
from desk_ui.permissions import Permission, requires
from desk_ui.translating import lazy_gettext as _l

COOKIE, YEAR = "keys", 365 * 86_400
OFF, ON = "off", "on"


@dataclass(frozen=True, slots=True)
class Key:
    """`keys` are pressed one after another; `says` is what they do."""

    keys: tuple[str, ...]
    says: Any


EVERYWHERE = (
    Key(("/",), _l("Find a customer, a reason or an id")),
    Key(("u",), _l("Undo, as long as it is offered")),
    Key(("?",), _l("Show these keys")),
    Key(("Esc",), _l("Close what stands over the page, or clear what is ticked")),
)
IN_LISTS = (
    Key(("j",), _l("Next row")),
    Key(("k",), _l("Row before")),
    Key(("x",), _l("Tick the row, or not")),
    Key(("Shift+X",), _l("The same for all rows from the one before")),
    Key(("b",), _l("Go to what can be done to the ticked rows")),
    Key(("Enter",), _l("Open the row")),
)


def groups() -> Iterable[tuple[Any, Iterable[Key]]]:
    """All keys, by where they work. An area's own stand with the area."""
    known = (*areas.WORK, *areas.SET_UP)
    return (
        (_l("Everywhere"), EVERYWHERE),
        (_l("Go to"), [Key(tuple(area.keys.split()), area.name) for area in known if area.keys]),
        (_l("In a list"), IN_LISTS),
    )


def are_off() -> bool:
    """Whether the person at hand switched them off in this browser."""
    return request.cookies.get(COOKIE) == OFF


def register(app: Flask) -> None:
    app.add_url_rule("/keys", "keys.show", show)
    app.add_url_rule("/keys", "keys.switch", switch, methods=["POST"])


@requires(Permission.SIGNED_IN)
def show() -> Any:
    """The list, as a page or over one."""
    back = path_of(request.headers.get("HX-Current-URL")) or url_for("keys.show")
    return render_page("keys.html", "dialog", groups=groups(), off=are_off(), back=back, in_dialog=is_htmx())


@requires(Permission.SIGNED_IN)
def switch() -> Response:
    """Keys on or off in this browser: who speaks to it, or presses keys unawares, does not want them."""
    wanted = request.form.get("keys", "")
    if wanted not in (ON, OFF):
        abort(422)
    answer = redirect(local_path(request.form.get("back")) or url_for("keys.show"), 303)
    secure = current_app.config["SESSION_COOKIE_SECURE"]
    answer.set_cookie(COOKIE, wanted, max_age=YEAR, secure=secure, httponly=True, samesite="Lax", path="/")
    return answer
