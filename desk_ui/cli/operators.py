"""`desk operator`: who may use the console, and their one-time sign-in links."""

import click

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import at_work
from models import operators, tenants
from models.clock import iso
from models.operators import LINK_LASTS, Role
from models.transactions import commit

DEFAULT_ADDRESS = "http://127.0.0.1:8765"


@click.group()
def operator() -> None:
    """The people who use the console."""


@operator.command()
@click.argument("email")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]))
@click.option("--tenant", required=True, help="The key of the tenant in which the role holds.")
@json_option
def add(email: str, role: str, tenant: str) -> None:
    """Give EMAIL a role in a tenant, making the account if there is none; another role replaces the first."""
    with at_work() as work:
        found = tenants.get(work.session, tenant)
        made, changed = operators.add(
            work.session, email, tenant=found, role=role, actor=work.actor, now=work.now
        )
        commit(work.session, "cli.operator.add")
        text = f"{made.email} is {role} of {found.key}." if changed else "Nothing changed: it was so already."
        say(text, {"email": made.email, "tenant": found.key, "role": role, "changed": changed})


@operator.command()
@click.argument("email")
@click.option("--url", help="Where the console is reached; DESK_PUBLIC_URL unless given.")
@json_option
def link(email: str, url: str | None) -> None:
    """Print a link that signs EMAIL in, once, within 15 minutes."""
    with at_work() as work:
        found = operators.by_email(work.session, email)
        secret = operators.make_link(work.session, found, actor=work.actor, now=work.now)
        commit(work.session, "cli.operator.link")
        address = sign_in_address(url or work.settings.public_url or DEFAULT_ADDRESS, secret)
        say(address, {"url": address, "email": found.email, "expires_at": iso(work.now + LINK_LASTS)})


def sign_in_address(base: str, secret: str) -> str:
    """The address that a one-time link has."""
    return f"{base.rstrip('/')}/sign-in/{secret}"
