"""The deliveries pages: what was told to other systems, what was not, and what a person does about it."""

from flask import Flask

from desk_ui.deliveries import commands, routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    one = f"/<int(max={2**63 - 1}):delivery_id>"
    for rule, view, method in (
        ("", routes.index, "GET"),
        ("/counts", routes.counts, "GET"),
        (one, routes.show, "GET"),
        (f"{one}/rearming", commands.ask_rearm, "GET"),
        (f"{one}/rearming", commands.rearm, "POST"),
        (f"{one}/sending", commands.send, "POST"),
    ):
        rule = f"/<tenant:tenant>/deliveries{rule}"
        app.add_url_rule(rule, f"deliveries.{view.__name__}", view, methods=[method])
