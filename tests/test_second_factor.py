from datetime import timedelta

import pytest
from passlib.totp import TOTP
from sqlalchemy import select, update

from models import accounts, operators, second_factor, tenants
from models.audit import AuditEvent
from models.errors import Conflict, Invalid
from models.operators import Operator
from models.second_factor import Kind, RecoveryCode, SecondFactor
from models.secrets import Unreadable
from models.transactions import commit
from tests.support.create import API

# Digits of another script, which a test for digits takes for digits.
WIDE = "\uff11\uff12\uff13\uff14\uff15\uff16"
KEY = "a secret key for tests of factors"
STEP = timedelta(seconds=30)


@pytest.fixture
def lead(session, now):
    tenant = tenants.get(session, None)
    made, _new = operators.add(session, "lead@acme.test", tenant=tenant, role="lead", actor=API, now=now)
    commit(session, "tests.create")
    return made


def code_of(setup, at):
    key = setup.key.replace(" ", "")
    return TOTP(key=key, format="base32").generate(time=int(at.timestamp())).token


@pytest.fixture
def device(session, lead, now):
    """The setup of a factor that was turned on with the code of `now`, and its recovery codes."""
    setup = second_factor.new_setup(lead, secret_key=KEY)
    codes = turn_on(session, lead, setup, now)
    return setup, codes


def turn_on(session, lead, setup, at, code=None):
    given = code or code_of(setup, at)
    codes = second_factor.turn_on(session, lead, setup.sealed, given, secret_key=KEY, actor=API, now=at)
    commit(session, "tests.on")
    return codes


def check(session, lead, given, at):
    found = second_factor.check(session, lead, given, secret_key=KEY, now=at)
    commit(session, "tests.check")
    return found


def events(session, action):
    found = session.scalars(select(AuditEvent).where(AuditEvent.action == action)).all()
    session.rollback()
    return found


def test_turn_on_ends_all_sessions_and_is_audited_once_when_the_code_is_right(session, lead, now):
    before = lead.fs_uniquifier
    codes = turn_on(session, lead, second_factor.new_setup(lead, secret_key=KEY), now)
    assert lead.fs_uniquifier != before
    assert len(set(codes)) == second_factor.CODES
    assert second_factor.state(session, lead) == second_factor.State(now, second_factor.CODES)
    session.rollback()
    [event] = events(session, "operator.factor_on")
    assert event.detail == {}


@pytest.mark.parametrize("code", ["", "000", "abcdef", "12345678", "1 2 3", "x" * 5_000, WIDE])
def test_turn_on_is_refused_when_the_code_is_no_code(session, lead, now, code):
    setup = second_factor.new_setup(lead, secret_key=KEY)
    with pytest.raises(Invalid) as refused:
        turn_on(session, lead, setup, now, code=code or "-")
    assert refused.value.field == "code"
    session.rollback()
    assert not second_factor.is_on(session, lead)


def test_turn_on_is_refused_when_the_code_is_two_steps_old(session, lead, now):
    setup = second_factor.new_setup(lead, secret_key=KEY)
    with pytest.raises(Invalid):
        turn_on(session, lead, setup, now, code=code_of(setup, now - 2 * STEP))


def test_turn_on_is_refused_when_the_setup_is_of_another_account_or_made_up(session, lead, now):
    tenant = tenants.get(session, None)
    other, _new = operators.add(session, "other@acme.test", tenant=tenant, role="lead", actor=API, now=now)
    commit(session, "tests.create")
    for sealed in (second_factor.new_setup(other, secret_key=KEY).sealed, "", "v1:AAAA", "😀"):
        with pytest.raises(Invalid) as refused:
            second_factor.turn_on(session, lead, sealed, "123456", secret_key=KEY, actor=API, now=now)
        assert refused.value.field == "setup"
        session.rollback()


def test_turn_on_is_a_conflict_when_it_is_on(session, lead, device, now):
    with pytest.raises(Conflict):
        turn_on(session, lead, second_factor.new_setup(lead, secret_key=KEY), now)


def test_check_takes_a_code_once_when_it_is_given_twice(session, lead, device, now):
    setup, _codes = device
    code = code_of(setup, now + STEP)
    assert check(session, lead, code, now + STEP) is Kind.CODE
    assert check(session, lead, code, now + STEP) is None


def test_check_takes_no_code_that_is_older_than_the_last_one(session, lead, device, now):
    setup, _codes = device
    assert check(session, lead, code_of(setup, now), now) is None  # it turned the factor on
    assert check(session, lead, code_of(setup, now + 3 * STEP), now + 3 * STEP) is Kind.CODE
    assert check(session, lead, code_of(setup, now + 2 * STEP), now + 3 * STEP) is None


@pytest.mark.parametrize(("off", "taken"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_check_takes_a_code_of_a_clock_that_is_off_by_one_step(session, lead, device, now, off, taken):
    setup, _codes = device
    at = now + 10 * STEP
    assert (check(session, lead, code_of(setup, at + off * STEP), at) is Kind.CODE) == taken


def test_check_takes_a_recovery_code_once_however_it_is_typed(session, lead, device, now):
    _setup, codes = device
    typed = f" {codes[0].upper().replace('-', ' ')} "
    assert check(session, lead, typed, now) is Kind.RECOVERY_CODE
    assert check(session, lead, codes[0], now) is None
    assert second_factor.state(session, lead).codes_left == second_factor.CODES - 1


def test_check_takes_no_recovery_code_of_another_account(session, lead, device, now):
    tenant = tenants.get(session, None)
    other, _new = operators.add(session, "other@acme.test", tenant=tenant, role="lead", actor=API, now=now)
    turn_on(session, other, second_factor.new_setup(other, secret_key=KEY), now)
    assert check(session, other, device[1][0], now) is None


@pytest.mark.parametrize("given", ["", " ", "000000x", "a" * 101, "\ud800", "'; --", WIDE])
def test_check_takes_nothing_else(session, lead, device, now, given):
    assert check(session, lead, given, now) is None


def test_check_says_so_when_the_key_of_the_installation_changed(session, lead, device, now):
    setup, codes = device
    at, other = now + STEP, "another secret key altogether"
    with pytest.raises(Unreadable):
        second_factor.check(session, lead, code_of(setup, at), secret_key=other, now=at)
    assert second_factor.check(session, lead, codes[0], secret_key=other, now=at) is Kind.RECOVERY_CODE


def test_secret_and_recovery_codes_are_not_kept_as_they_are(session, lead, device):
    setup, codes = device
    kept = session.scalars(select(SecondFactor)).one()
    digests = session.scalars(select(RecoveryCode.digest)).all()
    assert setup.key.replace(" ", "") not in kept.secret
    assert not {code.replace("-", "") for code in codes} & set(digests)
    assert len(digests) == second_factor.CODES


def test_renew_codes_makes_those_before_void(session, lead, device, now):
    _setup, before = device
    after = second_factor.renew_codes(session, lead, actor=API, now=now)
    commit(session, "tests.codes")
    assert check(session, lead, before[0], now) is None
    assert check(session, lead, after[0], now) is Kind.RECOVERY_CODE
    assert len(events(session, "operator.recovery_codes_made")) == 1


@pytest.mark.parametrize("verb", [second_factor.turn_off, second_factor.reset])
def test_it_goes_with_one_event_and_all_its_codes_when_repeated(session, lead, device, now, verb):
    before = lead.fs_uniquifier
    assert [verb(session, lead, actor=API, now=now) for _time in range(2)] == [True, False]
    commit(session, "tests.off")
    assert session.scalars(select(RecoveryCode)).all() == []
    assert not second_factor.is_on(session, lead)
    assert (lead.fs_uniquifier != before) == (verb is second_factor.reset)
    action = "operator.factor_off" if verb is second_factor.turn_off else "operator.factor_reset"
    assert len(events(session, action)) == 1


def test_renew_codes_is_a_conflict_when_it_is_off(session, lead, now):
    with pytest.raises(Conflict):
        second_factor.renew_codes(session, lead, actor=API, now=now)


def test_set_active_ends_the_sessions_and_is_audited_once_when_repeated(session, lead, now):
    before = lead.fs_uniquifier
    for on in (False, True):
        for changed in (True, False):
            assert accounts.set_active(session, lead, on, actor=API, now=now) is changed
            commit(session, "tests.active")
    assert lead.fs_uniquifier != before
    assert len(events(session, "operator.switched_off")) == len(events(session, "operator.switched_on")) == 1


def test_set_active_is_refused_when_platform_would_have_no_admin(session, now):
    platform = tenants.get(session, None)
    admins = [
        operators.add(session, f"{name}@acme.test", tenant=platform, role="admin", actor=API, now=now)[0]
        for name in ("one", "two")
    ]
    commit(session, "tests.create")
    accounts.set_active(session, admins[0], False, actor=API, now=now)
    with pytest.raises(Conflict, match="the last admin of platform"):
        accounts.set_active(session, admins[1], False, actor=API, now=now)
    session.rollback()
    assert session.get_one(Operator, admins[1].id).active


def test_set_timezone_is_refused_when_there_is_no_such_zone(session, lead, now):
    for zone in ("Nowhere/Town", "", "../etc/passwd"):
        with pytest.raises(Invalid):
            accounts.set_timezone(session, lead, zone, actor=API, now=now)
        session.rollback()


def test_account_may_be_managed_by_who_is_admin_wherever_it_has_a_role(session, now):
    acme = tenants.add(session, key="acme", name=None, actor=API, now=now)
    beta = tenants.add(session, key="beta", name=None, actor=API, now=now)
    platform = tenants.get(session, None)

    def person(name, **roles):
        for key, role in roles.items():
            tenant = {"acme": acme, "beta": beta, "platform": platform}[key]
            made, _new = operators.add(
                session, f"{name}@acme.test", tenant=tenant, role=role, actor=API, now=now
            )
        return made

    admin = person("admin", acme="admin")
    both = person("both", acme="admin", beta="admin")
    root = person("root", platform="admin")
    inside, across = person("inside", acme="viewer"), person("across", acme="viewer", beta="viewer")
    high = person("high", acme="viewer", platform="viewer")
    found = {
        (by.email.split("@")[0], whom.email.split("@")[0]): accounts.refusal_to_manage(session, whom, by)
        is None
        for by in (admin, both, root)
        for whom in (inside, across, high)
    }
    assert found == {
        ("admin", "inside"): True,
        ("admin", "across"): False,
        ("admin", "high"): False,
        ("both", "inside"): True,
        ("both", "across"): True,
        ("both", "high"): False,
        ("root", "inside"): True,
        ("root", "across"): True,
        ("root", "high"): True,
    }


def test_set_timezone_changes_nothing_when_another_set_the_same_meanwhile(session, lead, now):
    assert lead.timezone is None
    meanwhile = update(Operator).where(Operator.id == lead.id).values(timezone="Asia/Tokyo")
    session.execute(meanwhile.execution_options(synchronize_session=False))
    assert accounts.set_timezone(session, lead, "Asia/Tokyo", actor=API, now=now) is False
    commit(session, "tests.zone")
    assert events(session, "operator.timezone_set") == []
