"""The audit pages: who did what, one event with all that is kept of it, and whether the chain holds."""

from flask import Flask

from desk_ui.addresses import serve
from desk_ui.audit import routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    rules = (
        ("", routes.index, "GET"),
        ("/export.<any(csv, jsonl):kind>", routes.export, "GET"),
        ("/<id:event_id>", routes.show, "GET"),
        ("/verification", routes.verification, "GET"),
    )
    serve(app, "audit", rules)
