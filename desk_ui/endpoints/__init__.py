"""The endpoints pages: where a tenant has its events sent, and what an admin does with each."""

from flask import Flask

from desk_ui.addresses import serve
from desk_ui.endpoints import commands, routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    one = "/<uuid:endpoint_id>"
    rules = (
        ("", routes.index, "GET"),
        ("/adding", commands.ask_add, "GET"),
        ("/adding", commands.add, "POST"),
        (one, routes.show, "GET"),
        (f"{one}/editing", commands.ask_edit, "GET"),
        (f"{one}/editing", commands.edit, "POST"),
        (f"{one}/pausing", commands.ask_pause, "GET"),
        (f"{one}/pausing", commands.pause, "POST"),
        (f"{one}/resuming", commands.ask_resume, "GET"),
        (f"{one}/resuming", commands.resume, "POST"),
        (f"{one}/testing", commands.send_test, "POST"),
        (f"{one}/rotation", commands.ask_rotate, "GET"),
        (f"{one}/rotation", commands.rotate, "POST"),
        (f"{one}/removal", commands.ask_remove, "GET"),
        (f"{one}/removal", commands.remove, "POST"),
    )
    serve(app, "endpoints", rules)
