"""Webhook endpoints: where a tenant has its events sent, with the secret that signs them."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, Index, Integer, String, Text, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import audit, endpoint_urls, locks, outbox, secrets, text
from models.actors import Actor
from models.audit_guard import audited
from models.base import Base
from models.errors import Conflict, NotFound
from models.event_types import ALL as ALL
from models.event_types import check_event_types
from models.settings import Settings
from models.tenants import Tenant
from models.transitions import check_version, move

MOST_ENDPOINTS = 50
TEST_EVENT = "endpoint.test"
# Those that something in this version tells of; the others are the contract's, and may be asked for already.
EMITTED = frozenset(
    {"attention.needed", "contact.revoked", "task.created"}
    | {"followup.scheduled", "followup.cancelled", "followup.blocked", "followup.fired"}
)


class EndpointState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    REMOVED = "removed"


@audited("endpoint", status="state")
class WebhookEndpoint(Base):
    """One address of a tenant. A removed one keeps its row for its deliveries' history, without its secret
    and without what may be one in its address.

    `failures` counts failed attempts in a row: while it is above 0, the sender is careful with it.
    `address_version` changes with `url` alone, so that who saw the address can be told that it moved.
    """

    __tablename__ = "webhook_endpoint"
    moves = {
        EndpointState.ACTIVE: frozenset({EndpointState.PAUSED, EndpointState.REMOVED}),
        EndpointState.PAUSED: frozenset({EndpointState.ACTIVE, EndpointState.REMOVED}),
    }

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    url: Mapped[str] = mapped_column(String(endpoint_urls.LENGTH))
    address_version: Mapped[int] = mapped_column(Integer, default=1)
    secret: Mapped[str] = mapped_column(Text)
    event_types: Mapped[list[str]]
    state: Mapped[str] = mapped_column(String(20))
    failures: Mapped[int] = mapped_column(Integer, default=0)
    paused_at: Mapped[datetime | None]
    paused_by: Mapped[str | None] = mapped_column(String(200))
    paused_reason: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    version: Mapped[int] = mapped_column(Integer, default=1)

    __table_args__ = (Index("ix_webhook_endpoint_tenant", "tenant_id", "state", "created_at", "id"),)

    @property
    def active(self) -> bool:
        return self.state == EndpointState.ACTIVE


def refusal_to_test(state: str) -> str | None:
    """Why an endpoint in `state` can't be tested, for the button and the route alike."""
    if state == EndpointState.PAUSED:
        return "This endpoint is paused, so nothing is sent to it. Resume it first."
    return None


def get(session: Session, tenant_id: int, endpoint_id: UUID) -> WebhookEndpoint:
    """The endpoint, unless it was removed. Raises `NotFound`."""
    return _found(
        session.scalars(
            select(WebhookEndpoint).where(
                WebhookEndpoint.tenant_id == tenant_id, WebhookEndpoint.id == endpoint_id
            )
        ).one_or_none()
    )


def of_tenant(session: Session, tenant_id: int) -> list[WebhookEndpoint]:
    """The tenant's endpoints that were not removed, newest first."""
    return list(
        session.scalars(
            select(WebhookEndpoint)
            .where(WebhookEndpoint.tenant_id == tenant_id, WebhookEndpoint.state != EndpointState.REMOVED)
            .order_by(WebhookEndpoint.created_at.desc(), WebhookEndpoint.id.desc())
        )
    )


def add(
    session: Session,
    tenant: Tenant,
    *,
    url: str,
    event_types: Iterable[str],
    active: bool = True,
    settings: Settings,
    actor: Actor,
    now: datetime,
) -> tuple[WebhookEndpoint, str]:
    """Make an endpoint; with it its secret (`whsec_…`), which nothing shows again.

    Raises `Invalid` on `url` or `event_types`, `Conflict` where the tenant has as many as it may.
    """
    checked, types = endpoint_urls.check(url, settings), check_event_types(event_types)
    # Those who add at the same time are counted one after the other.
    locks.one(session, select(Tenant).where(Tenant.id == tenant.id))
    if len(of_tenant(session, tenant.id)) >= MOST_ENDPOINTS:
        raise Conflict(f"There are {MOST_ENDPOINTS} endpoints already, which is the most. Remove one first.")
    endpoint_id, secret = uuid4(), secrets.webhook_secret()
    endpoint = WebhookEndpoint(
        id=endpoint_id,
        tenant_id=tenant.id,
        url=checked,
        secret=secrets.encrypt(settings.secret_key, secret, owner=_owner(endpoint_id)),
        event_types=types,
        state=EndpointState.ACTIVE.value if active else EndpointState.PAUSED.value,
        failures=0,
        created_at=now,
        updated_at=now,
    )
    _note_pause(endpoint, actor, now, None)
    session.add(endpoint)
    session.flush()
    detail = {
        "from": None,
        "to": endpoint.state,
        "address": endpoint_urls.origin(checked),
        "event_types": types,
    }
    _audit(session, endpoint, "endpoint.added", actor=actor, now=now, detail=detail)
    return endpoint, secret


def update(
    session: Session,
    tenant_id: int,
    endpoint_id: UUID,
    *,
    url: str | None = None,
    event_types: Iterable[str] | None = None,
    active: bool | None = None,
    reason: str | None = None,
    settings: Settings,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> WebhookEndpoint:
    """Change what is given; what is so already is no change, and leaves no event.

    A paused endpoint keeps its deliveries waiting; `reason` says why it is paused. Raises `NotFound`,
    `Invalid`, `Conflict`.
    """
    checked = None if url is None else endpoint_urls.check(url, settings)
    types = None if event_types is None else check_event_types(event_types)
    endpoint = _locked(session, tenant_id, endpoint_id)
    check_version(endpoint, expected_version, "endpoint")
    changes: dict[str, Any] = {}
    if checked is not None and checked != endpoint.url:
        # The rest of an address may hold a token, so the audit names its origin only.
        changes["address"] = {
            "before": endpoint_urls.origin(endpoint.url),
            "after": endpoint_urls.origin(checked),
        }
        endpoint.url, endpoint.failures = checked, 0
        endpoint.address_version += 1
    if types is not None and types != endpoint.event_types:
        changes["event_types"] = {"before": endpoint.event_types, "after": types}
        endpoint.event_types = types
    if changes:
        endpoint.version += 1
        endpoint.updated_at = now
        _audit(session, endpoint, "endpoint.updated", actor=actor, now=now, detail=changes)
    if active is not None and active != endpoint.active:
        to = EndpointState.ACTIVE if active else EndpointState.PAUSED
        action = "endpoint.resumed" if active else "endpoint.paused"
        why = text.optional(reason, "reason") if to is EndpointState.PAUSED else None
        state = to.value
        move(session, endpoint, state, actor=actor, now=now, action=action, purpose=why, attribute="state")
        _note_pause(endpoint, actor, now, why)
    return endpoint


def _note_pause(endpoint: WebhookEndpoint, actor: Actor, now: datetime, reason: str | None) -> None:
    """Keep with a paused endpoint who paused it, when and why, and with any other nothing of it."""
    paused = endpoint.state == EndpointState.PAUSED
    endpoint.paused_at = now if paused else None
    endpoint.paused_by = actor.label if paused else None
    endpoint.paused_reason = reason if paused else None


def rotate_secret(
    session: Session,
    tenant_id: int,
    endpoint_id: UUID,
    *,
    settings: Settings,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> tuple[WebhookEndpoint, str]:
    """Give the endpoint a new secret, in force from the next attempt on. Raises `NotFound`, `Conflict`."""
    endpoint = _locked(session, tenant_id, endpoint_id)
    check_version(endpoint, expected_version, "endpoint")
    secret = secrets.webhook_secret()
    endpoint.secret = secrets.encrypt(settings.secret_key, secret, owner=_owner(endpoint.id))
    endpoint.version += 1
    endpoint.updated_at = now
    _audit(session, endpoint, "endpoint.secret_rotated", actor=actor, now=now, detail={})
    return endpoint, secret


def remove(
    session: Session,
    tenant_id: int,
    endpoint_id: UUID,
    *,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
) -> None:
    """Remove the endpoint, and forget its secret and all of its address but the origin.

    What still waits for it is given up by the delivery sweep. Raises `NotFound` (also for one that was
    removed before) and `Conflict`.
    """
    endpoint = _locked(session, tenant_id, endpoint_id)
    check_version(endpoint, expected_version, "endpoint")
    endpoint.secret, endpoint.url = "", endpoint_urls.origin(endpoint.url)
    removed = EndpointState.REMOVED.value
    move(session, endpoint, removed, actor=actor, now=now, action="endpoint.removed", attribute="state")


def remove_all(session: Session, tenant_id: int, *, actor: Actor, now: datetime) -> int:
    """Remove all endpoints of a tenant, each with its event; how many there were."""
    found = of_tenant(session, tenant_id)
    for endpoint in found:
        remove(session, tenant_id, endpoint.id, actor=actor, now=now)
    return len(found)


def test(
    session: Session, tenant_id: int, endpoint_id: UUID, *, actor: Actor, now: datetime
) -> outbox.OutboxEvent:
    """Send an `endpoint.test` event to this endpoint alone, through the outbox as any other.

    Raises `NotFound`, and `Conflict` while the endpoint is paused.
    """
    endpoint = _locked(session, tenant_id, endpoint_id)
    refusal = refusal_to_test(endpoint.state)
    if refusal is not None:
        raise Conflict(refusal, current=endpoint)
    event = outbox.enqueue(
        session,
        tenant_id=tenant_id,
        event_type=TEST_EVENT,
        aggregate=("endpoint", str(endpoint.id)),
        payload={"endpoint_id": str(endpoint.id)},
        now=now,
    )
    _audit(session, endpoint, "endpoint.tested", actor=actor, now=now, detail={})
    return event


def secret_of(endpoint_id: UUID, stored: str, settings: Settings) -> str:
    """The secret as it was shown once. Raises `secrets.Unreadable`."""
    return secrets.decrypt(settings.secret_key, stored, owner=_owner(endpoint_id))


def _audit(
    session: Session,
    endpoint: WebhookEndpoint,
    action: str,
    *,
    actor: Actor,
    now: datetime,
    detail: dict[str, Any],
) -> None:
    audit.append(
        session,
        tenant_id=endpoint.tenant_id,
        actor=actor,
        action=action,
        resource=("endpoint", str(endpoint.id)),
        now=now,
        detail=detail,
    )


def _owner(endpoint_id: UUID) -> str:
    return f"endpoint:{endpoint_id}"


def _locked(session: Session, tenant_id: int, endpoint_id: UUID) -> WebhookEndpoint:
    return _found(
        locks.one(
            session,
            select(WebhookEndpoint).where(
                WebhookEndpoint.tenant_id == tenant_id, WebhookEndpoint.id == endpoint_id
            ),
        )
    )


def _found(endpoint: WebhookEndpoint | None) -> WebhookEndpoint:
    if endpoint is None or endpoint.state == EndpointState.REMOVED:
        raise NotFound("endpoint")
    return endpoint
