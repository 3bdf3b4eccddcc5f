"""The follow-ups pages: the list, one follow-up, and what a person does with it."""

from flask import Flask

from desk_ui.followups import commands, routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    for rule, endpoint, view, method in (
        ("/<tenant:tenant>", "tenant", routes.tenant_home, "GET"),
        ("/<tenant:tenant>/followups", "index", routes.index, "GET"),
        ("/<tenant:tenant>/followups/counts", "counts", routes.counts, "GET"),
        ("/<tenant:tenant>/followups/<uuid:followup_id>", "show", routes.show, "GET"),
        (
            "/<tenant:tenant>/followups/<uuid:followup_id>/cancellation",
            "cancel",
            commands.cancel,
            "POST",
        ),
    ):
        app.add_url_rule(rule, f"followups.{endpoint}", view, methods=[method])
