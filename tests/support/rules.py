"""Rules with executions of theirs in each state, and conversations to try them on."""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from models import intake
from models.automations import rules
from models.automations.records import AutomationRule, Execution, Status
from models.conversations import Conversation
from models.declarations import Declared
from models.intake import IncomingMessage
from models.tenants import Tenant
from models.transactions import commit
from tests.support.create import API

INCOMING = {"attribute": "message_type", "operator": "equal_to", "values": ["incoming"], "joiner": None}
OPEN = {"attribute": "status", "operator": "equal_to", "values": ["open"], "joiner": None}
RULE = {
    "name": "Waits too long",
    "event": "message_created",
    "execution_delay": 120,
    "conditions": [{**INCOMING, "joiner": "and"}, OPEN],
    "actions": [{"name": "add_label", "params": ["late"]}],
}
_numbers = count(1)


def create_rule(session: Session, tenant: Tenant, *, now: datetime, **given: Any) -> AutomationRule:
    """One that is on: it labels a conversation that waits for an answer for 2 hours."""
    made = rules.create(session, tenant, {**RULE, **given}, actor=API, now=now)
    commit(session, "tests.rules")
    return made


def create_executions(session: Session, rule: AutomationRule, *, now: datetime, **numbers: int) -> None:
    """So many of `rule` in each state (`pending=3`, `review=1`), straight into the table."""
    for name, number in numbers.items():
        status = Status.EXECUTED if name == "review" else Status(name)
        for _number in range(number):
            row = {
                "tenant_id": rule.tenant_id,
                "rule_id": rule.id,
                "conversation_id": 1,
                "episode_key": f"status:{next(_numbers)}",
                "armed_version": rule.armed_version,
                "status": status.value,
                "skip_reason": "expired" if status is Status.SKIPPED else None,
                "needs_review": name == "review",
                "due_at": now + timedelta(hours=1),
                "lapses_from": now + timedelta(hours=1),
                "created_at": now,
                "updated_at": now,
            }
            session.execute(insert(Execution).values(row), execution_options={"audited": True})
    commit(session, "tests.rules")


def create_conversation(
    session: Session, tenant: Tenant, called: str, *, now: datetime, **given: Any
) -> Conversation:
    """An open conversation of our own."""
    values = {"status": "open", "customer": "c-1", **given}
    made = intake.receive_conversation(session, tenant, called, values, now=now).conversation
    commit(session, "tests.rules")
    return made


def say(
    session: Session, tenant: Tenant, called: str, *, at: datetime, direction: str = "incoming", **given: Any
) -> None:
    """A message in the conversation `called`; no rule hears of it."""
    sender = (
        {"type": "customer", "key": "c-1"} if direction == "incoming" else {"type": "agent", "key": "a-1"}
    )
    values = {"id": f"{called}-{next(_numbers)}", "sender": sender, "customer": "c-1", "text": "Hello?"}
    message = IncomingMessage(
        conversation_id=called, direction=direction, created_at=at, **{**values, **given}
    )
    intake.receive_message(session, tenant, message, declared=Declared(), now=at)
    commit(session, "tests.rules")
