"""SIGKILL at every fault point of the connector: nothing that was told is lost, and nothing is done twice."""

import json
import signal

import pytest
from sqlalchemy import func, select

from models.audit import AuditEvent
from models.clock import iso
from models.connectors import Connector
from models.inbound_events import InboundEvent
from models.transactions import rollback
from tests.automations.world import T0, at
from tests.connectors import killing
from tests.connectors.world import message_event
from tests.kills import acts
from tests.support import forks
from tests.support.create import create_tenant
from tests.support.processes import environment

pytestmark = pytest.mark.slow

APPLYING = ("inbound.apply", "inbound.arm")
POINTS = (*APPLYING, "inbound.put_off", "hooks.store", "cli.connector.set", "reconcile.store")
SIDES = ("before", "after")
SET = ["desk", "connector", "set", "chatwoot", "--tenant", "acme", "--url", "https://chat.example"]


@pytest.fixture
def do(database, tmp_path, session):
    """Do an act in a process of its own, which ends at a fault point if one is named."""
    env = environment(tmp_path, database.url, DESK_WEBHOOK_HOSTS="127.0.0.1")

    def do(act, *given, point=""):
        rollback(session)
        log = tmp_path / "act.log"
        code, output = forks.run(act, *given, env={**env, "DESK_FAULTS": point}, log=log)
        assert code == (-signal.SIGKILL if point else 0), output
        session.expire_all()

    return do


def sweep(name, now):
    return ["desk", "sweep", name, "--at", iso(now), "--json"]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("point", APPLYING)
def test_event_is_applied_and_armed_once_when_killed_in_between(world, do, point, side):
    world.rule(event="message_created", execution_delay=60)
    world.store(message_event())
    do(acts.do, sweep("process_inbound", T0), point=f"{point}:{side}")
    applied = point == "inbound.arm" or side == "after"
    armed = point == "inbound.arm" and side == "after"
    assert (len(world.messages()), len(world.rows())) == (applied, armed)
    do(acts.do, sweep("process_inbound", T0))
    assert (world.event().state, len(world.messages()), len(world.rows())) == ("done", 1, 1)


@pytest.mark.parametrize("side", SIDES)
def test_event_that_raised_waits_when_killed_as_that_was_noted(world, do, side):
    world.store(message_event())
    row = world.session.scalars(select(InboundEvent)).one()
    row.raw = b"{}"
    world.commit()
    do(acts.do, sweep("process_inbound", T0), point=f"inbound.put_off:{side}")
    assert world.event().attempts == (side == "after")
    do(acts.do, sweep("process_inbound", T0))
    assert (world.event().attempts, world.event().state) == (1, "stored")


@pytest.mark.parametrize("side", SIDES)
def test_webhook_is_stored_once_when_it_is_sent_again_after_a_kill(world, connect, do, side):
    connect()
    body = json.dumps(message_event())
    do(killing.call_hook, body, "d-1", point=f"hooks.store:{side}")
    assert len(world.events()) == (side == "after")
    do(killing.call_hook, body, "d-1")
    assert [event.state for event in world.events()] == ["stored"]


@pytest.mark.parametrize("side", SIDES)
def test_connector_is_set_once_when_killed(session, do, side):
    create_tenant(session, now=T0)
    act = [*SET, "--account", "7", "--token", "t", "--secret", "s"]
    do(acts.do, act, point=f"cli.connector.set:{side}")
    found = session.scalar(select(func.count()).select_from(Connector))
    assert found == (side == "after")
    do(acts.do, act)
    told = select(func.count()).select_from(AuditEvent).where(AuditEvent.action == "connector.set")
    assert (session.scalar(select(Connector.version)), session.scalar(told)) == (1, 1)


@pytest.mark.parametrize("side", SIDES)
def test_what_was_read_again_is_applied_once_when_killed(world, connect, fake, do, side):
    connect(fake.url)
    world.rule(event="message_created", execution_delay=60)
    fake.create(7, T0.timestamp())
    fake.say(7, T0.timestamp(), "incoming", "hello")
    world.take(*(json.loads(event["body"]) for event in fake.tell("take_events")))
    fake.say(7, at(30).timestamp(), "outgoing", "I am here")
    do(acts.do, sweep("reconcile_chatwoot", at(59)), point=f"reconcile.store:{side}")
    assert len(world.messages()) == 1
    do(acts.do, sweep("reconcile_chatwoot", at(59)))
    assert [one.text for one in world.messages()] == ["hello", "I am here"]
    assert {event.state for event in world.events()} == {"done"}
