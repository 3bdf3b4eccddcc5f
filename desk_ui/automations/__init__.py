"""The automations pages: what rules armed, what was done of it, and what a person does about the rest."""

from flask import Flask

from desk_ui.automations import executions, rules


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    executions.register(app)
    rules.register(app)
