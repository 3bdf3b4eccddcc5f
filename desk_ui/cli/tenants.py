"""`desk tenant`: who the installation serves, and their switches."""

import click

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import at_work
from models import tenants
from models.tenants import Feature, Tenant
from models.transactions import commit


@click.group()
def tenant() -> None:
    """Tenants and their feature switches."""


@tenant.command()
@click.argument("key")
@click.option("--name", help="What people read; the key unless given.")
@click.option("--timezone", default="UTC", show_default=True, help="An IANA name, such as Europe/Berlin.")
@json_option
def add(key: str, name: str | None, timezone: str) -> None:
    """Make the tenant KEY."""
    with at_work() as work:
        made = tenants.add(
            work.session, key=key, name=name, timezone=timezone, actor=work.actor, now=work.now
        )
        commit(work.session, "cli.tenant.add")
        text = f"Tenant {made.key} was added. Nobody sees it in the console before they have a role in it:"
        say(f"{text}\ndesk operator add EMAIL --role admin --tenant {made.key}", _shape(made))


@tenant.command()
@click.argument("key")
@click.argument("name", type=click.Choice([feature.value for feature in Feature]))
@click.argument("switch", type=click.Choice(["on", "off"]))
@json_option
def feature(key: str, name: str, switch: str) -> None:
    """Switch the feature NAME of the tenant KEY on or off. Off pauses its due work."""
    with at_work() as work:
        found = tenants.get(work.session, key)
        changed = tenants.set_features(
            work.session, found, {name: switch == "on"}, actor=work.actor, now=work.now
        )
        commit(work.session, "cli.tenant.feature")
        say(f"{name} is {switch} for {changed.key}.", _shape(changed))


@tenant.command("list")
@json_option
def list_tenants() -> None:
    """List all tenants."""
    with at_work() as work:
        found = tenants.all_of(work.session)
        lines = (f"{one.key}\t{one.name}\t{one.timezone}\t{_switches(one)}" for one in found)
        say("\n".join(lines), {"items": [_shape(one) for one in found]})


def _switches(one: Tenant) -> str:
    return ", ".join(f"{feature.value} {'on' if one.has(feature) else 'off'}" for feature in Feature)


def _shape(one: Tenant) -> dict[str, object]:
    return {
        "key": one.key,
        "name": one.name,
        "timezone": one.timezone,
        "features": {feature.value: one.has(feature) for feature in Feature},
        "created_at": one.created_at,
    }
