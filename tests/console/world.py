"""One tenant with something behind every address of the console, its texts as odd as a test wants them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session
from werkzeug.routing import Rule

from desk_ui.addresses import outside_console
from jobs import bulk
from models import (
    bulk_operations,
    clock,
    endpoints,
    intake,
    operators,
    outbox,
    publishing,
    sweep_states,
    tenants,
    tokens,
)
from models.actors import Actor
from models.audit import AuditEvent
from models.automations import operating, rules
from models.deliveries import Delivery, State
from models.endpoints import WebhookEndpoint
from models.followups import contacts, transitions
from models.followups.firing import fire_due
from models.followups.records import FollowUp, Status
from models.outbox import OutboxEvent
from models.settings import Settings
from models.sweeps import RunStatus, SweepFault, SweepRun
from models.tenants import Tenant
from models.transactions import commit
from tests.bulk.working import rows_of
from tests.console.visiting import Desk
from tests.support.create import create_followup
from tests.support.declare import declared
from tests.support.executions import create_execution, create_rule

SWEEP = "fire_followups"
PLAIN = "plain"


@dataclass(frozen=True)
class World:
    """The ids by which the addresses name what is there."""

    tenant: Tenant
    followups: dict[str, str]
    delivery: int
    endpoint: str
    event: int
    run: int
    operator: int
    token: int
    agent: str
    operation: str
    rule: str
    executions: dict[str, str]

    def arguments(self, rule: Rule) -> list[dict[str, Any]]:
        """What to put into `rule`, one for each state that it can show."""
        fixed = {
            "tenant": self.tenant.key,
            "secret": "unknown",
            "delivery_id": self.delivery,
            "endpoint_id": self.endpoint,
            "event_id": self.event,
            "run_id": self.run,
            "operator_id": self.operator,
            "token_id": self.token,
            "operation_id": self.operation,
            "rule_id": self.rule,
            "agent": self.agent,
            "key": self.agent,
            "name": SWEEP,
            "sweep": SWEEP,
            "feature": "followups",
            "kind": "csv",
        }
        given = {name: fixed[name] for name in rule.arguments if name in fixed}
        if "followup_id" in rule.arguments:
            return [{**given, "followup_id": id} for id in self.followups.values()]
        if "execution_id" in rule.arguments:
            return [{**given, "execution_id": id} for id in self.executions.values()]
        return [given]


def console_rules(app: Flask) -> list[Rule]:
    """Every address of the console."""
    return [
        rule
        for rule in app.url_map.iter_rules()
        if not outside_console(rule.rule) and rule.endpoint != "static"
    ]


def make(desk: Desk, tenant: Tenant, settings: Settings, text: str = PLAIN) -> World:
    """Fill `tenant`; `text` stands in every field that a customer, an agent or an operator writes."""
    now = clock.now()
    author = Actor.api("1", text)

    def fill(session: Session) -> World:
        followups = _followups(session, tenant, text, author)
        endpoint, _secret = endpoints.add(
            session,
            tenant,
            url="https://hooks.example.com/in?token=hidden",
            event_types=["*"],
            settings=settings,
            actor=author,
            now=now,
        )
        delivery = _deliveries(session, tenant, endpoint, text)
        token, _secret = tokens.add(session, tenant, name=text, scopes=["read"], actor=author, now=now)
        tenants.hold(session, tenant, text, held=True, reason=text, actor=author, now=now)
        sweep_states.pause(session, "retention", known=["retention"], reason=text, actor=author, now=now)
        run = _run(session, tenant, text)
        person, _new = operators.add(
            session, "someone@acme.test", tenant=tenant, role="viewer", actor=author, now=now
        )
        event = session.scalars(
            select(AuditEvent.id).where(AuditEvent.tenant_id == tenant.id, AuditEvent.purpose == text)
        ).first()
        assert event is not None
        operation = _operation(session, tenant, followups[Status.CANCELLED.value], text)
        rule, waiting = _rule(session, tenant, text, author)
        return World(
            tenant,
            followups,
            delivery,
            str(endpoint.id),
            event,
            run,
            person.id,
            token.id,
            text,
            operation,
            rule,
            _executions(session, tenant, text, waiting, author),
        )

    return desk.tell(fill)


def _followups(session: Session, tenant: Tenant, text: str, author: Actor) -> dict[str, str]:
    """One in each state, all with `text` in their texts."""
    now = clock.now()
    found: dict[str, str] = {}

    def book(state: Status, customer: str, **given: Any) -> FollowUp:
        values = {"reason": text, "arm": text, "session_id": text, "transport": text, "agent": text, **given}
        made = create_followup(session, tenant, now=now, customer=customer, **values)
        found[state.value] = str(made.id)
        return made

    first = book(Status.CANCELLED, text, agent="store-support")
    transitions.cancel(session, tenant.id, first.id, actor=author, now=now)
    again = transitions.rearm(
        session,
        tenant,
        first.id,
        now + timedelta(hours=9),
        declared=declared(),
        actor=author,
        now=now,
        reason=text,
    )
    transitions.cancel(session, tenant.id, again.id, actor=author, now=now)
    book(Status.BLOCKED, text, at=now + timedelta(minutes=6))
    book(Status.FIRED, text, agent="store-support", at=now + timedelta(minutes=6))
    fire_due(session, declared=declared(), now=now + timedelta(minutes=7), limit=100)
    book(Status.PENDING, text)
    contacts.revoke(session, tenant, f"{text[:190]} 2", by=text, actor=author, now=now)
    return found


def _deliveries(session: Session, tenant: Tenant, endpoint: WebhookEndpoint, text: str) -> int:
    """One in each state; the id of the dead one."""
    now = clock.now()
    outbox.enqueue(
        session,
        tenant_id=tenant.id,
        event_type="task.created",
        aggregate=("task", text),
        payload={"text": text},
        now=now,
    )
    session.flush()
    publishing.publish(session, now=now, limit=1_000)
    waiting = session.scalars(
        select(Delivery)
        .join(OutboxEvent, OutboxEvent.id == Delivery.event_id)
        .where(Delivery.endpoint_id == endpoint.id)
        .order_by(Delivery.id.desc())
    ).all()
    for delivery, state in zip(waiting, (State.DEAD, State.FAILED, State.DELIVERED), strict=False):
        delivery.state, delivery.last_error, delivery.last_status = state.value, text, 500
        delivery.attempts = 3
        delivery.next_attempt_at = now + timedelta(hours=1) if state is State.FAILED else None
    return waiting[0].id


def _rule(session: Session, tenant: Tenant, text: str, author: Actor) -> tuple[str, str]:
    """A rule with `text` wherever somebody writes into one, and its execution on such a conversation."""
    now = clock.now()
    asked = {"attribute": f"custom.{text[:190]}", "operator": "equal_to", "values": [text], "joiner": None}
    given = {
        "name": text,
        "description": text,
        "event": "conversation_created",
        "conditions": [asked],
        "actions": [
            {"name": "send_message", "params": [text]},
            {"name": "add_label", "params": [text]},
            {"name": "assign_agent", "params": [text]},
        ],
    }
    made = rules.create(session, tenant, given, actor=author, now=now)
    told = {"customer": text, "labels": [text], "attributes": {"custom": {text[:190]: text}}}
    heard = intake.receive_conversation(session, tenant, text, told, now=now).happening
    [execution] = intake.arm(session, tenant, heard, now=now)
    return str(made.id), str(execution)


def _executions(session: Session, tenant: Tenant, text: str, waiting: str, author: Actor) -> dict[str, str]:
    """One that waits, and one in each state that a person made or has to look at, all with `text` in them."""
    now = clock.now()
    actions = [{"name": name, "params": [text]} for name in ("add_label", "send_message", "add_private_note")]
    rule = create_rule(session, tenant, now=now, name=text, actions=actions)
    found = {"waiting": waiting}
    for state in ("abandoned", "unknown", "cancelled"):
        called = f"{text[:150]} {state}"
        id = create_execution(
            session, tenant, state, now=now, rule=rule, called=called, customer=text, text=text
        )
        found[state] = str(id)
    id = create_execution(session, tenant, "unknown", now=now, rule=rule, called=f"{text[:150]} settled")
    operating.settle(session, tenant.id, id, {1: "done"}, actor=author, now=now, note=text)
    return {**found, "settled": str(id)}


def _operation(session: Session, tenant: Tenant, followup: str, text: str) -> str:
    """A bulk operation that found nothing to do, asked for by an operator who wrote `text`."""
    made = bulk_operations.begin(
        session,
        tenant.id,
        "followup.cancel",
        rows_of(tenant, FollowUp.id == UUID(followup)),
        confirmed=1,
        reason=text,
        actor=Actor.operator("7", text),
        now=clock.now(),
        filters={"tab": "pending", "customer": text},
        watermark=clock.now(),
    )
    commit(session, "tests.world")
    bulk.go_on(session, made.id, most=10)
    return str(made.id)


def _run(session: Session, tenant: Tenant, text: str) -> int:
    """A run that met a faulty row."""
    now = clock.now()
    run = SweepRun(
        name=SWEEP,
        holder="tests",
        status=RunStatus.ERROR.value,
        started_at=now,
        finished_at=now,
        counts={},
        error=text,
    )
    session.add(run)
    session.flush()
    session.add(SweepFault(run_id=run.id, tenant_id=tenant.id, name=SWEEP, row=text, error=text, at=now))
    return run.id
