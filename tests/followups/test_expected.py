"""What is pending already for a customer counts against the message limit of what comes after it."""

from datetime import timedelta
from uuid import UUID

import pytest

from models.followups import transitions
from models.followups.foresight import foresee
from models.followups.records import Block
from tests.followups.world import DAY, HOUR
from tests.support.create import API, create_tenant

MINUTE = timedelta(minutes=1)


def cancelled(world, **given):
    followup = world.book(reason="first", **given)
    transitions.cancel(world.session, world.tenant.id, followup.id, actor=API, now=world.now)
    world.commit()
    return followup


def seen(world, followup, at):
    return foresee(world.session, followup, declared=world.declared, now=world.now, at=at)


@pytest.mark.parametrize("other", [{}, {"agent": "billing"}, {"at_ahead": -MINUTE}])
def test_limit_is_reached_and_free_later_when_another_waits_before_then(world, other):
    world.declare(max_frequency="1/24h")
    at = world.now + 2 * HOUR
    first, given = cancelled(world), dict(other)
    waits = at + given.pop("at_ahead", timedelta())
    world.book(reason="other", at=waits, **given)
    foresight = seen(world, first, at)
    if "agent" in other:
        # Nobody declared that agent, so that what waits for it will not fire.
        assert (foresight.verdict.fires, foresight.before) == (True, 0)
        return
    assert (foresight.verdict.block, foresight.fires, foresight.before) == (Block.FREQUENCY, 0, 1)
    assert foresight.free_at(at) == waits + DAY + MINUTE
    assert seen(world, first, waits - MINUTE).verdict.fires
    assert foresight.free_at(waits - MINUTE) == waits - MINUTE


def test_limit_is_not_reached_when_what_waits_is_over_or_of_somebody_else(world):
    world.declare(max_frequency="1/24h")
    at = world.now + 2 * HOUR
    first = cancelled(world)
    world.book(customer="c-2", reason="other", at=at)
    world.book(tenant=create_tenant(world.session, "globex", now=world.now), reason="other", at=at)
    over = world.book(reason="other", at=at)
    transitions.cancel(world.session, world.tenant.id, over.id, actor=API, now=world.now)
    world.commit()
    assert seen(world, first, at).verdict.fires


def test_what_waits_counts_not_when_the_limit_would_stop_it_itself(world):
    world.declare(max_frequency="1/24h")
    first = cancelled(world)
    world.book(reason="fires", now=world.now - 2 * HOUR)
    world.fire(world.now)
    world.book(reason="stopped", at=world.now + HOUR)
    foresight = seen(world, first, world.now + DAY + MINUTE)
    assert (foresight.verdict.fires, foresight.before, foresight.waiting) == (True, 0, [])


def test_free_time_leaps_over_each_that_waits(world):
    world.declare(max_frequency="1/24h")
    first = cancelled(world)
    for days in (0, 1, 2):
        world.book(reason=f"day {days}", at=world.now + HOUR + days * (DAY + MINUTE))
    foresight = seen(world, first, world.now + HOUR)
    assert foresight.free_at(world.now + HOUR) == world.now + HOUR + 3 * (DAY + MINUTE)


def test_first_alone_would_fire_when_two_wait_for_the_same_moment(world):
    world.declare(max_frequency="1/24h")
    at = world.now + HOUR
    older = world.book(id=UUID(int=1), reason="a", at=at)
    younger = world.book(id=UUID(int=2), reason="b", at=at)
    assert seen(world, older, at).verdict.fires
    assert seen(world, younger, at).verdict.block == Block.FREQUENCY
    world.fire(at)
    assert (world.outcome_of(older)[0], world.outcome_of(younger)) == ("fired", ("blocked", "frequency"))


def test_what_waits_for_the_end_of_quiet_hours_counts_from_there_on(world):
    # The world's clock stands at noon.
    world.declare(max_frequency="1/24h", quiet_hours={"timezone": "UTC", "start": "13:00", "end": "15:00"})
    first = cancelled(world)
    world.book(reason="other", at=world.now + HOUR)
    end = world.now + 3 * HOUR
    assert seen(world, first, end).waiting == [end]
    assert seen(world, first, end).verdict.block == Block.FREQUENCY


def test_consent_stops_nothing_when_booking_again_records_it(world):
    world.take(world.record(id=str(UUID(int=7))))
    followup = transitions.cancel(world.session, world.tenant.id, UUID(int=7), actor=API, now=world.now)
    given = {"declared": world.declared, "now": world.now}
    assert foresee(world.session, followup, **given).verdict.block == Block.CONSENT
    foresight = foresee(world.session, followup, consents=True, **given)
    assert (foresight.verdict.fires, foresight.contact) == (True, None)
