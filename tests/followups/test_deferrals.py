"""A changed policy wakes what the old one put off, and nothing else."""

from datetime import datetime, timedelta

from models.declarations import Declared
from models.followups import transitions
from models.followups.deferrals import forget_outdated
from models.followups.records import FollowUp
from tests.followups.world import HOUR, World
from tests.support.create import API

QUIET = {"followup": {"quiet_hours": {"timezone": "UTC", "start": "11:00", "end": "18:00"}}}
AGENTS = {"a": QUIET, "b": QUIET, "c": QUIET}


def put_off(world: World) -> dict[str, FollowUp]:
    """A pending record of each agent, put off by its quiet hours, and seen under the policies of now."""
    forget_outdated(world.session, Declared(1, {"agents": AGENTS}), now=world.now)
    made = {agent: world.book(agent=agent) for agent in AGENTS}
    for followup in made.values():
        followup.deferred_until = world.now + 6 * HOUR
    world.commit()
    return made


def woken(world: World, made: dict[str, FollowUp]) -> set[str]:
    world.session.expire_all()
    until: dict[str, datetime | None] = {agent: row.deferred_until for agent, row in made.items()}
    return {agent for agent, at in until.items() if at is None}


def test_forget_wakes_only_the_agent_whose_policy_changed(world):
    made = put_off(world)
    forget_outdated(world.session, Declared(2, {"agents": AGENTS}), now=world.now)
    assert woken(world, made) == set()
    forget_outdated(world.session, Declared(3, {"agents": {**AGENTS, "b": {}}}), now=world.now)
    assert woken(world, made) == {"b"}
    forget_outdated(world.session, Declared(4, {"agents": {"a": QUIET, "b": {}}}), now=world.now)
    assert woken(world, made) == {"b", "c"}


def test_forget_leaves_what_is_over_when_the_policy_changed(world):
    made = put_off(world)
    transitions.cancel(world.session, world.tenant.id, made["a"].id, actor=API, now=world.now)
    world.commit()
    forget_outdated(world.session, Declared(2, {"agents": {}}), now=world.now)
    assert woken(world, made) == {"b", "c"}


def test_forget_makes_a_record_due_at_its_own_time_again(world):
    made = put_off(world)
    forget_outdated(world.session, Declared(2, {"agents": {"a": {}}}), now=world.now)
    world.session.expire_all()
    assert made["a"].due_at == made["a"].at == world.now + timedelta(hours=1)
