"""`desk erase`: what a customer, or a whole tenant, left here."""

import click

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import at_work
from models import erasure, tenants
from models.transactions import commit


@click.command()
@click.option("--tenant", "key", required=True, help="The tenant that holds the rows.")
@click.option("--customer", help="The customer to erase; without it, all customers of the tenant.")
@click.option("--yes", is_flag=True, help="Needed: what is erased does not come back.")
@json_option
def erase(key: str, customer: str | None, yes: bool) -> None:
    """Erase what is kept of a customer, or of all customers of a tenant, and say how much it was.

    The audit stays, without personal data. Of a customer who opted out a keyed hash stays, so that nobody
    books for them again.
    """
    if not key.strip():
        raise click.BadParameter("name the tenant", param_hint="--tenant")
    whose = f"customer {customer}" if customer is not None else "every customer"
    if not yes:
        raise click.UsageError(f"This erases {whose} of tenant {key} for good. Add --yes to do it.")
    with at_work() as work:
        tenant = tenants.get(work.session, key)
        if customer is None:
            counts = erasure.erase_tenant(work.session, tenant, actor=work.actor, now=work.now)
        else:
            counts = erasure.erase_customer(work.session, tenant, customer, actor=work.actor, now=work.now)
        commit(work.session, "cli.erase")
    listed = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    say(f"Erased {listed}." if listed else "There was nothing to erase.", counts)
