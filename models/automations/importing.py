"""Importing Chatwoot's automation rules: each is taken as it is, known already, or refused with why."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import locks
from models.actors import Actor
from models.automations import chatwoot_rules, rules
from models.automations.records import AutomationRule
from models.automations.rule_checks import FIELDS, definition, part
from models.errors import Invalid
from models.settings import Settings
from models.tenants import Tenant

MOST_RULES = 1_000
# Two rules of a name are the same if they agree in all but these: one that was switched off here must not
# come back beside itself, switched on.
_BESIDE = frozenset({"name", "description", "active"})


class Outcome(StrEnum):
    TAKEN = "taken"
    KNOWN = "known"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the rule `number`, counted from 1. `detail` says why one was refused."""

    number: int
    name: str
    outcome: Outcome
    rule_id: UUID | None = None
    detail: str = ""


@dataclass
class ImportResult:
    """What became of each rule, in the order of the file."""

    rules: list[Imported] = field(default_factory=list)

    def count(self, outcome: Outcome) -> int:
        return sum(one.outcome is outcome for one in self.rules)


def import_rules(
    session: Session,
    tenant: Tenant,
    document: str | bytes,
    *,
    actor: Actor,
    now: datetime,
    settings: Settings | None = None,
) -> ImportResult:
    """Take the rules in `document`, the JSON of Chatwoot's automation rules, in the transaction at hand.

    A rule that can't be used is refused alone. Raises `Invalid` on `file` where no rules can be read from it.
    """
    given = _listed(document)
    # Two imports at once go one after the other, so that the second knows what the first took.
    locks.one(session, select(Tenant).where(Tenant.id == tenant.id))
    stored = session.scalars(select(AutomationRule).where(AutomationRule.tenant_id == tenant.id)).all()
    known: dict[str, dict[str, UUID]] = {}
    for rule in stored:
        values = {name: getattr(rule, name) for name in FIELDS}
        known.setdefault(rule.name, {})[_content(values)] = rule.id
    import_ = _Import(session, tenant, known, actor, now, settings)
    return ImportResult([import_.take(number, one) for number, one in enumerate(given, start=1)])


def _listed(document: str | bytes) -> Sequence[Any]:
    try:
        found = json.loads(document)
    except (ValueError, RecursionError):
        raise Invalid("file", "is not JSON") from None
    if isinstance(found, Mapping):
        found = found.get("payload", found if "event_name" in found else None)
    if isinstance(found, Mapping):
        found = [found]
    if not isinstance(found, list):
        raise Invalid("file", 'holds no automation rules of Chatwoot: {"payload": [...]} or a list of them')
    if len(found) > MOST_RULES:
        raise Invalid("file", f"holds {len(found)} rules; {MOST_RULES} is the most at once")
    return found


def _content(values: Mapping[str, Any]) -> str:
    return json.dumps({key: one for key, one in values.items() if key not in _BESIDE}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class _Import:
    """One import at work. `known` has the rules that were there before it, by name and content."""

    session: Session
    tenant: Tenant
    known: Mapping[str, Mapping[str, UUID]]
    actor: Actor
    now: datetime
    settings: Settings | None
    taken: dict[tuple[str, str], UUID] = field(default_factory=dict)

    def take(self, number: int, given: Any) -> Imported:
        name = _shown(given)
        try:
            values = definition(part(chatwoot_rules.translated(given), settings=self.settings))
            same = self._same(values)
            if same is not None:
                return Imported(number, name, Outcome.KNOWN, same)
            rule = rules.create(
                self.session, self.tenant, values, actor=self.actor, now=self.now, settings=self.settings
            )
        except Invalid as refusal:
            return Imported(number, name, Outcome.REFUSED, detail=refusal.detail)
        self.taken[rule.name, _content(values)] = rule.id
        return Imported(number, name, Outcome.TAKEN, rule.id)

    def _same(self, values: Mapping[str, Any]) -> UUID | None:
        """The rule that is this one. Raises `Invalid` where one of that name was changed here."""
        name, content = values["name"], _content(values)
        of_name = self.known.get(name, {})
        found = of_name.get(content) or self.taken.get((name, content))
        if found is None and of_name:
            raise Invalid(
                "name",
                "is that of a rule which is another one here. To take this one too, give either another "
                "name; to take it instead, delete the one here first",
            )
        return found


def _shown(given: Any) -> str:
    """The rule's name as a report may repeat it."""
    name = given.get("name") if isinstance(given, Mapping) else None
    shown = name[:80] if isinstance(name, str) else ""
    return shown if shown.isprintable() else ascii(shown)[1:-1]
