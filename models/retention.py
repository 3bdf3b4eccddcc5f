"""How long things are kept: the table `[retention]` of desk.toml, one field for each kind of row."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from models.clock import parse_duration
from models.declarations import Declared, Fault
from models.errors import Invalid

# None: kept until a duration is declared.
DEFAULTS: Mapping[str, str | None] = {
    "audit": None,
    "dead_deliveries": "90d",
    "executions": "30d",
    "deliveries": "30d",
    "followups": "90d",
    "messages": None,
    "outbox": "30d",
}


def faults(declared: Declared) -> list[Fault]:
    """Faults of the table, each with its path and value; while there are any, nothing is purged."""
    found = []
    for name, value in declared.table("retention").items():
        path = f"retention.{name}"
        if name not in DEFAULTS:
            found.append(Fault(path, value, f"is not a known field; there are {', '.join(DEFAULTS)}"))
        elif _parsed(value, path) is None:
            found.append(Fault(path, value, "must be a duration such as 90d"))
    return found


def period(declared: Declared, name: str) -> timedelta | None:
    """How long rows of the kind `name` are kept; None: for ever. The table must be without faults."""
    value = declared.table("retention").get(name, DEFAULTS[name])
    return None if value is None else parse_duration(value, f"retention.{name}")


def _parsed(value: Any, path: str) -> timedelta | None:
    try:
        return parse_duration(value, path) if isinstance(value, str) else None
    except Invalid:
        return None
