"""The rows of the follow-ups area."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Computed, Float, ForeignKey, Index, Integer, String, and_, column, func
from sqlalchemy.orm import Mapped, mapped_column

from models.audit_guard import audited
from models.base import Base, Serial, later_of


class ContactState(StrEnum):
    GRANTED = "granted"
    REVOKED = "revoked"
    UNAVAILABLE = "unavailable"


class Status(StrEnum):
    PENDING = "pending"
    FIRED = "fired"
    CANCELLED = "cancelled"
    BLOCKED = "blocked"


TERMINAL = frozenset({Status.FIRED, Status.CANCELLED, Status.BLOCKED})
REARMABLE = frozenset({Status.CANCELLED, Status.BLOCKED})


class Block(StrEnum):
    """Why a follow-up was held back: the code that page, API and audit show."""

    POLICY_INVALID = "policy_invalid"
    CONSENT = "consent"
    REVOKED = "revoked"
    UNAVAILABLE = "unavailable"
    DEDUP = "dedup"
    FREQUENCY = "frequency"
    HOLDOUT = "holdout"


class TaskStatus(StrEnum):
    QUEUED = "queued"
    DISPATCHED = "dispatched"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


# In the order in which index and queries write them: SQLite compares the two word by word.
UNFINISHED = (TaskStatus.DISPATCHED.value, TaskStatus.QUEUED.value)


@audited("contact", status="state")
class Contact(Base):
    """Consent, one cell per tenant and customer. Its row is the lock for all that concerns the customer."""

    __tablename__ = "contact"
    moves = {
        ContactState.GRANTED: frozenset({ContactState.REVOKED, ContactState.UNAVAILABLE}),
        ContactState.REVOKED: frozenset({ContactState.GRANTED}),
        ContactState.UNAVAILABLE: frozenset({ContactState.GRANTED, ContactState.REVOKED}),
    }

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    customer: Mapped[str] = mapped_column(String(200))
    state: Mapped[str] = mapped_column(String(20))
    sends_without_reply: Mapped[int] = mapped_column(Integer, default=0)
    last_outbound_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    revoked_by: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    version: Mapped[int] = mapped_column(Integer, default=1)

    __table_args__ = (
        Index("uq_contact_customer", "tenant_id", "customer", unique=True),
        Index("ix_contact_state", "tenant_id", "state"),
    )


class RevokeEvent(Base):
    """One opt-out; it stays when the contact is granted again."""

    __tablename__ = "revoke_event"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    customer: Mapped[str] = mapped_column(String(200))
    at: Mapped[datetime]
    source: Mapped[str] = mapped_column(String(200))

    __table_args__ = (Index("ix_revoke_event_customer", "tenant_id", "customer", "id"),)


class ErasedOptOut(Base):
    """A keyed hash of a customer who opted out and was then erased: a booking must not reopen it."""

    __tablename__ = "erased_opt_out"

    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    revoked_at: Mapped[datetime]


@audited("followup")
class FollowUp(Base):
    """One promised message to one customer. `due_at` is the latest of the three times it waits for."""

    __tablename__ = "follow_up"
    moves = {Status.PENDING: TERMINAL}

    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"), primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    agent: Mapped[str] = mapped_column(String(200))
    customer: Mapped[str] = mapped_column(String(200))
    session_id: Mapped[str | None] = mapped_column(String(200))
    at: Mapped[datetime]
    reason: Mapped[str] = mapped_column(String(200))
    arm: Mapped[str] = mapped_column(String(200))
    transport: Mapped[str | None] = mapped_column(String(200))
    status: Mapped[str] = mapped_column(String(20))
    task_id: Mapped[UUID | None]
    blocked_reason: Mapped[str | None] = mapped_column(String(40))
    cancelled_by: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    fired_at: Mapped[datetime | None]
    rearmed_from: Mapped[UUID | None] = mapped_column()
    # When the promise was first made, where this books it again; null where this is the first.
    promised_at: Mapped[datetime | None] = mapped_column()
    deferred_until: Mapped[datetime | None] = mapped_column()
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    next_attempt_at: Mapped[datetime | None]
    version: Mapped[int] = mapped_column(Integer, default=1)
    due_at: Mapped[datetime] = mapped_column(
        Computed(
            later_of(
                column("at"),
                func.coalesce(column("deferred_until"), column("at")),
                func.coalesce(column("next_attempt_at"), column("at")),
            ),
            persisted=True,
        )
    )

    __table_args__ = (
        Index(
            "ix_follow_up_due",
            "tenant_id",
            "agent",
            "due_at",
            "at",
            "id",
            # The sweep reads no more than this of what is due, before it locks.
            postgresql_include=["customer"],
            postgresql_where=status == Status.PENDING.value,
            sqlite_where=status == Status.PENDING.value,
        ),
        Index(
            "ix_follow_up_pending",
            "tenant_id",
            "due_at",
            "id",
            postgresql_where=status == Status.PENDING.value,
            sqlite_where=status == Status.PENDING.value,
        ),
        Index(
            "ix_follow_up_deferred",
            "agent",
            postgresql_where=and_(status == Status.PENDING.value, deferred_until.is_not(None)),
            sqlite_where=and_(status == Status.PENDING.value, deferred_until.is_not(None)),
        ),
        Index(
            "ix_follow_up_failing",
            "tenant_id",
            "agent",
            "at",
            postgresql_where=and_(status == Status.PENDING.value, attempts > 0),
            sqlite_where=and_(status == Status.PENDING.value, attempts > 0),
        ),
        Index("ix_follow_up_customer", "tenant_id", "customer", "status", "fired_at"),
        # For a person who looks for a customer and does not mind upper and lower case.
        Index("ix_follow_up_customer_lower", "tenant_id", func.lower(customer)),
        Index(
            "ix_follow_up_pending_at",
            "tenant_id",
            "at",
            "id",
            postgresql_where=status == Status.PENDING.value,
            sqlite_where=status == Status.PENDING.value,
        ),
        Index(
            "ix_follow_up_status_updated",
            "tenant_id",
            "status",
            "updated_at",
            "id",
            # SQLite does not see that `status = 'fired'` implies this, so that there it holds all rows.
            postgresql_where=status != Status.PENDING.value,
        ),
        # The list of what was blocked for one cause, and what of it needs a person.
        Index(
            "ix_follow_up_blocked",
            "tenant_id",
            "blocked_reason",
            "updated_at",
            "id",
            postgresql_where=status == Status.BLOCKED.value,
            sqlite_where=status == Status.BLOCKED.value,
        ),
        Index(
            "ix_follow_up_rearmed_from",
            "tenant_id",
            "rearmed_from",
            postgresql_where=rearmed_from.is_not(None),
            sqlite_where=rearmed_from.is_not(None),
        ),
        Index("ix_follow_up_created", "tenant_id", "created_at", "id"),
        Index("ix_follow_up_status_created", "tenant_id", "status", "created_at", "id"),
        Index("ix_follow_up_agent", "tenant_id", "agent", "created_at", "id"),
        Index("ix_follow_up_agent_arm", "tenant_id", "agent", "arm", "status"),
        Index("ix_follow_up_arm", "tenant_id", "arm", "created_at", "id"),
        Index("ix_follow_up_reason", "tenant_id", "reason", "created_at", "id"),
    )


# A filter that hardly any row of a tab passes must not read the whole tab. By agent, the sweep's own
# index finds what is pending.
for _narrowed in (FollowUp.arm, FollowUp.reason):
    Index(
        f"ix_follow_up_pending_{_narrowed.key}",
        FollowUp.tenant_id,
        _narrowed,
        FollowUp.due_at,
        FollowUp.id,
        postgresql_where=FollowUp.status == Status.PENDING.value,
        sqlite_where=FollowUp.status == Status.PENDING.value,
    )
for _narrowed in (FollowUp.agent, FollowUp.arm, FollowUp.reason):
    Index(
        f"ix_follow_up_over_{_narrowed.key}",
        FollowUp.tenant_id,
        _narrowed,
        FollowUp.status,
        FollowUp.updated_at,
        FollowUp.id,
        postgresql_where=FollowUp.status != Status.PENDING.value,
    )


class AgentTask(Base):
    """What a fired follow-up asks of the agent's runtime, which claims it; `command` holds the prompt."""

    __tablename__ = "agent_task"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    followup_id: Mapped[UUID | None]
    agent: Mapped[str] = mapped_column(String(200))
    customer: Mapped[str] = mapped_column(String(200))
    session_id: Mapped[str | None] = mapped_column(String(200))
    command: Mapped[dict[str, Any]]
    status: Mapped[str] = mapped_column(String(20))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    version: Mapped[int] = mapped_column(Integer, default=1)

    __table_args__ = (
        Index("ix_agent_task_created", "tenant_id", "created_at", "id"),
        Index("ix_agent_task_status", "tenant_id", "status", "created_at", "id"),
        Index(
            "ix_agent_task_waiting",
            "tenant_id",
            "updated_at",
            "id",
            postgresql_where=status.in_(UNFINISHED),
            sqlite_where=status.in_(UNFINISHED),
        ),
        Index("ix_agent_task_agent", "tenant_id", "agent", "created_at", "id"),
        Index("ix_agent_task_customer", "tenant_id", "customer", "status"),
    )


class TaskEvent(Base):
    """The history of a task: one row for each change of its status."""

    __tablename__ = "task_event"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    task_id: Mapped[UUID]
    from_status: Mapped[str | None] = mapped_column(String(20))
    to_status: Mapped[str] = mapped_column(String(20))
    actor: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str | None] = mapped_column(String(200))
    at: Mapped[datetime]

    __table_args__ = (Index("ix_task_event_task", "tenant_id", "task_id", "id"),)


class Outcome(Base):
    """What came of it: a reply, a sale. What a kind means is the tenant's business."""

    __tablename__ = "outcome"

    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"), primary_key=True)
    id: Mapped[str] = mapped_column(String(200), primary_key=True)
    agent: Mapped[str] = mapped_column(String(200))
    customer: Mapped[str] = mapped_column(String(200))
    session_id: Mapped[str | None] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(200))
    value: Mapped[float | None] = mapped_column(Float)
    occurred_at: Mapped[datetime]
    created_at: Mapped[datetime]

    __table_args__ = (
        Index("ix_outcome_customer", "tenant_id", "customer"),
        Index("ix_outcome_created", "tenant_id", "created_at"),
    )
