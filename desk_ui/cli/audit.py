"""`desk audit`: whether the chain of seals holds, and the events themselves, streamed."""

import sys
from typing import Any

import click

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import at_work
from desk_ui.exporting import stream_csv, stream_jsonl
from models import audit_seals, tenants
from models.audit_reading import COLUMNS, stream
from models.audit_seals import Verification
from models.base import read_only


@click.group()
def audit() -> None:
    """The audit: verify it, or export it."""


@audit.command()
@json_option
def verify() -> None:
    """Recompute the chain of seals; exit code 1, with the first bad range, if it does not hold."""
    with read_only(), at_work() as work:
        audit_seals.snapshot(work.session)
        found = audit_seals.verify(work.session)
    say(_told(found), _as_dict(found))
    if not found.ok:
        click.get_current_context().exit(1)


@audit.command()
@click.option("--tenant", "key", help="One tenant's events only; all of them unless given.")
@click.option("--format", "chosen", type=click.Choice(["csv", "jsonl"]), default="csv", show_default=True)
@click.option("--json", "lines", is_flag=True, help="The same as --format jsonl.")
def export(key: str | None, chosen: str, lines: bool) -> None:
    """Audit events, oldest first, streamed to standard output."""
    with read_only(), at_work() as work:
        tenant = tenants.get(work.session, key) if key else None
        rows = stream(work.session, tenant)
        as_lines = lines or chosen == "jsonl"
        sys.stdout.writelines(stream_jsonl(rows) if as_lines else stream_csv(COLUMNS, rows))


def _told(found: Verification) -> str:
    if found.bad is not None:
        return f"The audit does NOT hold at positions {found.bad.first} to {found.bad.last}: {found.why}."
    purged = (
        f" Positions up to {found.purged_upto} were purged by the retention." if found.purged_upto else ""
    )
    ranges = "range" if found.ranges == 1 else "ranges"
    newest = f" The newest seal is {found.head}." if found.head else ""
    return (
        f"The audit holds: {found.sealed} events in {found.ranges} sealed {ranges}, "
        f"{found.unsealed} not sealed yet.{purged}{newest}"
    )


def _as_dict(found: Verification) -> dict[str, Any]:
    bad = None if found.bad is None else {"first": found.bad.first, "last": found.bad.last, "why": found.why}
    return {
        "ok": found.ok,
        "bad": bad,
        "ranges": found.ranges,
        "sealed": found.sealed,
        "unsealed": found.unsealed,
        "purged_upto": found.purged_upto,
        "head": found.head,
    }
