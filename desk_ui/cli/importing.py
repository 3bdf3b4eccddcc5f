"""`desk import`: records of another system, taken as they are."""

from typing import BinaryIO

import click

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import at_work
from models import tenants
from models.automations.importing import Imported, Outcome, import_rules
from models.automations.importing import ImportResult as RuleResult
from models.errors import Invalid
from models.followups.importing import ImportResult, import_file
from models.followups.reading import Format
from models.transactions import commit

LARGEST_RULES = 16_777_216


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


@import_group.command("chatwoot-rules")
@click.argument("file", type=click.File("rb"))
@click.option("--tenant", "key", required=True, help="The tenant that the rules are for.")
@json_option
def chatwoot_rules(file: BinaryIO, key: str) -> None:
    """Take Chatwoot's automation rules from FILE (- for standard input), as its API gives them.

    A rule that is known already is skipped, one that can't be used is refused alone; the exit code is 1 then.
    Switch off in Chatwoot what was taken: a rule that is on in both acts twice.
    """
    document = file.read(LARGEST_RULES + 1)
    if len(document) > LARGEST_RULES:
        raise Invalid("file", "is larger than 16 MiB")
    with at_work() as work:
        tenant = tenants.get(work.session, key)
        result = import_rules(
            work.session, tenant, document, actor=work.actor, now=work.now, settings=work.settings
        )
        commit(work.session, "automations.import")
    _say_rules(result)
    if result.count(Outcome.REFUSED):
        click.get_current_context().exit(1)


def _by_name(name: str | int) -> Format:
    return Format.CSV if str(name).lower().endswith(".csv") else Format.JSONL


def _say(total: ImportResult) -> None:
    refused = [{"line": refusal.line, "detail": refusal.detail} for refusal in total.refused]
    lines = [f"line {refusal.line}: {refusal.detail}" for refusal in total.refused]
    lines.append(f"{total.imported} imported, {total.skipped} known already, {len(refused)} refused.")
    say("\n".join(lines), {"imported": total.imported, "skipped": total.skipped, "refused": refused})


def _say_rules(result: RuleResult) -> None:
    imported, skipped = result.count(Outcome.TAKEN), result.count(Outcome.KNOWN)
    refused = [one for one in result.rules if one.outcome is Outcome.REFUSED]
    lines = [_line(one) for one in result.rules]
    lines.append(f"{imported} imported, {skipped} known already, {len(refused)} refused.")
    say(
        "\n".join(lines),
        {
            "imported": imported,
            "skipped": skipped,
            "refused": [{"rule": one.number, "name": one.name, "detail": one.detail} for one in refused],
            "rules": [
                {
                    "rule": one.number,
                    "name": one.name,
                    "outcome": one.outcome.value,
                    "id": str(one.rule_id) if one.rule_id else None,
                    "detail": one.detail or None,
                }
                for one in result.rules
            ],
        },
    )


def _line(one: Imported) -> str:
    became = {Outcome.TAKEN: "imported", Outcome.KNOWN: "known already", Outcome.REFUSED: "refused: "}
    return f"rule {one.number}, {one.name or 'without a name'}: {became[one.outcome]}{one.detail}"
