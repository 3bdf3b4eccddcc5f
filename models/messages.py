"""Messages, as they came in: stored once, whoever wrote them."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Boolean, ForeignKey, Index, String, Text, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from models.base import Base, BigId, Serial


class Direction(StrEnum):
    INCOMING = "incoming"
    OUTGOING = "outgoing"
    ACTIVITY = "activity"
    TEMPLATE = "template"


class SenderType(StrEnum):
    CUSTOMER = "customer"
    AGENT = "agent"
    ASSISTANT = "assistant"
    BOT = "bot"
    RULE = "rule"
    SYSTEM = "system"


class Message(Base):
    __tablename__ = "message"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversation.id"))
    external_id: Mapped[str] = mapped_column(String(200))
    seq: Mapped[int | None] = mapped_column(BigId)
    direction: Mapped[str] = mapped_column(String(20))
    sender: Mapped[dict[str, Any]]
    private: Mapped[bool] = mapped_column(Boolean)
    auto_reply: Mapped[bool] = mapped_column(Boolean)
    customer: Mapped[str | None] = mapped_column(String(200))
    # The customer who wrote it where that is another one than `customer`, so that erasing them finds it.
    writer: Mapped[str | None] = mapped_column(String(200))
    agent: Mapped[str | None] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    stored_at: Mapped[datetime]

    __table_args__ = (
        Index("uq_message_external", "tenant_id", "external_id", unique=True),
        Index("ix_message_conversation", "conversation_id", "created_at", "id"),
        Index("ix_message_customer", "tenant_id", "customer"),
        Index(
            "ix_message_writer",
            "tenant_id",
            "writer",
            postgresql_where=writer.is_not(None),
            sqlite_where=writer.is_not(None),
        ),
        Index("ix_message_stored", "tenant_id", "stored_at"),
    )

    @property
    def from_customer(self) -> bool:
        """Whether the customer wrote it: not we, not a person of ours, not a note."""
        return self.sender.get("type") == SenderType.CUSTOMER and not self.private


def find(session: Session, tenant_id: int, external_id: str) -> Message | None:
    return session.scalars(
        select(Message).where(Message.tenant_id == tenant_id, Message.external_id == external_id)
    ).one_or_none()
