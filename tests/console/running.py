"""Executions as the tests of their pages bring them about and look at them."""

from sqlalchemy import select, update

from models import clock
from models.audit import AuditEvent
from models.automations import ledger
from models.automations.records import Execution
from models.conversations import Conversation
from tests.support.executions import write

LIST = "/acme/executions"
TAB_OF = {
    "abandoned": "",
    "failed": "",
    "unknown": "",
    "waiting": "?tab=waiting",
    "due": "?tab=waiting",
    "taken": "?tab=running",
    "running": "?tab=running",
    "stale": "?tab=stale",
    "cancelled": "?tab=skipped",
    "moved": "?tab=skipped",
    "dropped": "?tab=skipped",
    "executed": "?tab=executed",
}


def read(desk, id):
    return desk.tell(lambda session: session.get_one(Execution, id))


def states(desk, id):
    return desk.tell(
        lambda session: [one.state for one in ledger.of(session, session.get_one(Execution, id))]
    )


def audited(desk, id):
    query = select(AuditEvent).where(AuditEvent.resource_id == str(id)).order_by(AuditEvent.id)
    return desk.tell(lambda session: [(e.action, e.result, e.purpose) for e in session.scalars(query)])


def form_of(visitor, id, act, *, shown="panel"):
    return visitor.open(f"{LIST}/{id}/{act}?shown={shown}").form(f"/{act}")


def called(desk, id):
    def find(session):
        return session.get_one(Conversation, session.get_one(Execution, id).conversation_id).external_id

    return desk.tell(find)


def reply(desk, acme, id, text="It is on its way."):
    """An agent answers, so that the episode moves on."""
    name = called(desk, id)
    desk.tell(lambda session: write(session, acme, name, now=clock.now(), direction="outgoing", text=text))


def set_values(session, id, **values):
    """Put a row where the engine would have left it."""
    statement = update(Execution).where(Execution.id == id).values(values)
    session.execute(statement, execution_options={"audited": True})
