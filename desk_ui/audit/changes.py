"""What an event changed, in words: each thing with how it was before and how it was afterwards."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import g
from flask_babel import lazy_gettext as _l

from desk_ui import words
from desk_ui.translating import gettext as _
from models.audit import AuditEvent

BEFORE, AFTER = "_before", "_after"
NAMES = {
    "at": _l("Promised for"),
    "address": _l("Address"),
    "event_types": _l("Events"),
    "role": _l("Role"),
    "state": _l("State"),
}
STATES: Mapping[str, Any] = {
    **{state.value: word for state, word in words.CONTACTS.items()},
    **{role.value: word for role, word in words.ROLES.items()},
    "pending": _l("Pending"),
    "fired": _l("Fired"),
    "blocked": _l("Blocked"),
    "cancelled": _l("Cancelled"),
    "active": _l("Active"),
    "paused": _l("Paused"),
    "removed": _l("Removed"),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that an event keeps. `before` is empty where it only says how it was."""

    name: str
    before: str
    after: str


def of(event: AuditEvent) -> list[Change]:
    return list(_changes(event.detail))


def _changes(detail: Mapping[str, Any]) -> Iterator[Change]:
    if "to" in detail:
        before = detail.get("from")
        yield Change(_("State"), _word(before) if before else _("none"), _word(detail["to"]))
    for key, value in sorted(detail.items()):
        name = key.removesuffix(AFTER)
        if key in ("from", "to") or key.endswith(BEFORE):
            continue
        if isinstance(value, Mapping) and set(value) == {"before", "after"}:
            yield Change(_name(key), _word(value["before"]), _word(value["after"]))
        else:
            before = detail.get(name + BEFORE)
            yield Change(_name(name), "" if before is None else _word(before), _word(value))


def _name(key: str) -> str:
    known = NAMES.get(key)
    return str(known) if known else key.replace("_", " ").capitalize()


def _word(value: Any) -> str:
    """One value as a person reads it; what has no words is shown as it is kept."""
    if isinstance(value, list):
        return ", ".join(map(_word, value))
    if isinstance(value, bool) or value is None:
        return {True: _("yes"), False: _("no"), None: _("none")}[value]
    if not isinstance(value, str):
        return str(value)
    if value in STATES:
        return str(STATES[value])
    return words.event(value) if value in words.EVENTS else _moment(value)


def _moment(value: str) -> str:
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return value
    return words.exact(at, g.zone) if at.tzinfo else value
