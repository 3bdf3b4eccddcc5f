"""The outbox: what happened, written in the transition's transaction, sent by the delivery sweep."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, select, text
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import bulk, positions, set_wise
from models.base import Base, BigId, Serial


def _of_published(name: str, *columns: str, unique: bool = False) -> Index:
    """An index over published events only, so that the transitions which write them don't pay for it."""
    where = text("position IS NOT NULL")
    return Index(name, *columns, unique=unique, postgresql_where=where, sqlite_where=where)


class OutboxEvent(Base):
    """One event. The payload holds ids, states and codes, never a customer's words."""

    __tablename__ = "outbox_event"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    aggregate_type: Mapped[str] = mapped_column(String(40))
    aggregate_id: Mapped[str] = mapped_column(String(200))
    event_type: Mapped[str] = mapped_column(String(80))
    deduplication_key: Mapped[str | None] = mapped_column(String(200))
    payload: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    position: Mapped[int | None] = mapped_column(BigId)

    __table_args__ = (
        Index(
            "uq_outbox_event_deduplication",
            "tenant_id",
            "event_type",
            "aggregate_type",
            "aggregate_id",
            "deduplication_key",
            unique=True,
            postgresql_where=deduplication_key.is_not(None),
            sqlite_where=deduplication_key.is_not(None),
        ),
        Index(
            "ix_outbox_event_unpublished",
            "id",
            postgresql_where=position.is_(None),
            sqlite_where=position.is_(None),
        ),
        _of_published("uq_outbox_event_position", "position", unique=True),
        _of_published("ix_outbox_event_tenant_position", "tenant_id", "position"),
        _of_published("ix_outbox_event_tenant_type_position", "tenant_id", "event_type", "position"),
        Index("ix_outbox_event_aggregate", "tenant_id", "aggregate_type", "aggregate_id", "id"),
        # SQLite would give the ids of purged rows again, and with them the ids of webhooks.
        {"sqlite_autoincrement": True},
    )


def enqueue(
    session: Session,
    *,
    tenant_id: int,
    event_type: str,
    aggregate: tuple[str, str],
    payload: dict[str, Any],
    now: datetime,
    deduplication_key: str | None = None,
) -> OutboxEvent:
    """Append an event of `aggregate` (type, id), or return the first with the same deduplication key."""
    aggregate_type, aggregate_id = aggregate
    if deduplication_key is not None:
        first = session.scalars(
            select(OutboxEvent).where(
                OutboxEvent.tenant_id == tenant_id,
                OutboxEvent.event_type == event_type,
                OutboxEvent.aggregate_type == aggregate_type,
                OutboxEvent.aggregate_id == aggregate_id,
                OutboxEvent.deduplication_key == deduplication_key,
            )
        ).one_or_none()
        if first is not None:
            return first
    event = OutboxEvent(
        tenant_id=tenant_id,
        aggregate_type=aggregate_type,
        aggregate_id=aggregate_id,
        event_type=event_type,
        deduplication_key=deduplication_key,
        payload=payload,
        created_at=now,
    )
    session.add(event)
    return event


def add(
    session: Session,
    *,
    tenant_id: int,
    event_type: str,
    aggregate: tuple[str, str],
    payload: dict[str, Any],
    now: datetime,
) -> None:
    """Append an event of `aggregate` (type, id) without deduplication, set-wise where others are."""
    event = {
        "tenant_id": tenant_id,
        "aggregate_type": aggregate[0],
        "aggregate_id": aggregate[1],
        "event_type": event_type,
        "payload": payload,
        "created_at": now,
    }
    set_wise.add(session, OutboxEvent, event)


def enqueue_many(session: Session, rows: Sequence[dict[str, Any]], *, tenant_id: int, now: datetime) -> None:
    """Append many events without deduplication in one statement.

    Each row gives `event_type`, `aggregate_type`, `aggregate_id` and `payload`.
    """
    bulk.insert_rows(session, OutboxEvent, rows, common={"tenant_id": tenant_id, "created_at": now})


def assign_positions(session: Session, limit: int) -> positions.Span:
    """Give up to `limit` committed events their position; the positions that were given."""
    return positions.assign(session, OutboxEvent, limit)
