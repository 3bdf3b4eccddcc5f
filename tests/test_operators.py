from datetime import timedelta

import pytest
from sqlalchemy import func, select

from jobs.sweeps.retention import retention
from models import operators, tenants
from models.errors import Forbidden
from models.operators import LINK_LASTS, SignInLink
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
