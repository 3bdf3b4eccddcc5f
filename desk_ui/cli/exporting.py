"""`desk export`: rows of a tenant, streamed."""

import csv
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import click

from desk_ui.cli.output import as_json
from desk_ui.cli.work import Work, at_work
from models import tenants
from models.base import read_only
from models.clock import iso
from models.errors import Invalid
from models.followups import exporting

# A spreadsheet takes a cell that begins with one of these for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


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
        if lines or chosen == "jsonl":
            _write_lines(rows)
        else:
            _write_csv(exporting.COLUMNS, rows)


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


def _write_lines(rows: Iterator[Mapping[str, Any]]) -> None:
    for row in rows:
        sys.stdout.write(as_json(row) + "\n")


def _write_csv(columns: tuple[str, ...], rows: Iterator[Mapping[str, Any]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(row[name]) for name in columns])


def cell(value: Any) -> Any:
    """`value` as a cell that no spreadsheet runs: text that would be a formula begins with a quote."""
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return value
