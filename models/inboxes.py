"""Inboxes: the tables `[inboxes.<id>]` of desk.toml, and whose clocks a rule's window is told by."""

from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from models.clock import zones
from models.declarations import Declared, Fault
from models.tenants import Tenant

FIELDS = frozenset({"timezone"})


def faults(declared: Declared) -> list[Fault]:
    """Faults of the tables, each with its path and value; an inbox with a fault goes by its tenant's zone."""
    return [
        fault for id, table in declared.table("inboxes").items() for fault in _faults(f"inboxes.{id}", table)
    ]


def zone(declared: Declared, inbox_id: object, tenant: Tenant) -> ZoneInfo:
    """The time zone of the inbox that its source calls `inbox_id`, a text or a number, else the tenant's."""
    table = declared.table("inboxes").get(str(inbox_id)) if inbox_id is not None else None
    if isinstance(table, Mapping) and not any(_faults("", table)):
        return ZoneInfo(table["timezone"])
    return ZoneInfo(tenant.timezone)


def _faults(path: str, table: Any) -> Iterator[Fault]:
    if not isinstance(table, Mapping):
        yield Fault(path, table, 'must be a table with timezone = "Europe/Berlin"')
        return
    for name in table:
        if name not in FIELDS:
            yield Fault(f"{path}.{name}", table[name], "is not a known field; there is timezone")
    value = table.get("timezone")
    if not isinstance(value, str) or value not in zones():
        yield Fault(f"{path}.timezone", value, "is not a known IANA time zone")
