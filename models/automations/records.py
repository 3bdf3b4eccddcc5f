"""The rows of the automations area: rules, what they armed, and the ledger of what was done."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Boolean, Computed, ForeignKey, Index, Integer, String, Text, and_, column, func, or_
from sqlalchemy.orm import Mapped, mapped_column

from models.audit_guard import audited
from models.base import Base, BigId, Serial, StoredJson, later_of
from models.happenings import Event as Event


class Trigger(StrEnum):
    INACTIVITY = "inactivity"


class OnFailure(StrEnum):
    """What becomes of the actions after one that failed or whose end is unknown."""

    CONTINUE = "continue"
    STOP = "stop"


class Status(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    EXECUTING = "executing"
    EXECUTED = "executed"
    SKIPPED = "skipped"


ARMED = frozenset({Status.PENDING, Status.PROCESSING})
TERMINAL = frozenset({Status.EXECUTED, Status.SKIPPED})


class Skip(StrEnum):
    """Why an execution was not run: the code that page, API and audit show."""

    EXPIRED = "expired"
    RULE_INACTIVE = "rule_inactive"
    CONVERSATION_GONE = "conversation_gone"
    EPISODE_MOVED = "episode_moved"
    CONDITIONS_CHANGED = "conditions_changed"
    CANCELLED = "cancelled_by_operator"
    DROPPED = "dropped_by_operator"


# What a person decided, which no later message takes back.
BY_OPERATOR = frozenset({Skip.CANCELLED, Skip.DROPPED})


class ActionState(StrEnum):
    WAITING = "waiting"
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


# What somebody has to look at before the row is settled.
UNSETTLED = frozenset({ActionState.FAILED, ActionState.UNKNOWN})


class AutomationRule(Base):
    """When a conversation has been like this for so long, do that. `execution_delay` is in minutes."""

    __tablename__ = "automation_rule"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text, default="")
    event: Mapped[str] = mapped_column(String(40))
    conditions: Mapped[list[dict[str, Any]]] = mapped_column(StoredJson())
    actions: Mapped[list[dict[str, Any]]] = mapped_column(StoredJson())
    active: Mapped[bool] = mapped_column(Boolean, default=True)
    execution_delay: Mapped[int | None] = mapped_column(Integer)
    window_start: Mapped[int | None] = mapped_column(Integer)
    window_end: Mapped[int | None] = mapped_column(Integer)
    trigger: Mapped[str | None] = mapped_column(String(20))
    on_failure: Mapped[str] = mapped_column(String(20), default=OnFailure.CONTINUE.value)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    # Counted up by each change that frees what was armed; `version` by each change at all.
    armed_version: Mapped[int] = mapped_column(Integer, default=1)
    version: Mapped[int] = mapped_column(Integer, default=1)

    __table_args__ = (
        Index("ix_automation_rule_event", "tenant_id", "event", "active"),
        Index("ix_automation_rule_created", "tenant_id", "created_at", "id"),
    )


@audited("execution")
class Execution(Base):
    """One rule waiting on one episode of one conversation, and what came of it.

    `lock_token` says who may write it; `locked_at` only how long ago they last did. `lapses_from` is the time
    from which lateness counts: when it was due, later by what it spent waiting for a window. `run` counts the
    runs of an inactivity rule, each with keys of its own. `armed_version` is the rule's when it was armed.
    """

    __tablename__ = "execution"
    moves = {
        Status.PENDING: frozenset({Status.PROCESSING, Status.EXECUTING, Status.SKIPPED}),
        Status.PROCESSING: frozenset({Status.PENDING, Status.EXECUTING, Status.SKIPPED}),
        Status.EXECUTING: frozenset({Status.EXECUTED, Status.SKIPPED, Status.PROCESSING, Status.PENDING}),
        Status.EXECUTED: frozenset({Status.PROCESSING, Status.PENDING}),
        Status.SKIPPED: frozenset({Status.PENDING}),
    }

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    rule_id: Mapped[UUID]
    conversation_id: Mapped[int] = mapped_column(BigId)
    message_id: Mapped[int | None] = mapped_column(BigId)
    message_seq: Mapped[int | None] = mapped_column(BigId)
    message_at: Mapped[datetime | None]
    episode_key: Mapped[str] = mapped_column(String(250))
    at_once: Mapped[bool] = mapped_column(Boolean, default=False)
    armed_version: Mapped[int] = mapped_column(Integer)
    status: Mapped[str] = mapped_column(String(20))
    skip_reason: Mapped[str | None] = mapped_column(String(40))
    due_at: Mapped[datetime] = mapped_column()
    not_before: Mapped[datetime | None] = mapped_column()
    lapses_from: Mapped[datetime] = mapped_column()
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    next_attempt_at: Mapped[datetime | None] = mapped_column()
    lock_token: Mapped[UUID | None]
    locked_at: Mapped[datetime | None]
    run: Mapped[int] = mapped_column(Integer, default=0)
    # Whether a person let what is left of the run go on: then it is not judged again.
    resumed: Mapped[bool] = mapped_column(Boolean, default=False)
    began_at: Mapped[datetime | None]
    # The rule's when the run began, so that changing the rule changes no run that goes on.
    on_failure: Mapped[str] = mapped_column(String(20), default=OnFailure.CONTINUE.value)
    activity_seen_at: Mapped[datetime | None]
    needs_review: Mapped[bool] = mapped_column(Boolean, default=False)
    settled_by: Mapped[str | None] = mapped_column(String(200))
    settled_at: Mapped[datetime | None]
    note: Mapped[str | None] = mapped_column(String(500))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    version: Mapped[int] = mapped_column(Integer, default=1)
    # When the sweep looks at it: the latest of the three times it waits for.
    next_at: Mapped[datetime] = mapped_column(
        Computed(
            later_of(
                column("due_at"),
                func.coalesce(column("not_before"), column("due_at")),
                func.coalesce(column("next_attempt_at"), column("due_at")),
            ),
            persisted=True,
        )
    )

    __table_args__ = (
        Index("uq_execution_episode", "rule_id", "conversation_id", "episode_key", unique=True),
        Index(
            "ix_execution_due",
            "tenant_id",
            "next_at",
            "id",
            postgresql_where=and_(status == Status.PENDING.value, at_once.is_(False)),
            sqlite_where=and_(status == Status.PENDING.value, at_once.is_(False)),
        ),
        # What runs at once, whatever the tenant's switch says.
        Index(
            "ix_execution_at_once",
            "next_at",
            "id",
            postgresql_where=and_(status == Status.PENDING.value, at_once.is_(True)),
            sqlite_where=and_(status == Status.PENDING.value, at_once.is_(True)),
        ),
        Index(
            "ix_execution_locked",
            "status",
            "locked_at",
            "id",
            postgresql_where=or_(status == Status.PROCESSING.value, status == Status.EXECUTING.value),
            sqlite_where=or_(status == Status.PROCESSING.value, status == Status.EXECUTING.value),
        ),
        Index("ix_execution_pending", "tenant_id", "status", "due_at", "id"),
        Index("ix_execution_over", "tenant_id", "status", "updated_at", "id"),
        Index("ix_execution_rule", "tenant_id", "rule_id", "status", "updated_at", "id"),
        Index("ix_execution_skip", "tenant_id", "skip_reason", "updated_at", "id"),
        Index("ix_execution_conversation", "conversation_id", "created_at", "id"),
        Index("ix_execution_created", "tenant_id", "created_at", "id"),
        Index(
            "ix_execution_review",
            "tenant_id",
            "updated_at",
            "id",
            postgresql_where=needs_review.is_(True),
            sqlite_where=needs_review.is_(True),
        ),
        Index("ix_execution_status_updated", "status", "updated_at", "id"),
    )

    @property
    def live(self) -> bool:
        """Whether it is neither over nor left to a person: a machine may still act on it."""
        return self.status in ARMED or (self.status == Status.EXECUTING and not self.needs_review)


class ActionRun(Base):
    """One action of one run: what it was to do, how far it came, and what the other side said.

    `idempotency_key` stays the same however often the action is tried.
    """

    __tablename__ = "action_run"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    execution_id: Mapped[UUID] = mapped_column(ForeignKey("execution.id", ondelete="CASCADE"))
    run: Mapped[int] = mapped_column(Integer)
    position: Mapped[int] = mapped_column(Integer)
    name: Mapped[str] = mapped_column(String(40))
    params: Mapped[list[Any]] = mapped_column(StoredJson())
    # Whether its effect is on our own data, and so exactly as far as its transaction came.
    native: Mapped[bool] = mapped_column(Boolean)
    state: Mapped[str] = mapped_column(String(10))
    idempotency_key: Mapped[str] = mapped_column(String(80))
    receipt: Mapped[str | None] = mapped_column(String(500))
    error: Mapped[str | None] = mapped_column(String(500))
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    __table_args__ = (
        Index("uq_action_run_position", "execution_id", "run", "position", unique=True),
        Index("uq_action_run_key", "idempotency_key", unique=True),
    )


class ActionEvent(Base):
    """The history of an action: one row for each change of its state, by whom and why."""

    __tablename__ = "action_event"

    id: Mapped[Serial]
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    action_run_id: Mapped[int] = mapped_column(ForeignKey("action_run.id", ondelete="CASCADE"))
    from_state: Mapped[str] = mapped_column(String(10))
    to_state: Mapped[str] = mapped_column(String(10))
    actor: Mapped[str] = mapped_column(String(200))
    detail: Mapped[str | None] = mapped_column(String(500))
    at: Mapped[datetime]

    __table_args__ = (Index("ix_action_event_action_run", "action_run_id", "id"),)
