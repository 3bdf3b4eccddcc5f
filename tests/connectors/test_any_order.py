"""Many conversations of a Chatwoot, told in order and in random order with doubles: the same end."""

import os
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from jobs.delivery.outside import performer
from models import connectors, inbound, inbound_events
from models.automations import echoes, resuming
from models.automations.records import AutomationRule, Execution
from models.conversations import Conversation
from models.inbound_events import InboundEvent
from models.messages import Message
from models.settings import Settings
from models.transactions import commit
from tests.automations.world import T0, at
from tests.connectors.world import World
from tests.support.api import on_sqlite
from tests.support.chatwoot import ACCOUNT, SECRET, TOKEN, Chatwoot, chatwoot
from tests.support.create import API, create_tenant
from tests.support.recount import assert_audit_matches

pytestmark = [pytest.mark.slow, on_sqlite]

# Of `make test`; all 1,000 of them are run by `make soak`.
CONVERSATIONS = int(os.environ.get("DESK_TEST_CONVERSATIONS", "50"))
STEP = 500
# All that people do takes 6 minutes; it is applied in the seventh.
TOLD = at(7)
RULES = (
    {
        "name": "nobody answers",
        "event": "message_created",
        "execution_delay": 60,
        "conditions": [
            {"attribute": "message_type", "operator": "equal_to", "values": ["incoming"], "joiner": "and"},
            {"attribute": "status", "operator": "equal_to", "values": ["open"], "joiner": "and"},
            {"attribute": "content", "operator": "contains", "values": ["order"], "joiner": None},
        ],
        "actions": [{"name": "send_message", "params": ["Somebody will be with you soon."]}],
    },
    {
        "name": "the customer is silent",
        "event": "message_created",
        "execution_delay": 90,
        "conditions": [
            {"attribute": "message_type", "operator": "equal_to", "values": ["outgoing"], "joiner": None}
        ],
        "actions": [{"name": "send_message", "params": ["Are you still there?"]}],
    },
    {
        "name": "resolved for half an hour",
        "event": "conversation_updated",
        "execution_delay": 30,
        "conditions": [
            {"attribute": "status", "operator": "equal_to", "values": ["resolved"], "joiner": None}
        ],
        "actions": [{"name": "add_label", "params": ["over"]}],
    },
    {
        "name": "at once",
        "event": "message_created",
        "execution_delay": None,
        "conditions": [
            {"attribute": "content", "operator": "contains", "values": ["urgent"], "joiner": None}
        ],
        "actions": [{"name": "send_message", "params": ["We see that it is urgent."]}],
    },
)


def stories() -> list[dict[str, Any]]:
    """What people do in the conversations, by time, some of it in the same second."""
    chance, acts = random.Random(5), []
    for id in range(1, CONVERSATIONS + 1):
        steps = sorted(round(chance.uniform(0, 350), 6) for _ in range(5))
        times = iter([at(0).timestamp() + step for step in steps])

        def act(what: str, id: int = id, times: Any = times, **given: Any) -> dict[str, Any]:
            return {"act": what, "id": id, "at": next(times), **given}

        kind = id % 10
        wanted = "thanks, that is all" if kind > 4 else "where is my order?"
        urgent = "urgent: " if id % 50 == 0 else ""
        acts += [act("create"), act("say", kind="incoming", content=urgent + wanted)]
        if kind in (2, 3):
            acts.append(act("say", kind="outgoing", content="I look"))
        if kind == 3:
            acts.append(act("say", kind="incoming", content="and my order?"))
        if kind == 4:
            acts += [act("set", status="resolved"), act("set", priority="low")]
    return sorted(acts, key=lambda one: one["at"])


@dataclass
class Side:
    """One tenant with a Chatwoot of its own, to which the same happens; `order` is how it tells of it."""

    world: World
    fake: Chatwoot
    order: dict[str, Any] = field(default_factory=dict)

    def told(self, now: datetime) -> None:
        """Store all that its webhooks say, as they come, and apply it."""
        events = self.fake.tell("take_events", **self.order)
        for number, event in enumerate(events):
            told = inbound.read(event["body"].encode(), delivery_id=event["delivery"])
            inbound_events.store(self.world.session, self.world.tenant.id, told, now=now)
            if number % STEP == STEP - 1:
                commit(self.world.session, "tests.told")
        commit(self.world.session, "tests.told")
        counts = inbound.process(
            self.world.session, declared=self.world.declared, now=now, limit=100_000, ours=echoes.is_ours
        )
        assert (counts.errors, counts.capped) == (0, False), counts.faults

    def conversations(self) -> dict[str, Any]:
        """How each stands here, by its id there."""
        query = select(Conversation).where(Conversation.tenant_id == self.world.tenant.id)
        return {
            one.external_id: (
                (one.status, one.status_changed_at, one.waiting_since, one.last_activity_at),
                (one.priority, one.assignee_id, one.team_id, sorted(one.labels), one.customer),
                (one.inbox_id, one.attributes, one.created_at, one.source_updated_at),
            )
            for one in self.world.session.scalars(query)
        }

    def messages(self) -> Counter[Any]:
        """What was said; messages of ours have other ids in each."""
        query = select(Message, Conversation.external_id).join(
            Conversation, Conversation.id == Message.conversation_id
        )
        rows = self.world.session.execute(query.where(Message.tenant_id == self.world.tenant.id))
        return Counter(
            (id, one.direction, one.text, one.created_at, one.sender.get("type"), one.private)
            for one, id in rows
        )

    def executed(self) -> Counter[Any]:
        """What ran: the rule, its conversation, and the episode, which a message of ours does not name."""
        query = (
            select(AutomationRule.name, Conversation.external_id, Execution)
            .join(Execution, Execution.rule_id == AutomationRule.id)
            .join(Conversation, Conversation.id == Execution.conversation_id)
            .where(Execution.tenant_id == self.world.tenant.id, Execution.status == "executed")
        )
        return Counter(
            (rule, id, "at once" if one.at_once else (one.episode_key, one.due_at))
            for rule, id, one in self.world.session.execute(query)
        )

    def open(self) -> int:
        query = select(Execution).where(
            Execution.tenant_id == self.world.tenant.id, Execution.status.not_in(("executed", "skipped"))
        )
        return len(self.world.session.scalars(query).all())


def side(session: Session, settings: Settings, key: str, fake: Chatwoot, **order: Any) -> Side:
    tenant = create_tenant(session, key, now=T0)
    connectors.set_chatwoot(
        session,
        tenant,
        url=fake.url,
        account=ACCOUNT,
        token=TOKEN,
        secret=SECRET,
        settings=settings,
        actor=API,
        now=T0,
    )
    world = World(session, tenant, settings)
    world.outside = performer(settings, session)  # type: ignore[assignment]
    for rule in RULES:
        world.rule(**rule)
    return Side(world, fake, order)


def test_conversations_end_alike_in_whatever_order_they_are_told(session, settings):
    resuming.register()
    acts = stories()
    with chatwoot() as first, chatwoot() as second:
        ordered = side(session, settings, "acme", first)
        mixed = side(session, settings, "globex", second, shuffle=True, double=0.2, seed=7)
        for one in (ordered, mixed):
            for start in range(0, len(acts), STEP):
                one.fake.do(*[dict(act) for act in acts[start : start + STEP]])
            one.told(TOLD)
        assert len(ordered.conversations()) == CONVERSATIONS
        assert mixed.conversations() == ordered.conversations()
        # What runs sends to both, and what both tell of that is told again.
        for minutes in (8, 40, 70, 110):
            now = at(minutes)
            for one in (ordered, mixed):
                one.fake.tell("clock", now=now.timestamp())
            ordered.world.sweep(now, limit=100_000)
            for one in (ordered, mixed):
                one.told(now)
        assert_alike(ordered, mixed)
        assert_audit_matches(session)


def assert_alike(ordered: Side, mixed: Side) -> None:
    assert mixed.executed() == ordered.executed()
    assert mixed.conversations() == ordered.conversations()
    assert mixed.messages() == ordered.messages()
    assert ordered.open() == mixed.open() == 0
    for one in (ordered, mixed):
        sent, ran = one.fake.sent(), one.executed()
        assert set(sent.values()) == {1}, "a customer got a message twice"
        assert len(sent) == sum(
            count for (rule, *_), count in ran.items() if rule != "resolved for half an hour"
        )
        by_rule = Counter(rule for rule, *_ in ran.elements())
        assert by_rule == {
            "nobody answers": CONVERSATIONS * 3 // 10,
            "the customer is silent": CONVERSATIONS // 10,
            "resolved for half an hour": CONVERSATIONS // 10,
            "at once": CONVERSATIONS // 50,
        }
        states = one.world.session.scalars(select(InboundEvent.state).distinct()).all()
        assert list(states) == ["done"]
