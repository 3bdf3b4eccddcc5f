"""Who is on it: one mark for each thing, taken, taken over and let go, each with its event."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from models import handling
from models.actors import Actor
from models.audit import AuditEvent
from models.errors import Conflict
from models.handling import Handling, Mark
from models.transactions import commit
from tests.conftest import T
from tests.support.create import create_tenant

LEAD = Actor.operator("7", "lead@acme.test")
OTHER = Actor.operator("8", "other@acme.test")
ONE = ("followup", "one")
DAY = timedelta(days=1)


@pytest.fixture
def acme(session):
    return create_tenant(session, now=T)


@pytest.fixture
def take(session, acme):
    def take(actor=LEAD, resource=ONE, *, refusal=None, now=T, **given):
        mark = handling.take(session, acme, resource, refusal=refusal, actor=actor, now=now, **given)
        commit(session, "tests.handling")
        return mark

    return take


def events(session):
    query = select(AuditEvent.action, AuditEvent.actor_label, AuditEvent.detail)
    return [tuple(row) for row in session.execute(query.where(AuditEvent.resource_id == "one"))]


def test_take_marks_it_with_one_event_when_nobody_is_on_it(session, acme, take):
    assert take() == Mark("7", "lead@acme.test", T)
    assert handling.of(session, acme.id, "followup", ["one", "two"]) == {"one": Mark("7", LEAD.label, T)}
    assert events(session) == [("followup.taken_on", "lead@acme.test", {})]


def test_take_changes_nothing_when_one_has_it_already(session, acme, take):
    take()
    assert take(now=T + DAY).at == T
    assert len(events(session)) == 1


def test_take_is_refused_with_who_and_when_when_another_is_on_it(session, acme, take):
    take()
    for instead_of in (None, "9"):
        with pytest.raises(Conflict) as raised:
            take(OTHER, instead_of=instead_of)
        assert raised.value.current == Mark("7", "lead@acme.test", T)
        assert "lead@acme.test is on it" in raised.value.detail
        session.rollback()
    assert len(events(session)) == 1


def test_take_takes_it_over_and_says_from_whom_when_that_is_meant(session, acme, take):
    take()
    assert take(OTHER, now=T + DAY, instead_of="7") == Mark("8", "other@acme.test", T + DAY)
    assert events(session)[-1] == ("followup.taken_on", OTHER.label, {"taken_over_from": LEAD.label})


def test_take_is_refused_when_it_needs_nobody(session, acme, take):
    with pytest.raises(Conflict, match="needs nobody"):
        take(refusal="This follow-up needs nobody now.")
    session.rollback()
    assert handling.of(session, acme.id, "followup", ["one"]) == {}


def test_let_go_takes_ones_own_mark_away_once(session, acme, take):
    take()
    assert handling.let_go(session, acme, ONE, actor=LEAD, now=T)
    assert not handling.let_go(session, acme, ONE, actor=LEAD, now=T)
    commit(session, "tests.handling")
    assert handling.of(session, acme.id, "followup", ["one"]) == {}
    assert [action for action, *_ in events(session)] == ["followup.taken_on", "followup.let_go"]
    assert take(OTHER).operator == OTHER.label


def test_let_go_is_refused_when_another_is_on_it(session, acme, take):
    take()
    with pytest.raises(Conflict, match=r"lead@acme\.test is on it, not you"):
        handling.let_go(session, acme, ONE, actor=OTHER, now=T)
    session.rollback()
    assert "one" in handling.of(session, acme.id, "followup", ["one"])


def test_marks_are_of_their_tenant_and_kind_alone(session, acme, take):
    other = create_tenant(session, "other", now=T)
    take()
    take(resource=("delivery", "one"))
    assert handling.of(session, other.id, "followup", ["one"]) == {}
    assert handling.of(session, acme.id, "followup", []) == {}
    assert handling.marked(session, acme.id) == {"followup": ["one"], "delivery": ["one"]}
    assert handling.marked(session, other.id) == {}
    assert not handling.let_go(session, other, ONE, actor=LEAD, now=T)


def test_purge_deletes_marks_of_thirty_days_when_it_is_their_time(session, acme, take):
    for number in range(3):
        take(resource=("followup", f"f-{number}"), now=T + number * DAY)
    assert handling.purge(session, now=T + 29 * DAY, limit=10) == 0
    assert handling.purge(session, now=T + 31 * DAY, limit=1) == 1
    assert handling.purge(session, now=T + 31 * DAY, limit=10) == 1
    commit(session, "tests.handling")
    assert list(session.scalars(select(Handling.resource_id))) == ["f-2"]


def test_forget_takes_the_marks_named_or_all_of_a_tenant(session, acme, take):
    for number in range(3):
        take(resource=("followup", f"f-{number}"))
    handling.forget(session, acme.id, "followup", ["f-0"])
    assert set(session.scalars(select(Handling.resource_id))) == {"f-1", "f-2"}
    handling.forget(session, acme.id, None)
    assert list(session.scalars(select(Handling.resource_id))) == []
