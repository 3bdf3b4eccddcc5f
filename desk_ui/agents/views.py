"""What the agents templates show: how each agent stands, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import g, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l

from desk_ui import words
from desk_ui.agents import telling
from desk_ui.followups.queries import Scene
from desk_ui.marks import Mark
from desk_ui.permissions import Permission, refusal
from models.audit import AuditEvent
from models.declarations import Declared, Fault
from models.followups.policy import Parsed, policies, policy_of
from models.followups.records import ContactState, Status
from models.tenants import AgentHold


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of a tenant; `pending` and `overdue` are None where counting took too long."""

    key: str
    parsed: Parsed
    declared: bool
    hold: AgentHold | None
    pending: int | None = 0
    overdue: int | None = 0

    @property
    def held(self) -> bool:
        return self.hold is not None and self.hold.held

    @property
    def mark(self) -> Mark:
        if not self.declared:
            return Mark("square", "bad", _("Not declared"))
        if self.parsed.faults:
            return Mark("triangle", "bad", _("Policy can't be used"))
        return Mark("pause", "warn", _("On hold")) if self.held else Mark("disc", "good", _("At work"))

    @property
    def policy(self) -> str:
        return telling.in_one_line(self.parsed)

    @property
    def faults(self) -> Sequence[Fault]:
        return self.parsed.faults

    @property
    def url(self) -> str:
        return url_for("agents.show", tenant=g.tenant.key, agent=self.key)

    @property
    def refusal(self) -> str | None:
        return refusal(Permission.HOLD_AGENTS)

    def listed(self, **filters: Any) -> str:
        """This agent's follow-ups, narrowed further."""
        return url_for("followups.index", tenant=g.tenant.key, agent=self.key, **filters)


@dataclass(frozen=True, slots=True)
class ListView:
    """The agents of a tenant, those that need a look first. `following` is the key to go on after."""

    agents: Sequence[Agent]
    following: str | None
    first: bool
    cut_off: bool

    @property
    def title(self) -> str:
        faulty = sum(1 for one in self.agents if not one.declared or one.faults)
        held = sum(1 for one in self.agents if one.held)
        if faulty == 1:
            return _("Agents: one can't send")
        if faulty:
            return _("Agents: %(n)s can't send", n=faulty)
        if held:
            return _("Agents: one is on hold") if held == 1 else _("Agents: %(n)s are on hold", n=held)
        return _("Agents")

    @property
    def url_following(self) -> str:
        return url_for("agents.index", tenant=g.tenant.key, after=self.following)


@dataclass(frozen=True, slots=True)
class DetailView:
    """The page of one agent."""

    agent: Agent
    standing: Scene
    settings: Sequence[tuple[str, str]]
    contacts: Mapping[ContactState, int | None]
    arms: Sequence[str]
    counts: Mapping[tuple[str, Status], int | None]
    more_arms: bool
    history: Sequence[AuditEvent]

    statuses = {
        Status.PENDING: _l("Pending"),
        Status.FIRED: _l("Fired"),
        Status.BLOCKED: _l("Blocked"),
        Status.CANCELLED: _l("Cancelled"),
    }

    @property
    def lead(self) -> str:
        """How it stands, and what that means for what is due."""
        one = self.agent
        if one.held and one.hold is not None:
            return _("%(held)s by %(who)s. What is due waits.", held=self._held(one.hold), who=one.hold.by)
        if not one.declared:
            return _("desk.toml declares no such agent, so what is due is blocked: the policy can't be used.")
        if one.faults:
            return _("Its policy can't be used, so what is due is blocked until desk.toml is put right.")
        if self.standing.paused:
            return _("Follow-ups are switched off for this tenant, so what is due waits.")
        until = self.standing.quiet_until(one.key, self.standing.now)
        if until is not None:
            zone = self.standing.zone
            return _("It is in its quiet hours. What is due waits until %(at)s.", at=words.clock(until, zone))
        return _("What is due is fired by the next run, as far as its policy allows.")

    def _held(self, hold: AgentHold) -> str:
        """`On hold for 14 s`; from a day on, since when."""
        now, zone = self.standing.now, self.standing.zone
        if now - hold.at < words.DAY:
            return _("On hold for %(span)s", span=words.span(now - hold.at))
        return _("On hold since %(since)s", since=words.day_and_time(hold.at, now, zone))

    @property
    def quiet(self) -> bool:
        return self.agent.key in self.standing.quiet


def agent_of(declared: Declared, key: str, hold: AgentHold | None) -> Agent:
    return Agent(key, policy_of(declared, key), key in policies(declared), hold)
