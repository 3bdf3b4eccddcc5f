"""The settings pages: tenants and their switches, the people with a role, the tokens of the API."""

from flask import Flask

from desk_ui.settings import commands, people, routes, tokens


def register(app: Flask) -> None:
    """Add this area's routes to `app`."""
    person = "/operators/<int(max=2147483647):operator_id>"
    token = "/tokens/<int(max=2147483647):token_id>"
    for rule, asked, acted in (
        ("/features/<feature>/switching", commands.ask_switch, commands.switch),
        ("/tenants/adding", commands.ask_add_tenant, commands.add_tenant),
        ("/operators/adding", people.ask_add, people.add),
        (f"{person}/role", people.ask_role, people.change_role),
        (f"{person}/removal", people.ask_removal, people.take_role_away),
        (f"{person}/link", people.ask_link, people.make_link),
        (f"{person}/factor-reset", people.ask_factor_reset, people.reset_factor),
        (f"{person}/switching", people.ask_switching, people.switch_account),
        ("/tokens/adding", tokens.ask_add, tokens.add),
        (f"{token}/revocation", tokens.ask_revocation, tokens.revoke),
    ):
        _add(app, rule, asked, "GET")
        _add(app, rule, acted, "POST")
    _add(app, "", routes.index, "GET")
    _add(app, "/operators", routes.operators, "GET")
    _add(app, person, routes.operator, "GET")
    _add(app, "/tokens", routes.tokens, "GET")


def _add(app: Flask, rule: str, view, method: str) -> None:  # type: ignore[no-untyped-def]
    module = view.__module__.rpartition(".")[2]
    kind = "" if module in {"routes", "commands"} else f"{module}_"
    app.add_url_rule(
        f"/<tenant:tenant>/settings{rule}", f"settings.{kind}{view.__name__}", view, methods=[method]
    )
