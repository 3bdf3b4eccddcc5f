"""What desk.toml declares, as a page shows it, and what is wrong in it, whatever part of it."""

from flask import g

from jobs import schedule
from models import declarations, inboxes, retention, teams
from models.base import db
from models.declarations import Declared, Fault
from models.followups.policy import policies


def at_hand() -> tuple[Declared, str | None]:
    """The declarations in force, and the fault of the file: read once for each page, for what it shows."""
    if g.declared is None:
        g.declared = declarations.current_and_fault(db.session())
    found: tuple[Declared, str | None] = g.declared
    return found


def faults(declared: Declared) -> list[Fault]:
    """Every fault of what is declared, each with its path in the file."""
    found = [*declarations.faults(declared), *schedule.faults(declared), *retention.faults(declared)]
    found += [*teams.faults(declared), *inboxes.faults(declared)]
    for parsed in policies(declared).values():
        found += parsed.faults
    return found
