"""`desk export`: rows of a tenant, streamed."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from desk_ui.cli.work import Work, at_work
from desk_ui.exporting import stream_csv, stream_jsonl
from models import tenants
from models.base import read_only
from models.errors import Invalid
from models.followups import exporting


@click.group()
def export() -> None:
    """Rows of a tenant, streamed to standard output."""


@export.command()
@click.option("--tenant", "key", required=True, help="The tenant whose rows to export.")
@click.option("--format", "chosen", type=click.Choice(["csv", "jsonl"]), default="csv", show_default=True)
@click.option("--json", "lines", is_flag=True, help="The same as --format jsonl.")
@click.option("--filter", "filters", multiple=True, metavar="KEY=VALUE", help="May be given more than once.")
def followups(key: str, chosen: str, lines: bool, filters: tuple[str, ...]) -> None:
    """A tenant's follow-ups, newest first. Filters: agent, arm, customer, reason, status."""
    with read_only(), at_work() as work:
        rows = _rows(work, key, _parsed(filters))
        as_lines = lines or chosen == "jsonl"
        sys.stdout.writelines(stream_jsonl(rows) if as_lines else stream_csv(exporting.COLUMNS, rows))


def _rows(work: Work, key: str, filters: dict[str, str]) -> Iterator[Mapping[str, Any]]:
    """The rows, or wrong use (exit code 2) for a filter that there is not."""
    try:
        return exporting.stream(work.session, tenants.get(work.session, key), filters)
    except Invalid as fault:
        raise click.BadParameter(fault.detail, param_hint="--filter") from None


def _parsed(filters: tuple[str, ...]) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for given in filters:
        name, separator, value = given.partition("=")
        if not separator or name in parsed:
            raise click.BadParameter(f"{given}: give each as KEY=VALUE, once", param_hint="--filter")
        parsed[name] = value
    return parsed
