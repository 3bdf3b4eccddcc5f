"""Two workers on one operation, and an operator and the firing against it: each row is moved once."""

from collections import Counter
from uuid import UUID

import pytest
from sqlalchemy import select

from models.followups.records import FollowUp
from tests.bulk.working import assert_accounted
from tests.races.acts import DUE
from tests.races.conftest import race

__all__ = ["race"]

pytestmark = pytest.mark.slow

MANY = [f"c-{number}" for number in range(40)]


def test_each_row_is_done_once_when_two_do_the_same_operation(world, bulk, race):
    for customer in MANY:
        world.book(customer)
    id = bulk.begin()
    ran = race(("bulk", str(id)), ("bulk", str(id)))
    assert sum(done for done, _not_done in ran) == len(MANY)
    assert bulk.get(id).state == "finished"
    assert_accounted(bulk.session, id)


def test_each_row_is_moved_once_when_operator_and_firing_meet_it(world, bulk, race):
    ids = [str(world.book(customer).id) for customer in MANY]
    bulk.now = DUE
    id = bulk.begin()
    [_ran, cancelled, fired] = race(("bulk", str(id)), ("cancel", ids[::-1]), ("fire", True))
    assert_accounted(bulk.session, id)
    operation = bulk.get(id)
    statuses = Counter(bulk.session.scalars(select(FollowUp.status)))
    assert operation.state == "finished" and not operation.waiting
    by_hand = len(MANY) - operation.done - fired["fired"]
    assert statuses == {
        name: number
        for name, number in (("cancelled", operation.done + by_hand), ("fired", fired["fired"]))
        if number
    }
    assert Counter(cancelled)["cancelled"] >= by_hand
    said = {item.reason.split(" ")[0] for item in bulk.items(id) if item.state == "not_done"}
    assert said <= {"Fired", "Cancelled", "This"}


def test_stop_ends_it_whatever_its_runner_does(world, bulk, race):
    for customer in MANY:
        world.book(customer)
    id = bulk.begin()
    race(("bulk", str(id)), ("stop_bulk", str(id)))
    operation = bulk.get(UUID(str(id)))
    assert operation.state in ("stopped", "finished")
    assert operation.done + operation.left_out == len(MANY)
    assert_accounted(bulk.session, id)
