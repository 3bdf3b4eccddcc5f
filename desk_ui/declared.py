"""What is wrong in desk.toml, whatever part of it: for `desk doctor` and the overview."""

from jobs import schedule
from models import declarations, retention
from models.declarations import Declared, Fault
from models.followups.policy import policies


def faults(declared: Declared) -> list[Fault]:
    """Every fault of what is declared, each with its path in the file."""
    found = [*declarations.faults(declared), *schedule.faults(declared), *retention.faults(declared)]
    for parsed in policies(declared).values():
        found += parsed.faults
    return found
