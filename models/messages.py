"""Messages, as they came in: stored once, whoever wrote them."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Boolean, ForeignKey, Index, String, Text, and_, func, or_, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from models.base import Base, BigId, Serial
from models.conversations import NATIVE


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
    source: Mapped[str] = mapped_column(String(40), default=NATIVE, server_default=NATIVE)
    external_id: Mapped[str] = mapped_column(String(200))
    # The order inside the conversation: the source's own increasing id where it has one, else ours.
    seq: Mapped[int] = mapped_column(BigId)
    direction: Mapped[str] = mapped_column(String(20))
    sender: Mapped[dict[str, Any]]
    private: Mapped[bool] = mapped_column(Boolean)
    auto_reply: Mapped[bool] = mapped_column(Boolean)
    customer: Mapped[str | None] = mapped_column(String(200))
    # The customer who wrote it where that is another one than `customer`, so that erasing them finds it.
    writer: Mapped[str | None] = mapped_column(String(200))
    agent: Mapped[str | None] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text)
    attributes: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict)
    created_at: Mapped[datetime]
    stored_at: Mapped[datetime]

    __table_args__ = (
        Index("uq_message_external", "tenant_id", "external_id", "source", unique=True),
        Index("ix_message_conversation", "conversation_id", "created_at", "id"),
        Index("ix_message_seq", "conversation_id", "direction", "seq"),
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

    @property
    def waits(self) -> bool:
        """Whether it waits for an answer: the customer's, or what came in without saying from whom."""
        return self.direction == Direction.INCOMING and not self.private

    @property
    def answers(self) -> bool:
        """Whether it is a public reply of a person or an assistant; a rule's message is none."""
        public = self.direction == Direction.OUTGOING and not self.private
        return public and self.sender.get("type") in (SenderType.AGENT, SenderType.ASSISTANT)


def find(session: Session, tenant_id: int, external_id: str, source: str = NATIVE) -> Message | None:
    """The message that `source` calls so, or None."""
    return session.scalars(
        select(Message).where(
            Message.tenant_id == tenant_id, Message.external_id == external_id, Message.source == source
        )
    ).one_or_none()


def next_seq(session: Session, conversation_id: int) -> int:
    """The place of a message whose source gives none: behind all that are known, under the lock."""
    last = session.scalar(select(func.max(Message.seq)).where(Message.conversation_id == conversation_id))
    return (last or 0) + 1


def greatest_incoming(session: Session, conversation_id: int, below: int | None = None) -> int:
    """The greatest `seq` of what the customer wrote, below `below` if that is given; 0 if there is none."""
    query = select(func.max(Message.seq)).where(
        Message.conversation_id == conversation_id, Message.direction == Direction.INCOMING.value
    )
    if below is not None:
        query = query.where(Message.seq < below)
    return session.scalar(query) or 0


def oldest_unanswered(
    session: Session,
    conversation_id: int,
    *,
    replied: tuple[datetime | None, int],
    resolved_at: datetime | None,
) -> datetime | None:
    """When the first message that waits was written, of those after the reply and the resolving.

    `replied` is the reply's time and `seq`: sources that count in whole seconds write both at one time.
    """
    query = select(func.min(Message.created_at)).where(
        Message.conversation_id == conversation_id,
        Message.direction == Direction.INCOMING.value,
        Message.private.is_(False),
    )
    replied_at, seq = replied
    if replied_at is not None:
        later = and_(Message.created_at == replied_at, Message.seq > seq)
        query = query.where(or_(Message.created_at > replied_at, later))
    if resolved_at is not None:
        query = query.where(Message.created_at > resolved_at)
    return session.scalar(query)
