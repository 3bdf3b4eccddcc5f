"""Conversations, as the source knows them."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from models.base import Base, Serial


class Conversation(Base):
    __tablename__ = "conversation"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    external_id: Mapped[str] = mapped_column(String(200))
    customer: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        Index("uq_conversation_external", "tenant_id", "external_id", unique=True),
        Index("ix_conversation_customer", "tenant_id", "customer"),
        Index("ix_conversation_updated", "tenant_id", "updated_at"),
    )


def find(session: Session, tenant_id: int, external_id: str) -> Conversation | None:
    return session.scalars(
        select(Conversation).where(
            Conversation.tenant_id == tenant_id, Conversation.external_id == external_id
        )
    ).one_or_none()
