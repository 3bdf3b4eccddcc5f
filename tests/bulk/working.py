"""Bulk operations as a test begins, does and recounts them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from jobs.bulk import VERBS
from models import bulk_operations, bulk_running
from models.actors import Actor
from models.audit import AuditEvent
from models.bulk_operations import BulkItem, BulkOperation, Rows
from models.bulk_running import Ran
from models.clock import iso
from models.followups.records import FollowUp
from models.tenants import Tenant
from models.transactions import commit
from tests.followups.world import World

LEAD = Actor.operator("7", "lead@acme.test")
WHY = "the shop is closed"
HOUR = timedelta(hours=1)


def rows_of(tenant: Tenant, *conditions: Any) -> Rows:
    """The tenant's follow-ups that fit, in the order of the pending list."""
    query = select(FollowUp.id, FollowUp.version).where(FollowUp.tenant_id == tenant.id, *conditions)
    return Rows(query, (FollowUp.due_at, FollowUp.id))


class Bulk:
    """Begins operations on the follow-ups of a world, and does them at its time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.session: Session = world.session
        self.now: datetime = world.now

    def begin(
        self, verb: str = "followup.cancel", rows: Rows | None = None, confirmed: int = 10_000, **given: Any
    ) -> UUID:
        """An operation on all that is pending, unless `rows` says otherwise; committed."""
        values = {"reason": WHY, "actor": LEAD, "now": self.now, "options": {"at": iso(self.now + HOUR)}}
        made = bulk_operations.begin(
            self.session,
            self.world.tenant.id,
            verb,
            rows or rows_of(self.world.tenant, FollowUp.status == "pending"),
            confirmed=confirmed,
            **{**values, **given},
        )
        commit(self.session, "tests.begin")
        return made.id

    def run(self, operation_id: UUID, most: int = 10_000, verbs: Any = VERBS) -> Ran:
        ticks = (self.now + timedelta(microseconds=n) for n in count(1))
        return bulk_running.run(
            self.session,
            operation_id,
            verbs=verbs,
            declared=self.world.declared,
            clock=lambda: next(ticks),
            most=most,
        )

    def stop(self, operation_id: UUID) -> BulkOperation:
        made = bulk_operations.stop(
            self.session, self.world.tenant.id, operation_id, actor=LEAD, now=self.now
        )
        commit(self.session, "tests.stop")
        return made

    def get(self, operation_id: UUID) -> BulkOperation:
        self.session.rollback()
        return bulk_operations.get(self.session, self.world.tenant.id, operation_id)

    def items(self, operation_id: UUID) -> list[BulkItem]:
        self.session.rollback()
        query = select(BulkItem).where(BulkItem.operation_id == operation_id).order_by(BulkItem.position)
        return list(self.session.scalars(query.execution_options(populate_existing=True)))

    def events(self, action: str) -> list[AuditEvent]:
        query = select(AuditEvent).where(AuditEvent.action == action).order_by(AuditEvent.id)
        return list(self.session.scalars(query))


def verb_that(name: str, apply: Any) -> Any:
    return {name: replace(VERBS[name], apply=apply)}


def assert_accounted(session: Session, operation_id: UUID) -> None:
    """The operation's counts are those of its items; each item done has exactly one event of its own."""
    session.rollback()
    operation = session.get_one(BulkOperation, operation_id, populate_existing=True)
    query = select(BulkItem).where(BulkItem.operation_id == operation_id)
    items = list(session.scalars(query.execution_options(populate_existing=True)))
    states = Counter(item.state for item in items)
    assert operation.requested == len(items)
    assert (operation.done, operation.not_done) == (states["done"], states["not_done"])
    assert (operation.left_out, operation.waiting) == (states["left_out"], states["waiting"])
    assert (operation.finished_at is not None) == (operation.state != "running")
    assert operation.state == "running" or not states["waiting"]
    assert all((item.at is None) == (item.state == "waiting") for item in items)
    assert all((item.reason is not None) == (item.state in ("not_done", "left_out")) for item in items)
    assert (operation.stopped_by is not None) == (operation.state == "stopped")
    assert operation.verb.startswith("delivery") or states["done"] == len(_told(session, operation_id))
    assert _actions(session, operation_id) == _expected(operation.state)
    session.rollback()


def _told(session: Session, operation_id: UUID) -> Iterable[Any]:
    """The events of rows that name the operation."""
    query = "SELECT id, detail FROM audit_event WHERE resource_type = 'followup' AND result = 'success'"
    return [row for row in session.execute(text(query)) if str(operation_id) in str(row.detail)]


def _actions(session: Session, operation_id: UUID) -> list[str]:
    query = select(AuditEvent.action).where(
        AuditEvent.resource_type == "bulk", AuditEvent.resource_id == str(operation_id)
    )
    return list(session.scalars(query.order_by(AuditEvent.id)))


def _expected(state: str) -> list[str]:
    return ["bulk.started"] if state == "running" else ["bulk.started", f"bulk.{state}"]
