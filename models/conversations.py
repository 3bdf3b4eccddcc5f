"""Conversations, as their source knows them, and what their messages and changes of status make of them."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Boolean, ForeignKey, Index, String, case, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import locks
from models.base import Base, BigId, Scalar, Serial
from models.errors import NotFound

NATIVE = "native"


class ConversationStatus(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"
    PENDING = "pending"
    SNOOZED = "snoozed"


class Conversation(Base):
    """`waiting_since` is the oldest message of the customer that nobody has answered yet.

    `status_changed_at` is null where we never saw the status change. `replied_at` with `replied_seq`, and
    `resolved_at`, are the newest that are known, so that what comes in late is judged as if it had come in
    order.
    """

    __tablename__ = "conversation"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    source: Mapped[str] = mapped_column(String(40), default=NATIVE, server_default=NATIVE)
    external_id: Mapped[str] = mapped_column(String(200))
    customer: Mapped[str | None] = mapped_column(String(200))
    inbox_id: Mapped[Any | None] = mapped_column(Scalar())
    status: Mapped[str] = mapped_column(String(20), default=ConversationStatus.OPEN.value)
    status_changed_at: Mapped[datetime | None]
    waiting_since: Mapped[datetime | None]
    priority: Mapped[Any | None] = mapped_column(Scalar())
    assignee_id: Mapped[Any | None] = mapped_column(Scalar())
    team_id: Mapped[Any | None] = mapped_column(Scalar())
    labels: Mapped[list[str]] = mapped_column(default=list)
    language: Mapped[str | None] = mapped_column(String(200))
    attributes: Mapped[dict[str, Any]] = mapped_column(default=dict)
    auto_reply: Mapped[bool] = mapped_column(Boolean, default=False)
    last_activity_at: Mapped[datetime | None]
    replied_at: Mapped[datetime | None]
    replied_seq: Mapped[int] = mapped_column(BigId, default=0)
    resolved_at: Mapped[datetime | None]
    source_updated_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        Index("uq_conversation_external", "tenant_id", "external_id", "source", unique=True),
        Index("ix_conversation_customer", "tenant_id", "customer"),
        Index("ix_conversation_updated", "tenant_id", "updated_at"),
    )


def find(
    session: Session, tenant_id: int, external_id: str, source: str | None = None
) -> Conversation | None:
    """The conversation that is called so by `source`, or by any: then one of our own goes first."""
    query = select(Conversation).where(
        Conversation.tenant_id == tenant_id, Conversation.external_id == external_id
    )
    if source is not None:
        query = query.where(Conversation.source == source)
    own_first = query.order_by(case((Conversation.source == NATIVE, 0), else_=1), Conversation.id)
    return session.scalars(own_first.limit(1)).first()


def get(session: Session, tenant_id: int, external_id: str) -> Conversation:
    """As `find`. Raises `NotFound`."""
    found = find(session, tenant_id, external_id)
    if found is None:
        raise NotFound("conversation")
    return found


def lock(session: Session, conversation_id: int) -> Conversation | None:
    """The conversation, locked and read again, or None where it is gone."""
    return locks.one(session, select(Conversation).where(Conversation.id == conversation_id))
