"""`desk import`: records of another system, taken as they are."""

from typing import BinaryIO

import click

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import at_work
from models import tenants
from models.followups.importing import ImportResult, import_file
from models.followups.reading import Format


@click.group("import")
def import_group() -> None:
    """Records of another system."""


@import_group.command()
@click.argument("file", type=click.File("rb"))
@click.option("--tenant", "key", required=True, help="The tenant that the records belong to.")
@click.option("--format", "given", type=click.Choice([one.value for one in Format]), help="By FILE's name.")
@json_option
def followups(file: BinaryIO, key: str, given: str | None) -> None:
    """Take another scheduler's follow-ups from FILE (- for standard input), in JSON Lines or CSV.

    Each needs id, agent, customer, at, reason and arm. A known id is skipped. No consent is written: firing
    decides. A line that can't be used is refused alone and named; the exit code is 1 then.
    """
    total = ImportResult()
    with at_work() as work:
        tenant = tenants.get(work.session, key)
        chosen = Format(given) if given else _by_name(getattr(file, "name", ""))
        for part in import_file(work.session, tenant, file, format=chosen, actor=work.actor, now=work.now):
            total.imported += part.imported
            total.skipped += part.skipped
            total.refused += part.refused
    _say(total)
    if total.refused:
        click.get_current_context().exit(1)


def _by_name(name: str | int) -> Format:
    return Format.CSV if str(name).lower().endswith(".csv") else Format.JSONL


def _say(total: ImportResult) -> None:
    refused = [{"line": refusal.line, "detail": refusal.detail} for refusal in total.refused]
    lines = [f"line {refusal.line}: {refusal.detail}" for refusal in total.refused]
    lines.append(f"{total.imported} imported, {total.skipped} known already, {len(refused)} refused.")
    say("\n".join(lines), {"imported": total.imported, "skipped": total.skipped, "refused": refused})
