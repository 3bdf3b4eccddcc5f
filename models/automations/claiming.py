"""Which executions are due, and who may write them: picked without locks, then claimed under a token."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.orm import Session

from models import bulk
from models.automations.records import Execution, Status
from models.tenants import Feature, with_feature

# A worker that said nothing for so long is taken to be dead, until its next write shows whether it is.
STALE_LOCK = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Picked:
    """What a run takes; `capped` says that more is due than that."""

    ids: list[UUID]
    capped: bool


def pick(session: Session, *, now: datetime, limit: int) -> Picked:
    """Up to `limit` executions that are due, unlocked: what runs at once first, then tenant by tenant.

    Each tenant whose switch is on gets an equal share of the limit, so that no backlog keeps another
    waiting; what one leaves goes to the others. Due means pending and its time has come, or processing with
    a lock that is stale.
    """
    found = _at_once(session, now, limit + 1)
    enabled = [tenant.id for tenant in with_feature(session, Feature.DELAYED_AUTOMATIONS)]
    found += _stale(session, enabled, now, limit + 1 - len(found))
    waiting = [_due(session, tenant, now, limit + 1) for tenant in _tenants(session, enabled, now)]
    room = limit + 1 - len(found)
    while room > 0 and waiting:
        share = max(1, room // len(waiting))
        taken = [rows[:share] for rows in waiting]
        for rows in taken:
            found += rows[:room]
            room -= len(rows[:room])
        waiting = [rows[share:] for rows in waiting if len(rows) > share]
    return Picked(found[:limit], len(found) > limit)


def _at_once(session: Session, now: datetime, most: int) -> list[UUID]:
    query = select(Execution.id).where(
        Execution.status == Status.PENDING.value, Execution.at_once.is_(True), Execution.next_at <= now
    )
    return list(session.scalars(query.order_by(Execution.next_at, Execution.id).limit(most)))


def _stale(session: Session, enabled: Sequence[int], now: datetime, most: int) -> list[UUID]:
    if most <= 0:
        return []
    query = select(Execution.id).where(
        is_stale(now), or_(Execution.tenant_id.in_(enabled), Execution.at_once.is_(True))
    )
    return list(session.scalars(query.order_by(Execution.locked_at, Execution.id).limit(most)))


def is_stale(now: datetime) -> ColumnElement[bool]:
    """Whether a row is processing and its lock older than the limit, and its next attempt due."""
    return and_(
        Execution.status == Status.PROCESSING.value,
        # Null: what is left of a run, which a person let go on and nobody has taken yet.
        or_(Execution.locked_at.is_(None), Execution.locked_at < now - STALE_LOCK),
        or_(Execution.next_attempt_at.is_(None), Execution.next_attempt_at <= now),
    )


def _tenants(session: Session, enabled: Sequence[int], now: datetime) -> Iterator[int]:
    """The tenants of `enabled` with something pending: skips along the index from one to the next."""
    known, last = set(enabled), 0
    while True:
        query = select(Execution.tenant_id).where(
            Execution.status == Status.PENDING.value, Execution.at_once.is_(False), Execution.tenant_id > last
        )
        found = session.scalars(query.order_by(Execution.tenant_id).limit(1)).first()
        if found is None:
            return
        last = found
        if found in known:
            yield found


def _due(session: Session, tenant_id: int, now: datetime, most: int) -> list[UUID]:
    query = select(Execution.id).where(
        Execution.tenant_id == tenant_id,
        Execution.status == Status.PENDING.value,
        Execution.at_once.is_(False),
        Execution.next_at <= now,
    )
    return list(session.scalars(query.order_by(Execution.next_at, Execution.id).limit(most)))


def claim(session: Session, ids: Sequence[UUID], *, token: UUID, now: datetime) -> list[UUID]:
    """Take those of `ids` that are still due, under `token`; which they were, in the order given.

    One that another took, that is not due any more or is over is left. Going from pending to processing is
    no transition that the audit tells of.
    """
    open_now = or_(and_(Execution.status == Status.PENDING.value, Execution.next_at <= now), is_stale(now))
    among = bulk.is_among(session, Execution.id, ids)
    free = select(Execution.id).where(among, open_now).order_by(Execution.id)
    taken = set(
        session.scalars(
            update(Execution)
            .where(Execution.id.in_(free.with_for_update(skip_locked=True)))
            .values(status=Status.PROCESSING.value, lock_token=token, locked_at=now)
            .returning(Execution.id)
            .execution_options(synchronize_session=False, audited=True)
        )
    )
    return [id for id in ids if id in taken]


def count_abandoned(session: Session, now: datetime) -> int:
    """How many runs nobody said anything of for longer than the limit, after their first action began."""
    query = select(func.count()).where(
        Execution.status == Status.EXECUTING.value, Execution.locked_at < now - STALE_LOCK
    )
    return session.scalar(query) or 0
