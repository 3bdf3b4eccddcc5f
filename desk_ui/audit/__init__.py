"""The audit pages: who did what, one event with all that is kept of it, and whether the chain holds."""

from flask import Flask

from desk_ui.audit import routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    for rule, view in (
        ("", routes.index),
        ("/<id:event_id>", routes.show),
        ("/verification", routes.verification),
    ):
        app.add_url_rule(f"/<tenant:tenant>/audit{rule}", f"audit.{view.__name__}", view)
