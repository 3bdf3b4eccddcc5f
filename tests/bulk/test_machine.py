"""Operations begun, done, stopped and gone on with at random, while their rows move underneath."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import select
from sqlalchemy.orm import Session

from jobs.bulk import VERBS
from models import bulk_operations, bulk_running, erasure
from models.bulk_operations import BulkItem
from models.clock import iso
from models.errors import DeskError
from models.followups import booking, in_bulk, transitions
from models.followups.firing import fire_due
from models.followups.records import FollowUp
from models.transactions import commit
from tests.bulk.working import LEAD, WHY, assert_accounted, rows_of
from tests.conftest import T
from tests.support.create import API, create_tenant
from tests.support.declare import declared
from tests.support.recount import assert_audit_matches, assert_each_fired_has_one_task

pytestmark = pytest.mark.slow

DECLARED = declared()
names = (f"bulk-{number}" for number in count())
picks = st.integers(0, 50)
customers = st.sampled_from(["c-1", "c-2", "c-3"])


class BulkMachine(RuleBasedStateMachine):
    """Each rule is one call of the domain in its own transaction, refused or not."""

    session: Session

    def __init__(self) -> None:
        super().__init__()
        self.now = T
        self.tenant = create_tenant(self.session, next(names), now=T)
        self.operations: list[UUID] = []
        self.ended: dict[tuple[UUID, int], str] = {}

    def do(self, act: Callable[[], Any]) -> Any:
        try:
            result = act()
        except DeskError:
            self.session.rollback()
            return None
        commit(self.session, "tests.machine")
        return result

    def tick(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def any_followup(self, pick: int) -> UUID | None:
        query = select(FollowUp.id).where(FollowUp.tenant_id == self.tenant.id).order_by(FollowUp.id)
        ids = self.session.scalars(query).all()
        return ids[pick % len(ids)] if ids else None

    def any_operation(self, pick: int) -> UUID:
        return self.operations[pick % len(self.operations)] if self.operations else uuid4()

    @rule(customer=customers, reason=st.sampled_from(["r-1", "r-2"]), ahead=st.integers(1, 3))
    def book(self, customer: str, reason: str, ahead: int) -> None:
        given = {"agent": "store-support", "customer": customer, "reason": reason, "declared": DECLARED}
        at = self.now + timedelta(hours=ahead)
        self.do(lambda: booking.book(self.session, self.tenant, at=at, actor=API, now=self.now, **given))

    @rule(verb=st.sampled_from(["followup.cancel", "followup.rearm"]), most=st.sampled_from([1, 3, 100]))
    def begin(self, verb: str, most: int) -> None:
        takes = in_bulk.cancellable() if verb == "followup.cancel" else in_bulk.rearmable()
        rows, at = rows_of(self.tenant, takes), iso(self.now + timedelta(hours=2))
        number = bulk_operations.count(self.session, rows)
        made = self.do(
            lambda: bulk_operations.begin(
                self.session,
                self.tenant.id,
                verb,
                rows,
                confirmed=most,
                reason=WHY,
                actor=LEAD,
                now=self.now,
                options={"at": at},
                watermark=self.now,
            )
        )
        assert (made is not None) == (0 < number <= most)
        if made is not None:
            assert made.requested == number
            self.operations.append(made.id)

    @rule(pick=picks, most=st.sampled_from([1, 2, 100]))
    def go_on(self, pick: int, most: int) -> None:
        bulk_running.run(
            self.session,
            self.any_operation(pick),
            verbs=VERBS,
            declared=DECLARED,
            clock=self.tick,
            most=most,
        )

    @rule(pick=picks)
    def stop(self, pick: int) -> None:
        id = self.any_operation(pick)
        given = {"actor": LEAD, "now": self.now}
        self.do(lambda: bulk_operations.stop(self.session, self.tenant.id, id, **given))

    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        if id := self.any_followup(pick):
            given = {"actor": API, "now": self.now}
            self.do(lambda: transitions.cancel(self.session, self.tenant.id, id, **given))

    @rule(pick=picks, ahead=st.integers(1, 5))
    def reschedule(self, pick: int, ahead: int) -> None:
        at = self.now + timedelta(hours=ahead)
        if id := self.any_followup(pick):
            given = {"actor": API, "now": self.now}
            self.do(lambda: transitions.reschedule(self.session, self.tenant.id, id, at, **given))

    @rule(hours=st.integers(0, 2))
    def fire(self, hours: int) -> None:
        self.now += timedelta(hours=hours)
        fire_due(self.session, declared=DECLARED, now=self.now, limit=100)

    @rule(customer=customers)
    def erase(self, customer: str) -> None:
        given = {"actor": API, "now": self.now}
        self.do(lambda: erasure.erase_customer(self.session, self.tenant, customer, **given))

    @invariant()
    def each_operation_accounts_for_its_rows(self) -> None:
        for id in self.operations:
            assert_accounted(self.session, id)
        assert_audit_matches(self.session, self.tenant.id)
        assert_each_fired_has_one_task(self.session, self.tenant.id)

    @invariant()
    def what_became_of_a_row_stays_so(self) -> None:
        query = select(BulkItem.operation_id, BulkItem.position, BulkItem.state).where(
            BulkItem.operation_id.in_(self.operations)
        )
        for operation_id, position, state in self.session.execute(query):
            key = (operation_id, position)
            assert self.ended.get(key, state) == state
            if state != "waiting":
                self.ended[key] = state
        self.session.rollback()


def test_bulk_work_accounts_for_each_row_whatever_happens(session):
    BulkMachine.session = session
    run_state_machine_as_test(
        BulkMachine,
        settings=settings(
            max_examples=12,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
