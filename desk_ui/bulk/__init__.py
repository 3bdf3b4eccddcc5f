"""Acting on many rows at once: what was selected, the question about it, and what became of it."""

from flask import Flask

from desk_ui.addresses import serve
from desk_ui.bulk import routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`; what begins and stops an operation is served by each area itself."""
    one = "/<uuid:operation_id>"
    rules = (
        ("", routes.index, "GET"),
        (one, routes.show, "GET"),
        (f"{one}/progress", routes.progress, "GET"),
        (f"{one}/results.<any(csv, jsonl):kind>", routes.export, "GET"),
    )
    serve(app, "bulk", rules)
