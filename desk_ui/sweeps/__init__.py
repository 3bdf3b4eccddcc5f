"""The sweeps pages: how each stands, its runs, and what an admin of the platform does with it."""

from flask import Flask
from werkzeug.routing import BaseConverter

from desk_ui.addresses import serve
from jobs.schedule import SWEEPS


class SweepName(BaseConverter):
    """`<sweep:name>` in a rule: a sweep of the schedule. No other is found, before anything is asked."""

    regex = f"(?:{'|'.join(SWEEPS)})"


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    # Imported here, since what stands around every page reads the lines of this area.
    from desk_ui.sweeps import commands, routes

    app.url_map.converters["sweep"] = SweepName
    one = "/<sweep:name>"
    rules = (
        ("", routes.index, "GET"),
        (one, routes.show, "GET"),
        (f"{one}/runs", commands.run, "POST"),
        (f"{one}/pause", commands.ask_pause, "GET"),
        (f"{one}/pause", commands.pause, "POST"),
        (f"{one}/resumption", commands.ask_resume, "GET"),
        (f"{one}/resumption", commands.resume, "POST"),
    )
    serve(app, "sweeps", rules)
