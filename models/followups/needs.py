"""What of a tenant's follow-ups needs a person now, counted at a cost that does not grow with its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, exists, func, select, union_all
from sqlalchemy.orm import Session

from models import needs
from models.followups.policy import policy_of
from models.followups.records import AgentTask, Block, FollowUp, Status
from models.followups.standing import Standing
from models.followups.stranded import is_unfinished
from models.needs import MOST, Need

OVERDUE, TASKS = "overdue", "tasks"


@dataclass(frozen=True, slots=True)
class Unusable:
    """Agents whose policy can't be used while follow-ups wait for them: each is blocked when it comes due."""

    agents: Sequence[str]
    next_due_at: datetime | None


def pending_agents(session: Session, tenant_id: int) -> list[str]:
    """The agents with pending follow-ups, by name: skips from one to the next along the index."""
    pending = (FollowUp.tenant_id == tenant_id, FollowUp.status == Status.PENDING.value)
    first = select(func.min(FollowUp.agent).label("agent")).where(*pending)
    found = first.cte("found", recursive=True)
    following = select(func.min(FollowUp.agent)).where(*pending, FollowUp.agent > found.c.agent)
    found = found.union_all(select(following.scalar_subquery()).where(found.c.agent.is_not(None)))
    return list(session.scalars(select(found.c.agent).where(found.c.agent.is_not(None))))


def overdue(session: Session, standing: Standing, agents: Sequence[str]) -> Need:
    """Due for longer than three intervals; `agents` are those with pending follow-ups.

    Each agent is read by itself, so that a million rows of one that is held cost nothing.
    """
    awake = [agent for agent in agents if agent not in standing.held | standing.quiet]
    if standing.paused or not awake:
        return Need()
    each = [_due(standing, agent).where(FollowUp.due_at < standing.overdue_before) for agent in awake]
    every = union_all(*(one.limit(MOST + 1).subquery().select() for one in each)).subquery()
    return needs.read(session, select(every.c.due_at).order_by(every.c.due_at))


def blocked(session: Session, standing: Standing, block: Block) -> Need:
    """Blocked for `block`, which a person can put right, within a day and not re-armed since."""
    return needs.read(
        session,
        select(FollowUp.updated_at)
        .where(standing.blocked_for_a_person(), FollowUp.blocked_reason == block.value)
        .order_by(FollowUp.updated_at),
    )


def tasks(session: Session, tenant_id: int, *, before: datetime) -> Need:
    """Tasks that nobody took, or took and did not finish, since before `before`."""
    return needs.read(
        session,
        select(AgentTask.updated_at)
        .where(AgentTask.tenant_id == tenant_id, is_unfinished(), AgentTask.updated_at <= before)
        .order_by(AgentTask.updated_at),
    )


def unusable(session: Session, standing: Standing, agents: Sequence[str]) -> Unusable:
    """Of `agents`, which have pending follow-ups, those without a policy that can be used."""
    faulty = [agent for agent in agents if policy_of(standing.declared, agent).policy is None]
    if not faulty:
        return Unusable((), None)
    each = (_due(standing, agent).limit(1).subquery().select() for agent in faulty)
    every = union_all(*each).subquery()
    return Unusable(faulty, session.scalars(select(func.min(every.c.due_at))).one())


def _due(standing: Standing, agent: str) -> Select[datetime]:
    return (
        select(FollowUp.due_at)
        .where(
            FollowUp.tenant_id == standing.tenant.id,
            FollowUp.agent == agent,
            FollowUp.status == Status.PENDING.value,
        )
        .order_by(FollowUp.due_at)
    )


def due_before(session: Session, tenant_ids: Sequence[int], moment: datetime) -> int:
    """How many follow-ups of these tenants come due before `moment`; `MOST` + 1 where more than that do."""
    every = (
        select(FollowUp.id)
        .where(
            FollowUp.tenant_id.in_(tenant_ids),
            FollowUp.status == Status.PENDING.value,
            FollowUp.due_at < moment,
        )
        .limit(MOST + 1)
    )
    return session.scalars(select(func.count()).select_from(every.subquery())).one()


def among(session: Session, standing: Standing, ids: Sequence[UUID], *, before: datetime) -> dict[UUID, str]:
    """Which of `ids` need a person, and for what: `OVERDUE`, `TASKS`, or why it was blocked."""
    if not ids:
        return {}
    unfinished = exists().where(
        AgentTask.tenant_id == FollowUp.tenant_id,
        AgentTask.id == FollowUp.task_id,
        is_unfinished(),
        AgentTask.updated_at <= before,
    )
    query = select(
        FollowUp.id,
        FollowUp.status,
        FollowUp.due_at,
        FollowUp.agent,
        FollowUp.blocked_reason,
        standing.blocked_for_a_person(),
        unfinished,
    ).where(FollowUp.tenant_id == standing.tenant.id, FollowUp.id.in_(ids))
    found: dict[UUID, str] = {}
    for id, status, due_at, agent, blocked_reason, is_blocked, waits in session.execute(query):
        if standing.is_overdue(status, due_at, agent):
            found[id] = OVERDUE
        elif is_blocked and blocked_reason is not None:
            found[id] = blocked_reason
        elif status == Status.FIRED and waits:
            found[id] = TASKS
    return found


def refusal_to_take(
    session: Session, standing: Standing, followup_id: UUID, *, before: datetime
) -> str | None:
    """Why nobody takes this follow-up on: it needs nobody; None where it needs a person."""
    if among(session, standing, [followup_id], before=before):
        return None
    return "This follow-up needs nobody now, so there is nothing to take on."
