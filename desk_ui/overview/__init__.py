"""The overview: what needs a person in a tenant now, and whether the sweeps are well."""

from flask import Flask

from desk_ui.overview import queries, routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    app.add_url_rule("/<tenant:tenant>", "overview.index", routes.index)
    app.add_url_rule("/<tenant:tenant>/needs", "overview.needs", routes.needs)
    queries.register(app)
