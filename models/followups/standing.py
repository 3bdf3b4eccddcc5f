"""How a tenant's follow-ups stand at one moment: what is overdue, what rests, and what needs a person."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Self

from sqlalchemy import ColumnElement, and_, exists, false
from sqlalchemy.orm import Session, aliased

from models.declarations import Declared
from models.followups.policy import policies, policy_of
from models.followups.records import Block, FollowUp, Status
from models.tenants import Feature, Tenant, held_agents

INTERVALS_UNTIL_OVERDUE = 3
BLOCK_NEEDS_A_PERSON_FOR = timedelta(hours=24)
# What a person can put right: a policy that can't be used, or a customer who was written to often already.
BLOCKS_FOR_A_PERSON = (Block.POLICY_INVALID, Block.FREQUENCY)


@dataclass(frozen=True)
class Standing:
    """What decides how a row of a tenant stands, read once. `every` is the interval of the firing sweep."""

    tenant: Tenant
    declared: Declared
    now: datetime
    held: frozenset[str]
    every: timedelta
    paused: bool = False

    @classmethod
    def of(
        cls, session: Session, tenant: Tenant, declared: Declared, every: timedelta, now: datetime
    ) -> Self:
        return cls(
            tenant=tenant,
            declared=declared,
            now=now,
            held=frozenset(agent for _tenant, agent in held_agents(session, [tenant.id])),
            every=every,
            paused=not tenant.has(Feature.FOLLOWUPS),
        )

    @property
    def overdue_before(self) -> datetime:
        return self.now - INTERVALS_UNTIL_OVERDUE * self.every

    @cached_property
    def quiet(self) -> frozenset[str]:
        """The agents in whose quiet hours it is now."""
        return frozenset(agent for agent in policies(self.declared) if self.quiet_until(agent, self.now))

    def quiet_until(self, agent: str, at: datetime) -> datetime | None:
        """When the agent's quiet hours that hold at `at` end; None outside them."""
        policy = policy_of(self.declared, agent).policy
        return policy.quiet_hours.end_of(at) if policy and policy.quiet_hours else None

    def is_overdue(self, status: str, due_at: datetime, agent: str) -> bool:
        """Due for longer than three intervals, and neither held nor in quiet hours."""
        waits = status == Status.PENDING and due_at < self.overdue_before
        return waits and not self.paused and agent not in self.held and agent not in self.quiet

    def overdue(self) -> ColumnElement[bool]:
        """The same as a condition on `FollowUp`."""
        if self.paused:
            return false()
        condition = and_(
            FollowUp.tenant_id == self.tenant.id,
            FollowUp.status == Status.PENDING.value,
            FollowUp.due_at < self.overdue_before,
        )
        resting = sorted(self.held | self.quiet)
        return and_(condition, FollowUp.agent.not_in(resting)) if resting else condition

    def needs_a_person(self, blocked_reason: str | None, updated_at: datetime) -> bool:
        """Whether one that was blocked needs a person, unless it was re-armed since."""
        lately = updated_at > self.now - BLOCK_NEEDS_A_PERSON_FOR
        return lately and blocked_reason in [block.value for block in BLOCKS_FOR_A_PERSON]

    def blocked_for_a_person(self) -> ColumnElement[bool]:
        """Blocked for a cause that a person can put right, within a day, and not re-armed since."""
        again = aliased(FollowUp)
        return and_(
            FollowUp.tenant_id == self.tenant.id,
            FollowUp.status == Status.BLOCKED.value,
            FollowUp.blocked_reason.in_([block.value for block in BLOCKS_FOR_A_PERSON]),
            FollowUp.updated_at > self.now - BLOCK_NEEDS_A_PERSON_FOR,
            ~exists().where(again.tenant_id == FollowUp.tenant_id, again.rearmed_from == FollowUp.id),
        )
