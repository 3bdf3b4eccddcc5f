"""The follow-ups pages: the list, one follow-up, and what a person does with it."""

from flask import Flask

from desk_ui.addresses import serve
from desk_ui.followups import commands, routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    one = "/<uuid:followup_id>"
    rules = (
        ("", routes.index, "GET"),
        ("/counts", routes.counts, "GET"),
        (one, routes.show, "GET"),
        (f"{one}/cancellation", commands.cancel, "POST"),
        (f"{one}/rescheduling", commands.ask_reschedule, "GET"),
        (f"{one}/rescheduling", commands.reschedule, "POST"),
        (f"{one}/rearming", commands.ask_rearm, "GET"),
        (f"{one}/rearming", commands.rearm, "POST"),
        (f"{one}/revocation", commands.ask_revoke, "GET"),
        (f"{one}/revocation", commands.revoke, "POST"),
    )
    serve(app, "followups", rules)
