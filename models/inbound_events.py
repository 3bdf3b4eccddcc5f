"""What connectors were told, stored before anything is done with it, so that nothing told is lost."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    Boolean,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    and_,
    delete,
    select,
    text,
    tuple_,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from models.base import Base, Serial, StoredJson, is_sqlite
from models.conversations import Conversation

KEPT = timedelta(days=7)
MOST_ATTEMPTS = 12
ERROR_LENGTH = 500


class State(StrEnum):
    """`applied`: the conversation and its messages are written, the areas still have to hear of it."""

    STORED = "stored"
    APPLIED = "applied"
    DONE = "done"
    FAILED = "failed"


OPEN = frozenset({State.STORED, State.APPLIED})
_MOVES = {
    State.STORED: frozenset({State.APPLIED, State.DONE, State.FAILED}),
    State.APPLIED: frozenset({State.DONE, State.FAILED}),
}


def _of_open(name: str, *columns: str) -> Index:
    where = text("next_attempt_at IS NOT NULL")
    return Index(name, *columns, postgresql_where=where, sqlite_where=where)


def _of_over(name: str, *columns: str) -> Index:
    where = text("next_attempt_at IS NULL")
    return Index(name, *columns, postgresql_where=where, sqlite_where=where)


class InboundEvent(Base):
    """One event of a source. `next_attempt_at` is null once it is over, and `raw` empty once it is done.

    `conversation` is the source's own id. `told_at` and `told_status` are what it said of the conversation's
    state and when that was so, `told_change` whether it said that the status had changed; from these the time
    since which a status holds is found in whatever order events come in.
    """

    __tablename__ = "inbound_event"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    source: Mapped[str] = mapped_column(String(40))
    delivery_id: Mapped[str] = mapped_column(String(200))
    event: Mapped[str] = mapped_column(String(60))
    conversation: Mapped[str | None] = mapped_column(String(200))
    customer: Mapped[str | None] = mapped_column(String(200))
    raw: Mapped[bytes] = mapped_column(LargeBinary)
    state: Mapped[str] = mapped_column(String(20))
    happenings: Mapped[list[dict[str, Any]]] = mapped_column(StoredJson(), default=list)
    told_at: Mapped[datetime | None]
    told_status: Mapped[str | None] = mapped_column(String(20))
    told_change: Mapped[bool] = mapped_column(Boolean, default=False)
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    next_attempt_at: Mapped[datetime | None] = mapped_column()
    error: Mapped[str | None] = mapped_column(String(ERROR_LENGTH))
    received_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        Index("uq_inbound_event_delivery", "tenant_id", "source", "delivery_id", unique=True),
        _of_open("ix_inbound_event_due", "next_attempt_at", "id"),
        _of_over("ix_inbound_event_over", "updated_at", "id"),
        Index("ix_inbound_event_conversation", "tenant_id", "source", "conversation", "told_at"),
        Index("ix_inbound_event_customer", "tenant_id", "customer"),
    )


@dataclass(frozen=True, slots=True)
class Told:
    """What a source told, as it came, and what of it is known without applying it.

    `delivery_id` is the source's own name for this delivery; `key` says the same of events without one.
    `refused` is why it can't be applied at all.
    """

    source: str
    event: str
    raw: bytes
    delivery_id: str | None = None
    key: str | None = None
    conversation: str | None = None
    customer: str | None = None
    refused: str | None = None
    ignored: str | None = None


def store(session: Session, tenant_id: int, told: Told, *, now: datetime) -> bool:
    """Keep an event to be applied; whether it is new. The same delivery is kept once. The caller commits.

    What can't be applied is kept as failed, what nothing here uses as done, each with its reason and without
    its body.
    """
    over = told.refused or told.ignored
    state = State.FAILED if told.refused else State.DONE if told.ignored else State.STORED
    dialect = sqlite if is_sqlite(session) else postgresql
    made = dialect.insert(InboundEvent).values(
        tenant_id=tenant_id,
        source=told.source,
        delivery_id=_identity(told),
        event=told.event[:60],
        conversation=told.conversation,
        customer=told.customer,
        raw=b"" if over else told.raw,
        state=state.value,
        happenings=[],
        told_change=False,
        attempts=0,
        next_attempt_at=None if over else now,
        error=over[:ERROR_LENGTH] if over else None,
        received_at=now,
        updated_at=now,
    )
    return session.scalars(made.on_conflict_do_nothing().returning(InboundEvent.id)).first() is not None


def _identity(told: Told) -> str:
    """By which the same event is known again. What names itself in no way is another event each time."""
    given = f"delivery:{told.delivery_id}" if told.delivery_id else f"event:{told.key or uuid4()}"
    if len(given) <= 200 and "\x00" not in given:
        return given
    return f"digest:{hashlib.sha256(given.encode(errors='surrogatepass')).hexdigest()}"


def set_state(event: InboundEvent, to: State, *, now: datetime) -> None:
    """The one place that assigns an event's state. Done, it forgets what was said."""
    if to not in _MOVES.get(State(event.state), frozenset()):
        raise ValueError(f"an inbound event may not move from {event.state} to {to.value}")
    event.state = to.value
    event.updated_at = now
    if to not in OPEN:
        event.next_attempt_at = None
    if to is State.DONE:
        event.raw, event.error = b"", None
        if event.happenings:
            event.happenings = []


def forget(session: Session, tenant_id: int, customer: str | None) -> int:
    """Delete what was told of `customer`, or all of a tenant's; how many events there were.

    To be called before any conversation is locked: applying takes an event's lock before a conversation's.
    """
    mine = InboundEvent.tenant_id == tenant_id
    if customer is None:
        return _gone(session, mine)
    theirs = select(Conversation.source, Conversation.external_id).where(
        Conversation.tenant_id == tenant_id, Conversation.customer == customer
    )
    # One after the other, so that each is looked up by an index.
    of_them = _gone(session, mine, InboundEvent.customer == customer)
    return of_them + _gone(session, mine, tuple_(InboundEvent.source, InboundEvent.conversation).in_(theirs))


def _gone(session: Session, *conditions: ColumnElement[bool]) -> int:
    statement = delete(InboundEvent).where(*conditions).returning(InboundEvent.id)
    gone = session.scalars(statement, execution_options={"synchronize_session": False})
    return len(gone.all())


def purge(session: Session, *, now: datetime, limit: int) -> int:
    """Delete up to `limit` events that were over a week ago; how many there were. The caller commits."""
    old = (
        select(InboundEvent.id)
        .where(and_(InboundEvent.next_attempt_at.is_(None), InboundEvent.updated_at < now - KEPT))
        .order_by(InboundEvent.updated_at, InboundEvent.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    ids = list(session.scalars(old))
    gone = delete(InboundEvent).where(InboundEvent.id.in_(ids))
    session.execute(gone.execution_options(synchronize_session=False))
    return len(ids)
