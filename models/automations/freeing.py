"""Freeing what a rule had armed, once the rule is another one or gone."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import CTE, Select, delete, select
from sqlalchemy.orm import Session

from models import bulk, handling
from models.automations.records import ARMED, AutomationRule, Execution
from models.base import table_of
from models.tenants import Tenant

# So that a change of a rule with very many armed rows holds its locks for a moment only.
AT_ONCE = 5_000
CHUNK = 500


def free(session: Session, rule: AutomationRule, *, limit: int) -> int:
    """Delete up to `limit` of the rule's armed executions under the rule's lock; how many there were.

    What has begun to act stays, what a person let go on included, and so does what is over. One that a worker
    holds is waited for: then it has begun, or is deleted and the worker finds nothing to write.
    """
    freed = 0
    for status in sorted(ARMED):
        query = _armed(rule.tenant_id, rule.id, status).limit(limit - freed).with_for_update()
        freed += _delete(session, rule.tenant_id, session.scalars(query).all())
    return freed


def free_outdated(session: Session, *, limit: int) -> int:
    """Delete up to `limit` armed executions whose rule is gone or was changed since; how many there were.

    Such rows never run; this frees their keys. It asks each rule for its oldest armed row alone, so that
    a million rows that wait cost nothing. The caller commits.
    """
    freed = 0
    for tenant_id in session.scalars(select(Tenant.id).order_by(Tenant.id)).all():
        for rule_id, version in _outdated(session, tenant_id):
            for status in sorted(ARMED):
                query = _armed(tenant_id, rule_id, status)
                if version is not None:
                    # Not "another one": the rule may change now, and what it arms then is in force.
                    query = query.where(Execution.armed_version < version)
                query = query.limit(limit - freed).with_for_update(skip_locked=True)
                freed += _delete(session, tenant_id, session.scalars(query).all())
            if freed >= limit:
                return freed
    return freed


def _armed(tenant_id: int, rule_id: UUID, status: str) -> Select[UUID]:
    """Ids of the rule's executions in an armed status, in the index's order: the longest untouched first."""
    return (
        select(Execution.id)
        .where(
            Execution.tenant_id == tenant_id,
            Execution.rule_id == rule_id,
            Execution.status == status,
            Execution.resumed.is_(False),
        )
        .order_by(Execution.updated_at, Execution.id)
    )


def _delete(session: Session, tenant_id: int, ids: Sequence[UUID]) -> int:
    deleted = 0
    for start in range(0, len(ids), CHUNK):
        some = ids[start : start + CHUNK]
        gone = delete(Execution).where(Execution.id.in_(some), Execution.status.in_(sorted(ARMED)))
        deleted += bulk.execute_unaudited(session, gone.execution_options(synchronize_session=False))
        handling.forget(session, tenant_id, "execution", [str(id) for id in some])
    return deleted


def _outdated(session: Session, tenant_id: int) -> list[tuple[UUID, int | None]]:
    """Rules with armed rows of an older version, and the version in force; None for a rule that is gone.

    Rows that were left were not touched since the change, so the one untouched for longest tells.
    """
    rules, own = _with_rows(tenant_id), table_of(Execution).c
    oldest = [
        select(own.armed_version)
        .where(
            own.tenant_id == tenant_id,
            own.rule_id == rules.c.rule_id,
            own.status == status,
            own.resumed.is_(False),
        )
        .order_by(own.updated_at, own.id)
        .limit(1)
        .scalar_subquery()
        .label(status)
        for status in sorted(ARMED)
    ]
    in_force = (
        select(AutomationRule.armed_version)
        .where(AutomationRule.id == rules.c.rule_id, AutomationRule.tenant_id == tenant_id)
        .scalar_subquery()
    )
    query = select(rules.c.rule_id, in_force.label("in_force"), *oldest).where(rules.c.rule_id.is_not(None))
    return [
        (rule_id, version)
        for rule_id, version, *found in session.execute(query)
        if any(one is not None and (version is None or one < version) for one in found)
    ]


def _with_rows(tenant_id: int) -> CTE:
    """The ids of the tenant's rules that have executions, by one step along the index for each."""
    own = table_of(Execution).c
    first = select(own.rule_id).where(own.tenant_id == tenant_id).order_by(own.rule_id).limit(1)
    rules = select(first.scalar_subquery().label("rule_id")).cte("rules", recursive=True)
    after = (
        select(own.rule_id)
        .where(own.tenant_id == tenant_id, own.rule_id > rules.c.rule_id)
        .order_by(own.rule_id)
        .limit(1)
        .correlate(rules)
        .scalar_subquery()
    )
    return rules.union_all(select(after.label("rule_id")).where(rules.c.rule_id.is_not(None)))
