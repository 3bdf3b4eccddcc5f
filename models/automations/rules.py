"""Rules: made, changed and deleted by people; whatever changes what a rule does frees what it had armed."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from models import audit, locks
from models.actors import Actor
from models.automations import freeing
from models.automations.freeing import free_outdated as free_outdated
from models.automations.records import AutomationRule
from models.automations.rule_checks import ARMING, FIELDS, definition, part
from models.errors import NotFound
from models.settings import Settings
from models.tenants import Tenant
from models.transitions import check_version

# What may hold a message's words or an address with a token: the audit says that it changed, not to what.
_UNTOLD = frozenset({"description", "conditions", "actions"})


def get(session: Session, tenant_id: int, rule_id: UUID) -> AutomationRule:
    """The rule. Raises `NotFound`."""
    return _found(session.scalars(_of(tenant_id, rule_id)).one_or_none())


def create(
    session: Session,
    tenant: Tenant,
    given: Mapping[str, Any],
    *,
    actor: Actor,
    now: datetime,
    settings: Settings | None = None,
) -> AutomationRule:
    """Make a rule of the fields in `given`, `name`, `event` and `actions` at least (see `rule_checks`).

    Raises `Invalid` with the field.
    """
    rule = AutomationRule(
        tenant_id=tenant.id,
        **definition(part(given, settings=settings)),
        created_at=now,
        updated_at=now,
        armed_version=1,
        version=1,
    )
    session.add(rule)
    session.flush()
    detail = {"name": rule.name, "event": rule.event, "active": rule.active}
    _record(session, rule, "rule.created", actor=actor, now=now, detail=detail)
    return rule


def change(
    session: Session,
    tenant: Tenant,
    rule_id: UUID,
    given: Mapping[str, Any],
    *,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
    settings: Settings | None = None,
) -> AutomationRule:
    """Change the fields in `given`; what is so already is no change, and leaves no event.

    A change of what the rule does frees its armed executions, at most `freeing.AT_ONCE` of them here; the
    rest never runs, since it was armed under an older `armed_version`, and goes with `free_outdated`. Raises
    `NotFound`, `Invalid`, and `Conflict` with the rule as it is now.
    """
    checked = part(given, settings=settings)
    rule = _locked(session, tenant.id, rule_id)
    check_version(rule, expected_version, "rule")
    stored = _values(rule)
    values = definition({**stored, **checked})
    changed = [name for name in values if not _is_same(stored[name], values[name])]
    if not changed:
        return rule
    for name in changed:
        setattr(rule, name, values[name])
        # Or SQLAlchemy, for which `1` and `true` are the same, leaves it out of the UPDATE.
        flag_modified(rule, name)
    rule.version += 1
    rule.updated_at = now
    detail: dict[str, Any] = {
        name: "changed" if name in _UNTOLD else {"before": stored[name], "after": values[name]}
        for name in changed
    }
    if ARMING & set(changed):
        rule.armed_version += 1
        session.flush()
        detail["freed"] = freeing.free(session, rule, limit=freeing.AT_ONCE)
    _record(session, rule, "rule.changed", actor=actor, now=now, detail=detail)
    return rule


def set_active(
    session: Session,
    tenant: Tenant,
    rule_id: UUID,
    active: bool,
    *,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> AutomationRule:
    """Switch a rule on or off; switching it on again brings back nothing that was armed. As `change`."""
    return change(
        session,
        tenant,
        rule_id,
        {"active": active},
        actor=actor,
        now=now,
        expected_version=expected_version,
    )


def delete(
    session: Session,
    tenant: Tenant,
    rule_id: UUID,
    *,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> int:
    """Delete a rule and what it had armed; how many were freed here. What runs or is over stays.

    Raises `NotFound`, also for one that was deleted before, and `Conflict`.
    """
    rule = _locked(session, tenant.id, rule_id)
    check_version(rule, expected_version, "rule")
    freed = freeing.free(session, rule, limit=freeing.AT_ONCE)
    _record(session, rule, "rule.deleted", actor=actor, now=now, detail={"name": rule.name, "freed": freed})
    session.delete(rule)
    session.flush()
    return freed


def _values(rule: AutomationRule) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in FIELDS}


def _is_same(stored: Any, given: Any) -> bool:
    """Whether two values are written alike: to Python, `1` and `true` would be the same."""
    return json.dumps(stored, sort_keys=True) == json.dumps(given, sort_keys=True)


def _record(
    session: Session,
    rule: AutomationRule,
    action: str,
    *,
    actor: Actor,
    now: datetime,
    detail: dict[str, Any],
) -> None:
    audit.append(
        session,
        tenant_id=rule.tenant_id,
        actor=actor,
        action=action,
        resource=("rule", str(rule.id)),
        now=now,
        detail=detail,
    )


def _locked(session: Session, tenant_id: int, rule_id: UUID) -> AutomationRule:
    return _found(locks.one(session, _of(tenant_id, rule_id)))


def _of(tenant_id: int, rule_id: UUID) -> Select[AutomationRule]:
    return select(AutomationRule).where(AutomationRule.tenant_id == tenant_id, AutomationRule.id == rule_id)


def _found(rule: AutomationRule | None) -> AutomationRule:
    if rule is None:
        raise NotFound("rule")
    return rule
