"""The seals over the audit: a chain of digests that shows whether a sealed row was changed or removed."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Integer, Row, String, delete, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import audit, positions, purge_marks, tenants
from models.actors import Actor
from models.audit import AuditEvent
from models.audit_triggers import AUDIT_COLUMNS
from models.base import Base, BigId, Serial, is_sqlite, table_of
from models.clock import iso
from models.positions import Span
from models.sweeping import Counts
from models.transactions import commit, rollback

RANGE = 1_000
ROWS_AT_ONCE = 500
START = "0" * 64
RETENTION = Actor.system("retention")
PURGED = "audit.purged"
# Rows are digested as they are; their position is part of it.
DIGESTED = ("position", *AUDIT_COLUMNS)


class AuditSeal(Base):
    """One sealed range of positions, with the digest over its rows and the seal before."""

    __tablename__ = "audit_seal"

    id: Mapped[Serial]
    first_position: Mapped[int] = mapped_column(BigId, unique=True)
    last_position: Mapped[int] = mapped_column(BigId, unique=True)
    first_id: Mapped[int] = mapped_column(BigId)
    last_id: Mapped[int] = mapped_column(BigId)
    count: Mapped[int] = mapped_column(Integer)
    digest: Mapped[str] = mapped_column(String(64))
    sealed_at: Mapped[datetime]


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifying found. `bad` is the first range that does not hold, and `why` says what is wrong.

    `head` is the newest seal's digest: whoever notes it elsewhere can tell later whether the chain was
    rewritten as a whole.
    """

    ok: bool
    bad: Span | None
    why: str | None
    ranges: int
    sealed: int
    unsealed: int
    purged_upto: int
    head: str | None


def seal(session: Session, *, now: datetime, limit: int) -> Counts:
    """Give up to `limit` committed events their position and seal them, range by range.

    One process at a time: each range is a transaction that holds the counter. Counts `ranges` and `sealed`.
    """
    counts = Counts(own={"ranges": 0, "sealed": 0})
    while counts.examined < limit:
        size = min(RANGE, limit - counts.examined)
        span = positions.assign(session, AuditEvent, size)
        if span:
            _seal_range(session, span, now)
            counts.add("ranges")
            counts.add("sealed", len(span))
        commit(session, "audit.seal")
        counts.examined += len(span)
        counts.changed += len(span)
        if len(span) < size:
            return counts
    waiting = select(AuditEvent.id).where(AuditEvent.position.is_(None)).order_by(AuditEvent.id).limit(1)
    counts.capped = session.scalars(waiting).first() is not None
    rollback(session)
    return counts


def _seal_range(session: Session, span: Span, now: datetime) -> None:
    before = session.execute(
        select(AuditSeal.last_position, AuditSeal.digest).order_by(AuditSeal.id.desc()).limit(1)
    ).first()
    last, digest = (0, START) if before is None else (before.last_position, before.digest)
    if span.first != last + 1:
        raise RuntimeError(f"the audit is sealed up to {last}, so no range can begin at {span.first}")
    summary = _digest(digest, _rows(session, span))
    session.add(
        AuditSeal(
            first_position=span.first,
            last_position=span.last,
            first_id=summary.first_id,
            last_id=summary.last_id,
            count=summary.count,
            digest=summary.digest,
            sealed_at=now,
        )
    )
    session.flush()


@dataclass(frozen=True, slots=True)
class _Summary:
    first_id: int
    last_id: int
    count: int
    digest: str


def _digest(before: str, rows: Iterator[Row[Any]]) -> _Summary:
    """SHA-256 over the digest before and each row's canonical JSON, a line each."""
    state = hashlib.sha256(before.encode())
    first_id = last_id = count = 0
    for row in rows:
        state.update(b"\n" + canonical(row).encode())
        first_id, last_id, count = first_id or row.id, row.id, count + 1
    return _Summary(first_id, last_id, count, state.hexdigest())


def canonical(row: Row[Any]) -> str:
    """One row as JSON that has one form only: sorted keys, no spaces, times in UTC with microseconds."""
    values = {name: getattr(row, name) for name in DIGESTED}
    values["at"] = iso(row.at)
    # What JSON can't hold was put there behind our back: it must give another digest, not an error.
    return json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=repr)


def _rows(session: Session, span: Span) -> Iterator[Row[Any]]:
    table = table_of(AuditEvent)
    query = (
        select(*(table.c[name] for name in DIGESTED))
        .where(table.c.position.between(span.first, span.last))
        .order_by(table.c.position)
    )
    return iter(session.execute(query.execution_options(yield_per=ROWS_AT_ONCE)))


def snapshot(session: Session) -> None:
    """Begin a transaction that sees one state of the database throughout, for `verify`; none may be open."""
    if is_sqlite(session):
        session.connection()
    else:
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


def verify(session: Session) -> Verification:
    """Recompute the chain from the first range kept, range by range, in bounded memory.

    To be called in a `snapshot`. What was purged must be what the retention's newest event says.
    """
    purged = _purged_upto(session)
    ranges = sealed = 0
    head: str | None = None
    expected, digest = 1, START
    for one in session.scalars(select(AuditSeal).order_by(AuditSeal.id).execution_options(yield_per=100)):
        span = Span(one.first_position, one.last_position)
        why = _link_fault(one, expected)
        if why is None and span.last > purged:
            why = _range_fault(one, span, purged, _digest(digest, _rows(session, span)))
            sealed += one.count
        if why is not None:
            return _result(session, span, why, ranges, sealed, purged, head)
        ranges, expected, digest, head = ranges + 1, span.last + 1, one.digest, one.digest
    bad, why = _edges_fault(session, expected - 1, purged)
    return _result(session, bad, why, ranges, sealed, purged, head)


def _link_fault(one: AuditSeal, expected: int) -> str | None:
    if one.first_position != expected:
        return f"the range should begin at position {expected}; a seal was removed or changed"
    if one.count != one.last_position - one.first_position + 1:
        return f"the seal counts {one.count} rows, which its positions do not"
    return None


def _range_fault(one: AuditSeal, span: Span, purged: int, found: _Summary) -> str | None:
    if span.first <= purged:
        return f"the retention purged up to position {purged}, which is inside of this range"
    if found.count != one.count:
        return f"{one.count} rows were sealed and {found.count} are there"
    if (found.first_id, found.last_id) != (one.first_id, one.last_id):
        return "the first or last row is another one than was sealed"
    if found.digest != one.digest:
        return "the rows or the seal before do not give the digest that was sealed"
    return None


def _edges_fault(session: Session, last: int, purged: int) -> tuple[Span | None, str | None]:
    """What the ranges themselves don't show: rows before the first one kept, or positions after the last."""
    table = table_of(AuditEvent)
    first_row = session.scalars(select(func.min(table.c.position))).one()
    if first_row is not None and first_row <= purged:
        return Span(first_row, purged), "rows stand where the retention purged"
    counter = session.scalars(
        select(positions.PositionCounter.last).where(positions.PositionCounter.stream == table.name)
    ).one_or_none()
    last_row = session.scalars(select(func.max(table.c.position))).one() or 0
    if counter != last or last_row > last:
        reached = max(counter or 0, last_row)
        return Span(
            last + 1, reached
        ), "positions were given and no seal covers them; the newest were removed"
    return None, None


def _result(
    session: Session,
    bad: Span | None,
    why: str | None,
    ranges: int,
    sealed: int,
    purged: int,
    head: str | None,
) -> Verification:
    return Verification(why is None, bad, why, ranges, sealed, _unplaced(session), purged, head)


def _unplaced(session: Session) -> int:
    table = table_of(AuditEvent)
    return session.scalars(select(func.count()).select_from(table).where(table.c.position.is_(None))).one()


def _purged_upto(session: Session) -> int:
    """The highest position up to which an `audit.purged` says that rows were deleted."""
    platform = tenants.get(session, None).id
    details = session.scalars(
        select(AuditEvent.detail).where(AuditEvent.tenant_id == platform, AuditEvent.action == PURGED)
    )
    return max((int(detail["upto_position"]) for detail in details), default=0)


def purge(session: Session, *, before: datetime, now: datetime, limit: int) -> Counts:
    """Delete whole sealed ranges that were sealed before `before`, about `limit` rows at most.

    The seals stay. In the same transaction the mark is set and taken back, and one event `audit.purged` tells
    how many rows went and up to which position. Counts `purged`, in rows.
    """
    counts = Counts(own={"purged": 0})
    positions.lock(session, AuditEvent)
    purged = _purged_upto(session)
    ranges = session.scalars(
        select(AuditSeal)
        .where(AuditSeal.last_position > purged, AuditSeal.sealed_at < before)
        .order_by(AuditSeal.id)
        .limit(max(1, limit // RANGE) + 1)
    ).all()
    chosen = _within(ranges, limit)
    if chosen:
        _delete(session, chosen, now)
        counts.own["purged"] = counts.examined = counts.changed = sum(one.count for one in chosen)
    counts.capped = len(chosen) < len(ranges)
    commit(session, "audit.purge")
    return counts


def _within(ranges: Any, limit: int) -> list[AuditSeal]:
    """The first ranges that together have at most `limit` rows, and one in any case."""
    chosen: list[AuditSeal] = []
    rows = 0
    for one in ranges:
        rows += one.count
        if chosen and rows > limit:
            break
        chosen.append(one)
    return chosen


def _delete(session: Session, chosen: list[AuditSeal], now: datetime) -> None:
    upto = chosen[-1].last_position
    table = table_of(AuditEvent)
    with purge_marks.marked(session, AuditEvent, upto):
        session.execute(delete(table).where(table.c.position.between(chosen[0].first_position, upto)))
    platform = tenants.get(session, None)
    audit.append(
        session,
        tenant_id=platform.id,
        actor=RETENTION,
        action=PURGED,
        resource=("audit", "events"),
        now=now,
        purpose="retention",
        detail={
            "rows": sum(one.count for one in chosen),
            "ranges": len(chosen),
            "upto_position": upto,
        },
    )
