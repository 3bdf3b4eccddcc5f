"""The caller's own tenant and its agents over HTTP: feature switches and holds."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from desk_ui.api import paging, rows
from desk_ui.api.fields import Given, OptionalText, Paged, Shown, Time, Version
from desk_ui.api.operations import Call, Reply, operation
from desk_ui.api.refusals import Refused
from models import declarations, tenants
from models.base import db
from models.declarations import Declared
from models.errors import Invalid, NotFound
from models.followups.policy import policies, policy_of
from models.followups.records import FollowUp
from models.tenants import AgentHold, Feature, Tenant


class FeaturesShown(Shown):
    delayed_automations: bool
    followups: bool


class TenantShown(Shown):
    """The tenant that the token belongs to."""

    key: str
    name: str
    timezone: str
    features: FeaturesShown
    created_at: Time
    version: int


class FeaturesGiven(Given):
    delayed_automations: bool | None = None
    followups: bool | None = None


class TenantChange(Given):
    features: FeaturesGiven | None = None
    version: Version | None = None


class AgentShown(Shown):
    """An agent: whether it is held, and whether its declaration can be used."""

    key: str
    declared: bool
    held: bool
    reason: str | None
    faults: list[str]
    version: int


class AgentPage(Shown):
    items: list[AgentShown]
    next_cursor: str | None


class AgentChange(Given):
    held: bool
    reason: OptionalText | None = None
    version: Version | None = None


def show(tenant: Tenant) -> TenantShown:
    features = FeaturesShown(**{feature.value: tenant.has(feature) for feature in Feature})
    return TenantShown.of(tenant, features=features)


def show_agent(key: str, hold: AgentHold | None, declared: Declared) -> AgentShown:
    known = key in policies(declared)
    return AgentShown(
        key=key,
        declared=known,
        held=hold is not None and hold.held,
        reason=hold.reason if hold is not None and hold.held else None,
        faults=[str(fault) for fault in policy_of(declared, key).faults] if known else [],
        version=hold.version if hold is not None else 0,
    )


def _tenant_subject(session: Session, tenant_id: int, _path: Mapping[str, Any]) -> str:
    return session.scalars(select(Tenant.key).where(Tenant.id == tenant_id)).one()


def _agent_subject(session: Session, tenant_id: int, path: Mapping[str, Any]) -> str:
    if not _has_rows(session, tenant_id, path["key"]):
        raise NotFound("agent")
    return str(path["key"])


@operation("tenant.get", "GET", "/tenant", scope="read", answers={200: TenantShown})
def get(call: Call) -> Reply:
    """Read the token's tenant with its feature switches."""
    return Reply(200, show(call.tenant))


@operation(
    "tenant.change",
    "PATCH",
    "/tenant",
    scope="operate",
    body=TenantChange,
    answers={200: TenantShown},
    point="api.tenant.change",
    refused=Refused("tenant.changed", "tenant", _tenant_subject),
    conflicts=True,
)
def change(call: Call) -> Reply:
    """Switch features on or off. Off means paused: due work waits, and nothing new arms."""
    given: TenantChange = call.body
    features = given.features.model_dump(exclude_unset=True) if given.features else {}
    for name, value in features.items():
        if value is None:
            raise Invalid(f"features.{name}", "must be true or false")
    tenant = tenants.set_features(
        call.session,
        call.tenant,
        features,
        actor=call.actor,
        now=call.now,
        expected_version=given.version,
    )
    return Reply(200, show(tenant))


@operation("agents.list", "GET", "/agents", scope="read", query=Paged, answers={200: AgentPage})
def list_agents(call: Call) -> Reply:
    """List the agents that are declared or held, by key."""
    holds = {hold.agent: hold for hold in _holds(call)}
    known = {key: (key, holds.get(key)) for key in {*policies(call.declared), *holds}}
    found, cursor = paging.by_key(known, "agents", call.query)
    items = [show_agent(key, hold, call.declared) for key, hold in found]
    return Reply(200, AgentPage(items=items, next_cursor=cursor))


@operation(
    "agents.change",
    "PATCH",
    "/agents/<anything:key>",
    scope="operate",
    body=AgentChange,
    answers={200: AgentShown},
    point="api.agents.change",
    refused=Refused("agent.held", "agent", _agent_subject),
    conflicts=True,
)
def change_agent(call: Call, key: str) -> Reply:
    """Hold an agent's due follow-ups, or let them go on. Saying what is so already changes nothing."""
    given: AgentChange = call.body
    if key not in policies(call.declared) and not _has_rows(call.session, call.tenant.id, key):
        raise NotFound("agent")
    hold = tenants.hold(
        call.session,
        call.tenant,
        key,
        held=given.held,
        reason=given.reason,
        actor=call.actor,
        now=call.now,
        expected_version=given.version,
    )
    return Reply(200, show_agent(key, hold, call.declared))


def _holds(call: Call) -> list[AgentHold]:
    query = select(AgentHold).where(AgentHold.tenant_id == call.tenant.id)
    return list(call.session.scalars(query))


def _has_rows(session: Session, tenant_id: int, key: str) -> bool:
    """Whether an agent that nothing declares is known all the same: by a hold, or by a booking."""
    if "\x00" in key:
        return False
    booked = select(FollowUp.id).where(FollowUp.tenant_id == tenant_id, FollowUp.agent == key).limit(1)
    return session.get(AgentHold, (tenant_id, key)) is not None or session.scalars(booked).first() is not None


rows.shape(Tenant, show)
rows.shape(AgentHold, lambda hold: show_agent(hold.agent, hold, declarations.current(db.session())))
