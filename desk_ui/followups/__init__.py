"""The follow-ups pages: the list, one follow-up, and what a person does with it."""

from flask import Flask

from desk_ui.followups import commands, routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    one = "/<uuid:followup_id>"
    for rule, view, method in (
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
    ):
        rule = f"/<tenant:tenant>/followups{rule}"
        app.add_url_rule(rule, f"followups.{view.__name__}", view, methods=[method])
