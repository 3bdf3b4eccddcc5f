from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import func, select

from jobs.sweeps.retention import retention
from models import accounts, operators, second_factor, tenants
from models.errors import Forbidden
from models.operators import LINK_LASTS, SignInLink
from models.second_factor import SecondFactor
from models.transactions import commit
from tests.support.create import API

SECOND = timedelta(seconds=1)


@pytest.fixture
def link(session, now):
    """Makes a sign-in link at a time; its secret."""
    tenant = tenants.get(session, None)
    lead, _new = operators.add(session, "lead@acme.test", tenant=tenant, role="lead", actor=API, now=now)
    commit(session, "tests.create")

    def make(at):
        secret = operators.make_link(session, lead, actor=API, now=at)
        commit(session, "tests.create")
        return secret

    return make


def links(session):
    return session.scalars(select(func.count()).select_from(SignInLink)).one()


def test_retention_takes_sign_in_links_when_they_are_over_and_leaves_those_in_force(session, now, link):
    used = link(now)
    operators.use_link(session, used, now=now)
    link(now)
    good = link(now + SECOND)
    counts = retention(session, now=now + LINK_LASTS, limit=100)
    assert counts.own["sign_in_links"] == 2
    assert links(session) == 1
    assert operators.use_link(session, good, now=now + LINK_LASTS).email == "lead@acme.test"
    with pytest.raises(Forbidden):
        operators.use_link(session, used, now=now + LINK_LASTS)


def test_retention_is_capped_when_there_are_more_links_than_its_limit(session, now, link):
    for _ in range(3):
        link(now)
    counts = retention(session, now=now + LINK_LASTS, limit=2)
    assert (counts.own["sign_in_links"], counts.capped, links(session)) == (2, True, 1)


def test_links_before_are_void_when_a_new_one_is_made(session, now, link):
    older, newer = link(now), link(now)
    assert operators.peek_link(session, older, now=now) is None
    with pytest.raises(Forbidden):
        operators.use_link(session, older, now=now)
    session.rollback()
    assert operators.use_link(session, newer, now=now).email == "lead@acme.test"


def _factor_reset(session, lead, *, actor, now):
    session.add(SecondFactor(operator_id=lead.id, secret="v1:", turned_on_at=now, last_counter=0))
    session.flush()
    assert second_factor.reset(session, lead, actor=actor, now=now)


def _off_and_on(session, lead, *, actor, now):
    for on in (False, True):
        assert accounts.set_active(session, lead, on, actor=actor, now=now)


@pytest.mark.parametrize(
    "verb",
    [
        accounts.sign_out_everywhere,
        partial(accounts.set_password, hashed="$argon2"),
        _off_and_on,
        _factor_reset,
    ],
)
def test_link_is_void_when_the_sessions_ended_after_it_was_made(session, now, link, verb):
    secret = link(now)
    tenant = tenants.get(session, None)
    other, _new = operators.add(session, "other@acme.test", tenant=tenant, role="admin", actor=API, now=now)
    kept = operators.make_link(session, other, actor=API, now=now)
    lead = operators.by_email(session, "lead@acme.test")
    verb(session, lead, actor=API, now=now)
    commit(session, "tests.end")
    assert operators.peek_link(session, secret, now=now) is None
    with pytest.raises(Forbidden):
        operators.use_link(session, secret, now=now)
    session.rollback()
    assert operators.use_link(session, kept, now=now).email == "other@acme.test"
    session.rollback()
    assert operators.use_link(session, link(now), now=now).email == "lead@acme.test"
