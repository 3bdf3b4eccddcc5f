"""Each statement of the sweep, of arming and of a person's acts over 100,000 rows goes by an index."""

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import and_, case, literal

from models import intake
from models.automations import claiming, operating, upkeep
from models.automations.outside import Came
from models.automations.records import Execution
from models.automations.running import Worker
from models.base import UtcDateTime, db
from models.conversations import Conversation
from models.declarations import Declared
from models.happenings import Event, Happening
from models.transactions import rollback
from tests.automations.world import LABEL, T0
from tests.support.create import API, create_tenant
from tests.support.filling import bare, fill, moment, numbered, uuid_of
from tests.support.plans import analyze, plans_of, scanned

pytestmark = pytest.mark.slow

ROWS = 100_000
DAY = timedelta(days=1)
TABLES = ("execution", "conversation", "message", "action_run")
NOW = T0 + 30 * DAY


@pytest.fixture
def tenant(app, session):
    made = create_tenant(session, now=T0)
    other = create_tenant(session, "paused", now=T0)
    other.features = {"delayed_automations": False, "followups": True}
    session.commit()
    with db.engine.begin() as connection, bare(connection, *TABLES):
        owners = [
            {
                "id": uuid_value(number),
                "tenant_id": made.id if number else other.id,
                "name": "r",
                "description": "",
                "event": "conversation_updated",
                "conditions": [],
                "actions": LABEL,
                "active": True,
                "execution_delay": 60,
                "on_failure": "continue",
                "created_at": T0,
                "updated_at": T0,
                "armed_version": 1,
                "version": 1,
            }
            for number in range(20)
        ]
        connection.execute(db.metadata.tables["automation_rule"].insert(), owners)
        fill(connection, "conversation", ROWS, lambda n: _conversation(n, made.id), first=1)
        fill(connection, "message", ROWS, lambda n: _message(n, made.id), first=1)
        fill(connection, "execution", ROWS, lambda n: _execution(n, made.id, other.id), first=1)
        fill(connection, "action_run", ROWS, lambda n: _action(n, made.id), first=1)
    analyze(session)
    return made


def uuid_value(number):
    return UUID(int=number + 1)


def _conversation(number, tenant_id):
    return {
        "id": number, "tenant_id": tenant_id, "source": "native", "external_id": numbered("v-", number),
        "customer": numbered("c-", number % 50_000), "status": "open", "status_changed_at": T0,
        "labels": [], "attributes": {}, "auto_reply": False, "replied_seq": 0,
        "created_at": moment(T0, number), "updated_at": moment(T0, number),
    }  # fmt: skip


def _message(number, tenant_id):
    return {
        "id": number, "tenant_id": tenant_id, "conversation_id": number, "source": "native",
        "external_id": numbered("m-", number), "seq": number, "direction": "incoming",
        "sender": {"type": "customer", "key": "c"}, "private": False, "auto_reply": False,
        "customer": numbered("c-", number % 50_000), "text": "hello", "metadata": {},
        "created_at": moment(T0, number), "stored_at": moment(T0, number),
    }  # fmt: skip


def _execution(number, tenant_id, paused_id):
    """Half are of a paused tenant and due; of the others a few wait, hang, or need a person."""
    paused = number % 2 == 0
    due = and_(~paused, number % 400 == 1)
    hung = and_(~paused, number % 4_000 == 3)
    dead = and_(~paused, number % 4_000 == 5)
    review = and_(~paused, number % 4_000 == 7)
    at = case((due, literal(NOW - DAY, UtcDateTime())), else_=moment(T0, number))
    status = case(
        (paused, "pending"), (due, "pending"), (hung, "processing"), (dead, "executing"),
        (number % 3 == 0, "skipped"), else_="executed",
    )  # fmt: skip
    return {
        "id": uuid_of(number), "tenant_id": case((paused, paused_id), else_=tenant_id),
        "rule_id": case((paused, uuid_of(literal(1))), else_=uuid_of(number % 19 + 2)),
        "conversation_id": number, "episode_key": "status:1930384800000000", "at_once": False,
        "armed_version": 1, "status": status, "skip_reason": case((number % 3 == 0, "expired")),
        "due_at": at, "lapses_from": at, "attempts": 0, "run": 0, "resumed": False,
        "locked_at": case((hung, moment(T0, number)), (dead, moment(T0, number))),
        "lock_token": case((hung, uuid_of(number)), (dead, uuid_of(number))),
        "on_failure": "continue", "needs_review": review, "created_at": moment(T0, number),
        "updated_at": moment(T0, number), "version": 1,
    }  # fmt: skip


def _action(number, tenant_id):
    return {
        "id": number, "tenant_id": tenant_id, "execution_id": uuid_of(number), "run": 1, "position": 0,
        "name": "add_label", "params": ["stale"], "native": True, "state": "done",
        "idempotency_key": numbered("k-", number),
    }  # fmt: skip


def test_every_read_and_write_of_executions_goes_by_its_indexes(session, tenant, subtests):
    """One after the other, since filling the tables takes most of the time."""
    worker = Worker(session, Declared(), lambda: NOW, lambda errand: Came.done())
    last = uuid_of_number(99_601)
    works = {
        "what is due": lambda: claiming.pick(session, now=NOW, limit=100),
        "how many were abandoned": lambda: claiming.count_abandoned(session, NOW),
        "a run": lambda: worker.work(claiming.pick(session, now=NOW, limit=50).ids),
        "abandoned ones": lambda: upkeep.mark_abandoned(session, now=NOW, limit=5),
        "what is over for long": lambda: upkeep.purge(
            session, declared=Declared(), now=NOW + 20 * DAY, limit=50
        ),
        "arming": lambda: _arm(session, tenant),
        "a person's act": lambda: operating.cancel(session, tenant.id, last, actor=API, now=NOW),
    }
    for name, work in works.items():
        rollback(session)
        found = plans_of(session, work, *TABLES, verbs=("SELECT", "WITH", "UPDATE", "DELETE"))
        with subtests.test(name):
            assert [plan for plan in found if scanned(plan, *TABLES)] == []
    rollback(session)


def uuid_of_number(number):
    return UUID(int=number)


def _arm(session, tenant):
    conversation = session.get(Conversation, 801)
    happening = Happening("news:1", conversation.id, (Event.CONVERSATION_UPDATED.value,))
    intake.arm(session, tenant, happening, now=NOW)
    assert session.get(Execution, uuid_of_number(801)) is not None
