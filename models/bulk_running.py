"""Doing a bulk operation: item by item, each in a transaction of its own with what became of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import select
from sqlalchemy.exc import DatabaseError, DBAPIError
from sqlalchemy.orm import Session

from models.actors import Actor
from models.bulk_operations import BulkItem, BulkOperation, ItemState, State, end, locked
from models.declarations import Declared
from models.errors import DeskError
from models.tenants import Tenant
from models.transactions import commit, is_lost_race, is_refused_row, rollback, said, savepoint

ATTEMPTS = 3

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Work:
    """One row to do the verb on, in the transaction at hand."""

    session: Session
    tenant: Tenant
    row_id: str
    version: int
    options: Mapping[str, Any]
    reason: str
    operation_id: UUID
    declared: Declared
    actor: Actor
    now: datetime

    @property
    def detail(self) -> dict[str, Any]:
        """What the row's own event says of where it comes from."""
        return {"bulk": str(self.operation_id)}


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb of an area. `apply` does it on a row, or raises a `DeskError` that says why not."""

    name: str
    resource: str
    id: type[UUID] | type[int]
    apply: Callable[[Work], None]


@dataclass(slots=True)
class Ran:
    """What one run came to; `over` says that nothing is left to do."""

    done: int = 0
    not_done: int = 0
    over: bool = False

    @property
    def examined(self) -> int:
        return self.done + self.not_done


def run(
    session: Session,
    operation_id: UUID,
    *,
    verbs: Mapping[str, Verb],
    declared: Declared,
    clock: Callable[[], datetime],
    most: int,
    until: datetime | None = None,
) -> Ran:
    """Do up to `most` waiting items, or as many as begin before `until`, in their order.

    Each item's change, its event and its outcome are one transaction, so that a kill at any moment neither
    loses nor repeats one. Any number may run the same operation: they take turns. An operation that ended,
    was stopped, or is gone, has nothing to do. Raises what only a fault of the database raises.
    """
    runner, ran = _Runner(session, operation_id, verbs, declared, clock), Ran()
    while ran.examined < most and (until is None or clock() < until):
        became = runner.next()
        if became is None:
            ran.over = True
            break
        ran.done += became is ItemState.DONE
        ran.not_done += became is ItemState.NOT_DONE
    return ran


@dataclass(slots=True)
class _Runner:
    """Does the items of one operation; keeps its tenant, so that it is not read for each."""

    session: Session
    operation_id: UUID
    verbs: Mapping[str, Verb]
    declared: Declared
    clock: Callable[[], datetime]
    tenant: Tenant | None = None

    def next(self) -> ItemState | None:
        """One item, begun again where its transaction lost a deadlock; None where there is none left."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._do()
            except DBAPIError as error:
                rollback(self.session)
                if attempt == ATTEMPTS or not is_lost_race(error):
                    raise
        raise AssertionError("unreachable")

    def _do(self) -> ItemState | None:
        session = self.session
        operation = locked(session, self.operation_id)
        if operation is None or operation.state != State.RUNNING:
            rollback(session)
            return None
        # Read behind the lock, so that what happened while waiting for it is in the past.
        now = self.clock()
        item = session.scalars(
            select(BulkItem)
            .where(BulkItem.operation_id == operation.id, BulkItem.state == ItemState.WAITING.value)
            .order_by(BulkItem.position)
            .limit(1)
            .execution_options(populate_existing=True)
        ).one_or_none()
        if item is None:
            end(session, operation, State.FINISHED, actor=operation.actor, now=now)
            commit(session, "bulk.finish")
            return None
        refusal = _refusal(self.verbs[operation.verb], self._work(operation, item, now))
        became = _settle(operation, item, refusal, now)
        commit(session, "bulk.item")
        return became

    def _work(self, operation: BulkOperation, item: BulkItem, now: datetime) -> Work:
        self.tenant = self.session.get_one(Tenant, operation.tenant_id)
        return Work(
            session=self.session,
            tenant=self.tenant,
            row_id=item.row_id,
            version=item.version,
            options=operation.options,
            reason=operation.reason,
            operation_id=operation.id,
            declared=self.declared,
            actor=operation.actor,
            now=now,
        )


def _refusal(verb: Verb, work: Work) -> tuple[str, str] | None:
    """Do the verb; where it can't be done, the code and the words of why, and nothing of it is left."""
    try:
        with savepoint(work.session):
            verb.apply(work)
    except DeskError as refusal:
        return refusal.code, refusal.detail
    except DBAPIError as error:
        if not (isinstance(error, DatabaseError) and is_refused_row(error)):
            raise
        return _failed(verb, work, error)
    except Exception as error:  # noqa: BLE001  a row that can't be done does not keep the others waiting
        return _failed(verb, work, error)
    return None


def _failed(verb: Verb, work: Work, error: Exception) -> tuple[str, str]:
    names = {"operation": str(work.operation_id), "verb": verb.name, "row": work.row_id}
    if isinstance(error, DBAPIError):
        log.error("a row of a bulk operation was refused", **names, error=said(error))
    else:
        log.error("a row of a bulk operation failed", **names, exc_info=error)
    return "failed", "It failed, and was left as it was. The desk's log says more."


def _settle(
    operation: BulkOperation, item: BulkItem, refusal: tuple[str, str] | None, now: datetime
) -> ItemState:
    """Write what became of the item. The one place that assigns an item's state but for the stop."""
    became = ItemState.NOT_DONE if refusal else ItemState.DONE
    item.state, item.at = became.value, now
    if refusal:
        item.code, item.reason = refusal[0], refusal[1][:500]
        operation.not_done += 1
    else:
        operation.done += 1
    operation.seen_at = now
    return became
