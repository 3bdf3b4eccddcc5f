"""The overview: what needs a person in a tenant now, and whether the sweeps are well."""

from flask import Flask


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    # Imported here, since what stands around every page reads the numbers of this area.
    from desk_ui.overview import queries, routes

    app.add_url_rule("/<tenant:tenant>", "overview.index", routes.index)
    app.add_url_rule("/<tenant:tenant>/needs", "overview.needs", routes.needs)
    queries.register(app)
