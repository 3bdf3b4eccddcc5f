"""For who works on the console: every component in every state on one page. Served with `DESK_DEV=1` only."""

from flask import Flask

from desk_ui.dev import routes
from desk_ui.requests import settings_of


def register(app: Flask) -> None:
    """Add the pages where the settings ask for them; else their addresses are of nothing."""
    if not (settings_of(app).dev or app.debug):
        return
    app.add_url_rule("/dev/components", "dev.components", routes.components)
    app.add_url_rule("/dev/components/asks/<name>", "dev.ask", routes.ask)
    app.add_url_rule("/dev/components/errors/<int:code>", "dev.error", routes.error)
