"""One's own account: second factor, recovery codes, time zone, sessions."""

import re

import pytest

from models import accounts, clock, operators, second_factor
from models.second_factor import SecondFactor
from tests.console.visiting import SETTER_UP, Visitor
from tests.support.devices import Device

EMAIL = "lead@acme.test"
WORDS = "quiet harbour lamp"
FACTOR = "/profile/second-factor"


@pytest.fixture
def stranger(app):
    return Visitor(app)


def set_password(visitor, wanted=WORDS, **given):
    return visitor.press(visitor.open("/profile").form("/profile/password"), wanted=wanted, **given)


def give_password(visitor, password=WORDS, **given):
    return visitor.press(visitor.open("/sign-in").form("/sign-in"), email=EMAIL, password=password, **given)


def give_code(visitor, code, **given):
    return visitor.press(visitor.open("/two-factor").form("/two-factor"), code=code, **given)


def turn_on(visitor, **given):
    page = visitor.open(FACTOR)
    device = Device.of(page.text)
    answer = visitor.press(page.form(FACTOR), code=device.code(), **given)
    assert answer.status == 200
    return device, re.findall(r"\b[a-z2-9]{4}(?:-[a-z2-9]{4}){3}\b", answer.text)


@pytest.fixture
def device(lead):
    """The device of a lead with a password, and their recovery codes."""
    set_password(lead)
    return turn_on(lead)


def forget_the_last_code(desk):
    """As if half a minute had passed since the last code was used."""

    def work(session):
        for factor in session.query(SecondFactor):
            factor.last_counter = 0

    desk.tell(work)


def state(desk):
    return desk.tell(lambda session: second_factor.state(session, operators.by_email(session, EMAIL)))


def results(desk, action="operator.signed_in"):
    return [(event.result, event.purpose) for event in desk.audit(action)]


def test_turning_on_shows_recovery_codes_once_and_is_audited_once(desk, lead):
    _device, codes = turn_on(lead)
    assert len(codes) == 10
    assert codes[0] not in lead.open("/profile").text
    assert "10 recovery codes are left." in lead.open("/profile").text
    [event] = desk.audit("operator.factor_on")
    assert event.actor_label == EMAIL


def test_turning_on_keeps_the_secret_and_names_the_field_when_the_code_is_wrong(desk, lead):
    page = lead.open(FACTOR)
    answer = lead.press(page.form(FACTOR), code="000000")
    assert answer.status == 422
    assert "Is not the one that the app shows now" in answer.text
    assert Device.of(answer.text) == Device.of(page.text)
    assert answer.form(FACTOR).fields["setup"] == page.form(FACTOR).fields["setup"]
    assert state(desk) is None and desk.audit("operator.factor_on") == []


def test_turning_on_draws_the_code_as_elements_of_the_page(lead):
    html = lead.open(FACTOR).html
    assert '<svg viewBox="0 0' in html and 'class="qr"' in html
    assert "data:image" not in html


def test_turning_on_asks_for_the_password_when_one_signed_in_by_it(desk, lead, stranger):
    set_password(lead)
    give_password(stranger)
    page = stranger.open(FACTOR)
    code = Device.of(page.text).code()
    answer = stranger.press(page.form(FACTOR), code=code, present="wrong")
    assert answer.status == 422 and "This is not your present password." in answer.text
    assert state(desk) is None
    assert stranger.press(page.form(FACTOR), code=code, present=WORDS).status == 200


def test_turning_on_ends_all_other_sessions(lead, visitor):
    elsewhere = visitor("lead")
    turn_on(lead)
    assert elsewhere.open("/acme/followups").status == 303
    assert lead.open("/acme/followups").status == 200


@pytest.mark.parametrize("setup", ["", "v1:AAAA", "x" * 3_000])
def test_turning_on_is_refused_when_the_setup_was_tampered_with(desk, lead, setup):
    answer = lead.press(lead.open(FACTOR).form(FACTOR), code="000000", setup=setup)
    assert answer.status == 422
    assert state(desk) is None


def test_turning_on_is_refused_when_the_setup_is_of_another_person(desk, lead, visitor):
    page = visitor("viewer").open(FACTOR)
    setup, code = page.form(FACTOR).fields["setup"], Device.of(page.text).code()
    assert lead.press(lead.open(FACTOR).form(FACTOR), code=code, setup=setup).status == 422
    assert state(desk) is None


def test_password_alone_signs_nobody_in_when_the_factor_is_on(desk, lead, device, stranger):
    before = results(desk)
    answer = give_password(stranger, to="/acme/followups?tab=fired")
    assert answer.headers["Location"] == "/two-factor?to=/acme/followups?tab%3Dfired"
    assert stranger.open("/acme/followups").headers["Location"].startswith("/sign-in")
    assert stranger.open("/profile").headers["Location"].startswith("/sign-in")
    assert results(desk) == before


def test_code_signs_in_and_leads_to_the_page_that_was_asked_for(desk, lead, device, stranger):
    page = stranger.follow(give_password(stranger, to="/acme/followups?tab=fired"))
    answer = stranger.press(page.form("/two-factor"), code=device[0].code(1))
    assert answer.headers["Location"] == "/acme/followups?tab=fired"
    assert stranger.open("/acme/followups").status == 200
    [*_others, event] = desk.audit("operator.signed_in")
    assert (event.purpose, event.detail) == ("password", {"second_factor": "code"})


@pytest.mark.parametrize("wanted", ["https://evil.test/", "//evil.test/x", "/\\evil.test"])
def test_code_leads_to_this_site_only_when_the_address_is_forged(lead, device, stranger, wanted):
    give_password(stranger)
    assert give_code(stranger, device[0].code(1), to=wanted).headers["Location"] == "/"


def test_code_is_refused_when_it_is_used_again(app, lead, device, stranger):
    code = device[0].code(1)
    other = Visitor(app)
    for visitor, status in ((stranger, 303), (other, 401)):
        give_password(visitor)
        assert give_code(visitor, code).status == status
    assert other.open("/acme/followups").status == 303


def test_code_is_refused_and_audited_when_it_is_wrong(desk, lead, device, stranger):
    give_password(stranger)
    answer = give_code(stranger, "000000")
    assert answer.status == 401
    assert "This code can't be used." in answer.text
    assert results(desk)[-1] == ("refused", "second_factor")
    assert give_code(stranger, device[0].code(1)).status == 303


def test_code_is_throttled_by_account_when_each_try_comes_from_a_new_session(app, lead, device):
    statuses = []
    for number in range(11):
        visitor = Visitor(app)
        visitor.client.environ_base["REMOTE_ADDR"] = f"192.0.2.{number + 1}"
        give_password(visitor)
        statuses.append(give_code(visitor, f"{number:06}").status)
    assert statuses == [401] * 10 + [429]
    visitor = Visitor(app)
    give_password(visitor)
    assert give_code(visitor, device[0].code(1)).status == 429


def test_half_a_sign_in_ends_when_it_is_old_or_the_password_changed(desk, lead, device, stranger):
    give_password(stranger)
    with stranger.client.session_transaction() as kept:
        kept["half_signed_in"]["at"] -= 10 * 60 * 1_000_000 + 1
        kept.modified = True
    assert stranger.open("/two-factor").headers["Location"].startswith("/sign-in")
    give_password(stranger)
    form = stranger.open("/two-factor").form("/two-factor")
    assert set_password(lead, "another fine one", present=WORDS).status == 303
    assert stranger.press(form, code=device[0].code(1)).headers["Location"].startswith("/sign-in")


def test_code_is_not_tried_when_asked_for_the_head_of_the_page(desk, lead, device, stranger):
    forget_the_last_code(desk)
    give_password(stranger)
    for code in ("000000", device[0].code()):
        assert stranger.client.head("/two-factor", data={"code": code}).status_code == 200
    assert stranger.open("/acme/followups").status == 303
    assert ("refused", "second_factor") not in results(desk)
    assert give_code(stranger, device[0].code()).status == 303


def test_half_a_sign_in_is_none_when_nothing_was_given(stranger):
    answer = stranger.open("/two-factor?to=/acme/followups")
    assert answer.headers["Location"] == "/sign-in?to=/acme/followups"


def test_half_a_sign_in_ends_when_the_account_is_switched_off(desk, lead, device, stranger):
    give_password(stranger)
    form = stranger.open("/two-factor").form("/two-factor")
    desk.tell(
        lambda session: accounts.set_active(
            session, operators.by_email(session, EMAIL), False, actor=SETTER_UP, now=clock.now()
        )
    )
    assert stranger.press(form, code=device[0].code(1)).headers["Location"].startswith("/sign-in")
    assert stranger.open("/acme/followups").status == 303


def test_link_asks_for_the_code_too_and_is_used_up_when_pressed(desk, lead, device, stranger):
    link = desk.link(EMAIL)
    answer = stranger.press(stranger.open(link).form(link))
    assert answer.headers["Location"] == "/two-factor"
    assert stranger.open("/acme/followups").status == 303
    assert stranger.open(link).status == 403
    assert len(desk.audit("operator.link_used")) == 1
    assert give_code(stranger, device[0].code(1)).status == 303
    [*_others, event] = desk.audit("operator.signed_in")
    assert (event.purpose, event.detail) == ("link", {"second_factor": "code"})


def test_recovery_code_signs_in_once_and_says_how_many_are_left(app, desk, lead, device, stranger):
    code = device[1][0]
    give_password(stranger)
    answer = give_code(stranger, f" {code.upper()} ")
    assert answer.status == 303
    assert "9 recovery codes are left." in stranger.open("/acme/followups").text
    [*_others, event] = desk.audit("operator.signed_in")
    assert event.detail == {"second_factor": "recovery_code"}
    other = Visitor(app)
    give_password(other)
    assert give_code(other, code).status == 401


def test_new_recovery_codes_make_the_old_ones_void(desk, lead, device, stranger):
    path = f"{FACTOR}/recovery-codes"
    answer = lead.press(lead.open(path).form(path), proof=WORDS)
    [fresh, *_more] = re.findall(r"\b[a-z2-9]{4}(?:-[a-z2-9]{4}){3}\b", answer.text)
    assert len(desk.audit("operator.recovery_codes_made")) == 1
    give_password(stranger)
    assert give_code(stranger, device[1][0]).status == 401
    assert give_code(stranger, fresh).status == 303


@pytest.mark.parametrize("proof", ["password", "code", "recovery code"])
def test_turning_off_takes_a_password_or_a_code(desk, lead, device, stranger, proof):
    forget_the_last_code(desk)
    given = {"password": WORDS, "code": device[0].code(), "recovery code": device[1][0]}[proof]
    path = f"{FACTOR}/removal"
    answer = lead.press(lead.open(path).form(path), proof=given)
    assert "The second factor is off." in lead.follow(answer).text
    assert state(desk) is None
    assert len(desk.audit("operator.factor_off")) == 1
    assert give_password(stranger).headers["Location"] == "/"


@pytest.mark.parametrize("what", ["removal", "recovery-codes"])
def test_nothing_of_the_factor_changes_when_neither_password_nor_code_is_given(desk, lead, device, what):
    path = f"{FACTOR}/{what}"
    before = state(desk)
    for proof in ("", "wrong", "000000"):
        answer = lead.press(lead.open(path).form(path), proof=proof)
        assert answer.status == 422
        assert "Is neither your password nor a code that can be used now." in answer.text
        assert 'value="wrong"' not in answer.html
    assert state(desk) == before
    assert desk.audit("operator.factor_off") == desk.audit("operator.recovery_codes_made") == []


def test_turning_off_is_throttled_when_it_is_guessed(lead, device):
    path = f"{FACTOR}/removal"
    form = lead.open(path).form(path)
    statuses = [lead.press(form, proof=f"{number:06}").status for number in range(11)]
    assert statuses == [422] * 10 + [429]


@pytest.mark.parametrize("path", [f"{FACTOR}/removal", f"{FACTOR}/recovery-codes"])
def test_pages_of_a_factor_lead_back_when_it_is_off(lead, path):
    assert lead.open(path).headers["Location"] == "/profile"


def test_page_to_turn_on_leads_back_when_it_is_on(lead, device):
    assert lead.open(FACTOR).headers["Location"] == "/profile"


def test_password_is_asked_for_again_when_the_link_was_used_long_ago(lead):
    set_password(lead)
    with lead.client.session_transaction() as kept:
        kept["signed_in_at"] -= 15 * 60 * 1_000_000 + 1
    assert set_password(lead, "another fine one").status == 422
    assert set_password(lead, "another fine one", present=WORDS).status == 303


@pytest.mark.parametrize("act", ["password", "factor"])
def test_one_who_pressed_twice_is_told_to_check_when_the_first_signed_them_out(desk, lead, act):
    page = lead.open(FACTOR if act == "factor" else "/profile")
    form, typed = page.form("/profile/password" if act == "password" else FACTOR), {"wanted": WORDS}
    if act == "factor":
        typed = {"code": Device.of(page.text).code()}
    before = lead.client.get_cookie("desk").value
    assert lead.press(form, **typed).status in (200, 303)
    lead.client.set_cookie("desk", before)
    said = lead.follow(lead.press(form, **typed)).text
    assert "Check what was saved, and do it again if it is missing." in said
    assert "nothing was done" not in said
    assert len(desk.audit("operator.password_set" if act == "password" else "operator.factor_on")) == 1


def test_sign_out_everywhere_ends_all_sessions_and_is_audited_once(desk, lead, visitor):
    elsewhere = visitor("lead")
    answer = lead.press(lead.open("/profile").form("/profile/sessions-end"))
    assert "You are signed out everywhere, here too." in lead.follow(answer).text
    for browser in (lead, elsewhere):
        assert browser.open("/acme/followups").status == 303
    [event] = desk.audit("operator.signed_out_everywhere")
    assert event.actor_label == EMAIL


def test_stolen_session_is_of_no_use_when_its_owner_signed_out_everywhere(app, lead):
    thief = Visitor(app)
    thief.client.set_cookie("desk", lead.client.get_cookie("desk").value)
    assert thief.open("/acme/followups").status == 200
    lead.press(lead.open("/profile").form("/profile/sessions-end"))
    assert thief.open("/acme/followups").status == 303


def test_time_zone_of_the_person_is_used_on_all_pages(desk, lead):
    form = lead.open("/profile").form("/profile/timezone")
    answer = lead.press(form, timezone="Asia/Tokyo")
    assert "Times are in Asia/Tokyo now." in lead.follow(answer).text
    for path in ("/profile", "/acme/followups"):
        assert "Times in Asia/Tokyo" in lead.open(path).text
    lead.press(form, timezone="Asia/Tokyo")
    [event] = desk.audit("operator.timezone_set")
    assert event.detail == {"before": None, "after": "Asia/Tokyo"}
    lead.press(form, timezone="")
    assert "Times in UTC" in lead.open("/acme/followups").text


def test_time_zone_is_refused_when_there_is_none_of_that_name(desk, lead):
    form = lead.open("/profile").form("/profile/timezone")
    assert lead.press(form, timezone="Middle/Earth").status == 422
    assert desk.audit("operator.timezone_set") == []


def test_account_page_is_open_to_whoever_has_no_tenant_any_more(desk, acme, lead):
    desk.tell(
        lambda session: operators.revoke_role(
            session, operators.by_email(session, EMAIL), tenant=acme, actor=SETTER_UP, now=clock.now()
        )
    )
    assert lead.open("/profile").status == 303
    link = desk.link(EMAIL)
    assert lead.press(lead.open(link).form(link)).status == 303
    assert lead.open("/profile").status == 200


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "x" * 100_000, "<script>"])
def test_hostile_texts_are_refused_when_signing_in(lead, device, stranger, text):
    form = stranger.open("/sign-in").form("/sign-in")
    assert stranger.press(form, email=text, password=text).status == 401
    assert stranger.press(form, email=EMAIL, password=text).status == 401
    give_password(stranger)
    assert give_code(stranger, text).status == 401
