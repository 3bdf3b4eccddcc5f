"""The deliveries pages: what was told to other systems, what was not, and what a person does about it."""

from flask import Flask

from desk_ui.addresses import serve
from desk_ui.deliveries import commands, handling, in_bulk, routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    one = "/<id:delivery_id>"
    rules = (
        ("", routes.index, "GET"),
        ("/counts", routes.counts, "GET"),
        ("/rows", routes.rows, "GET"),
        ("/bulk", in_bulk.ask_bulk, "POST"),
        ("/bulk/rearming", in_bulk.bulk_rearm, "POST"),
        ("/bulk/<uuid:operation_id>/stop", in_bulk.bulk_stop, "POST"),
        ("/export.<any(csv, jsonl):kind>", routes.export, "GET"),
        (one, routes.show, "GET"),
        (f"{one}/rearming", commands.ask_rearm, "GET"),
        (f"{one}/rearming", commands.rearm, "POST"),
        (f"{one}/handling", handling.ask_take_over, "GET"),
        (f"{one}/handling", handling.take_on, "POST"),
        (f"{one}/handling/end", handling.let_go, "POST"),
        (f"{one}/sending", commands.send, "POST"),
    )
    serve(app, "deliveries", rules)
