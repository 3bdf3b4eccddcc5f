"""The follow-ups pages: the list, one follow-up, and what a person does with it."""

from flask import Flask

from desk_ui.addresses import serve
from desk_ui.followups import commands, handling, in_bulk, routes, undoing


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    one = "/<uuid:followup_id>"
    rules = (
        ("", routes.index, "GET"),
        ("/counts", routes.counts, "GET"),
        ("/rows", routes.rows, "GET"),
        ("/bulk", in_bulk.ask_bulk, "POST"),
        ("/bulk/cancellation", in_bulk.bulk_cancel, "POST"),
        ("/bulk/rearming", in_bulk.bulk_rearm, "POST"),
        ("/bulk/<uuid:operation_id>/stop", in_bulk.bulk_stop, "POST"),
        ("/export.<any(csv, jsonl):kind>", routes.export, "GET"),
        (one, routes.show, "GET"),
        (f"{one}/cancellation", commands.cancel, "POST"),
        (f"{one}/handling", handling.ask_take_over, "GET"),
        (f"{one}/handling", handling.take_on, "POST"),
        (f"{one}/handling/end", handling.let_go, "POST"),
        (f"{one}/restoration", undoing.restore, "POST"),
        (f"{one}/rescheduling", commands.ask_reschedule, "GET"),
        (f"{one}/rescheduling", commands.reschedule, "POST"),
        (f"{one}/rearming", commands.ask_rearm, "GET"),
        (f"{one}/rearming", commands.rearm, "POST"),
        (f"{one}/revocation", commands.ask_revoke, "GET"),
        (f"{one}/revocation", commands.revoke, "POST"),
    )
    serve(app, "followups", rules)
