"""Taking a cancel back: when it is true, when not, and that it is done once."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select

from models.actors import Actor
from models.audit import AuditEvent
from models.errors import AlreadyPending, Conflict, NotFound, OptedOut
from models.followups import booking, transitions, undoing
from models.followups.records import FollowUp
from tests.followups.world import DAY, HOUR, World
from tests.support.create import API, create_tenant

LEAD = Actor.operator("7", "lead@acme.test")
OTHER = Actor.operator("8", "marketer@acme.test")
SECOND = timedelta(seconds=1)


def cancelled(world: World, *, actor: Actor = LEAD, **given) -> FollowUp:
    followup = world.book(**given)
    transitions.cancel(world.session, world.tenant.id, followup.id, actor=actor, now=world.now)
    world.commit()
    return followup


def undo(world: World, followup: FollowUp, *, after: timedelta = 10 * SECOND, actor: Actor = OTHER):
    made = undoing.undo_cancel(
        world.session,
        world.tenant,
        followup.id,
        declared=world.declared,
        actor=actor,
        now=world.now + after,
    )
    world.commit()
    return made


def until(world: World, followup: FollowUp, *, after: timedelta = 10 * SECOND):
    return undoing.undo_until(world.session, followup, world.now + after)


def refused(world: World, followup: FollowUp, kind=Conflict, **given) -> str:
    before = world.count(FollowUp), world.count(AuditEvent)
    with pytest.raises(kind) as raised:
        undo(world, followup, **given)
    world.session.rollback()
    assert (world.count(FollowUp), world.count(AuditEvent)) == before
    return raised.value.detail


def test_undo_books_the_same_again_with_one_event_when_any_person_takes_it_back(world):
    first = cancelled(world, arm="b", session_id="s-1", transport="chat")
    assert until(world, first) == world.now + 30 * SECOND
    made = undo(world, first)
    same = ("agent", "customer", "at", "reason", "arm", "session_id", "transport")
    assert [getattr(made, name) for name in same] == [getattr(first, name) for name in same]
    assert made.status == "pending" and made.rearmed_from == first.id and made.id != first.id
    assert world.outcome_of(first) == ("cancelled", None)
    query = select(AuditEvent).where(AuditEvent.resource_id == str(made.id))
    [event] = world.session.scalars(query)
    assert (event.action, event.purpose, event.actor_id) == ("followup.rearmed", "undo", "8")
    assert event.detail["to"] == "pending"
    assert world.told().count("followup.scheduled") == 2


def test_undo_is_refused_when_the_time_for_it_is_over(world):
    first = cancelled(world)
    assert until(world, first, after=29 * SECOND) is not None
    assert until(world, first, after=30 * SECOND) is None
    assert refused(world, first, after=42 * SECOND) == (
        "Cancelled 42 s ago, so it can't be taken back. Re-arm it instead."
    )
    assert "Cancelled 3 min ago" in refused(world, first, after=200 * SECOND)
    assert "Cancelled 72 h ago" in refused(world, first, after=3 * DAY)
    assert undo(world, first, after=29 * SECOND).status == "pending"


def test_undo_is_refused_when_it_was_done_already(world):
    first = cancelled(world)
    made = undo(world, first)
    assert until(world, first) is None
    assert refused(world, first) == "It was booked again already, so there is nothing to take back."
    transitions.cancel(world.session, world.tenant.id, made.id, actor=LEAD, now=world.now + 11 * SECOND)
    world.commit()
    assert "booked again already" in refused(world, first, after=12 * SECOND)
    # What it made can be cancelled and taken back as any other.
    assert undo(world, made, after=20 * SECOND).rearmed_from == made.id


def test_undo_is_refused_when_it_is_due_too_soon_to_be_booked(world):
    soon = cancelled(world, at=world.now + booking.LEAST_AHEAD + 10 * SECOND)
    assert until(world, soon, after=5 * SECOND) == world.now + 10 * SECOND
    assert until(world, soon, after=11 * SECOND) is None
    assert refused(world, soon, after=11 * SECOND) == (
        "Due in less than 5 minutes, so it can't be taken back. Re-arm it for later instead."
    )
    assert undo(world, soon, after=10 * SECOND).at == soon.at


def test_undo_is_refused_when_it_was_not_cancelled(world):
    assert refused(world, world.book()) == "This follow-up is pending, so there is no cancel to take back."
    fired = world.book(reason="fired")
    world.fire(world.now + 2 * HOUR)
    assert "is fired" in refused(world, booking.get(world.session, world.tenant.id, fired.id))


@pytest.mark.parametrize("actor", [API, Actor.system("tests")])
def test_undo_is_refused_when_no_person_cancelled_it(world, actor):
    first = cancelled(world, actor=actor)
    assert until(world, first) is None
    assert "not cancelled alone and by a person" in refused(world, first)


def test_undo_is_refused_when_all_of_the_customer_were_cancelled_at_once(world):
    first = world.book()
    transitions.cancel_all_of(world.session, world.tenant, "c-1", actor=LEAD, now=world.now)
    world.commit()
    assert until(world, first) is None
    assert "not cancelled alone and by a person" in refused(world, first)


def test_undo_is_refused_when_the_customer_opted_out(world):
    with_it = world.book()
    world.revoke()
    assert until(world, with_it) is None
    refused(world, with_it)
    before = cancelled(world, customer="c-2")
    world.revoke("c-2", now=world.now + 5 * SECOND)
    assert until(world, before) is None
    refused(world, before, OptedOut)


def test_undo_is_refused_and_records_no_consent_when_there_is_no_contact(world):
    world.take(world.record(at=world.now + HOUR))
    [imported] = world.session.scalars(select(FollowUp))
    transitions.cancel(world.session, world.tenant.id, imported.id, actor=LEAD, now=world.now)
    world.commit()
    assert until(world, imported) is None
    assert "no consent on record" in refused(world, imported)
    assert world.contact() is None


def test_undo_is_refused_when_the_same_was_booked_meanwhile(world):
    first = cancelled(world)
    other = world.book()
    assert until(world, first) is None
    with pytest.raises(AlreadyPending) as raised:
        undo(world, first)
    assert raised.value.prior_id == str(other.id)
    world.session.rollback()


def test_undo_finds_nothing_when_it_is_of_another_tenant(world):
    first = cancelled(world)
    world.tenant = create_tenant(world.session, "other", now=world.now)
    for id in (first.id, uuid4()):
        with pytest.raises(NotFound):
            undoing.undo_cancel(
                world.session, world.tenant, id, declared=world.declared, actor=LEAD, now=world.now
            )
    world.session.rollback()
