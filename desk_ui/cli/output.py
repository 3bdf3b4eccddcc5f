"""How commands speak: to a person, or with --json to a program; faults go to stderr."""

from collections.abc import Callable
from typing import Any

import click

from desk_ui.exporting import as_json

_JSON = "desk.json"


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the command takes --json, which `say` and `fault` then follow."""
    return click.option(
        "--json",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_remember,
        help="Print JSON instead of text.",
    )(command)


def say(text: str, value: Any) -> None:
    """Print `text`, or `value` as one line of JSON where --json was given."""
    click.echo(as_json(value) if wants_json() else text)


def fault(detail: str, *, code: str) -> None:
    """Name a fault on stderr: `detail`, or `{"error": {"code", "detail"}}` where --json was given."""
    click.echo(as_json({"error": {"code": code, "detail": detail}}) if wants_json() else detail, err=True)


def wants_json() -> bool:
    return bool(click.get_current_context().find_root().meta.get(_JSON))


def _remember(ctx: click.Context, _param: click.Parameter, given: bool) -> None:
    if given:
        ctx.find_root().meta[_JSON] = True
