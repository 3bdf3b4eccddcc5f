"""Acts on somebody's account that were asked for when it was another one, or that say too little."""

from datetime import timedelta

import pytest

from models import clock, operators, second_factor
from models.second_factor import SecondFactor

LEAD = "lead@acme.test"


@pytest.fixture
def admin(visitor):
    return visitor("admin")


@pytest.fixture
def path(desk, lead):
    id = desk.tell(lambda session: operators.by_email(session, LEAD)).id
    return f"/acme/settings/operators/{id}"


def turn_factor_on(desk, *, again=timedelta()):
    def work(session):
        person = operators.by_email(session, LEAD)
        session.query(SecondFactor).delete()
        at = clock.now() + again
        session.add(SecondFactor(operator_id=person.id, secret="v1:", turned_on_at=at, last_counter=0))

    desk.tell(work)


def turn_factor_off(desk):
    desk.tell(lambda session: session.query(SecondFactor).delete())


def is_on(desk):
    return desk.tell(lambda session: second_factor.is_on(session, operators.by_email(session, LEAD)))


def test_reset_is_a_conflict_when_the_factor_was_turned_on_anew_meanwhile(desk, lead, admin, path):
    turn_factor_on(desk)
    form = admin.open(f"{path}/factor-reset").form("/factor-reset")
    turn_factor_on(desk, again=timedelta(seconds=1))
    answer = admin.press(form)
    assert answer.status == 409
    assert f"{LEAD} turned the second factor on meanwhile, so nothing was done." in answer.text
    assert is_on(desk) and lead.open("/acme/followups").status == 200
    assert [event.result for event in desk.audit("operator.factor_reset")] == ["refused"]
    assert admin.press(answer.form("/factor-reset")).status == 303
    assert not is_on(desk)


@pytest.mark.parametrize("shown", [None, "", "²", "9" * 5_000, "-1"])
def test_reset_is_a_conflict_when_the_form_does_not_say_what_it_showed(desk, lead, admin, path, shown):
    turn_factor_on(desk)
    form = admin.open(f"{path}/factor-reset").form("/factor-reset")
    assert admin.press(form, shown_since=shown).status == 409
    assert is_on(desk)


def test_reset_says_that_nothing_changed_when_the_factor_was_turned_off_meanwhile(desk, lead, admin, path):
    turn_factor_on(desk)
    form = admin.open(f"{path}/factor-reset").form("/factor-reset")
    turn_factor_off(desk)
    said = admin.follow(admin.press(form)).text
    assert f"The second factor of {LEAD} was off already. Nothing changed." in said
    assert "sessions ended" not in said
    assert lead.open("/acme/followups").status == 200
    assert desk.audit("operator.factor_reset") == []


@pytest.mark.parametrize("on", [None, "", "2", "yes"])
def test_switching_changes_nothing_when_the_form_does_not_say_what_to(desk, lead, admin, path, on):
    form = admin.open(f"{path}/switching").form("/switching")
    assert admin.press(form, on=on).status == 422
    assert lead.open("/acme/followups").status == 200
    assert desk.audit("operator.switched_off") == []


def test_switching_is_done_once_when_it_is_sent_again(desk, lead, admin, path):
    form = admin.open(f"{path}/switching").form("/switching")
    for _time in range(2):
        admin.press(form, once=None)
    assert lead.open("/acme/followups").status == 303
    assert len(desk.audit("operator.switched_off")) == 1
    assert desk.audit("operator.switched_on") == []
