"""Tenants, their feature switches, and the holds on their agents."""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Boolean, ForeignKey, Integer, String, bindparam, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import audit, text
from models.actors import Actor
from models.base import Base, table_of
from models.clock import zones
from models.errors import Conflict, Invalid, NotFound
from models.transactions import savepoint
from models.transitions import check_version

PLATFORM = "platform"
RESERVED_KEYS = frozenset(
    {"account", "admin", "agents", "api", "assistants", "audit", "bulk", "deliveries", "dev"}
    | {"docs", "executions", "followups", "healthz", "hooks", "keys", "live", "login", "logout"}
    | {"metrics", "overview", "problems", "profile", "readyz", "rules", "search", "seats"}
    | {"settings", "sign-in", "sign-out", "static", "sweeps", "tenants", "two-factor"}
)
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class Feature(StrEnum):
    FOLLOWUPS = "followups"
    DELAYED_AUTOMATIONS = "delayed_automations"


class Tenant(Base):
    __tablename__ = "tenant"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    key: Mapped[str] = mapped_column(String(63), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    timezone: Mapped[str] = mapped_column(String(64))
    features: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    version: Mapped[int] = mapped_column(Integer, default=1, server_default="1")

    def has(self, feature: Feature) -> bool:
        return bool(self.features.get(feature.value, True))


class AgentHold(Base):
    """Whether one agent of one tenant is held; no row means not held."""

    __tablename__ = "agent_hold"

    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"), primary_key=True)
    agent: Mapped[str] = mapped_column(String(200), primary_key=True)
    held: Mapped[bool] = mapped_column(Boolean)
    reason: Mapped[str | None] = mapped_column(String(200))
    by: Mapped[str] = mapped_column(String(200))
    at: Mapped[datetime]
    version: Mapped[int] = mapped_column(Integer, default=0)


def get(session: Session, key: str | None) -> Tenant:
    """The tenant called `key`; a blank one is `platform`. Raises `NotFound`."""
    wanted = (key or "").strip() or PLATFORM
    tenant = session.scalars(select(Tenant).where(Tenant.key == wanted)).one_or_none()
    if tenant is None:
        raise NotFound("tenant")
    return tenant


def add(
    session: Session, *, key: str, name: str | None, timezone: str = "UTC", actor: Actor, now: datetime
) -> Tenant:
    """Make a tenant. Raises `Invalid` on `key` or `timezone`, `Conflict` where the key is taken."""
    if _KEY.fullmatch(key) is None:
        raise Invalid("key", "must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter or digit")
    if key in RESERVED_KEYS:
        raise Invalid("key", f"can't be {key}, which the addresses use")
    if timezone not in zones():
        raise Invalid("timezone", f"is not a known time zone: {timezone}")
    taken = Conflict(f"There is a tenant {key} already.")
    if session.scalars(select(Tenant.id).where(Tenant.key == key)).first() is not None:
        raise taken
    tenant = Tenant(
        key=key,
        name=text.required(name or key, "name"),
        timezone=timezone,
        features={feature.value: True for feature in Feature},
        created_at=now,
    )
    try:
        with savepoint(session):
            session.add(tenant)
            session.flush()
    except IntegrityError:
        # Somebody else took the key at the same moment.
        raise taken from None
    audit.append(
        session,
        tenant_id=tenant.id,
        actor=actor,
        action="tenant.added",
        resource=("tenant", key),
        now=now,
        detail={"name": tenant.name, "timezone": timezone},
    )
    return tenant


def set_features(
    session: Session,
    tenant: Tenant,
    switches: dict[str, bool],
    *,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> Tenant:
    """Switch features on or off, one audit event for each that changed. Raises `Invalid`, `Conflict`."""
    known = {feature.value for feature in Feature}
    for name in switches:
        if name not in known:
            raise Invalid(f"features.{name}", f"is not a feature; there are {', '.join(sorted(known))}")
    locked = _locked(session, tenant)
    check_version(locked, expected_version, "tenant")
    before_all = locked.features
    for name, on in switches.items():
        before = bool(locked.features.get(name, True))
        if on == before:
            continue
        locked.features = {**locked.features, name: on}
        audit.append(
            session,
            tenant_id=tenant.id,
            actor=actor,
            action=f"tenant.feature_{'on' if on else 'off'}",
            resource=("tenant", tenant.key),
            now=now,
            purpose=name,
            detail={"feature": name, "before": before, "after": on},
        )
        if on and name in _on_again:
            _on_again[name](session, locked, now)
    if locked.features is not before_all:
        locked.version += 1
    return locked


def when_on_again(feature: Feature, work: Callable[[Session, Tenant, datetime], None]) -> None:
    """Let `work` be done in the transaction that switches `feature` on: an area's doing."""
    _on_again[feature.value] = work


_on_again: dict[str, Callable[[Session, Tenant, datetime], None]] = {}


def _locked(session: Session, tenant: Tenant) -> Tenant:
    query = select(Tenant).where(Tenant.id == tenant.id).with_for_update()
    return session.scalars(query.execution_options(populate_existing=True)).one()


def hold(
    session: Session,
    tenant: Tenant,
    agent: str,
    *,
    held: bool,
    reason: str | None,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> AgentHold:
    """Hold an agent's due work, or let it go on. Saying what is so already changes nothing.

    An agent that was never held has the version 0. Raises `Invalid`, and `Conflict` where it moved.
    """
    _locked(session, tenant)
    row = session.get(AgentHold, (tenant.id, agent))
    if row is None:
        row = AgentHold(tenant_id=tenant.id, agent=text.required(agent, "agent"), held=False, by="", at=now)
        row.version = 0
        session.add(row)
    check_version(row, expected_version, "agent")
    if row.held == held:
        return row
    row.held, row.reason, row.by, row.at = held, text.optional(reason, "reason"), actor.label, now
    row.version += 1
    audit.append(
        session,
        tenant_id=tenant.id,
        actor=actor,
        action="agent.held" if held else "agent.released",
        resource=("agent", agent),
        now=now,
        purpose=row.reason,
        detail={"before": not held, "after": held},
    )
    return row


_HOLDS = table_of(AgentHold).c
_HELD = select(_HOLDS.tenant_id, _HOLDS.agent).where(
    _HOLDS.held.is_(True), _HOLDS.tenant_id.in_(bindparam("tenants", expanding=True))
)


def held_agents(session: Session, tenant_ids: Iterable[int]) -> set[tuple[int, str]]:
    """The (tenant id, agent) pairs that are held."""
    rows = session.execute(_HELD, {"tenants": list(tenant_ids)})
    return {(tenant_id, agent) for tenant_id, agent in rows}


def with_feature(session: Session, feature: Feature) -> list[Tenant]:
    """The tenants for which `feature` is on, by id."""
    return [t for t in session.scalars(select(Tenant).order_by(Tenant.id)) if t.has(feature)]


def all_of(session: Session) -> list[Tenant]:
    """All tenants of the installation, by key: for those who run it, never for a tenant's own people."""
    return list(session.scalars(select(Tenant).order_by(Tenant.key)))
