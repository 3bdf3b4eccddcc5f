"""Translation whose catalogue is looked up once a request: a page has hundreds of words."""

from typing import Any

from flask import Flask, g, has_app_context
from flask_babel import get_translations


def gettext(text: str, **values: Any) -> str:
    """`text` in the request's language, with `values` put in."""
    found: str = catalogue().ugettext(text)
    return found % values if values else found


def catalogue() -> Any:
    """The translations of the request at hand; outside one, those that change nothing."""
    if not has_app_context():
        return get_translations()
    found = g.get("catalogue")
    if found is None:
        found = g.catalogue = get_translations()
    return found


def register(app: Flask) -> None:
    """Let the templates use the same. Comes after Babel, which installs its own."""
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]
        gettext=lambda text: catalogue().ugettext(text),
        ngettext=lambda one, many, number: catalogue().ungettext(one, many, number),
        newstyle=True,
    )
