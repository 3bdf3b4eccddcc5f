"""Follow-ups and tasks that have waited for too long, for the pages and for who must be told."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Integer, Select, bindparam, select
from sqlalchemy.orm import Session

from models import attention
from models.attention import Stranded
from models.base import table_of
from models.followups.firing import agents_with_pending
from models.followups.records import UNFINISHED, AgentTask, FollowUp, Status
from models.tenants import Feature, with_feature
from models.transactions import commit

OVERDUE = "followups_overdue"
FAILING = "followups_failing"
TASKS = "tasks_waiting"


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A task that nobody took, or that was taken and not finished, without its prompt."""

    id: UUID
    followup_id: UUID | None
    agent: str
    customer: str
    status: str
    since: datetime


def announce(session: Session, *, after: timedelta, now: datetime) -> list[Stranded]:
    """Say by one `attention.needed` event an episode what has been stranded for longer than `after`.

    Three kinds: due and not taken by a run, failing again and again, and tasks that nobody took or
    finished. Nothing counts while its agent is held or its tenant has follow-ups switched off. Commits.
    """
    pairs = list(agents_with_pending(session))
    opened = attention.announce(session, OVERDUE, _first(session, OVERDUE, pairs, now - after), now=now)
    opened += attention.announce(session, FAILING, _first(session, FAILING, pairs, now - after), now=now)
    opened += attention.announce(session, TASKS, _tasks(session, now - after), now=now)
    commit(session, "followups.attention")
    return opened


def _first(
    session: Session, reason: str, pairs: Sequence[tuple[int, str]], before: datetime
) -> dict[int, Stranded]:
    """The oldest stranded record of each tenant."""
    found: dict[int, Stranded] = {}
    for tenant_id, agent in pairs:
        row = session.execute(_oldest(reason, tenant_id, agent, before)).first()
        if row is not None and (tenant_id not in found or row.at < found[tenant_id].since):
            found[tenant_id] = Stranded(tenant_id, reason, row.at, ("followup", str(row.id)))
    return found


def _oldest(reason: str, tenant_id: int, agent: str, before: datetime) -> Select[UUID, datetime]:
    query = select(FollowUp.id, FollowUp.at).where(
        FollowUp.tenant_id == tenant_id, FollowUp.agent == agent, FollowUp.status == Status.PENDING
    )
    if reason == FAILING:
        query = query.where(FollowUp.attempts > 0, FollowUp.at <= before).order_by(FollowUp.at)
    else:
        query = query.where(FollowUp.due_at <= before).order_by(FollowUp.due_at)
    return query.limit(1)


def _tasks(session: Session, before: datetime) -> dict[int, Stranded]:
    found: dict[int, Stranded] = {}
    for tenant in with_feature(session, Feature.FOLLOWUPS):
        rows = waiting_tasks(session, tenant.id, before=before, limit=1)
        if rows:
            found[tenant.id] = Stranded(tenant.id, TASKS, rows[0].since, ("task", str(rows[0].id)))
    return found


def is_unfinished() -> ColumnElement[bool]:
    """The condition of the index over waiting tasks, in words of its own: bound values would hide it."""
    return AgentTask.status.in_(bindparam("unfinished", UNFINISHED, expanding=True, literal_execute=True))


def waiting_tasks(
    session: Session,
    tenant_id: int,
    *,
    before: datetime,
    limit: int,
    agent: str | None = None,
    customer: str | None = None,
) -> list[WaitingTask]:
    """Tasks queued or dispatched since before `before`, the longest waiting first; `limit` at most.

    With `agent` or `customer`, only theirs.
    """
    given = {name: value for name, value in (("agent", agent), ("customer", customer)) if value is not None}
    values = {"tenant": tenant_id, "before": before, "most": limit, **given}
    found = session.execute(_waiting(frozenset(given)), values)
    return [WaitingTask(*row) for row in found]


def of_waiting_tasks() -> Select[Any]:
    """The follow-ups whose tasks `waiting_tasks` names, by the parameters `tenant` and `before`."""
    of = table_of(AgentTask).c
    return select(of.followup_id).where(
        of.tenant_id == bindparam("tenant"), is_unfinished(), of.updated_at <= bindparam("before")
    )


@cache
def _waiting(names: frozenset[str]) -> Select[Any]:
    """The statement of `waiting_tasks`, which every list page asks, narrowed by `names`."""
    of = table_of(AgentTask).c
    conditions = [of.tenant_id == bindparam("tenant"), is_unfinished(), of.updated_at <= bindparam("before")]
    conditions += [of[name] == bindparam(name) for name in sorted(names)]
    columns = (of.id, of.followup_id, of.agent, of.customer, of.status, of.updated_at)
    query = select(*columns).where(*conditions).order_by(of.updated_at, of.id)
    return query.limit(bindparam("most", type_=Integer))
