"""The plans over 50,000 events that were told of: each statement goes by an index."""

from datetime import timedelta

import pytest
from sqlalchemy import insert

from models import inbound_events
from models.inbound_events import InboundEvent
from tests.automations.world import T0, at
from tests.connectors.world import World, conversation_event, message_event
from tests.support.plans import analyze, plans_of

pytestmark = pytest.mark.slow

ROWS = 50_000
STEP = 5_000
WALKS = ("SCAN inbound_event", "Seq Scan on inbound_event")


@pytest.fixture
def filled(world: World) -> World:
    """Events of many conversations that were done a day ago, and three that wait."""
    for start in range(0, ROWS, STEP):
        rows = [
            {
                "tenant_id": world.tenant.id,
                "source": "chatwoot",
                "delivery_id": f"delivery:{number}",
                "event": "conversation_updated",
                "conversation": str(number % 10_000 + 100),
                "customer": f"c-{number % 10_000}",
                "raw": b"",
                "state": "done",
                "happenings": [],
                "told_at": T0 - timedelta(seconds=number),
                "told_status": "open",
                "told_change": False,
                "attempts": 1,
                "received_at": T0 - timedelta(days=1),
                "updated_at": T0 - timedelta(days=1, seconds=number),
            }
            for number in range(start, start + STEP)
        ]
        world.session.execute(insert(InboundEvent), rows)
    world.commit()
    world.take(conversation_event("conversation_created"))
    world.store(
        message_event(502, at(2)), message_event(501, at(1)), conversation_event("conversation_updated")
    )
    analyze(world.session)
    return world


def test_no_statement_walks_through_the_events(filled: World):
    world = filled
    verbs = ("SELECT", "WITH", "DELETE", "UPDATE")

    def all_of_it() -> None:
        world.process(at(3))
        inbound_events.purge(world.session, now=T0, limit=100)
        inbound_events.forget(world.session, world.tenant.id, "c-1")
        world.session.rollback()

    plans = plans_of(world.session, all_of_it, "inbound_event", verbs=verbs)
    assert len(plans) > 10
    assert [plan for plan in plans if any(walk in plan for walk in WALKS)] == []
