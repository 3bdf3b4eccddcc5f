"""Bulk operations: one verb on many rows, as a person asked for it, with what became of each row."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import (
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    Select,
    String,
    cast,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import audit, audit_guard, bulk, locks, text
from models.actors import Actor, ActorType
from models.base import Base, table_of
from models.errors import Conflict, NotFound
from models.transitions import move

MOST = 10_000
REASON_LENGTH = 200
KEPT_FOR = timedelta(days=90)
# One whose runner said nothing for this long is gone on with by the sweep.
SILENT_FOR = timedelta(seconds=30)


class State(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"
    FINISHED = "finished"


class ItemState(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    NOT_DONE = "not_done"
    LEFT_OUT = "left_out"


@audit_guard.audited("bulk", status="state")
class BulkOperation(Base):
    """One verb on many rows. Its row is locked while one of its items is done, so that none is done twice.

    `filters` are the list's, as its address gives them, `options` what the verb needs beside the row.
    `watermark` is when the list was seen whose every match is meant, null where rows were chosen one by one.
    `stopped_by` names who stopped it, at `finished_at`.
    """

    __tablename__ = "bulk_operation"
    moves = {State.RUNNING: frozenset({State.STOPPED, State.FINISHED})}

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    verb: Mapped[str] = mapped_column(String(40))
    filters: Mapped[dict[str, Any]]
    options: Mapped[dict[str, Any]]
    reason: Mapped[str] = mapped_column(String(REASON_LENGTH))
    watermark: Mapped[datetime | None]
    requested: Mapped[int] = mapped_column(Integer, default=0)
    done: Mapped[int] = mapped_column(Integer, default=0)
    not_done: Mapped[int] = mapped_column(Integer, default=0)
    left_out: Mapped[int] = mapped_column(Integer, default=0)
    state: Mapped[str] = mapped_column(String(20))
    actor_type: Mapped[str] = mapped_column(String(20))
    actor_id: Mapped[str] = mapped_column(String(200))
    actor_label: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    stopped_by: Mapped[str | None] = mapped_column(String(200))
    version: Mapped[int] = mapped_column(Integer, default=1)

    __table_args__ = (
        Index("ix_bulk_operation_created", "tenant_id", "created_at", "id"),
        Index(
            "ix_bulk_operation_running",
            "id",
            postgresql_where=state == State.RUNNING.value,
            sqlite_where=state == State.RUNNING.value,
        ),
        Index("ix_bulk_operation_finished", "finished_at"),
    )

    @property
    def waiting(self) -> int:
        return self.requested - self.done - self.not_done - self.left_out

    @property
    def actor(self) -> Actor:
        """Who asked for it, as each row's own event names them."""
        return Actor(ActorType(self.actor_type), self.actor_id, self.actor_label)


class BulkItem(Base):
    """One row of an operation, at the version in which it is meant, and what became of it."""

    __tablename__ = "bulk_item"

    operation_id: Mapped[UUID] = mapped_column(ForeignKey("bulk_operation.id"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    row_id: Mapped[str] = mapped_column(String(40))
    version: Mapped[int] = mapped_column(Integer)
    state: Mapped[str] = mapped_column(String(20))
    code: Mapped[str | None] = mapped_column(String(40))
    reason: Mapped[str | None] = mapped_column(String(500))
    at: Mapped[datetime | None]

    __table_args__ = (Index("ix_bulk_item_state", "operation_id", "state", "position"),)


@dataclass(frozen=True, slots=True)
class Rows:
    """Which rows are meant: `query` selects their `id` and `version`, and `by` is their order."""

    query: Select[Any]
    by: tuple[ColumnElement[Any], ...]

    def first(self, number: int) -> Select[Any]:
        return self.query.order_by(*self.by).limit(number)


def count(session: Session, rows: Rows) -> int:
    """How many rows `begin` would take, `MOST` at most."""
    return session.scalars(select(func.count()).select_from(rows.first(MOST).subquery())).one()


def begin(
    session: Session,
    tenant_id: int,
    verb: str,
    rows: Rows,
    *,
    confirmed: int,
    reason: str,
    actor: Actor,
    now: datetime,
    filters: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    watermark: datetime | None = None,
) -> BulkOperation:
    """Take down which rows `verb` is to be done on, as they are now, in the transaction at hand.

    Raises `Invalid` on `reason`, and `Conflict` where there are more than the `confirmed`, or none.
    """
    operation = BulkOperation(
        id=uuid4(),
        tenant_id=tenant_id,
        verb=verb,
        filters=dict(filters or {}),
        options=dict(options or {}),
        reason=text.required(reason, "reason", longest=REASON_LENGTH),
        watermark=watermark,
        state=State.RUNNING.value,
        actor_type=actor.type.value,
        actor_id=actor.id,
        actor_label=actor.label,
        created_at=now,
        updated_at=now,
        seen_at=now,
        requested=0,
        done=0,
        not_done=0,
        left_out=0,
        version=1,
    )
    session.add(operation)
    session.flush()
    operation.requested = _take_down(session, operation.id, rows, min(confirmed + 1, MOST))
    if operation.requested > confirmed:
        raise Conflict("There are more of them now than you confirmed, so nothing was done.")
    if operation.requested == 0:
        raise Conflict("None of them is as it was when you saw it, so nothing was done.")
    audit.append(
        session,
        tenant_id=tenant_id,
        actor=actor,
        action="bulk.started",
        resource=("bulk", str(operation.id)),
        now=now,
        purpose=operation.reason,
        detail={"from": None, "to": operation.state, "verb": verb, "requested": operation.requested},
    )
    return operation


def _take_down(session: Session, operation_id: UUID, rows: Rows, number: int) -> int:
    found = rows.first(number).add_columns(func.row_number().over(order_by=rows.by).label("position"))
    source = found.subquery("meant")
    items = table_of(BulkItem)
    chosen = select(
        literal(operation_id, items.c.operation_id.type),
        source.c.position,
        cast(source.c.id, String(40)),
        source.c.version,
        literal(ItemState.WAITING.value),
    )
    names = ["operation_id", "position", "row_id", "version", "state"]
    made = insert(items).from_select(names, chosen, include_defaults=False)
    result: Any = session.execute(made, execution_options={"preserve_rowcount": True})
    return int(result.rowcount)


def stop(
    session: Session, tenant_id: int, operation_id: UUID, *, actor: Actor, now: datetime
) -> BulkOperation:
    """End a running operation: what waits is left as it is. One that ended is returned unchanged.

    Nobody does an item of it meanwhile, since that takes the lock that is held here. Raises `NotFound`.
    """
    operation = locked(session, operation_id, tenant_id)
    if operation is None:
        raise NotFound("bulk operation")
    if operation.state != State.RUNNING:
        return operation
    why = f"Stopped by {actor.label} before its turn came."
    left: Any = session.execute(
        update(BulkItem)
        .where(BulkItem.operation_id == operation_id, BulkItem.state == ItemState.WAITING.value)
        .values(state=ItemState.LEFT_OUT.value, at=now, reason=why)
        .execution_options(synchronize_session=False)
    )
    operation.left_out, operation.stopped_by = left.rowcount, actor.label
    end(session, operation, State.STOPPED, actor=actor, now=now)
    return operation


def end(session: Session, operation: BulkOperation, to: State, *, actor: Actor, now: datetime) -> None:
    """Move a locked operation to the state in which it ended, with its counts in the audit."""
    operation.finished_at = now
    names = ("requested", "done", "not_done", "left_out")
    move(
        session,
        operation,
        to,
        actor=actor,
        now=now,
        action=f"bulk.{to}",
        purpose=operation.reason if to is State.FINISHED else None,
        detail={"verb": operation.verb, "counts": {name: getattr(operation, name) for name in names}},
        attribute="state",
    )


def get(session: Session, tenant_id: int, operation_id: UUID) -> BulkOperation:
    """Raises `NotFound`, for another tenant's too."""
    found = session.scalars(
        select(BulkOperation)
        .where(BulkOperation.tenant_id == tenant_id, BulkOperation.id == operation_id)
        .execution_options(populate_existing=True)
    ).one_or_none()
    if found is None:
        raise NotFound("bulk operation")
    return found


def locked(session: Session, operation_id: UUID, tenant_id: int | None = None) -> BulkOperation | None:
    query = select(BulkOperation).where(BulkOperation.id == operation_id)
    if tenant_id is not None:
        query = query.where(BulkOperation.tenant_id == tenant_id)
    return locks.one(session, query)


def silent(session: Session, *, now: datetime) -> list[tuple[UUID, int]]:
    """The running operations, with their tenants, whose runner said nothing for a while; longest first."""
    query = select(BulkOperation.id, BulkOperation.tenant_id).where(
        BulkOperation.state == State.RUNNING.value, BulkOperation.seen_at <= now - SILENT_FOR
    )
    return [(id, tenant_id) for id, tenant_id in session.execute(query.order_by(BulkOperation.seen_at))]


def purge(session: Session, *, now: datetime, limit: int) -> int:
    """Delete up to `limit` items and operations that ended 90 days ago; how many. The caller commits."""
    old = select(BulkOperation.id).where(BulkOperation.finished_at <= now - KEPT_FOR)
    gone = 0
    while gone < limit:
        oldest = session.scalars(old.order_by(BulkOperation.finished_at).limit(1)).first()
        if oldest is None:
            break
        of_it = select(BulkItem.position).where(BulkItem.operation_id == oldest).limit(limit - gone)
        positions = session.scalars(of_it).all()
        _delete(session, BulkItem.operation_id == oldest, BulkItem.position.in_(positions))
        gone += len(positions)
        if gone < limit:
            bulk.execute_unaudited(session, delete(BulkOperation).where(BulkOperation.id == oldest))
            gone += 1
    return gone


def erase(session: Session, tenant_id: int) -> int:
    """Delete all operations of a tenant; how many there were.

    Comes before all else that is locked to be erased: who does an item holds its operation first.
    """
    mine = select(BulkOperation.id).where(BulkOperation.tenant_id == tenant_id)
    ids = session.scalars(mine.order_by(BulkOperation.id).with_for_update()).all()
    _delete(session, BulkItem.operation_id.in_(mine))
    bulk.execute_unaudited(session, delete(BulkOperation).where(BulkOperation.tenant_id == tenant_id))
    return len(ids)


def forget_customer(session: Session, tenant_id: int, customer: str, reasons: Select[str]) -> None:
    """Drop `customer` from filters, and a reason beside them or of their `reasons`. As early as `erase`."""
    filters = BulkOperation.filters
    narrowed = or_(filters["customer"].as_string() == customer, filters["reason"].as_string().in_(reasons))
    told = select(BulkOperation).where(BulkOperation.tenant_id == tenant_id, narrowed)
    for operation in session.scalars(told.order_by(BulkOperation.id).with_for_update()):
        operation.filters = {
            name: "" if name == "reason" or (name, said) == ("customer", customer) else said
            for name, said in operation.filters.items()
        }


def _delete(session: Session, *conditions: ColumnElement[bool]) -> None:
    session.execute(delete(BulkItem).where(*conditions).execution_options(synchronize_session=False))
