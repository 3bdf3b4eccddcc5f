"""Each statement of the domain over 100,000 rows goes by an index, and is seen to miss it once dropped."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import and_, case, literal, text
from sqlalchemy.orm import Session

from models import erasure
from models.base import UtcDateTime, db
from models.declarations import Declared
from models.followups import booking, contacts, deferrals, exporting, retention, stranded, transitions
from models.followups.firing import fire_due
from models.followups.foresight import foresee
from models.intake import IncomingMessage, receive_message
from models.tenants import Tenant
from tests.conftest import T
from tests.plans.watching import Large, Work, assert_goes_by
from tests.support.create import API
from tests.support.filling import Number, Row, bare, fill, moment, numbered, uuid_of
from tests.support.plans import analyze

pytestmark = pytest.mark.slow

ROWS = 100_000
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


@pytest.fixture
def large(session: Session) -> Iterator[Large]:
    """The rows, and the tenant that has them all."""
    with db.engine.begin() as connection, bare(connection, *ROWS_OF):
        names = [
            {"key": f"t{n}", "name": "t", "timezone": "UTC", "features": {}, "created_at": T} for n in "123"
        ]
        connection.execute(db.metadata.tables["tenant"].insert(), names)
        tenant_id = connection.scalar(text("SELECT id FROM tenant WHERE key = 't2'"))
        for table, row in ROWS_OF.items():
            fill(connection, table, ROWS, lambda n: {"tenant_id": tenant_id, **row(n)})  # noqa: B023
    analyze(session)
    with db.engine.connect() as connection:
        yield Large(connection, tenant_id, LARGE)


def _followup(number: Number) -> dict[str, Any]:
    """Of 100, five pending, of which one in twenty is due and one in twenty deferred; one in ten fired."""
    at = moment(T, number)
    pending, fired, due = number % 20 == 0, number % 10 == 1, number % 400 == 0
    return {
        "id": uuid_of(number * 7_919, number % 97 * 2**36),
        "agent": numbered("agent-", number // 20 % 20),
        "customer": numbered("c-", number % 50_000),
        "at": case((and_(pending, ~due), moment(NOW, number % 60 * 86_400)), else_=at),
        "reason": numbered("reason ", number % 1_000),
        "arm": "schedule",
        "status": case((pending, "pending"), (fired, "fired"), else_="cancelled"),
        "attempts": 0,
        "created_at": at,
        "updated_at": at,
        "fired_at": case((fired, at)),
        "deferred_until": case((number % 4_000 == 20, literal(NOW + DAY, UtcDateTime()))),
        "version": 1,
    }


def _contact(number: Number) -> dict[str, Any]:
    return {
        "id": uuid_of(number + 1),
        "customer": numbered("c-", number),
        "state": "granted",
        "sends_without_reply": 0,
        "created_at": T,
        "updated_at": T,
        "version": 1,
    }


def _task(number: Number) -> dict[str, Any]:
    at = moment(T, number)
    return {
        "id": uuid_of(number + 1),
        "agent": numbered("agent-", number % 20),
        "customer": numbered("c-", number % 50_000),
        "command": {},
        "status": case((number % 100 == 0, "queued"), else_="done"),
        "created_at": at,
        "updated_at": at,
        "version": 1,
    }


def _task_event(number: Number) -> dict[str, Any]:
    return {"task_id": uuid_of(number + 1), "to_status": "done", "actor": "tests", "at": T}


def _outcome(number: Number) -> dict[str, Any]:
    at = moment(T, number)
    return {
        "id": numbered("o-", number),
        "agent": numbered("agent-", number % 20),
        "customer": numbered("c-", number % 50_000),
        "kind": "paid",
        "occurred_at": at,
        "created_at": at,
    }


def _conversation(number: Number) -> dict[str, Any]:
    at = moment(T, number)
    return {
        "id": number + 1,
        "external_id": numbered("v-", number),
        "customer": numbered("c-", number % 50_000),
        "status": "open",
        "labels": [],
        "attributes": {},
        "auto_reply": False,
        "replied_seq": 0,
        "created_at": at,
        "updated_at": at,
    }


def _message(number: Number) -> dict[str, Any]:
    at = moment(T, number)
    return {
        "id": number + 1,
        "conversation_id": number + 1,
        "external_id": numbered("m-", number),
        "seq": number,
        "metadata": {},
        "direction": "incoming",
        "sender": {},
        "private": False,
        "auto_reply": False,
        "customer": numbered("c-", number % 50_000),
        "text": "hello",
        "created_at": at,
        "stored_at": at,
    }


def _revoke(number: Number) -> dict[str, Any]:
    return {"customer": numbered("c-", number), "at": T, "source": "api"}


ROWS_OF: dict[str, Row] = {
    "follow_up": _followup,
    "contact": _contact,
    "agent_task": _task,
    "task_event": _task_event,
    "outcome": _outcome,
    "conversation": _conversation,
    "message": _message,
    "revoke_event": _revoke,
}


def fire(session: Session, _tenant: Tenant) -> None:
    counts = fire_due(session, declared=DECLARED, now=NOW, limit=2_000)
    assert counts.own["fired"] > 100
    assert counts.errors == 0


def forget(session: Session, _tenant: Tenant) -> None:
    deferrals.forget_outdated(session, Declared(2, {"agents": {AGENTS[1]: {}}}), now=NOW)


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
    (erase, ["ix_message_customer", "ix_conversation_customer"]),
    (erase, ["ix_message_writer", "ix_revoke_event_customer", "ix_task_event_task"]),
    (announce, ["ix_follow_up_due", "ix_follow_up_failing", "ix_agent_task_waiting"]),
    # By what waits or by state, as the statistics have it: either is no walk.
    (wait_for_agent, []),
    (wait_for_customer, ["ix_agent_task_customer"]),
    (export, ["ix_follow_up_created"]),
]


def test_statements_go_by_their_indexes_and_are_seen_not_to_when_one_is_dropped(
    subtests: pytest.Subtests, large: Large
) -> None:
    """All in one, since filling the tables takes most of the time."""
    for work, indexes in WORK:
        with subtests.test(work.__name__, indexes=indexes):
            assert_goes_by(large, work, indexes)
