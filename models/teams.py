"""Teams that rules write to: the tables `[teams.<id>]` of desk.toml, each with its mail addresses."""

from collections.abc import Iterator, Mapping
from typing import Any

from models.declarations import Declared, Fault
from models.mail_addresses import EXAMPLE, is_sendable

MOST_ADDRESSES = 50
FIELDS = frozenset({"mail"})


def faults(declared: Declared) -> list[Fault]:
    """Faults of the tables, each with its path and value; a team with a fault has no address."""
    return [fault for id, table in declared.table("teams").items() for fault in _faults(f"teams.{id}", table)]


def addresses(declared: Declared) -> Mapping[str, tuple[str, ...]]:
    """The mail addresses of each team, by the team's id as its source calls it, written as text."""
    return {
        id: tuple(dict.fromkeys(table["mail"]))
        for id, table in declared.table("teams").items()
        if not any(_faults(id, table))
    }


def _faults(path: str, table: Any) -> Iterator[Fault]:
    if not isinstance(table, Mapping):
        yield Fault(path, table, f'must be a table with mail = ["{EXAMPLE}"]')
        return
    for name in table:
        if name not in FIELDS:
            yield Fault(f"{path}.{name}", table[name], "is not a known field; there is mail")
    mail = table.get("mail")
    if not isinstance(mail, list) or not 0 < len(mail) <= MOST_ADDRESSES:
        yield Fault(f"{path}.mail", mail, f'must be a list of 1 to {MOST_ADDRESSES} addresses: ["{EXAMPLE}"]')
        return
    for number, address in enumerate(mail):
        if not is_sendable(address):
            yield Fault(f"{path}.mail[{number}]", address, f"is not a mail address such as {EXAMPLE}")
