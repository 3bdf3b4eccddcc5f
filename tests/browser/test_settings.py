"""What people do with their account, and admins with tenants, operators and tokens, scripts on and off."""

import re
from itertools import count

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from models import clock, operators, tenants, tokens
from models.second_factor import SecondFactor
from models.tenants import Feature
from models.tokens import ApiToken
from tests.browser.served import SETTER_UP
from tests.support.create import create_followup
from tests.support.devices import Device

pytestmark = pytest.mark.slow

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
PASSWORD = "quiet harbour lamp"
_numbers = count(1)


@pytest.fixture
def give(desk):
    """`give("admin")`: the address of somebody new with that role in the tenant `settled`."""
    tenant = desk.tenant("settled")

    def make(role, *, of_platform=False):
        email = f"{role}-{next(_numbers)}@settled.test"

        def work(session):
            where = [(tenant, role)]
            if of_platform:
                where.append((tenants.get(session, None), "admin"))
            for one, held in where:
                operators.add(session, email, tenant=one, role=held, actor=SETTER_UP, now=clock.now())

        desk.tell(work)
        return email

    return make


def says(page, words):
    expect(page.locator("[data-toast]")).to_contain_text(words)


def sign_in(page, desk, email, password=PASSWORD):
    page.goto(f"{desk.url}/sign-in")
    page.get_by_label("Mail address").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def give_code(page, code):
    page.get_by_label("Code", exact=True).fill(code)
    page.get_by_role("button", name="Sign in").click()


def set_password(page, desk):
    page.goto(f"{desk.url}/profile")
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Set password").click()
    says(page, "Your password is set.")


def turn_factor_on(page, desk):
    """The device, and the recovery codes."""
    page.goto(f"{desk.url}/profile")
    page.get_by_role("link", name="Switch on").click()
    expect(page.get_by_role("img", name="The secret for your app")).to_be_visible()
    page.get_by_text("Can't scan?").click()
    device = Device.of(page.locator("#key").inner_text())
    page.get_by_label("Code that the app shows").fill(device.code())
    page.get_by_role("button", name="Switch on").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    return device, page.locator(".codes li").all_inner_texts()


@SCRIPTS
def test_second_factor_is_turned_on_and_then_asked_for(desk, open_page, give, scripts):
    email = give("lead")
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, email)
        set_password(page, desk)
        device, codes = turn_factor_on(page, desk)
        assert len(codes) == 10
        page.get_by_role("link", name="I have kept them").click()
        expect(page.get_by_text("10 recovery codes are left.")).to_be_visible()
        page.context.clear_cookies()
        sign_in(page, desk, email)
        expect(page.get_by_role("heading", name="Give a code")).to_be_visible()
        give_code(page, "000000")
        expect(page.get_by_text("This code can't be used.")).to_be_visible()
        give_code(page, device.code(1))
        page.wait_for_url(re.compile("/settled"))
        page.context.clear_cookies()
        sign_in(page, desk, email)
        give_code(page, codes[0])
        says(page, "9 recovery codes are left.")


@SCRIPTS
def test_second_factor_is_turned_off_by_the_password_and_not_by_a_wrong_one(desk, open_page, give, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, give("lead"))
        set_password(page, desk)
        turn_factor_on(page, desk)
        page.goto(f"{desk.url}/profile")
        page.get_by_role("link", name="Switch off").click()
        field = page.get_by_label("Your password, or a code of the app")
        field.fill("wrong")
        page.get_by_role("button", name="Switch off").click()
        expect(page.get_by_text("Is neither your password nor a code")).to_be_visible()
        expect(field).to_be_focused()
        field.fill(PASSWORD)
        page.get_by_role("button", name="Switch off").click()
        says(page, "The second factor is off.")


@SCRIPTS
def test_link_asks_for_the_code_too_and_comes_from_an_admin_who_resets_it(
    desk, open_page, opened, give, scripts
):
    admin, email = give("admin"), give("lead")
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, email)
        turn_factor_on(page, desk)
        page.goto(desk.link(email))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile("/two-factor"))
        with opened.page(java_script_enabled=scripts) as other:
            desk.sign_in(other, admin)
            other.goto(f"{desk.url}/settled/settings/operators")
            other.get_by_role("link", name=email).click()
            other.get_by_role("link", name="Reset second factor").click()
            other.get_by_role("button", name="Reset").click()
            says(other, f"The second factor of {email} is off")
        desk.sessions.pop(email)
        page.context.clear_cookies()
        desk.sign_in(page, email)


@SCRIPTS
def test_sign_out_everywhere_ends_the_other_browser_too(desk, open_page, opened, give, scripts):
    email = give("lead")
    with open_page(java_script_enabled=scripts) as page, opened.page() as other:
        desk.sign_in(page, email)
        desk.sign_in(other, email)
        page.goto(f"{desk.url}/profile")
        page.get_by_role("button", name="Sign out everywhere").click()
        says(page, "You are signed out everywhere, here too.")
        other.goto(f"{desk.url}/settled/followups")
        other.wait_for_url(re.compile("/sign-in"))
        desk.sessions.pop(email)


@SCRIPTS
def test_time_zone_is_chosen_and_named_on_every_page(desk, open_page, give, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, give("viewer"))
        page.goto(f"{desk.url}/profile")
        page.get_by_label("Time zone").select_option("Asia/Tokyo")
        page.get_by_role("button", name="Set time zone").click()
        says(page, "Times are in Asia/Tokyo now.")
        page.goto(f"{desk.url}/settled/followups")
        expect(page.get_by_text("Times in Asia/Tokyo")).to_be_visible()


@SCRIPTS
def test_somebody_is_added_and_signs_in_by_the_link_that_is_shown(desk, open_page, opened, give, scripts):
    admin, email = give("admin"), f"new-{next(_numbers)}@settled.test"
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, admin)
        page.goto(f"{desk.url}/settled/settings/operators")
        page.get_by_role("link", name="Add an operator").click()
        page.get_by_label("Mail address").fill(email)
        page.get_by_label("Role", exact=True).select_option("marketer")
        page.get_by_role("button", name="Add", exact=True).click()
        link = page.get_by_role("textbox", name="Link").input_value()
        page.get_by_role("link", name="I have copied it").click()
        expect(page.get_by_role("heading", name=email)).to_be_visible()
        with opened.page(java_script_enabled=scripts) as other:
            other.goto(link)
            other.get_by_role("button", name="Sign in").click()
            other.wait_for_url(re.compile("/settled"))


@SCRIPTS
def test_role_is_changed_and_taken_away(desk, open_page, give, scripts):
    admin, email = give("admin"), give("viewer")
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, admin)
        page.goto(f"{desk.url}/settled/settings/operators")
        page.get_by_role("link", name=email).click()
        page.get_by_role("link", name="Change role").click()
        page.get_by_label("Role", exact=True).select_option("lead")
        page.get_by_role("button", name="Change role").click()
        says(page, f"{email} is lead of settled now.")
        page.get_by_role("link", name="Take role away").click()
        page.get_by_role("button", name="Take role away").click()
        says(page, f"{email} has no role in settled any more.")
        expect(page.get_by_role("link", name=email)).to_have_count(0)


@SCRIPTS
def test_role_keeps_what_was_typed_when_it_was_changed_meanwhile(desk, open_page, give, scripts):
    admin, email = give("admin"), give("viewer")
    person = desk.tell(lambda session: operators.by_email(session, email))
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, admin)
        page.goto(f"{desk.url}/settled/settings/operators/{person.id}")
        page.get_by_role("link", name="Change role").click()
        page.get_by_label("Role", exact=True).select_option("lead")
        desk.tell(
            lambda session: operators.add(
                session,
                email,
                tenant=tenants.get(session, "settled"),
                role="marketer",
                actor=SETTER_UP,
                now=clock.now(),
            )
        )
        page.get_by_role("button", name="Change role").click()
        expect(page.get_by_text("has the role marketer here by now")).to_be_visible()
        expect(page.get_by_label("Role", exact=True)).to_have_value("lead")
        page.get_by_role("button", name="Change role").click()
        says(page, f"{email} is lead of settled now.")


@SCRIPTS
def test_account_is_switched_off_and_its_holder_is_out(desk, open_page, opened, give, scripts):
    admin, email = give("admin"), give("lead")
    with open_page(java_script_enabled=scripts) as page, opened.page() as other:
        desk.sign_in(other, email)
        desk.sign_in(page, admin)
        page.goto(f"{desk.url}/settled/settings/operators")
        page.get_by_role("link", name=email).click()
        page.get_by_role("link", name="Switch off").click()
        page.get_by_role("button", name="Switch off").click()
        says(page, f"The account of {email} is off")
        other.reload()
        other.wait_for_url(re.compile("/sign-in"))


@SCRIPTS
def test_follow_ups_are_switched_off_and_on_after_saying_what_waits(desk, open_page, give, scripts):
    root = give("viewer", of_platform=True)
    tenant = desk.tenant("settled")
    desk.tell(
        lambda session: create_followup(session, tenant, now=clock.now(), customer=f"s-{next(_numbers)}")
    )
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, root)
        page.goto(f"{desk.url}/settled/settings")
        page.locator("#switch-followups").click()
        expect(page.get_by_text(re.compile("follow-ups? (is|are) pending"))).to_be_visible()
        page.get_by_role("button", name="Switch off").click()
        says(page, "Switched off: Follow-ups of settled.")
        assert not desk.tell(lambda session: tenants.get(session, "settled").has(Feature.FOLLOWUPS))
        page.locator("#switch-followups").click()
        page.get_by_role("button", name="Switch on").click()
        says(page, "Switched on: Follow-ups of settled.")
    assert desk.tell(lambda session: tenants.get(session, "settled").has(Feature.FOLLOWUPS))


def test_switch_is_off_with_the_reason_for_who_is_no_admin_of_platform(desk, open_page, give):
    with open_page() as page:
        desk.sign_in(page, give("admin"))
        page.goto(f"{desk.url}/settled/settings")
        button = page.locator("#switch-followups")
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(page.get_by_text("Only an admin of platform switches this").last).to_be_visible()


@SCRIPTS
def test_tenant_is_added_and_shown_to_whoever_added_it(desk, open_page, give, scripts):
    key = f"added-{next(_numbers)}"
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, give("viewer", of_platform=True))
        page.goto(f"{desk.url}/settled/settings")
        page.get_by_role("link", name="Add a tenant").click()
        page.get_by_label("Key").fill("Not a key")
        page.get_by_label("Time zone").select_option("Europe/Berlin")
        page.get_by_role("button", name="Add it").click()
        expect(page.get_by_text("Must be 1 to 63 of a-z")).to_be_visible()
        expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Add it").click()
        says(page, f"Added the tenant {key}. You are its admin.")
        page.wait_for_url(re.compile(f"/{key}/settings"))


@SCRIPTS
def test_token_is_added_shown_once_and_revoked(desk, open_page, give, scripts):
    name = f"shop-{next(_numbers)}"
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, give("admin"))
        page.goto(f"{desk.url}/settled/settings/tokens")
        page.get_by_role("link", name="Add a token").click()
        page.get_by_label("Name").fill(name)
        page.get_by_label("ingest").check()
        page.get_by_role("button", name="Add it").click()
        secret = page.get_by_role("textbox", name="Token").input_value()
        found = desk.tell(lambda session: tokens.find(session, secret))
        assert found[0].scopes == ["read", "ingest"]
        page.get_by_role("link", name="I have copied it").click()
        row = page.get_by_role("row").filter(has_text=name)
        expect(row).to_contain_text("read, ingest")
        assert secret not in page.content()
        row.get_by_role("link", name="Revoke").click()
        page.get_by_role("button", name="Revoke").click()
        says(page, f"Revoked the token {name}.")
        expect(row).to_have_count(0)
    kept = desk.tell(lambda session: session.scalars(select(ApiToken).where(ApiToken.name == name)).one())
    assert kept.revoked_at is not None


def test_question_closes_and_gives_the_focus_back_when_it_is_left(desk, open_page, give):
    with open_page() as page:
        desk.sign_in(page, give("admin"))
        page.goto(f"{desk.url}/settled/settings/tokens")
        page.get_by_role("link", name="Add a token").click()
        expect(page.get_by_label("Name")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("dialog[open]")).to_have_count(0)
        expect(page.get_by_role("link", name="Add a token")).to_be_focused()


def test_no_secret_of_a_factor_is_kept_before_it_is_turned_on(desk, open_page, give):
    email = give("lead")
    with open_page() as page:
        desk.sign_in(page, email)
        page.goto(f"{desk.url}/profile/second-factor")
    person = desk.tell(lambda session: operators.by_email(session, email))
    assert desk.tell(lambda session: session.get(SecondFactor, person.id)) is None
