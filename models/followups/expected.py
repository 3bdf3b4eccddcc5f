"""When a customer will be fired at by what is pending for them, as far as that can be told beforehand."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models.declarations import Declared
from models.followups.policy import Policy, policy_of, used
from models.followups.records import FollowUp, Status

MOST_READ = 1_000


class Waits(NamedTuple):
    """One that is pending, and when it is judged for good: at its time, or at the end of quiet hours."""

    moment: datetime
    at: datetime
    id: UUID
    policy: Policy


def expected(
    session: Session, followup: FollowUp, fired: Sequence[datetime], *, declared: Declared, now: datetime
) -> list[datetime]:
    """When the customer's other pending follow-ups, of any agent and reason, will fire; soonest first.

    One that its own message limit would stop, `fired` and those before it counted, is left out, and so is one
    that comes after `followup` at the same moment. Reads `MOST_READ` of them at most.
    """
    found: list[datetime] = []
    for one in sorted(_pending(session, followup, declared, now)):
        ceiling = one.policy.ceiling
        if ceiling is None or used(ceiling, [*fired, *found], one.moment) < ceiling.fires:
            found.append(one.moment)
    return found


def _pending(session: Session, followup: FollowUp, declared: Declared, now: datetime) -> list[Waits]:
    rows = session.execute(
        select(FollowUp.agent, FollowUp.due_at, FollowUp.at, FollowUp.id)
        .where(
            FollowUp.tenant_id == followup.tenant_id,
            FollowUp.customer == followup.customer,
            FollowUp.status == Status.PENDING,
            FollowUp.id != followup.id,
        )
        .limit(MOST_READ)
    )
    found = [waits for row in rows if (waits := _waits(declared, now, *row)) is not None]
    own = _waits(declared, now, followup.agent, followup.due_at, followup.at, followup.id)
    if followup.status != Status.PENDING or own is None:
        return found
    return [one for one in found if one.moment != own.moment or one[:3] < own[:3]]


def _waits(
    declared: Declared, now: datetime, agent: str, due_at: datetime, at: datetime, id: UUID
) -> Waits | None:
    """None where the policy can't be used, so that it is blocked."""
    policy = policy_of(declared, agent).policy
    if policy is None:
        return None
    moment = max(due_at, now)
    until = policy.quiet_hours.end_of(moment) if policy.quiet_hours else None
    return Waits(until or moment, at, id, policy)
