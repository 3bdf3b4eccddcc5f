"""How commands speak: to a person, or with --json to a program; faults go to stderr."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import click

from models.clock import iso

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


def as_json(value: Any) -> str:
    """One line of JSON, with times and ids as the API writes them."""
    return json.dumps(value, ensure_ascii=False, default=_encode)


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
