"""The deliveries pages: what was told to other systems, what was not, and what a person does about it."""

from flask import Flask

from desk_ui.addresses import serve
from desk_ui.deliveries import commands, routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    one = "/<id:delivery_id>"
    rules = (
        ("", routes.index, "GET"),
        ("/counts", routes.counts, "GET"),
        (one, routes.show, "GET"),
        (f"{one}/rearming", commands.ask_rearm, "GET"),
        (f"{one}/rearming", commands.rearm, "POST"),
        (f"{one}/sending", commands.send, "POST"),
    )
    serve(app, "deliveries", rules)
