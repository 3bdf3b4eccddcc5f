"""Each statement of the domain over 100,000 rows goes by an index, and is seen to miss it once dropped."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import bulk, erasure, tenants
from models.base import db, is_sqlite
from models.conversations import Conversation
from models.declarations import Declared
from models.followups import booking, contacts, deferrals, exporting, retention, stranded, transitions
from models.followups.firing import fire_due
from models.followups.foresight import foresee
from models.followups.records import AgentTask, Contact, FollowUp, Outcome, RevokeEvent, TaskEvent
from models.intake import IncomingMessage, receive_message
from models.messages import Message
from models.tenants import Tenant
from models.transactions import commit
from tests.conftest import T
from tests.plans.watching import Large, Work, assert_goes_by
from tests.support.create import API

pytestmark = pytest.mark.slow

ROWS = 100_000
CHUNK = 10_000
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
LARGE = frozenset(
    {"follow_up", "contact", "agent_task", "task_event", "outcome", "message", "conversation"}
    | {"revoke_event", "audit_event", "outbox_event"}
)
AGENTS = [f"agent-{number}" for number in range(20)]
POLICY = {"followup": {"max_frequency": "2/24h", "silence_after_sends": 9}}
DECLARED = Declared(1, {"agents": dict.fromkeys(AGENTS, POLICY)})
NOW = T + 400 * DAY


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
        yield Large(connection, filled, LARGE)


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


def wait_for_agent(session: Session, tenant: Tenant) -> None:
    found = stranded.waiting_tasks(session, tenant.id, before=NOW, limit=101, agent=AGENTS[0])
    assert {task.agent for task in found} == {AGENTS[0]}


def wait_for_customer(session: Session, tenant: Tenant) -> None:
    found = stranded.waiting_tasks(session, tenant.id, before=NOW, limit=101, customer="c-100")
    assert [task.customer for task in found] == ["c-100"] * 2


def announce(session: Session, _tenant: Tenant) -> None:
    stranded.announce(session, after=SECOND, now=NOW + DAY)


def foresee_one(session: Session, tenant: Tenant) -> None:
    followup = booking.get(session, tenant.id, UUID(int=0))
    assert foresee(session, followup, declared=DECLARED, now=NOW, at=NOW + DAY).policy


def export(session: Session, tenant: Tenant) -> None:
    rows = exporting.stream(session, tenant, {})
    assert next(rows)


WORK: list[tuple[Work, list[str]]] = [
    (fire, ["ix_follow_up_due", "ix_follow_up_customer", "uq_contact_customer"]),
    (forget, ["ix_follow_up_deferred"]),
    (book, ["ix_follow_up_customer", "uq_contact_customer"]),
    (rearm, ["ix_follow_up_customer"]),
    (cancel, []),
    (foresee_one, ["ix_follow_up_customer", "uq_contact_customer"]),
    (revoke, ["ix_follow_up_customer", "ix_agent_task_customer", "uq_contact_customer"]),
    (hear, ["uq_message_external", "uq_conversation_external", "uq_contact_customer"]),
    (purge, ["ix_follow_up_status_updated", "ix_follow_up_pending_at", "ix_agent_task_status"]),
    (purge, ["ix_outcome_created", "ix_message_stored", "ix_conversation_updated", "ix_task_event_task"]),
    (erase, ["ix_follow_up_customer", "ix_agent_task_customer", "ix_outcome_customer"]),
    (erase, ["ix_message_customer", "ix_message_conversation", "ix_conversation_customer"]),
    (erase, ["ix_message_writer", "ix_revoke_event_customer", "ix_task_event_task"]),
    (announce, ["ix_follow_up_due", "ix_follow_up_failing", "ix_agent_task_waiting"]),
    # By what waits or by state, as the statistics have it: either is no walk.
    (wait_for_agent, []),
    (wait_for_customer, ["ix_agent_task_customer"]),
    (export, ["ix_follow_up_created"]),
]


@pytest.mark.parametrize(("work", "indexes"), WORK, ids=lambda given: getattr(given, "__name__", ""))
def test_statements_go_by_their_indexes_and_are_seen_not_to_when_one_is_dropped(large, work, indexes):
    assert_goes_by(large, work, indexes)
