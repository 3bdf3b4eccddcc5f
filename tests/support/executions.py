"""Executions in each state, brought there by the domain as if it had happened."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import conversations, intake
from models.automations import claiming, operating, rules, upkeep
from models.automations.outside import Came, Errand
from models.automations.records import AutomationRule, Execution
from models.automations.running import Worker
from models.declarations import Declared
from models.intake import IncomingMessage
from models.tenants import Tenant
from models.transactions import commit, rollback
from tests.support.create import API

MINUTE = timedelta(minutes=1)
ACTIONS = [
    {"name": "add_label", "params": ["late"]},
    {"name": "send_message", "params": ["We have not forgotten you."]},
    {"name": "change_priority", "params": ["high"]},
]
# What a message holds that only another rule waits on.
OTHER = "the other rule"
RULE = {
    "name": "Unanswered for two hours",
    "event": "message_created",
    "execution_delay": 120,
    "conditions": [
        {"attribute": "message_type", "operator": "equal_to", "values": ["incoming"], "joiner": "and"},
        {"attribute": "content", "operator": "does_not_contain", "values": [OTHER], "joiner": None},
    ],
    "actions": ACTIONS,
}
ANOTHER = {
    "name": "Another rule",
    "conditions": [{"attribute": "content", "operator": "contains", "values": [OTHER], "joiner": None}],
}
# What the second action comes to.
CAME = {
    "executed": Came.done("200"),
    "failed": Came.failed("Answered 422."),
    "unknown": Came.unknown("No answer within 30 s."),
}
REVIEW = ("abandoned", "failed", "unknown")
STATES = (*REVIEW, "waiting", "due", "taken", "running", "stale", "executed", "cancelled", "moved", "dropped")
_numbers = count(1)


class Died(Exception):
    """The worker is gone in the middle of a call."""


def create_rule(session: Session, tenant: Tenant, *, now: datetime, **given: Any) -> AutomationRule:
    """One that waits two hours for an answer, and then does three things; `**ANOTHER` for a second one."""
    made = rules.create(session, tenant, {**RULE, **given}, actor=API, now=now - timedelta(days=1))
    commit(session, "tests.executions")
    return made


def create_execution(
    session: Session,
    tenant: Tenant,
    state: str = "waiting",
    *,
    now: datetime,
    rule: AutomationRule | None = None,
    called: str = "",
    customer: str = "c-1042",
    text: str = "Has my code arrived?",
) -> UUID:
    """One in `state`, of `STATES`, on a conversation of its own, whose messages go outside."""
    found = rule or _rule(session, tenant, now)
    name = called or f"talk-{next(_numbers)}"
    ago = 60 if state == "waiting" else 180
    write(session, tenant, name, now=now - ago * MINUTE, customer=customer, text=text)
    query = select(Execution.id).join(
        conversations.Conversation, conversations.Conversation.id == Execution.conversation_id
    )
    query = query.where(Execution.rule_id == found.id, conversations.Conversation.external_id == name)
    id = session.scalars(query).one()
    _bring(session, tenant, id, state, name, now)
    rollback(session)
    session.expire_all()
    return id


def _rule(session: Session, tenant: Tenant, now: datetime) -> AutomationRule:
    """The tenant's first rule, made if absent: each message arms each rule that hears it."""
    known = select(AutomationRule).where(AutomationRule.tenant_id == tenant.id)
    first = session.scalars(known.order_by(AutomationRule.created_at, AutomationRule.id).limit(1)).first()
    return first or create_rule(session, tenant, now=now)


def write(
    session: Session,
    tenant: Tenant,
    called: str,
    *,
    now: datetime,
    direction: str = "incoming",
    customer: str = "c-1042",
    text: str = "Has my code arrived?",
) -> None:
    """A message at `now`, of which the rules hear."""
    incoming = direction == "incoming"
    message = IncomingMessage(
        id=f"{called[:150]}-{next(_numbers)}",
        conversation_id=called,
        direction=direction,
        created_at=now,
        text=text,
        sender={"type": "customer", "key": customer} if incoming else {"type": "agent", "key": "a-1"},
        customer=customer,
        source="chatwoot",
    )
    heard = intake.receive_message(session, tenant, message, declared=Declared(), now=now)
    intake.arm(session, tenant, heard.happening, now=now)
    commit(session, "tests.executions")


def _bring(session: Session, tenant: Tenant, id: UUID, state: str, called: str, now: datetime) -> None:
    if state in ("taken", "stale"):
        at = now - (MINUTE if state == "taken" else 20 * MINUTE)
        claiming.claim(session, [id], token=UUID(int=1), now=at)
    elif state in ("abandoned", "dropped"):
        work(session, [id], now - 50 * MINUTE, dies_at=1)
        upkeep.mark_abandoned(session, now=now - 30 * MINUTE, limit=100)
        if state == "dropped":
            operating.drop(session, tenant.id, id, actor=API, now=now - MINUTE)
    elif state == "running":
        work(session, [id], now - MINUTE, dies_at=1)
    elif state == "cancelled":
        operating.cancel(session, tenant.id, id, actor=API, now=now - MINUTE, reason="by hand")
    elif state == "moved":
        write(session, tenant, called, now=now - 100 * MINUTE, direction="outgoing", text="It is on its way.")
        work(session, [id], now - 50 * MINUTE)
    elif state in CAME:
        work(session, [id], now - 50 * MINUTE, answers={1: CAME[state]})
    commit(session, "tests.executions")


def work(
    session: Session,
    ids: Sequence[UUID],
    now: datetime,
    *,
    answers: dict[int, Came] | None = None,
    dies_at: int | None = None,
) -> list[Errand]:
    """What a worker does at `now`; the calls that it made. One that dies does so in the call at `dies_at`."""
    made: list[Errand] = []

    def perform(errand: Errand) -> Came:
        position = int(errand.idempotency_key.rpartition(":")[2])
        if position == dies_at:
            raise Died
        made.append(errand)
        return (answers or {}).get(position, Came.done("200"))

    with suppress(Died):
        Worker(session, Declared(), lambda: now, perform).work(ids)
    rollback(session)
    return made
