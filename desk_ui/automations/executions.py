"""The executions pages: the list, one execution, and what a person does with it."""

from flask import Flask

from desk_ui.addresses import serve
from desk_ui.automations import executions_commands as commands
from desk_ui.automations import executions_handling as handling
from desk_ui.automations import executions_in_bulk as in_bulk
from desk_ui.automations import executions_routes as routes


def register(app: Flask) -> None:
    """Add the executions' routes to `app`."""
    one = "/<uuid:execution_id>"
    rules = (
        ("", routes.index, "GET"),
        ("/counts", routes.counts, "GET"),
        ("/rows", routes.rows, "GET"),
        ("/bulk", in_bulk.ask_bulk, "POST"),
        ("/bulk/cancellation", in_bulk.bulk_cancel, "POST"),
        ("/bulk/reclaim", in_bulk.bulk_reclaim, "POST"),
        ("/bulk/rearming", in_bulk.bulk_rearm, "POST"),
        ("/bulk/<uuid:operation_id>/stop", in_bulk.bulk_stop, "POST"),
        ("/export.<any(csv, jsonl):kind>", routes.export, "GET"),
        (one, routes.show, "GET"),
        (f"{one}/cancellation", commands.ask_cancel, "GET"),
        (f"{one}/cancellation", commands.cancel, "POST"),
        (f"{one}/drop", commands.ask_drop, "GET"),
        (f"{one}/drop", commands.drop, "POST"),
        (f"{one}/handling", handling.ask_take_over, "GET"),
        (f"{one}/handling", handling.take_on, "POST"),
        (f"{one}/handling/end", handling.let_go, "POST"),
        (f"{one}/rearming", commands.ask_rearm, "GET"),
        (f"{one}/rearming", commands.rearm, "POST"),
        (f"{one}/reclaim", commands.ask_reclaim, "GET"),
        (f"{one}/reclaim", commands.reclaim, "POST"),
        (f"{one}/settlement", commands.ask_settle, "GET"),
        (f"{one}/settlement", commands.settle, "POST"),
    )
    serve(app, "executions", rules)
