"""What the agents pages read: which agents there are, their holds, and counts that stop at a cap."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from desk_ui.capped import Counts, counts
from models.audit import AuditEvent
from models.followups.records import Contact, ContactState, FollowUp, Status
from models.followups.standing import Standing
from models.tenants import AgentHold, Tenant

MOST_AGENTS = 1_000
MOST_ARMS = 20
HISTORY = 20


def holds(session: Session, tenant: Tenant) -> dict[str, AgentHold]:
    """The holds by agent: those in force, and those that were let go."""
    rows = session.scalars(select(AgentHold).where(AgentHold.tenant_id == tenant.id).limit(MOST_AGENTS))
    return {row.agent: row for row in rows}


def hold_of(session: Session, tenant: Tenant, agent: str) -> AgentHold | None:
    return session.get(AgentHold, (tenant.id, agent), populate_existing=True)


def agents_with_rows(session: Session, tenant: Tenant) -> list[str]:
    """The agents that the tenant's follow-ups name, by key; up to `MOST_AGENTS`."""
    return _distinct(session, FollowUp.agent, [FollowUp.tenant_id == tenant.id], MOST_AGENTS)


def has_rows(session: Session, tenant: Tenant, agent: str) -> bool:
    query = select(FollowUp.id).where(FollowUp.tenant_id == tenant.id, FollowUp.agent == agent)
    # The order keeps the planner on the index: a scan that hopes to meet a row soon may meet none.
    in_order = query.order_by(FollowUp.created_at, FollowUp.id)
    return session.scalars(in_order.limit(1)).first() is not None


def arms(session: Session, tenant: Tenant, agent: str) -> list[str]:
    """The arms that an agent's follow-ups have, by name; up to one more than `MOST_ARMS`."""
    of_agent = [FollowUp.tenant_id == tenant.id, FollowUp.agent == agent]
    return _distinct(session, FollowUp.arm, of_agent, MOST_ARMS + 1)


def _distinct(
    session: Session, column: InstrumentedAttribute[str], of: Sequence[ColumnElement[bool]], most: int
) -> list[str]:
    """The values of `column`, each found by one step in its index: a DISTINCT would read all rows."""
    least = func.min(column)
    steps = select(select(least).where(*of).scalar_subquery().label("value")).cte("steps", recursive=True)
    following = select(least).where(*of, column > steps.c.value).correlate(steps).scalar_subquery()
    steps = steps.union_all(select(following).where(steps.c.value.is_not(None)))
    found = select(steps.c.value).where(steps.c.value.is_not(None)).limit(most)
    return sorted(session.scalars(found))


def pending(session: Session, tenant: Tenant, agents: Sequence[str], limit: timedelta) -> Counts:
    """How many wait of each agent, counted to one above the cap; None where it took too long."""
    return counts(session, {agent: _pending(tenant, agent) for agent in agents}, limit)


def overdue(session: Session, standing: Standing, agents: Sequence[str], limit: timedelta) -> Counts:
    """How many are overdue of each agent; none of one that rests."""
    resting = set(agents) if standing.paused else standing.held | standing.quiet
    awake = [agent for agent in agents if agent not in resting]
    found = counts(
        session,
        {
            agent: _pending(standing.tenant, agent).where(FollowUp.due_at < standing.overdue_before)
            for agent in awake
        },
        limit,
    )
    return {agent: found.get(agent, 0) for agent in agents}


def due(session: Session, tenant: Tenant, agent: str, now: datetime, limit: timedelta) -> int | None:
    """How many the next run would take."""
    return counts(session, {agent: _pending(tenant, agent).where(FollowUp.due_at <= now)}, limit)[agent]


def contacts(session: Session, tenant: Tenant, limit: timedelta) -> Counts:
    """How many of the tenant's contacts are in each state."""
    queries: dict[Any, Select[Any]] = {
        state: select(literal_column("1")).where(Contact.tenant_id == tenant.id, Contact.state == state.value)
        for state in ContactState
    }
    return counts(session, queries, limit)


def by_arm(session: Session, tenant: Tenant, agent: str, arms: Sequence[str], limit: timedelta) -> Counts:
    """How many follow-ups of each arm are in each status, by (arm, status)."""
    queries: dict[Any, Select[Any]] = {
        (arm, status): select(literal_column("1")).where(
            FollowUp.tenant_id == tenant.id,
            FollowUp.agent == agent,
            FollowUp.arm == arm,
            FollowUp.status == status.value,
        )
        for arm in arms
        for status in Status
    }
    return counts(session, queries, limit)


def _pending(tenant: Tenant, agent: str) -> Select[Any]:
    # The status stands in the text of the statement, where the planner sees that the partial index holds it.
    is_pending = FollowUp.status == bindparam("pending", Status.PENDING.value, literal_execute=True)
    return select(literal_column("1")).where(
        FollowUp.tenant_id == tenant.id, FollowUp.agent == agent, is_pending
    )


def history(session: Session, tenant: Tenant, agent: str) -> list[AuditEvent]:
    """The newest audit events of one agent: its holds and releases."""
    return list(
        session.scalars(
            select(AuditEvent)
            .where(
                AuditEvent.tenant_id == tenant.id,
                AuditEvent.resource_type == "agent",
                AuditEvent.resource_id == agent,
            )
            .order_by(AuditEvent.at.desc(), AuditEvent.id.desc())
            .limit(HISTORY)
        )
    )
