"""What the overview reads: of each kind how much needs a person, and since when the oldest waits."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from flask import Flask, Response, current_app, g, request
from sqlalchemy.orm import Session

from desk_ui import declared
from desk_ui.agents.queries import holds
from desk_ui.requests import READING, settings_of
from desk_ui.sweeps import lines
from desk_ui.sweeps.lines import Line
from jobs.schedule import sweeps
from models import declarations, delivery_needs, endpoint_needs, handling
from models.automations import needs as executions
from models.declarations import Fault
from models.endpoint_needs import Paused
from models.followups import needs
from models.followups.needs import Unusable
from models.followups.records import Block
from models.followups.standing import BLOCKS_FOR_A_PERSON, Standing
from models.needs import Need
from models.tenants import AgentHold

REREAD_AFTER = timedelta(seconds=5)
CACHE = "desk_needs"
DEAD, REVIEW = "dead", "review"


@dataclass(frozen=True)
class Found:
    """All that may need a person in one tenant, as it was at `standing.now`."""

    standing: Standing
    overdue: Need
    blocked: dict[Block, Need]
    tasks: Need
    unusable: Unusable
    review: Need
    dead: Need
    paused_endpoints: Sequence[Paused]
    sweeps: Sequence[Line]
    faults: Sequence[Fault]
    unreadable: str | None
    # Of what needs a person, by what for, how many somebody is on.
    taken: Mapping[str, int] = field(default_factory=dict)
    # Of each agent that is held, since when, by whom and why.
    held: Sequence[AgentHold] = ()

    @property
    def late(self) -> list[Line]:
        return [line for line in self.sweeps if line.late_since is not None]

    @property
    def paused(self) -> list[Line]:
        return [line for line in self.sweeps if line.paused]

    @property
    def areas(self) -> dict[str, int]:
        """How many things need a person in each area of the navigation."""
        blocked = sum(need.number for need in self.blocked.values())
        return {
            "followups": self.overdue.number + blocked + self.tasks.number,
            "executions": self.review.number,
            "agents": len(self.unusable.agents),
            "deliveries": self.dead.number + sum(one.number for one in self.paused_endpoints),
            "sweeps": len(self.late),
        }


def read(session: Session, now: datetime) -> Found:
    """Count it afresh for the tenant at hand."""
    in_force = declarations.current(session)
    standing = Standing.of(session, g.tenant, in_force, sweeps(in_force)["fire_followups"].interval, now)
    agents = needs.pending_agents(session, g.tenant.id)
    before = now - settings_of(current_app).attention_after
    return Found(
        standing=standing,
        overdue=needs.overdue(session, standing, agents),
        blocked={block: needs.blocked(session, standing, block) for block in BLOCKS_FOR_A_PERSON},
        tasks=needs.tasks(session, g.tenant.id, before=before),
        unusable=needs.unusable(session, standing, agents),
        review=executions.review(session, g.tenant.id),
        dead=delivery_needs.dead(session, g.tenant.id, now=now),
        paused_endpoints=endpoint_needs.paused(session, g.tenant.id),
        sweeps=lines.recent(now),
        faults=declared.faults(in_force),
        unreadable=declarations.fault(session),
        taken=_taken(session, standing, before),
        held=_held(session, standing),
    )


def _held(session: Session, standing: Standing) -> Sequence[AgentHold]:
    """One query more only where any is held."""
    known = holds(session, standing.tenant) if standing.held else {}
    return [known[agent] for agent in sorted(known) if known[agent].held]


def _taken(session: Session, standing: Standing, before: datetime) -> Mapping[str, int]:
    """Two queries more only where anybody is on anything."""
    marked = handling.marked(session, standing.tenant.id)
    followups = [UUID(id) for id in marked.get("followup", ())]
    found = Counter(needs.among(session, standing, followups, before=before).values())
    found[REVIEW] = executions.review_among(
        session, standing.tenant.id, [UUID(id) for id in marked.get("execution", ())]
    )
    deliveries = [int(id) for id in marked.get("delivery", ())]
    found[DEAD] = delivery_needs.dead_among(session, standing.tenant.id, deliveries, now=standing.now)
    return found


def register(app: Flask) -> None:
    app.extensions[CACHE] = {}
    app.after_request(_forget)


def areas(session: Session, now: datetime, oldest: timedelta | None = None) -> dict[str, int]:
    """`Found.areas`, a few seconds old at most, or up to `oldest`; read afresh after an act here."""
    kept: dict[int, tuple[datetime, dict[str, int]]] = current_app.extensions[CACHE]
    read_at, found = kept.get(g.tenant.id, (None, {}))
    if read_at is None or not timedelta() <= now - read_at < (oldest or REREAD_AFTER):
        found = keep(read(session, now)).areas
    # As the bar of the page has it, which is known afresh more often.
    return found | {"sweeps": sum(line.late_since is not None for line in lines.recent(now))}


def keep(found: Found) -> Found:
    """Let the navigation's numbers be those of `found` for a few seconds."""
    current_app.extensions[CACHE][found.standing.tenant.id] = (found.standing.now, found.areas)
    return found


def _forget(response: Response) -> Response:
    if request.method not in READING and g.get("tenant") is not None:
        current_app.extensions[CACHE].pop(g.tenant.id, None)
    return response
