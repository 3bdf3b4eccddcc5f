"""The frame of every page, whose parts are drawn once in a process and filled in with what differs."""

from flask import Flask, current_app
from markupsafe import Markup

from desk_ui import translating
from desk_ui.addresses import TENANT
from desk_ui.rows import Shape, slot

SHAPES = "desk_frame"
TEMPLATE = "components/frame.html"


def register(app: Flask) -> None:
    app.extensions[SHAPES] = {}


def drawn(part: str, *kind: str, **values: object) -> Markup:
    """The macro `part(*kind)` of the frame's template with `values` in its slots.

    `kind` is of few values, since each is kept: never what a person wrote.
    """
    shapes: dict[tuple[object, ...], Shape] = current_app.extensions[SHAPES]
    key = (translating.language(), part, *kind)
    if key not in shapes:
        macro = getattr(current_app.jinja_env.get_template(TEMPLATE).module, part)
        shapes[key] = Shape(str(macro(*kind)).replace(TENANT, slot("tenant")))
    return Markup(shapes[key].filled(values))
