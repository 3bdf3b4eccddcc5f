"""Taking a cancel back, and two operators on one row, in a real browser, with and without scripts."""

import re
from datetime import timedelta
from itertools import count

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from models import clock, operators
from models.followups.records import FollowUp
from tests.browser.pages import FollowUps
from tests.browser.served import SETTER_UP
from tests.browser.test_followups import status
from tests.support.create import create_followup

pytestmark = pytest.mark.slow

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
_numbers = count(20_000)
MINUTE = timedelta(minutes=1)


def booked(desk, **given):
    """A follow-up to a customer of its own."""
    acme, now = desk.tenant(), given.pop("now", clock.now())
    customer = f"c-{next(_numbers)}"
    return desk.tell(lambda session: create_followup(session, acme, now=now, customer=customer, **given))


def overdue(desk):
    ago = clock.now() - 20 * MINUTE
    return booked(desk, now=ago, at=ago + 10 * MINUTE, agent="billing")


def again(desk, followup):
    query = select(FollowUp).where(FollowUp.rearmed_from == followup.id)
    return desk.tell(lambda session: session.scalars(query).one())


@SCRIPTS
def test_a_cancel_is_taken_back_where_the_row_stood(desk, open_page, scripts):
    followup = booked(desk)
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open(f"?customer={followup.customer}")
        listed.cancel(followup.customer)
        listed.says("Cancelled the follow-up to")
        undo = page.locator("[data-toast]").get_by_role("button", name="Undo")
        if scripts:
            expect(undo).to_contain_text("s)")
        undo.click()
        listed.says("Taken back")
        listed.shows(followup.customer, "Pending")
        made = again(desk, followup)
        expect(page.locator(f"#followup-{made.id}")).to_be_visible()
        expect(page.locator(f"#followup-{followup.id}")).to_have_count(0)
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
        assert page.url.endswith(f"/acme/followups?customer={followup.customer}")
        # And once more, by the button on the page of what was cancelled.
        page.goto(f"{desk.url}/acme/followups/{made.id}")
        page.get_by_role("button", name="Cancel this follow-up").click()
        expect(page.get_by_text("Nothing was sent.")).to_be_visible()
        page.locator("#undo").click()
        listed.says("Taken back")
        page.wait_for_url(f"**/followups/{again(desk, made).id}**")
    assert status(desk, followup) == status(desk, made) == "cancelled"
    assert status(desk, again(desk, made)) == "pending"


def test_the_offer_ends_by_itself_and_says_that_it_is_too_late(desk, open_page):
    followup = booked(desk)
    with open_page() as page:
        page.clock.install()
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open(f"?customer={followup.customer}")
        listed.cancel(followup.customer)
        undo = page.locator("[data-toast]").get_by_role("button", name="Undo")
        expect(undo).to_contain_text("s)")
        # It stays for as long as it can be pressed, longer than other good news.
        page.clock.run_for(12_000)
        expect(undo).to_contain_text("(1")
        undo.focus()
        page.clock.run_for(20_000)
        expect(undo).to_have_attribute("aria-disabled", "true")
        expect(undo).to_be_focused()
        undo.press("Enter")
        listed.says("It is too late to take it back.")
    assert status(desk, followup) == "cancelled"


@SCRIPTS
def test_two_operators_are_not_on_the_same_row_unawares(desk, open_page, scripts):
    followup = overdue(desk)
    acme, now = desk.tenant(), clock.now()
    desk.tell(
        lambda session: operators.add(
            session, "second@acme.test", tenant=acme, role="lead", actor=SETTER_UP, now=now
        )
    )
    path = f"{desk.url}/acme/followups/{followup.id}"
    with (
        open_page(java_script_enabled=scripts) as first,
        open_page(java_script_enabled=scripts) as second,
    ):
        desk.sign_in(first)
        desk.sign_in(second, "second@acme.test")
        first.goto(path)
        second.goto(path)
        first.get_by_role("button", name="I'm on it").click()
        expect(first.get_by_text("You are on it,")).to_be_visible()
        second.get_by_role("button", name="I'm on it").click()
        FollowUps(second, desk.url).says("lead@acme.test took it on")
        other = FollowUps(second, desk.url).open(f"?tab=overdue&customer={followup.customer}")
        other.shows(followup.customer, "On it: lead@acme.test,")
        second.goto(path)
        second.get_by_role("link", name="Take it over").click()
        second.get_by_role("button", name="Take it over").click()
        expect(second.get_by_text("You are on it,")).to_be_visible()
        first.reload()
        expect(first.get_by_text("second@acme.test is on it,")).to_be_visible()


def test_the_page_says_that_it_is_too_late_and_its_times_go_on(desk, open_page):
    followup = booked(desk)
    with open_page() as page:
        page.clock.install()
        desk.sign_in(page)
        FollowUps(page, desk.url).open(f"?customer={followup.customer}").cancel(followup.customer)
        expect(page.locator("[data-toast]").get_by_role("button", name="Undo")).to_be_visible()
        page.goto(f"{desk.url}/acme/followups/{followup.id}")
        expect(page.locator("#undo")).to_contain_text("s)")
        page.clock.run_for(40_000)
        expect(page.locator("#undo")).to_have_text(re.compile("^Too late to undo"))
        expect(page.get_by_text(re.compile("Cancelled [34][0-9] s ago by"))).to_be_visible()
        expect(page.locator(".timeline").get_by_text(re.compile("^[34][0-9] s ago$")).first).to_be_visible()


def test_paper_says_whose_list_it_is_which_filters_and_who_is_on_it(desk, open_page):
    followup = overdue(desk)
    with open_page() as page:
        desk.sign_in(page)
        page.goto(f"{desk.url}/acme/followups/{followup.id}")
        page.get_by_role("button", name="I'm on it").click()
        expect(page.get_by_text("You are on it,")).to_be_visible()
        FollowUps(page, desk.url).open(f"?tab=overdue&customer={followup.customer}")
        on = page.locator("[data-on-paper]")
        expect(on).to_have_text("you,")
        expect(page.locator("main > .on-paper").first).to_be_hidden()
        page.emulate_media(media="print")
        expect(page.locator("main > .on-paper").first).to_be_visible()
        expect(page.locator("main > .on-paper").first).to_have_text("Tenant acme")
        expect(page.get_by_text(f"Customer: {followup.customer}", exact=True)).to_be_visible()
        shown = on.evaluate(
            "(one) => [getComputedStyle(one).fontSize, getComputedStyle(one, '::after').content]"
        )
        assert shown == ["0px", '"lead@acme.test,"']
