"""Two operators who press the same at the same moment, each in a process of their own."""

from collections import Counter

import pytest
from sqlalchemy import func, select

from models.actors import Actor
from models.audit import AuditEvent
from models.followups import transitions
from models.followups.records import FollowUp
from models.handling import Handling

pytestmark = pytest.mark.slow

MANY = [f"c-{number}" for number in range(40)]
HAND = Actor.operator("7", "lead@acme.test")


def events(world, action):
    query = select(func.count()).select_from(AuditEvent).where(AuditEvent.action == action)
    return world.session.scalar(query)


def test_a_cancel_is_taken_back_once_when_two_do_it_at_once(world, race):
    ids = [str(world.book(customer).id) for customer in MANY]
    for row in world.session.scalars(select(FollowUp)).all():
        transitions.cancel(world.session, world.tenant.id, row.id, actor=HAND, now=world.now)
    world.commit()
    first, second = race(("undo", ids), ("undo", list(ids)))
    for pair in zip(first, second, strict=True):
        assert sorted(pair) == ["conflict", "pending"]
    world.session.rollback()
    assert Counter(world.session.scalars(select(FollowUp.status))) == {"cancelled": 40, "pending": 40}
    assert events(world, "followup.rearmed") == 40


def test_one_is_on_it_when_two_take_it_on_at_once(world, race):
    world.session.rollback()
    answers = race(("take_on", ["1", MANY]), ("take_on", ["2", list(MANY)]))
    for one, other in zip(*answers, strict=True):
        assert sorted([one, other]) in (["1", "taken"], ["2", "taken"])
    world.session.rollback()
    marks = dict(world.session.execute(select(Handling.resource_id, Handling.operator_id)).all())
    told = {id: one if one != "taken" else other for id, one, other in zip(MANY, *answers, strict=True)}
    assert marks == told
    assert events(world, "followup.taken_on") == 40
