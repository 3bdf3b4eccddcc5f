"""What the schedule of the sweeps keeps in SQL: due slots, runs with their faults, leases and pauses."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Boolean, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Serial


class SlotState(StrEnum):
    """`waiting` for a worker, `started` by one, `done` with its run, or `dropped` for the slot's reason."""

    WAITING = "waiting"
    STARTED = "started"
    DONE = "done"
    DROPPED = "dropped"


class SlotKind(StrEnum):
    """Why a slot is due: by the clock, because a run was capped, to try again, or by a person's hand."""

    CLOCK = "clock"
    CAPPED = "capped"
    RETRY = "retry"
    HAND = "hand"


class RunStatus(StrEnum):
    RUNNING = "running"
    OK = "ok"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often a sweep is due; what lateness is judged by."""

    name: str
    every: timedelta


class SweepSlot(Base):
    """One moment at which a sweep is due. It is started at most once, whoever enqueues it how often."""

    __tablename__ = "sweep_slot"

    id: Mapped[Serial]
    name: Mapped[str] = mapped_column(String(63))
    slot_at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(String(10))
    state: Mapped[str] = mapped_column(String(10))
    reason: Mapped[str | None] = mapped_column(String(200))
    # Slots of the clock that passed before this one was claimed, and the first of them.
    missed: Mapped[int] = mapped_column(Integer, default=0)
    missed_from: Mapped[datetime | None]
    claimed_at: Mapped[datetime]
    enqueued_at: Mapped[datetime | None]
    enqueues: Mapped[int] = mapped_column(Integer, default=0)
    started_at: Mapped[datetime | None]

    __table_args__ = (
        Index("uq_sweep_slot_name_slot_at", "name", "slot_at", unique=True),
        Index(
            "ix_sweep_slot_waiting",
            "name",
            "slot_at",
            postgresql_where=state == SlotState.WAITING.value,
            sqlite_where=state == SlotState.WAITING.value,
        ),
        Index("ix_sweep_slot_slot_at", "slot_at"),
    )


class SweepRun(Base):
    """One run of a sweep: a history of its own, which the audit does not repeat."""

    __tablename__ = "sweep_run"

    id: Mapped[Serial]
    name: Mapped[str] = mapped_column(String(63))
    slot_id: Mapped[int | None] = mapped_column(BigId)
    by_hand: Mapped[bool] = mapped_column(Boolean, default=False)
    holder: Mapped[str] = mapped_column(String(100))
    status: Mapped[str] = mapped_column(String(10))
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    counts: Mapped[dict[str, Any]]
    capped: Mapped[bool] = mapped_column(Boolean, default=False)
    error: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (
        Index("ix_sweep_run_name_started_at", "name", "started_at", "id"),
        Index("ix_sweep_run_name_status_started_at", "name", "status", "started_at", "id"),
        Index("ix_sweep_run_started_at", "started_at"),
        Index("ix_sweep_run_name_status_finished_at", "name", "status", "by_hand", "finished_at"),
        Index(
            "ix_sweep_run_running",
            "id",
            postgresql_where=status == RunStatus.RUNNING.value,
            sqlite_where=status == RunStatus.RUNNING.value,
        ),
    )


class SweepFault(Base):
    """One row that failed within a run, with its traceback; shown to the tenant whose row it is."""

    __tablename__ = "sweep_fault"

    id: Mapped[Serial]
    run_id: Mapped[int] = mapped_column(ForeignKey("sweep_run.id", ondelete="CASCADE"))
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(63))
    row: Mapped[str] = mapped_column(String(200))
    error: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime]

    __table_args__ = (
        Index("ix_sweep_fault_run_id", "run_id"),
        Index("ix_sweep_fault_tenant_at", "tenant_id", "at", "id"),
        Index("ix_sweep_fault_at", "at", "id"),
    )


class SweepLease(Base):
    """Who runs a sweep. It ends by time unless its holder renews it, so that a killed one blocks nobody."""

    __tablename__ = "sweep_lease"

    name: Mapped[str] = mapped_column(String(63), primary_key=True)
    holder: Mapped[str] = mapped_column(String(100))
    run_id: Mapped[int] = mapped_column(BigId)
    expires_at: Mapped[datetime]


class SweepPause(Base):
    """Whether a sweep is paused, and since when it is or is not; no row means it never was."""

    __tablename__ = "sweep_pause"

    name: Mapped[str] = mapped_column(String(63), primary_key=True)
    paused: Mapped[bool] = mapped_column(Boolean)
    reason: Mapped[str | None] = mapped_column(String(200))
    by: Mapped[str] = mapped_column(String(200))
    at: Mapped[datetime]
    version: Mapped[int] = mapped_column(Integer, default=0)
