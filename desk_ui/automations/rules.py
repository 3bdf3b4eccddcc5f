"""The rules pages: what the desk does by itself, written, tried and switched by leads."""

from flask import Flask

from desk_ui.addresses import serve
from desk_ui.automations import rule_commands, rule_editing, rules_routes


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    one = "/<uuid:rule_id>"
    serve(
        app,
        "rules",
        (
            ("", rules_routes.index, "GET"),
            ("/adding", rule_editing.ask_add, "GET"),
            ("/adding", rule_editing.add, "POST"),
            ("/draft", rule_editing.draft, "POST"),
            ("/trial", rule_editing.try_typed, "POST"),
            (one, rules_routes.show, "GET"),
            (f"{one}/editing", rule_editing.ask_edit, "GET"),
            (f"{one}/editing", rule_editing.edit, "POST"),
            (f"{one}/trial", rule_editing.show_trial, "GET"),
            (f"{one}/switching", rule_commands.ask_switch, "GET"),
            (f"{one}/switching", rule_commands.switch, "POST"),
            (f"{one}/deletion", rule_commands.ask_delete, "GET"),
            (f"{one}/deletion", rule_commands.delete, "POST"),
        ),
    )
