"""`desk connector`: the systems outside whose conversations are kept here."""

import click

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import at_work
from models import connectors, endpoint_urls, tenants
from models.connectors import Kind
from models.transactions import commit


@click.group()
def connector() -> None:
    """Connectors to systems outside."""


@connector.command("set")
@click.argument("kind", type=click.Choice([kind.value for kind in Kind]))
@click.option("--tenant", "key", required=True, help="The tenant whose conversations they are.")
@click.option("--url", required=True, help="The installation's address, such as https://chat.example.com.")
@click.option("--account", required=True, help="The account's number there.")
@click.option("--token", required=True, help="An access token of a user there; docs/chatwoot.md says whose.")
@click.option("--secret", required=True, help="The secret that its webhook signs with.")
@json_option
def set_connector(kind: str, key: str, url: str, account: str, token: str, secret: str) -> None:
    """Make the connector KIND of a tenant, or change it. Token and secret are stored encrypted."""
    with at_work() as work:
        tenant = tenants.get(work.session, key)
        made, changed = connectors.set_chatwoot(
            work.session,
            tenant,
            url=url,
            account=account,
            token=token,
            secret=secret,
            settings=work.settings,
            actor=work.actor,
            now=work.now,
        )
        commit(work.session, "cli.connector.set")
        hook = f"{work.settings.public_url or ''}/hooks/{kind}/{tenant.key}"
        origin = endpoint_urls.origin(made.url)
        done = "is set" if changed else "was so already"
        say(
            f"The connector of {tenant.key} to {origin}, account {made.account}, {done}.\n"
            f"Let its webhook call {hook}",
            {
                "kind": kind,
                "tenant": tenant.key,
                "address": origin,
                "account": made.account,
                "changed": changed,
                "hook": hook,
                "updated_at": made.updated_at,
            },
        )
