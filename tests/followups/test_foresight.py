"""What the page says of each gate is what the sweep would do, gate by gate."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from models.followups import booking, transitions
from models.followups.foresight import Foresight, foresee, full_until
from models.followups.policy import Case, Ceiling, Policy, judge
from models.followups.records import Block, FollowUp
from tests.followups.world import DAY, HOUR, World
from tests.support.create import API, create_tenant

ORDER = [
    *(Block.POLICY_INVALID, Block.CONSENT, Block.REVOKED, Block.UNAVAILABLE, None),
    *(Block.DEDUP, Block.FREQUENCY, Block.HOLDOUT),
]
MICROSECOND = timedelta(microseconds=1)
NOON = {"timezone": "UTC", "start": "11:00", "end": "13:00"}
FIRST, SECOND = UUID(int=1), UUID(int=2)


def seen(world: World, followup: FollowUp, *, now=None) -> Foresight:
    return foresee(world.session, followup, declared=world.declared, now=now or world.now)


def stops(foresight: Foresight) -> list[Block | None]:
    return [gate.block for gate in foresight.gates if not gate.passes]


def imported(world: World, **given) -> FollowUp:
    """A due record that took no consent with it."""
    record = world.record(**given)
    world.take(record)
    return booking.get(world.session, world.tenant.id, UUID(record["id"]))


def fired_twice(world: World, **given) -> None:
    for reason in ("first", "second"):
        world.book(reason=reason, now=world.now - 2 * HOUR, **given)
    world.fire(world.now)


def test_foresee_passes_every_gate_in_order_when_it_would_fire(world):
    followup = world.book()
    foresight = seen(world, followup)
    assert [gate.block for gate in foresight.gates] == ORDER
    assert stops(foresight) == []
    assert foresight.verdict.fires
    assert foresight.policy == Policy(ceiling=foresight.policy.ceiling)
    assert (foresight.policy.ceiling.fires, foresight.fires, foresight.faults) == (2, 0, ())
    assert foresight.contact == world.contact()


def test_foresee_stops_at_the_policy_alone_when_it_is_faulty(world):
    followup = world.book()
    world.declare(max_frequency="2/3w")
    foresight = seen(world, followup)
    assert stops(foresight) == [Block.POLICY_INVALID]
    assert (foresight.verdict.block, foresight.policy) == (Block.POLICY_INVALID, None)
    assert [fault.value for fault in foresight.faults] == ["2/3w"]


def test_foresee_stops_at_consent_alone_when_there_is_no_contact(world):
    world.consent("c-2")
    foresight = seen(world, imported(world))
    assert stops(foresight) == [Block.CONSENT]
    assert (foresight.verdict.block, foresight.contact) == (Block.CONSENT, None)


def test_foresee_takes_no_contact_of_another_tenant(world):
    mine, world.tenant = world.tenant, create_tenant(world.session, "globex", now=world.now)
    world.consent("c-1")
    world.tenant = mine
    assert stops(seen(world, imported(world))) == [Block.CONSENT]


def test_foresee_stops_at_the_opt_out_alone_when_the_contact_is_revoked(world):
    world.revoke()
    foresight = seen(world, imported(world))
    assert stops(foresight) == [Block.REVOKED]
    assert foresight.verdict.block == Block.REVOKED


def test_foresee_stops_at_silence_alone_when_nothing_was_answered(world):
    world.declare(silence_after_sends=1)
    world.book(reason="first", now=world.now - 2 * HOUR)
    world.fire(world.now)
    foresight = seen(world, world.book())
    assert stops(foresight) == [Block.UNAVAILABLE]
    assert foresight.verdict.block == Block.UNAVAILABLE


def test_foresee_says_until_when_it_would_wait_in_quiet_hours(world):
    world.declare(quiet_hours=NOON)
    foresight = seen(world, world.book())
    assert stops(foresight) == [None]
    assert foresight.verdict.defer_until == foresight.gates[4].verdict.defer_until == world.now + HOUR


def test_foresee_names_all_that_would_stop_it_and_decides_by_the_first(world):
    world.declare(quiet_hours=NOON)
    world.revoke()
    imported(world, at=world.now - HOUR)
    foresight = seen(world, imported(world))
    assert stops(foresight) == [Block.REVOKED, None, Block.DEDUP]
    assert foresight.verdict.block == Block.REVOKED


@pytest.mark.parametrize(("ids", "ahead"), [((FIRST, SECOND), timedelta(0)), ((SECOND, FIRST), MICROSECOND)])
def test_foresee_stops_the_younger_alone_when_two_of_a_pair_are_due(world, ids, ahead):
    world.consent("c-1")
    older = imported(world, id=str(ids[0]), at=world.now - HOUR)
    younger = imported(world, id=str(ids[1]), at=world.now - HOUR + ahead)
    assert stops(seen(world, older)) == []
    assert stops(seen(world, younger)) == [Block.DEDUP]
    assert seen(world, younger).verdict.block == Block.DEDUP


@pytest.mark.parametrize("other", [{"customer": "c-2"}, {"agent": "another"}, {"reason": "another"}])
def test_foresee_knows_no_twin_when_the_older_is_of_another_kind(world, other):
    world.consent("c-1")
    imported(world, at=world.now - HOUR, **other)
    assert stops(seen(world, imported(world))) == []


def test_foresee_knows_no_twin_when_the_older_is_over_or_put_off_or_of_another_tenant(world):
    world.consent("c-1")
    over, later = (imported(world, at=world.now - HOUR) for _ in range(2))
    transitions.cancel(world.session, world.tenant.id, over.id, actor=API, now=world.now)
    later.next_attempt_at = world.now + MICROSECOND
    world.commit()
    mine, world.tenant = world.tenant, create_tenant(world.session, "globex", now=world.now)
    world.take(world.record(at=world.now - HOUR))
    world.tenant = mine
    followup = imported(world)
    assert stops(seen(world, followup)) == []
    assert stops(seen(world, followup, now=world.now + MICROSECOND)) == [Block.DEDUP]


def test_foresee_stops_at_the_ceiling_alone_when_the_window_is_full(world):
    fired_twice(world)
    followup = world.book()
    full = seen(world, followup)
    assert (stops(full), full.fires, full.verdict.block) == ([Block.FREQUENCY], 2, Block.FREQUENCY)
    assert seen(world, followup, now=world.now + DAY).fires == 2
    after = seen(world, followup, now=world.now + DAY + MICROSECOND)
    assert (stops(after), after.fires) == ([], 0)


def test_foresee_counts_no_fires_of_another_customer_or_tenant(world):
    fired_twice(world, customer="c-2")
    fired_twice(world, tenant=create_tenant(world.session, "globex", now=world.now))
    assert seen(world, world.book()).fires == 0


@pytest.mark.parametrize(
    ("fires", "at", "until"),
    [
        (1, 0, None),
        (2, 0, 20),
        (2, 20, 20),
        (2, 21, None),
        (3, 0, 21),
        (4, 22, 22),
        (4, 23, None),
    ],
)
def test_ceiling_is_full_until_the_fire_leaves_that_makes_room(fires, at, until):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    fired = [start - timedelta(hours=4 - number) for number in range(fires)]
    found = full_until(Ceiling(2, 24 * HOUR), fired[::-1], start + at * HOUR)
    assert found == (start + until * HOUR if until is not None else None)
    case = Case(Policy(ceiling=Ceiling(2, 24 * HOUR)), "granted", fires=fired)
    assert judge(case, start + at * HOUR).fires is (until is None)
