"""A state machine that books, imports, moves, fires and erases at random, and recounts after each step."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from json import dumps
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import text
from sqlalchemy.orm import Session

from models import erasure, tenants
from models.declarations import Declared
from models.errors import DeskError
from models.followups import booking, contacts, tasks, transitions
from models.followups.firing import fire_due
from models.followups.importing import import_records
from models.followups.records import TaskStatus
from models.intake import IncomingMessage, receive_message
from models.transactions import commit
from tests.conftest import T
from tests.support.create import API, create_tenant
from tests.support.recount import assert_audit_matches, assert_each_fired_has_one_task

pytestmark = pytest.mark.slow

CEILING, WINDOW, SILENCE = 2, timedelta(hours=24), 3
POLICY = {"max_frequency": "2/24h", "silence_after_sends": SILENCE, "cancel_keywords": ["stop"]}
QUIET = {"timezone": "UTC", "start": "21:00", "end": "06:00"}
AGENTS = {"one": {"followup": POLICY}, "two": {"followup": {**POLICY, "quiet_hours": QUIET}}}
DECLARED = Declared(1, {"agents": AGENTS})

customers = st.sampled_from(["c-1", "c-2"])
agents = st.sampled_from(["one", "two", "undeclared"])
reasons = st.sampled_from(["r-1", "r-2", "r-3"])
hours = st.integers(-30, 60)
picks = st.integers(0, 50)
names = (f"machine-{number}" for number in count())


class FollowUpsMachine(RuleBasedStateMachine):
    """Each rule is one call of the domain in its own transaction, refused or not."""

    session: Session

    def __init__(self) -> None:
        super().__init__()
        self.now = T
        self.tenant = create_tenant(self.session, next(names), now=T)
        self.versions: dict[UUID, int] = {}
        self.ended: dict[UUID, str] = {}

    def do(self, act: Callable[[], Any]) -> Any:
        """Run `act` and commit; a refusal leaves nothing behind, but for the claim that says otherwise."""
        try:
            result = act()
        except tasks.ClaimRefused:
            commit(self.session, "tests.machine")
            return None
        except DeskError:
            self.session.rollback()
            return None
        commit(self.session, "tests.machine")
        return result

    def select(self, query: str) -> list[Any]:
        return list(self.session.execute(text(query), {"tenant": self.tenant.id}).all())

    def any_of(self, table: str, pick: int) -> UUID | None:
        rows = self.select(f"SELECT id FROM {table} WHERE tenant_id = :tenant ORDER BY id")
        return UUID(str(rows[pick % len(rows)][0])) if rows else None

    def revoked(self) -> set[str]:
        query = "SELECT customer FROM contact WHERE tenant_id = :tenant AND state = 'revoked'"
        return {row[0] for row in self.select(query)}

    @rule(customer=customers, agent=agents, reason=reasons, ahead=hours)
    def book(self, customer: str, agent: str, reason: str, ahead: int) -> None:
        given = {"agent": agent, "customer": customer, "reason": reason, "declared": DECLARED, "actor": API}
        at = self.now + timedelta(hours=ahead)
        self.do(lambda: booking.book(self.session, self.tenant, at=at, now=self.now, **given))

    @rule(customer=customers, agent=agents, reason=reasons, ahead=hours, copies=st.integers(1, 3))
    def take(self, customer: str, agent: str, reason: str, ahead: int, copies: int) -> None:
        at = (self.now + timedelta(hours=ahead)).isoformat()
        given = {"agent": agent, "customer": customer, "reason": reason, "at": at, "arm": "schedule"}
        lines = [dumps({"id": str(uuid4()), **given}) for _ in range(copies)]
        self.do(lambda: import_records(self.session, self.tenant, lines, actor=API, now=self.now))

    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        if id := self.any_of("follow_up", pick):
            self.do(lambda: transitions.cancel(self.session, self.tenant.id, id, actor=API, now=self.now))

    @rule(pick=picks, ahead=hours)
    def reschedule(self, pick: int, ahead: int) -> None:
        at = self.now + timedelta(hours=ahead)
        if id := self.any_of("follow_up", pick):
            self.do(
                lambda: transitions.reschedule(self.session, self.tenant.id, id, at, actor=API, now=self.now)
            )

    @rule(pick=picks, ahead=hours)
    def rearm(self, pick: int, ahead: int) -> None:
        at = self.now + timedelta(hours=ahead)
        if id := self.any_of("follow_up", pick):
            self.do(
                lambda: transitions.rearm(
                    self.session, self.tenant, id, at, declared=DECLARED, actor=API, now=self.now
                )
            )

    @rule(customer=customers, words=st.sampled_from(["hello", "please stop"]), ago=st.integers(-1, 40))
    def say(self, customer: str, words: str, ago: int) -> None:
        message = IncomingMessage(
            id=str(uuid4()),
            conversation_id=f"v-{customer}",
            direction="incoming",
            created_at=self.now - timedelta(hours=ago),
            text=words,
            sender={"type": "customer", "key": customer},
        )
        closed_at = self.revoked_at(customer)
        self.do(lambda: receive_message(self.session, self.tenant, message, declared=DECLARED, now=self.now))
        reopens = closed_at is None or min(message.created_at, self.now) >= closed_at
        if words == "please stop" or not reopens:
            assert customer in self.revoked()

    def revoked_at(self, customer: str) -> datetime | None:
        query = "SELECT customer, revoked_at FROM contact WHERE tenant_id = :tenant AND state = 'revoked'"
        found = {row[0]: row[1] for row in self.select(query)}.get(customer)
        return datetime.fromisoformat(found).replace(tzinfo=UTC) if isinstance(found, str) else found

    @rule(customer=customers)
    def revoke(self, customer: str) -> None:
        self.do(
            lambda: contacts.revoke(
                self.session, self.tenant, customer, by="operator", actor=API, now=self.now
            )
        )
        assert customer in self.revoked()

    @rule(limit=st.sampled_from([1, 3, 1_000]))
    def fire(self, limit: int) -> None:
        closed = self.revoked()
        fire_due(self.session, declared=DECLARED, now=self.now, limit=limit)
        fired = "SELECT customer FROM follow_up WHERE tenant_id = :tenant AND fired_at = :now"
        rows = self.session.execute(
            text(fired), {"tenant": self.tenant.id, "now": self.bound(self.now)}
        ).all()
        assert not closed & {row[0] for row in rows}
        self.now += timedelta(microseconds=1)

    def bound(self, at: datetime) -> Any:
        sqlite = self.session.get_bind().dialect.name == "sqlite"
        return at.replace(tzinfo=None).isoformat(" ", "microseconds") if sqlite else at

    @rule(by=st.sampled_from([1, 5, 12, 23, 24, 25]))
    def advance(self, by: int) -> None:
        self.now += timedelta(hours=by)

    @rule(pick=picks, outcome=st.sampled_from([None, TaskStatus.DONE, TaskStatus.FAILED]))
    def work(self, pick: int, outcome: TaskStatus | None) -> None:
        id = self.any_of("agent_task", pick)
        if id is None:
            return
        given = {"actor": API, "now": self.now}
        if outcome is None:
            self.do(lambda: tasks.claim(self.session, self.tenant.id, id, **given))
        else:
            self.do(lambda: tasks.report(self.session, self.tenant.id, id, outcome, **given))

    @rule(customer=customers)
    def erase(self, customer: str) -> None:
        closed = customer in self.revoked()
        self.do(lambda: erasure.erase_customer(self.session, self.tenant, customer, actor=API, now=self.now))
        for table in ("follow_up", "agent_task", "contact", "outcome", "message", "conversation"):
            query = f"SELECT count(*) FROM {table} WHERE tenant_id = :tenant AND customer = '{customer}'"
            assert self.select(query) == [(0,)]
        if closed:
            given = {"agent": "one", "reason": "after", "declared": DECLARED, "actor": API, "now": self.now}
            at = self.now + timedelta(hours=1)
            assert (
                self.do(lambda: booking.book(self.session, self.tenant, customer=customer, at=at, **given))
                is None
            )

    @rule(held=st.booleans())
    def hold(self, held: bool) -> None:
        self.do(
            lambda: tenants.hold(
                self.session, self.tenant, "one", held=held, reason=None, actor=API, now=self.now
            )
        )

    @invariant()
    def each_change_has_its_event_and_each_fire_its_task(self) -> None:
        assert_audit_matches(self.session, self.tenant.id)
        assert_each_fired_has_one_task(self.session, self.tenant.id)

    @invariant()
    def no_window_holds_more_fires_than_the_ceiling(self) -> None:
        fires: dict[str, list[datetime]] = {}
        query = "SELECT customer, fired_at FROM follow_up WHERE tenant_id = :tenant AND status = 'fired'"
        for customer, at in self.select(query):
            when = datetime.fromisoformat(at) if isinstance(at, str) else at
            fires.setdefault(customer, []).append(when)
        for times in fires.values():
            for end in times:
                assert sum(1 for at in times if end - WINDOW <= at <= end) <= CEILING

    @invariant()
    def versions_only_grow_and_what_is_over_stays_so(self) -> None:
        query = "SELECT id, status, version FROM follow_up WHERE tenant_id = :tenant"
        for id, status, version in self.select(query):
            key = UUID(str(id))
            assert version >= self.versions.get(key, 1)
            assert self.ended.get(key, status) == status
            self.versions[key] = version
            if status != "pending":
                self.ended[key] = status

    @invariant()
    def nothing_waits_for_whoever_opted_out(self) -> None:
        queued = """
            SELECT t.id FROM agent_task t JOIN contact c
            ON c.tenant_id = t.tenant_id AND c.customer = t.customer
            WHERE t.tenant_id = :tenant AND t.status = 'queued' AND c.state = 'revoked'
        """
        assert self.select(queued) == []

    @invariant()
    def a_contact_is_unavailable_from_the_last_send_without_reply(self) -> None:
        query = "SELECT state, sends_without_reply FROM contact WHERE tenant_id = :tenant"
        for state, sends in self.select(query):
            assert sends <= SILENCE
            assert (state == "granted") <= (sends < SILENCE)

    @invariant()
    def and_the_transaction_ends(self) -> None:
        self.session.rollback()


def test_followups_keep_their_promises_whatever_happens(session):
    FollowUpsMachine.session = session
    run_state_machine_as_test(
        FollowUpsMachine,
        settings=settings(
            max_examples=20,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
