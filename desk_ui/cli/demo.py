"""`desk demo`: data to look at, in every state."""

from pathlib import Path

import click
from sqlalchemy import select
from sqlalchemy.orm import Session

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import at_command_line, at_work
from models import clock, declarations, demo, demo_deliveries, tenants
from models.demo import Size
from models.errors import NotFound
from models.followups.records import Contact, FollowUp
from models.settings import Settings
from models.tenants import Tenant
from models.transactions import commit

TENANT = "demo"
# Declares the demo's agents where nobody has declared any.
SAMPLE = Path(__file__).parent.parent.parent / "examples" / "desk.toml"


@click.command("demo")
@click.option("--tenant", "key", default=TENANT, show_default=True, help="Made where there is none.")
@click.option("--size", type=click.Choice([size.value for size in Size]), default=Size.SMALL.value)
@json_option
def demo_command(key: str, size: str) -> None:
    """Fill a tenant without data with follow-ups in every state: about 150, or 10,000 with --size large."""
    with at_work() as work:
        declared = declare_sample(work.session, work.settings)
        filled = _fill(work.session, key, Size(size), work.settings)
        text = f"Tenant {key} has {sum(filled.values())} follow-ups now: {_listed(filled)}."
        if declared:
            text += f"\n{said_of_sample(work.settings)}"
        say(text, {"tenant": key, "followups": filled, "sample_declarations": declared})


def fill_empty_database(session: Session, settings: Settings) -> str | None:
    """Demo data for `desk up` where no tenant was made yet; what to tell the person, or None."""
    if any(session.scalars(select(table.tenant_id).limit(1)).first() for table in (FollowUp, Contact)):
        return None
    if any(tenant.key != tenants.PLATFORM for tenant in tenants.all_of(session)):
        return None
    declared = declare_sample(session, settings)
    filled = _fill(session, TENANT, Size.SMALL, settings)
    text = f"The database was empty: tenant {TENANT} now holds {sum(filled.values())} follow-ups to look at."
    return f"{text} {said_of_sample(settings)}" if declared else text


def declare_sample(session: Session, settings: Settings) -> bool:
    """Put the sample declarations in force where there are none and no file; whether it did."""
    if settings.config_file.exists() or declarations.current(session).version:
        return False
    declarations.refresh(session, SAMPLE, clock.now())
    return True


def said_of_sample(settings: Settings) -> str:
    return (
        f"There is no {settings.config_file.name}, so the agents of examples/{SAMPLE.name} are in force; "
        f"write your own and it takes over."
    )


def _fill(session: Session, key: str, size: Size, settings: Settings) -> dict[str, int]:
    now, tenant = clock.now(), _tenant(session, key)
    filled = demo.fill(session, tenant, now=now, size=size)
    demo_deliveries.fill(session, tenant, settings=settings, now=now)
    commit(session, "cli.demo")
    return filled


def _tenant(session: Session, key: str) -> Tenant:
    try:
        return tenants.get(session, key)
    except NotFound:
        name = "Demo shop" if key == TENANT else None
        return tenants.add(session, key=key, name=name, actor=at_command_line(), now=clock.now())


def _listed(filled: dict[str, int]) -> str:
    return ", ".join(f"{number} {status}" for status, number in sorted(filled.items()))
