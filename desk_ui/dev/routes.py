"""The pages of the components. They show samples alone: nothing of them is read from the database."""

from typing import Any

from flask import abort, g, render_template
from werkzeug.exceptions import default_exceptions

from desk_ui import asking
from desk_ui.dev import samples
from desk_ui.permissions import Permission, requires


@requires(Permission.SIGNED_IN)
def components() -> Any:
    _enter()
    return render_template("dev/components.html", view=samples.page())


@requires(Permission.SIGNED_IN)
def ask(name: str) -> Any:
    """One question as its own page, or as a dialog."""
    _enter()
    if name == "told":
        return asking.tell(samples.told())
    found = samples.asks().get(name)
    return asking.show(found) if found else abort(404)


@requires(Permission.SIGNED_IN)
def error(code: int) -> Any:
    """An error page, as a page that fails shows it."""
    _enter()
    if code == 500:
        raise RuntimeError("asked for by /dev/components")
    abort(code if code in default_exceptions else 404)


def _enter() -> None:
    """Stand in the first tenant of the person at hand, so that the frame is drawn as on every page."""
    if not g.memberships:
        abort(404)
    g.tenant, g.role = g.memberships[0]
    g.zone = g.operator.timezone or g.tenant.timezone
