"""What the rules pages read: rules, and counts of their executions that stop at a cap."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, literal_column, select
from sqlalchemy.orm import Session

from desk_ui import capped
from desk_ui.paging import MOST_COUNTED, ROWS, Cursor, Page, TooSlow, time_limit
from models.audit import AuditEvent
from models.automations.records import ARMED, AutomationRule, Execution, Status
from models.base import table_of
from models.conversations import Conversation
from models.tenants import Tenant

HISTORY = 20
LATEST = 10
RUNNING = [Status.EXECUTING.value, Status.PROCESSING.value]


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one rule's executions, by state; None where counting took too long."""

    waiting: int | None
    running: int | None
    review: int | None
    executed: int | None
    skipped: int | None


def page(session: Session, tenant: Tenant, after: Cursor | None) -> Page[AutomationRule]:
    """The tenant's rules, the newest first."""
    query = select(AutomationRule).where(AutomationRule.tenant_id == tenant.id)
    if after is not None:
        query = query.where(after.after(AutomationRule.created_at, AutomationRule.id, newest_first=True))
    newest = query.order_by(AutomationRule.created_at.desc(), AutomationRule.id.desc())
    found = list(session.scalars(newest.limit(ROWS + 1)))
    rows = found[:ROWS]
    following = Cursor(rows[-1].created_at, rows[-1].id).encode() if len(found) > ROWS else None
    return Page(rows, following)


def one(session: Session, tenant: Tenant, rule_id: UUID) -> AutomationRule | None:
    query = select(AutomationRule).where(AutomationRule.tenant_id == tenant.id, AutomationRule.id == rule_id)
    return session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def counts(
    session: Session, tenant: Tenant, rule_ids: Sequence[UUID], limit: timedelta
) -> dict[UUID, Counts] | None:
    """Of each rule, by its id; None where it took longer than `limit`."""
    states = {
        "waiting": [Status.PENDING.value],
        "running": RUNNING,
        "executed": [Status.EXECUTED.value],
        "skipped": [Status.SKIPPED.value],
    }
    queries = {
        (rule_id, name): _in_states(tenant, rule_id, statuses)
        for rule_id in rule_ids
        for name, statuses in states.items()
    }
    found = capped.counts(session, queries, limit)
    if None in found.values():
        return None
    review = _in_review(session, tenant, rule_ids, limit)
    if review is None:
        return None
    return {
        rule_id: Counts(review=review.get(rule_id, 0), **{name: found[rule_id, name] for name in states})
        for rule_id in rule_ids
    }


def armed(session: Session, tenant: Tenant, rule_id: UUID, limit: timedelta) -> int | None:
    """How many of the rule's executions wait or are held by a worker: what a change of it deletes."""
    query = _in_states(tenant, rule_id, [status.value for status in sorted(ARMED)])
    return capped.counts(session, {rule_id: query}, limit)[rule_id]


def last_runs(session: Session, tenant: Tenant, rule_ids: Sequence[UUID]) -> dict[UUID, datetime]:
    """When each rule last ran, or was last seen running, by its id; one step along an index for each."""
    found: dict[UUID, datetime] = {}
    for rule_id, *seen in session.execute(_last_runs(tenant, rule_ids)) if rule_ids else ():
        begun = [at for at in seen if at is not None]
        if begun:
            found[rule_id] = max(begun)
    return found


def history(session: Session, tenant: Tenant, rule_id: UUID) -> list[AuditEvent]:
    """The newest audit events of one rule."""
    of_rule = (
        AuditEvent.tenant_id == tenant.id,
        AuditEvent.resource_type == "rule",
        AuditEvent.resource_id == str(rule_id),
    )
    newest = select(AuditEvent).where(*of_rule).order_by(AuditEvent.at.desc(), AuditEvent.id.desc())
    return list(session.scalars(newest.limit(HISTORY)))


def latest_conversations(session: Session, tenant: Tenant) -> list[Conversation]:
    """Those in which something happened last."""
    query = select(Conversation).where(Conversation.tenant_id == tenant.id)
    return list(session.scalars(query.order_by(Conversation.updated_at.desc()).limit(LATEST)))


def conversation(session: Session, tenant: Tenant, conversation_id: int) -> Conversation | None:
    query = select(Conversation).where(
        Conversation.tenant_id == tenant.id, Conversation.id == conversation_id
    )
    return session.scalars(query).one_or_none()


def _in_states(tenant: Tenant, rule_id: UUID, statuses: Sequence[str]) -> Select[Any]:
    query = select(literal_column("1")).where(
        Execution.tenant_id == tenant.id, Execution.rule_id == rule_id, Execution.status.in_(statuses)
    )
    # What was left by its worker is told of as what it is: in need of a person.
    return query.where(Execution.needs_review.is_(False)) if statuses is RUNNING else query


def _in_review(
    session: Session, tenant: Tenant, rule_ids: Sequence[UUID], limit: timedelta
) -> dict[UUID, int] | None:
    """By the index that holds only what needs review, which is little; None where it is not."""
    some = (
        select(Execution.rule_id)
        .where(Execution.tenant_id == tenant.id, Execution.needs_review.is_(True))
        .limit(MOST_COUNTED + 1)
        .subquery()
    )
    query = select(some.c.rule_id, func.count()).group_by(some.c.rule_id)
    try:
        with time_limit(session, limit):
            found: dict[UUID, int] = {key: number for key, number in session.execute(query)}  # noqa: C416
    except TooSlow:
        return None
    return found if sum(found.values()) <= MOST_COUNTED else dict.fromkeys(rule_ids, MOST_COUNTED + 1)


def _last_runs(tenant: Tenant, rule_ids: Sequence[UUID]) -> Select[Any]:
    own = table_of(Execution).c
    newest = [
        select(own.updated_at)
        .where(own.tenant_id == tenant.id, own.rule_id == AutomationRule.id, own.status == status.value)
        .order_by(own.updated_at.desc(), own.id.desc())
        .limit(1)
        .correlate(AutomationRule)
        .scalar_subquery()
        for status in (Status.EXECUTED, Status.EXECUTING)
    ]
    of_tenant = AutomationRule.tenant_id == tenant.id
    return select(AutomationRule.id, *newest).where(of_tenant, AutomationRule.id.in_(rule_ids))
