"""Each statement of the domain over 100,000 rows goes by an index, and is seen to miss it once dropped."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import event, func, select
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from models import bulk, erasure, tenants
from models.base import DeskSession, db, is_sqlite
from models.conversations import Conversation
from models.declarations import Declared
from models.followups import booking, contacts, deferrals, exporting, retention, stranded, transitions
from models.followups.firing import fire_due
from models.followups.records import AgentTask, Contact, FollowUp, Outcome, RevokeEvent, TaskEvent
from models.intake import IncomingMessage, receive_message
from models.messages import Message
from models.tenants import Tenant
from models.transactions import commit
from tests.conftest import T
from tests.support.create import API

pytestmark = pytest.mark.slow

ROWS = 100_000
CHUNK = 10_000
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
LARGE = {"follow_up", "contact", "agent_task", "task_event", "outcome", "message", "conversation"} | {
    "revoke_event",
    "audit_event",
    "outbox_event",
}
AGENTS = [f"agent-{number}" for number in range(20)]
POLICY = {"followup": {"max_frequency": "2/24h", "silence_after_sends": 9}}
DECLARED = Declared(1, {"agents": dict.fromkeys(AGENTS, POLICY)})
NOW = T + 400 * DAY


class BoundSession(DeskSession):
    """On the connection that it is given, where the application's would choose its engine."""

    def get_bind(self, *_args: Any, **_given: Any) -> Any:
        return self.bind


@dataclass
class Large:
    """A database with 100,000 rows of each kind, of one tenant of three."""

    connection: Connection
    tenant_id: int

    def session(self) -> Session:
        """A session whose commits stay within the connection's transaction, so that all is rolled back."""
        return BoundSession(
            db, bind=self.connection, join_transaction_mode="create_savepoint", expire_on_commit=False
        )

    @property
    def dialect(self) -> str:
        return self.connection.dialect.name


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def filled(request: pytest.FixtureRequest) -> Iterator[int]:
    database = request.getfixturevalue(f"{request.param}_database")
    database.reset()
    with database.app.app_context():
        tenant_id = fill()
        with db.engine.connect() as connection:
            connection.exec_driver_sql("ANALYZE")
            connection.commit()
        yield tenant_id
        db.session.remove()
        database.reset()
        db.engine.dispose()


@pytest.fixture
def large(filled: int) -> Iterator[Large]:
    with db.engine.connect() as connection:
        yield Large(connection, filled)


def fill() -> int:
    """The rows, and the id of the tenant that has them all."""
    session = db.session()
    names = [{"key": f"t{n}", "name": "t", "timezone": "UTC", "features": {}, "created_at": T} for n in "123"]
    session.execute(db.metadata.tables["tenant"].insert(), names)
    tenant_id = tenants.get(session, "t2").id
    for model, row in ROWS_OF:
        for start in range(0, ROWS, CHUNK):
            rows = [row(number, tenant_id) for number in range(start, start + CHUNK)]
            # Set-wise, since row by row it would take longer than all the tests.
            session.execute(bulk._insert(session, model, rows, {}), execution_options={"audited": True})
    if not is_sqlite(session):
        for table in ("message", "conversation"):
            serial = func.pg_get_serial_sequence(table, "id")
            session.execute(select(func.setval(serial, ROWS)))
    commit(session, "tests.plans")
    return tenant_id


def _followup(number: int, tenant_id: int) -> dict[str, Any]:
    """Of 100, five pending, of which one in twenty is due and one in twenty deferred; one in ten fired."""
    at = T + number * SECOND
    status = "pending" if number % 20 == 0 else "fired" if number % 10 == 1 else "cancelled"
    due = number % 400 == 0
    return {
        "tenant_id": tenant_id,
        "id": UUID(int=number * 7_919 + (number % 97 << 100)),
        "agent": AGENTS[number // 20 % 20],
        "customer": f"c-{number % 50_000}",
        "at": at if due or status != "pending" else NOW + at.replace(microsecond=1).second * DAY,
        "reason": f"reason {number % 1_000}",
        "arm": "schedule",
        "status": status,
        "attempts": 0,
        "created_at": at,
        "updated_at": at,
        "fired_at": at if status == "fired" else None,
        "deferred_until": NOW + DAY if number % 4_000 == 20 else None,
        "version": 1,
    }


def _contact(number: int, tenant_id: int) -> dict[str, Any]:
    return {
        "id": UUID(int=number + 1),
        "tenant_id": tenant_id,
        "customer": f"c-{number}",
        "state": "granted",
        "sends_without_reply": 0,
        "created_at": T,
        "updated_at": T,
        "version": 1,
    }


def _task(number: int, tenant_id: int) -> dict[str, Any]:
    at = T + number * SECOND
    return {
        "id": UUID(int=number + 1),
        "tenant_id": tenant_id,
        "followup_id": None,
        "agent": AGENTS[number % 20],
        "customer": f"c-{number % 50_000}",
        "command": {},
        "status": ("done", "queued")[number % 100 == 0],
        "created_at": at,
        "updated_at": at,
        "version": 1,
    }


def _task_event(number: int, tenant_id: int) -> dict[str, Any]:
    return {
        "tenant_id": tenant_id,
        "task_id": UUID(int=number + 1),
        "to_status": "done",
        "actor": "tests",
        "at": T,
    }


def _outcome(number: int, tenant_id: int) -> dict[str, Any]:
    at = T + number * SECOND
    return {
        "tenant_id": tenant_id,
        "id": f"o-{number}",
        "agent": AGENTS[number % 20],
        "customer": f"c-{number % 50_000}",
        "kind": "paid",
        "occurred_at": at,
        "created_at": at,
    }


def _conversation(number: int, tenant_id: int) -> dict[str, Any]:
    at = T + number * SECOND
    return {
        "id": number + 1,
        "tenant_id": tenant_id,
        "external_id": f"v-{number}",
        "customer": f"c-{number % 50_000}",
        "created_at": at,
        "updated_at": at,
    }


def _message(number: int, tenant_id: int) -> dict[str, Any]:
    at = T + number * SECOND
    return {
        "id": number + 1,
        "tenant_id": tenant_id,
        "conversation_id": number + 1,
        "external_id": f"m-{number}",
        "direction": "incoming",
        "sender": {},
        "private": False,
        "auto_reply": False,
        "customer": f"c-{number % 50_000}",
        "text": "hello",
        "created_at": at,
        "stored_at": at,
    }


def _revoke(number: int, tenant_id: int) -> dict[str, Any]:
    return {"tenant_id": tenant_id, "customer": f"c-{number}", "at": T, "source": "api"}


ROWS_OF: list[tuple[Any, Callable[[int, int], dict[str, Any]]]] = [
    (FollowUp, _followup),
    (Contact, _contact),
    (AgentTask, _task),
    (TaskEvent, _task_event),
    (Outcome, _outcome),
    (Conversation, _conversation),
    (Message, _message),
    (RevokeEvent, _revoke),
]


@dataclass
class Seen:
    """The plans of what a session ran on large tables: the statement, and its steps."""

    plans: list[tuple[str, list[str]]] = field(default_factory=list)

    def scans(self) -> list[str]:
        """Steps that walk through a large table row by row."""
        return [
            f"{step}\n    in {statement}"
            for statement, steps in self.plans
            for step in steps
            if walks(step) and not takes_the_first(statement, steps)
        ]

    def uses(self, index: str) -> bool:
        return any(index in step.split() for _statement, steps in self.plans for step in steps)


def walks(step: str) -> bool:
    words = step.replace("->", "").split()
    if words[:1] == ["SCAN"]:
        return words[1] in LARGE
    return words[:2] == ["Seq", "Scan"] and words[3] in LARGE


def takes_the_first(statement: str, steps: list[str]) -> bool:
    """Whether the rows come in an index's order and the statement ends after a few: then it is no walk."""
    in_order = all("USING" in step and "INDEX" in step for step in steps if walks(step))
    return " LIMIT " in statement and in_order and not any("TEMP B-TREE" in step for step in steps)


def watched(large: Large, work: Callable[[Session, Tenant], None], *, dropped: str | None = None) -> Seen:
    """Do `work`, explaining each statement before it runs, with its very parameters; then roll all back."""
    seen = Seen()

    def explain(
        _connection: Any, cursor: Any, statement: str, parameters: Any, _context: Any, many: bool
    ) -> None:
        if not statement.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")):
            return
        prefix = "EXPLAIN QUERY PLAN " if large.dialect == "sqlite" else "EXPLAIN "
        probe = cursor.connection.cursor()
        probe.execute(
            prefix + statement, parameters[0] if many and isinstance(parameters, list) else parameters
        )
        seen.plans.append((" ".join(statement.split()), [str(row[-1]) for row in probe.fetchall()]))
        probe.close()

    transaction = large.connection.begin()
    if dropped:
        large.connection.exec_driver_sql(f"DROP INDEX {dropped}")
    event.listen(large.connection, "before_cursor_execute", explain)
    try:
        with large.session() as session:
            work(session, tenants.get(session, "t2"))
    finally:
        event.remove(large.connection, "before_cursor_execute", explain)
        transaction.rollback()
    return seen


def fire(session: Session, _tenant: Tenant) -> None:
    counts = fire_due(session, declared=DECLARED, now=NOW, limit=2_000)
    assert counts.own["fired"] > 100
    assert counts.errors == 0


def forget(session: Session, _tenant: Tenant) -> None:
    deferrals.forget_outdated(session, Declared(2, {"agents": {AGENTS[1]: {}}}))


def book(session: Session, tenant: Tenant) -> None:
    given = {"agent": AGENTS[0], "customer": "c-7", "reason": "new", "at": NOW + DAY}
    booking.book(session, tenant, declared=DECLARED, actor=API, now=NOW, **given)


def rearm(session: Session, tenant: Tenant) -> None:
    id = UUID(int=2 * 7_919 + (2 << 100))
    transitions.rearm(session, tenant, id, NOW + DAY, declared=DECLARED, actor=API, now=NOW)


def cancel(session: Session, tenant: Tenant) -> None:
    transitions.cancel(session, tenant.id, UUID(int=0), actor=API, now=NOW)


def revoke(session: Session, tenant: Tenant) -> None:
    contacts.revoke(session, tenant, "c-0", by="operator", actor=API, now=NOW)


def hear(session: Session, tenant: Tenant) -> None:
    sender = {"type": "customer", "key": "c-9"}
    message = IncomingMessage(str(uuid4()), "v-9", "incoming", NOW, text="hello", sender=sender)
    receive_message(session, tenant, message, declared=DECLARED, now=NOW)


def purge(session: Session, _tenant: Tenant) -> None:
    declared = Declared(1, {"retention": {"followups": "400d", "messages": "400d"}})
    counts = retention.purge(session, declared=declared, now=NOW + 1_000 * SECOND, limit=20_000)
    assert min(counts.own.values()) > 0
    assert not counts.capped


def erase(session: Session, tenant: Tenant) -> None:
    assert erasure.erase_customer(session, tenant, "c-41", actor=API, now=NOW)["followups"] == 2


def announce(session: Session, _tenant: Tenant) -> None:
    stranded.announce(session, after=SECOND, now=NOW + DAY)


def export(session: Session, tenant: Tenant) -> None:
    rows = exporting.stream(session, tenant, {})
    assert next(rows)


WORK: list[tuple[Callable[[Session, Tenant], None], list[str]]] = [
    (fire, ["ix_follow_up_due", "ix_follow_up_customer", "uq_contact_customer"]),
    (forget, ["ix_follow_up_deferred"]),
    (book, ["ix_follow_up_customer", "uq_contact_customer"]),
    (rearm, ["ix_follow_up_customer"]),
    (cancel, []),
    (revoke, ["ix_follow_up_customer", "ix_agent_task_customer", "uq_contact_customer"]),
    (hear, ["uq_message_external", "uq_conversation_external", "uq_contact_customer"]),
    (purge, ["ix_follow_up_status_updated", "ix_follow_up_pending_at", "ix_agent_task_status"]),
    (purge, ["ix_outcome_created", "ix_message_stored", "ix_conversation_updated", "ix_task_event_task"]),
    (erase, ["ix_follow_up_customer", "ix_agent_task_customer", "ix_outcome_customer"]),
    (erase, ["ix_message_customer", "ix_message_conversation", "ix_conversation_customer"]),
    (erase, ["ix_message_writer", "ix_revoke_event_customer", "ix_task_event_task"]),
    (announce, ["ix_follow_up_due", "ix_follow_up_failing", "ix_agent_task_waiting"]),
    (export, ["ix_follow_up_created"]),
]


def fault(seen: Seen, index: str | None) -> str | None:
    """What is wrong with the plans: a walk through a large table, or that `index` is not gone by."""
    scans = seen.scans()
    if scans:
        return "\n".join(scans)
    if index is not None and not seen.uses(index):
        return f"{index} is not used:\n" + "\n".join(str(plan) for plan in seen.plans)
    return None


def misses(large: Large, work: Callable[[Session, Tenant], None], index: str) -> bool:
    """Whether the test sees it when `index` is gone; without a unique one the work itself may fail."""
    try:
        return fault(watched(large, work, dropped=index), index) is not None
    except SQLAlchemyError:
        return index.startswith("uq_")


@pytest.mark.parametrize(("work", "indexes"), WORK, ids=lambda given: getattr(given, "__name__", ""))
def test_statements_go_by_their_indexes_and_are_seen_not_to_when_one_is_dropped(large, work, indexes):
    seen = watched(large, work)
    assert fault(seen, None) is None
    for index in indexes:
        assert fault(seen, index) is None
        assert misses(large, work, index)
