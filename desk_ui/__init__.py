"""The web application: the console's pages and the HTTP API, over the domain in models/."""

from flask import Flask

from jobs.app import configure
from models.settings import Settings


def create_app(settings: Settings) -> Flask:
    """The application that `desk web` serves."""
    # Imported here: workers, scheduler and command line share this package and need none of the pages.
    from desk_ui import api, console, health, hooks, requests

    app = Flask(__name__)
    configure(app, settings)
    requests.register(app)
    health.register(app)
    api.register(app)
    hooks.register(app)
    console.register(app)
    return app
