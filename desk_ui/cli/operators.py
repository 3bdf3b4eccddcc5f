"""`desk operator`: who may use the console, and their one-time sign-in links."""

from collections.abc import Sequence
from pathlib import Path

import click

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import at_work
from models import operators, people, second_factor, tenants
from models.clock import iso
from models.operators import LINK_LASTS, Operator, Role
from models.settings import Settings
from models.tenants import Tenant
from models.transactions import commit

PORT = 8765


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
        if not made.active:
            text += " But the account is switched off."
        say(text, {"email": made.email, "tenant": found.key, "role": role, "changed": changed})


@operator.command("revoke-role")
@click.argument("email")
@click.option("--tenant", required=True, help="The key of the tenant in which the role ends.")
@json_option
def revoke_role(email: str, tenant: str) -> None:
    """Take EMAIL's role in a tenant away, at once; platform keeps at least one admin.

    With the last role the account is emptied: password, second factor and links go, all sessions end.
    """
    with at_work() as work:
        found = tenants.get(work.session, tenant)
        person = operators.by_email(work.session, email)
        changed = operators.revoke_role(work.session, person, tenant=found, actor=work.actor, now=work.now)
        emptied = changed and not operators.memberships(work.session, person)
        commit(work.session, "cli.operator.revoke_role")
        text = f"{person.email} has no role in {found.key} any more."
        if emptied:
            text += " It was the last one: the account is emptied, and all its sessions ended."
        value = {"email": person.email, "tenant": found.key, "changed": changed, "emptied": emptied}
        say(text if changed else "Nothing changed: there was no role.", value)


@operator.command("list")
@click.option("--tenant", help="Only those with a role in this tenant.")
@json_option
def list_operators(tenant: str | None) -> None:
    """List the people who may sign in, with their roles."""
    with at_work() as work:
        wanted = tenants.get(work.session, tenant) if tenant else None
        everybody = people.listed(work.session, wanted)
        found = [(one, operators.memberships(work.session, one)) for one in everybody]
        lines = (f"{one.email}\t{_roles(held)}\t{_state(one)}" for one, held in found)
        say("\n".join(lines), {"items": [_shape(one, held) for one, held in found]})


@operator.command()
@click.argument("email")
@click.option("--url", help="Where the console is reached; DESK_PUBLIC_URL or that of desk up unless given.")
@json_option
def link(email: str, url: str | None) -> None:
    """Print a link that signs EMAIL in, once, within 15 minutes."""
    with at_work() as work:
        found = operators.by_email(work.session, email)
        secret = operators.make_link(work.session, found, actor=work.actor, now=work.now)
        commit(work.session, "cli.operator.link")
        base = url or work.settings.public_url or running_address(work.settings)
        if base is None:
            base = f"http://127.0.0.1:{PORT}"
            unknown = "Neither DESK_PUBLIC_URL nor a running desk up says where the console is."
            click.echo(f"{unknown} {base} is a guess; give --url for another.", err=True)
        address = sign_in_address(base, secret)
        say(address, {"url": address, "email": found.email, "expires_at": iso(work.now + LINK_LASTS)})


@operator.command("reset-factor")
@click.argument("email")
@json_option
def reset_factor(email: str) -> None:
    """Turn EMAIL's second factor off, for somebody who lost their device; all their sessions end."""
    with at_work() as work:
        person = operators.by_email(work.session, email)
        changed = second_factor.reset(work.session, person, actor=work.actor, now=work.now)
        commit(work.session, "cli.operator.reset_factor")
        text = f"{person.email} signs in without a second factor now. They can turn it on again."
        say(text if changed else "Nothing changed: it was off.", {"email": person.email, "changed": changed})


def sign_in_address(base: str, secret: str) -> str:
    """The address that a one-time link has."""
    return f"{base.rstrip('/')}/sign-in/{secret}"


def address_file(settings: Settings) -> Path:
    """Where `desk up` writes its address while it runs, for `desk operator link`."""
    return settings.var / "address"


def running_address(settings: Settings) -> str | None:
    """The address of the `desk up` that runs on these files, or None."""
    try:
        return address_file(settings).read_text().strip() or None
    except OSError:
        return None


def _roles(held: Sequence[tuple[Tenant, Role]]) -> str:
    return ", ".join(f"{role} of {tenant.key}" for tenant, role in held) or "no role"


def _state(one: Operator) -> str:
    if not one.active:
        return "switched off"
    return f"last signed in {iso(one.signed_in_at) or '-'}"


def _shape(one: Operator, held: Sequence[tuple[Tenant, Role]]) -> dict[str, object]:
    return {
        "email": one.email,
        "active": one.active,
        "roles": {tenant.key: role.value for tenant, role in held},
        "created_at": one.created_at,
        "signed_in_at": one.signed_in_at,
    }
