"""The audit: exactly one event for each change of state, and how to append it."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import audit_guard, bulk, context, set_wise
from models.actors import Actor
from models.base import Base, BigId, Serial


class Result(StrEnum):
    SUCCESS = "success"
    REFUSED = "refused"
    ERROR = "error"


class AuditEvent(Base):
    """One line of the audit. Triggers refuse every change but the first giving of a position."""

    __tablename__ = "audit_event"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    at: Mapped[datetime]
    actor_type: Mapped[str] = mapped_column(String(20))
    actor_id: Mapped[str] = mapped_column(String(200))
    actor_label: Mapped[str] = mapped_column(String(200))
    action: Mapped[str] = mapped_column(String(80))
    resource_type: Mapped[str] = mapped_column(String(40))
    resource_id: Mapped[str] = mapped_column(String(200))
    purpose: Mapped[str | None] = mapped_column(String(200))
    result: Mapped[str] = mapped_column(String(20))
    detail: Mapped[dict[str, Any]]
    request_id: Mapped[str | None] = mapped_column(String(64))
    position: Mapped[int | None] = mapped_column(BigId)

    __table_args__ = (
        Index("ix_audit_event_tenant_at", "tenant_id", "at", "id"),
        Index("ix_audit_event_resource", "tenant_id", "resource_type", "resource_id", "at", "id"),
        Index("ix_audit_event_type", "tenant_id", "resource_type", "at", "id"),
        Index("ix_audit_event_tenant_action", "tenant_id", "action", "at", "id"),
        Index("ix_audit_event_tenant_actor", "tenant_id", "actor_id", "at", "id"),
        # What was refused or failed is seldom, and looked for.
        Index(
            "ix_audit_event_not_done",
            "tenant_id",
            "at",
            "id",
            postgresql_where=result != Result.SUCCESS.value,
            sqlite_where=result != Result.SUCCESS.value,
        ),
        Index(
            "ix_audit_event_unplaced",
            "id",
            postgresql_where=position.is_(None),
            sqlite_where=position.is_(None),
        ),
        Index(
            "uq_audit_event_position",
            "position",
            unique=True,
            postgresql_where=position.is_not(None),
            sqlite_where=position.is_not(None),
        ),
        {"sqlite_autoincrement": True},
    )


def append(
    session: Session,
    *,
    tenant_id: int,
    actor: Actor,
    action: str,
    resource: tuple[str, str],
    now: datetime,
    purpose: str | None = None,
    detail: dict[str, Any] | None = None,
    result: Result = Result.SUCCESS,
) -> None:
    """Append one event about `resource` (type, id) to the transaction at hand.

    A `detail` with `to` tells of a change of state, and the guard counts it.
    """
    event = row(
        tenant_id=tenant_id,
        actor=actor,
        action=action,
        resource=resource,
        now=now,
        purpose=purpose,
        detail=detail,
        result=result,
    )
    set_wise.add(session, AuditEvent, event)
    if result is Result.SUCCESS and "to" in event["detail"]:
        audit_guard.note_events(session, [(resource[0], tenant_id, resource[1])])


def row(
    *,
    tenant_id: int,
    actor: Actor,
    action: str,
    resource: tuple[str, str],
    now: datetime,
    purpose: str | None = None,
    detail: dict[str, Any] | None = None,
    result: Result = Result.SUCCESS,
) -> dict[str, Any]:
    """The columns of one event, for `append_many`."""
    return {
        "tenant_id": tenant_id,
        "at": now,
        "actor_type": actor.type.value,
        "actor_id": actor.id,
        "actor_label": actor.label,
        "action": action,
        "resource_type": resource[0],
        "resource_id": resource[1],
        "purpose": purpose,
        "result": result.value,
        "detail": detail or {},
        "request_id": context.request_id.get(),
    }


def append_many(
    session: Session,
    rows: Sequence[dict[str, Any]],
    *,
    tenant_id: int,
    actor: Actor,
    now: datetime,
) -> None:
    """Append many events of one actor in one statement.

    Each row gives `action`, `resource_type`, `resource_id`, `purpose` and `detail`; all tell of a success.
    """
    common = row(tenant_id=tenant_id, actor=actor, action="", resource=("", ""), now=now)
    own = ("action", "resource_type", "resource_id", "purpose", "detail")
    bulk.insert_rows(
        session, AuditEvent, rows, common={name: common[name] for name in common if name not in own}
    )
    audit_guard.note_events(
        session,
        ((row["resource_type"], tenant_id, row["resource_id"]) for row in rows if "to" in row["detail"]),
    )
