"""The agents pages: how each stands, what its policy says, and putting it on hold."""

from flask import Flask

from desk_ui.addresses import serve
from desk_ui.agents import commands, routes
from desk_ui.agents.addresses import AgentKey


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    app.url_map.converters["agent"] = AgentKey
    one = "/<agent:agent>"
    rules = (
        ("", routes.index, "GET"),
        (one, routes.show, "GET"),
        (f"{one}/hold", commands.ask_hold, "GET"),
        (f"{one}/hold", commands.hold, "POST"),
        (f"{one}/release", commands.ask_release, "GET"),
        (f"{one}/release", commands.release, "POST"),
    )
    serve(app, "agents", rules)
