"""A code is taken once, a name too, and platform keeps an admin, whoever comes at the same moment."""

import os

import pytest
from passlib.totp import TOTP
from sqlalchemy import select

from models import endpoints, operators, second_factor, tenants
from models.operators import Operator
from models.transactions import commit
from tests.conftest import T
from tests.support.create import API

pytestmark = pytest.mark.slow

EMAIL = "lead@acme.test"


def operator(world, email, tenant, role):
    made, _new = operators.add(world.session, email, tenant=tenant, role=role, actor=API, now=T)
    commit(world.session, "tests.create")
    return made


def test_codes_are_taken_once_when_two_give_the_same_at_once(world, race):
    key = os.environ["SECRET_KEY"]
    lead = operator(world, EMAIL, world.tenant, "lead")
    setup = second_factor.new_setup(lead, secret_key=key)
    totp = TOTP(key=setup.key.replace(" ", ""), format="base32")
    codes = second_factor.turn_on(
        world.session,
        lead,
        setup.sealed,
        totp.generate(time=int(T.timestamp()) - 30).token,
        secret_key=key,
        actor=API,
        now=T,
    )
    commit(world.session, "tests.on")
    given = {"email": EMAIL, "codes": [totp.generate(time=int(T.timestamp())).token, *codes]}
    answers = race(("give_code", given), ("give_code", given))
    for number, pair in enumerate(zip(*answers, strict=True)):
        assert sorted(pair) == ["None", "recovery_code" if number else "code"]
    assert second_factor.state(world.session, lead).codes_left == 0


def test_platform_keeps_an_admin_when_two_switch_each_other_off_at_once(world, race):
    platform = tenants.get(world.session, None)
    pairs = [(f"one-{n}@acme.test", f"two-{n}@acme.test") for n in range(10)]
    for email in (email for pair in pairs for email in pair):
        operator(world, email, platform, "admin")
    answers = race(
        ("switch_off", [first for first, _second in pairs]),
        ("switch_off", [second for _first, second in pairs]),
    )
    assert sorted(answers[0] + answers[1]) == ["True"] * 19 + ["conflict"]
    world.session.rollback()
    assert len(world.session.scalars(select(Operator).where(Operator.active)).all()) == 1


@pytest.mark.parametrize("kind", ["token", "tenant", "operator"])
def test_name_is_taken_once_and_the_other_is_told_when_two_add_it_at_once(world, race, kind):
    ending = "@x.test" if kind == "operator" else ""
    names = [[kind, f"race-{number}{ending}"] for number in range(40)]
    answers = race(("add", names), ("add", names))
    for pair in zip(*answers, strict=True):
        assert sorted(pair) == ["added", "conflict"]


def test_tenant_has_no_more_endpoints_than_it_may_when_two_add_at_once(world, race):
    most = endpoints.MOST_ENDPOINTS
    answers = race(*(("add", [["endpoint", f"{who}-{n}"] for n in range(most)]) for who in ("one", "two")))
    assert sorted(answers[0] + answers[1]) == ["added"] * most + ["conflict"] * most
    world.session.rollback()
    assert len(endpoints.of_tenant(world.session, world.tenant.id)) == most
