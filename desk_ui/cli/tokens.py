"""`desk token`: what the HTTP API lets in."""

import click

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import at_work
from models import tenants, tokens
from models.clock import iso
from models.tokens import ApiToken, Scope
from models.transactions import commit


@click.group()
def token() -> None:
    """Tokens of the HTTP API."""


@token.command()
@click.option("--tenant", "key", required=True, help="The tenant that the token belongs to.")
@click.option("--name", required=True, help="What the audit calls it.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="May be given more than once.",
)
@click.option("--assistant", metavar="KEY", help="Narrow it to the verbs of this assistant.")
@json_option
def add(key: str, name: str, scopes: tuple[str, ...], assistant: str | None) -> None:
    """Make a token and print it, once: only its digest is kept."""
    with at_work() as work:
        tenant = tenants.get(work.session, key)
        made, secret = tokens.add(
            work.session,
            tenant,
            name=name,
            scopes=scopes,
            assistant=assistant,
            actor=work.actor,
            now=work.now,
        )
        commit(work.session, "cli.token.add")
        say(
            f"Token {made.name} of {tenant.key} was added. It is shown this once:\n{secret}",
            {"token": secret, "tenant": tenant.key, "name": made.name, "scopes": made.scopes},
        )


@token.command()
@click.option("--tenant", "key", required=True, help="The tenant that the token belongs to.")
@click.option("--name", required=True, help="The token's name.")
@json_option
def revoke(key: str, name: str) -> None:
    """Put a token out of use, at once and for good."""
    with at_work() as work:
        tenant = tenants.get(work.session, key)
        revoked = tokens.revoke(work.session, tenant, name, actor=work.actor, now=work.now)
        commit(work.session, "cli.token.revoke")
        say(f"Token {revoked.name} of {tenant.key} was revoked.", _shape(revoked))


@token.command("list")
@click.option("--tenant", "key", required=True, help="The tenant whose tokens to list.")
@json_option
def list_tokens(key: str) -> None:
    """List a tenant's tokens, revoked ones too, never their secrets."""
    with at_work() as work:
        found = tokens.listed(work.session, tenants.get(work.session, key))
        lines = (f"{one.name}\t{' '.join(one.scopes)}\t{_state(one)}" for one in found)
        say("\n".join(lines), {"items": [_shape(one) for one in found]})


def _state(one: ApiToken) -> str:
    return f"revoked {iso(one.revoked_at)}" if one.revoked_at else f"last used {iso(one.last_used_at) or '-'}"


def _shape(one: ApiToken) -> dict[str, object]:
    return {
        "name": one.name,
        "scopes": one.scopes,
        "assistant": one.assistant,
        "created_at": one.created_at,
        "revoked_at": one.revoked_at,
        "last_used_at": one.last_used_at,
    }
