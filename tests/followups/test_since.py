"""A promise that went out is not booked again unseen, whichever follow-up it went out by."""

import threading

import pytest
from sqlalchemy import select

from models import erasure
from models.base import db
from models.clock import iso
from models.errors import AlreadyPending, Conflict, NotFound
from models.followups import in_bulk, since, transitions, undoing
from models.followups.records import FollowUp
from models.tenants import Tenant
from models.transactions import commit
from tests.bulk.conftest import bulk
from tests.bulk.working import HOUR, LEAD, rows_of
from tests.followups.test_states import cancel, rearm
from tests.followups.world import DAY, World

__all__ = ["bulk"]


def over(world: World) -> FollowUp:
    followup = world.book()
    cancel(world, followup.id)
    return followup


def fired_after(world: World, first: FollowUp) -> FollowUp:
    """The same promise, booked anew over the API, which fired."""
    other = world.book()
    world.fire(world.now + 2 * HOUR)
    assert world.outcome_of(other)[0] == "fired"
    world.now += 3 * HOUR
    return other


def refused(world: World, first: FollowUp, **given: object) -> str:
    before = world.count(FollowUp)
    with pytest.raises(Conflict) as fault:
        rearm(world, first.id, world.now + HOUR, **given)
    world.session.rollback()
    assert world.count(FollowUp) == before
    return fault.value.detail


def sign(world: World, first: FollowUp) -> str:
    found = since.read(world.session, world.session.merge(first)).sign
    world.session.rollback()
    return found


def test_rearm_is_a_conflict_when_the_same_fired_since_and_nothing_was_shown(world):
    first = over(world)
    fired_after(world, first)
    assert "its message may have gone out" in refused(world, first)


def test_rearm_books_it_when_a_person_was_shown_that_the_same_fired(world):
    first = over(world)
    fired_after(world, first)
    assert rearm(world, first.id, world.now + HOUR, known=sign(world, first)).rearmed_from == first.id


def test_rearm_is_a_conflict_when_what_was_booked_from_it_fired_after_the_question(world):
    first = over(world)
    shown = sign(world, first)
    made = rearm(world, first.id, world.now + HOUR)
    world.fire(world.now + 2 * HOUR)
    assert world.outcome_of(made)[0] == "fired"
    world.now += 3 * HOUR
    assert "fired since" in refused(world, first, known=shown)
    assert world.count(FollowUp) == 2


def test_rearm_is_a_conflict_when_it_was_booked_again_and_that_was_cancelled_after_the_question(world):
    first = over(world)
    shown = sign(world, first)
    cancel(world, rearm(world, first.id, world.now + HOUR).id)
    assert refused(world, first, known=shown) == "It was booked again meanwhile, so nothing was done."
    assert rearm(world, first.id, world.now + HOUR, known=sign(world, first)).status == "pending"


def test_rearm_names_the_pending_one_when_it_was_booked_again_after_the_question(world):
    first = over(world)
    shown = sign(world, first)
    made = rearm(world, first.id, world.now + HOUR)
    with pytest.raises(AlreadyPending) as fault:
        rearm(world, first.id, world.now + 2 * HOUR, known=shown)
    assert fault.value.prior_id == str(made.id)


@pytest.mark.parametrize("other", [{"customer": "c-2"}, {"reason": "another"}, {"agent": "support"}])
def test_rearm_books_it_when_what_fired_since_is_another_promise(world, other):
    first = over(world)
    world.book(**other)
    world.fire(world.now + 2 * HOUR)
    assert rearm(world, first.id, world.now + HOUR).status == "pending"


def test_rearm_books_it_when_the_same_fired_before_it_was_made(world):
    world.book()
    world.fire(world.now + 2 * HOUR)
    world.now += DAY
    first = over(world)
    assert rearm(world, first.id, world.now + HOUR).status == "pending"


def test_bulk_leaves_out_the_twin_whose_promise_was_kept(world, bulk):
    """Two imported twins: the older one fires, the younger is blocked, and is not to be sent as well."""
    world.declare(max_frequency=None)
    world.consent("c-1")
    world.take({"at": (world.now - HOUR).isoformat()}, {"at": (world.now - 2 * HOUR).isoformat()})
    world.fire(world.now)
    states = world.session.execute(select(FollowUp.status, FollowUp.blocked_reason).order_by(FollowUp.at))
    assert [tuple(row) for row in states] == [("fired", None), ("blocked", "dedup")]
    found = world.session.scalars(rows_of(world.tenant, in_bulk.rearmable()).query).all()
    assert found == []


def test_bulk_says_why_when_the_same_fires_before_its_turn(world, bulk):
    first = over(world)
    options = {"at": iso(world.now + 9 * HOUR)}
    id = bulk.begin("followup.rearm", rows_of(world.tenant, FollowUp.id == first.id), options=options)
    fired_after(world, first)
    bulk.now = world.now
    bulk.run(id)
    [item] = bulk.items(id)
    assert (item.state, "may have gone out" in item.reason) == ("not_done", True)


def test_undo_is_refused_when_the_same_fired_since(world):
    first = world.book()
    world.take({"at": (world.now - HOUR).isoformat()})
    transitions.cancel(world.session, world.tenant.id, first.id, actor=LEAD, now=world.now)
    world.commit()
    world.fire(world.now)
    with pytest.raises(Conflict, match="The same fired since"):
        undoing.undo_cancel(
            world.session, world.tenant, first.id, declared=world.declared, actor=LEAD, now=world.now
        )


def test_what_was_known_when_it_was_booked_again_is_told_to_the_next(world, bulk):
    """The promise went out before the second record was made, and whoever books that again must know."""
    first = over(world)
    fired = fired_after(world, first)
    second = rearm(world, first.id, world.now + HOUR, known=sign(world, first))
    cancel(world, second.id)
    assert sign(world, second).endswith(f".{fired.id}")
    assert "may have gone out" in refused(world, second)
    assert world.session.scalars(rows_of(world.tenant, in_bulk.rearmable()).query).all() == []


def test_rearm_finds_nothing_when_the_customer_was_erased_meanwhile(world, app):
    """Who waits for the contact's lock looks again at what it is to book."""
    first = over(world)
    id, tenant_id, now = first.id, world.tenant.id, world.now
    world.session.rollback()
    erased = threading.Event()

    def erase():
        with app.app_context():
            session = db.session()
            erasure.erase_customer(session, session.get_one(Tenant, tenant_id), "c-1", actor=LEAD, now=now)
            erased.set()
            commit(session, "tests.erase")
            db.session.remove()

    other = threading.Thread(target=erase)
    other.start()
    assert erased.wait(10)
    with pytest.raises(NotFound):
        rearm(world, id, now + HOUR)
    world.session.rollback()
    other.join()
    assert world.count(FollowUp) == 0
