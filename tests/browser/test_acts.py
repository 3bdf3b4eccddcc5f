"""Re-arming, opting out, holds, and two people on one row, in a real browser, with and without scripts."""

from datetime import timedelta
from itertools import count

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from models import clock, tenants
from models.followups import transitions
from models.followups.records import Contact
from models.tenants import AgentHold
from tests.browser.pages import FollowUps
from tests.browser.served import NARROW, SETTER_UP
from tests.browser.test_followups import fire, status
from tests.support.create import create_followup

pytestmark = pytest.mark.slow

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
_numbers = count(9_000)


@pytest.fixture
def acme(desk):
    return desk.tenant()


@pytest.fixture
def followup(desk, acme):
    """A pending follow-up to a customer of its own."""
    return desk.tell(
        lambda session: create_followup(
            session,
            acme,
            now=clock.now(),
            customer=f"c-{next(_numbers)}",
            at=clock.now() + timedelta(minutes=7),
        )
    )


@pytest.fixture
def cancelled(desk, acme, followup):
    desk.tell(
        lambda session: transitions.cancel(session, acme.id, followup.id, actor=SETTER_UP, now=clock.now())
    )
    return followup


def signed_in(desk, page, query=""):
    desk.sign_in(page)
    return FollowUps(page, desk.url).open(query)


def press(page, verb):
    """The button of the question, in its dialog or on its page."""
    page.locator("form.ask").get_by_role("button", name=verb).click()


@SCRIPTS
def test_rearm_stays_in_the_list_and_leads_to_the_new_one(desk, open_page, cancelled, scripts):
    with open_page(java_script_enabled=scripts) as page:
        listed = signed_in(desk, page, f"?tab=cancelled&customer={cancelled.customer}")
        listed.row(cancelled.customer).get_by_role("link", name="Re-arm").click()
        expect(page.get_by_text("It was cancelled", exact=False)).to_be_visible()
        page.get_by_label("Why it is booked again").fill("the customer called")
        press(page, "Re-arm")
        listed.says(f"Booked the follow-up to {cancelled.customer} again")
        expect(listed.row(cancelled.customer).get_by_role("link", name="Booked again")).to_be_visible()
        page.get_by_role("link", name="Show the new one").click()
        page.get_by_role("link", name=str(cancelled.id)).click()
        expect(page.get_by_text("Booked again as")).to_be_visible()
    assert status(desk, cancelled) == "cancelled"


@SCRIPTS
def test_rearm_leads_to_the_new_one_from_the_page_of_the_old(desk, open_page, cancelled, scripts):
    with open_page(java_script_enabled=scripts) as page:
        listed = signed_in(desk, page)
        page.goto(f"{desk.url}/acme/followups/{cancelled.id}")
        page.get_by_role("link", name="Re-arm").click()
        page.get_by_label("Why it is booked again").fill("the customer called")
        press(page, "Re-arm")
        listed.says(f"Booked the follow-up to {cancelled.customer} again")
        expect(page.get_by_text("Booked again from")).to_be_visible()


@SCRIPTS
def test_rearm_leads_to_the_pending_one_when_the_same_was_booked_meanwhile(
    desk, open_page, acme, cancelled, scripts
):
    with open_page(java_script_enabled=scripts) as page:
        listed = signed_in(desk, page, f"?tab=cancelled&customer={cancelled.customer}")
        listed.row(cancelled.customer).get_by_role("link", name="Re-arm").click()
        page.get_by_label("Why it is booked again").fill("the customer called")
        other = desk.tell(
            lambda session: create_followup(session, acme, now=clock.now(), customer=cancelled.customer)
        )
        press(page, "Re-arm")
        expect(page.get_by_label("Why it is booked again")).to_have_value("the customer called")
        page.get_by_role("link", name="Show the pending one").click()
        page.wait_for_url(f"**/followups/{other.id}")


@SCRIPTS
def test_opting_out_cancels_all_that_waits_and_is_shown(desk, open_page, acme, followup, scripts):
    desk.tell(
        lambda session: create_followup(
            session, acme, now=clock.now(), customer=followup.customer, reason="another"
        )
    )
    with open_page(java_script_enabled=scripts) as page:
        listed = signed_in(desk, page)
        page.goto(f"{desk.url}/acme/followups/{followup.id}")
        page.get_by_role("link", name="Opt this customer out").click()
        press(page, "Opt out and cancel 2 follow-ups")
        listed.says(f"Opted {followup.customer} out, and cancelled 2 follow-ups.")
        expect(page.get_by_role("button", name="Opt this customer out")).to_have_attribute(
            "aria-disabled", "true"
        )
        expect(page.get_by_role("button", name="Re-arm")).to_have_attribute("aria-disabled", "true")
    query = select(Contact.state).where(Contact.customer == followup.customer)
    assert desk.tell(lambda session: session.scalars(query).one()) == "revoked"
    assert status(desk, followup) == "cancelled"


@SCRIPTS
def test_an_agent_is_held_and_released_with_a_reason(desk, open_page, acme, scripts):
    agent = f"agent/{next(_numbers)}"
    desk.tell(lambda session: create_followup(session, acme, now=clock.now(), agent=agent))

    def held():
        found = desk.tell(lambda session: session.get(AgentHold, (acme.id, agent)))
        return found is not None and found.held

    with open_page(java_script_enabled=scripts) as page:
        listed = signed_in(desk, page)
        page.get_by_role("navigation", name="Areas").get_by_role("link", name="Agents").click()
        page.get_by_role("link", name=agent, exact=True).click()
        page.get_by_role("link", name="Put on hold").click()
        expect(page.get_by_text("1 pending follow-up waits until it is released.")).to_be_visible()
        page.get_by_label("Why").fill("the provider is down")
        press(page, "Put on hold")
        listed.says(f"Put {agent} on hold.")
        expect(page.get_by_text("Because: the provider is down")).to_be_visible()
        assert held()
        page.get_by_role("link", name="Release").click()
        page.get_by_label("Why it is released").fill("it is back")
        press(page, "Release")
        listed.says(f"Released {agent}.")
        assert not held()


@SCRIPTS
def test_reschedule_is_refused_when_another_operator_cancelled_the_row(desk, open_page, followup, scripts):
    with (
        open_page(java_script_enabled=scripts) as first,
        open_page(java_script_enabled=scripts) as second,
    ):
        query = f"?customer={followup.customer}"
        one, other = signed_in(desk, first, query), signed_in(desk, second, query)
        other.row(followup.customer).get_by_role("link", name="Reschedule").click()
        second.get_by_label("New time").fill("2099-08-14T10:00")
        one.cancel(followup.customer)
        one.says("Cancelled the follow-up to")
        press(second, "Reschedule")
        expect(second.get_by_text("so nothing was done.")).to_be_visible()
        expect(second.get_by_label("New time")).to_have_value("2099-08-14T10:00")
        if scripts:
            other.shows(followup.customer, "Cancelled")
    assert status(desk, followup) == "cancelled"


@SCRIPTS
def test_reschedule_is_refused_with_the_reason_when_it_fired_meanwhile(desk, open_page, followup, scripts):
    with open_page(java_script_enabled=scripts) as page:
        listed = signed_in(desk, page, f"?customer={followup.customer}")
        listed.row(followup.customer).get_by_role("link", name="Reschedule").click()
        page.get_by_label("New time").fill("2099-08-14T10:00")
        fire(desk, followup)
        press(page, "Reschedule")
        expect(page.get_by_text("so it can't be rescheduled.", exact=False).first).to_be_visible()
    assert status(desk, followup) == "fired"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_filters_are_folded_on_a_small_screen_and_open_by_a_press(desk, open_page, followup, scripts):
    with open_page(java_script_enabled=scripts, viewport=NARROW) as page:
        signed_in(desk, page)
        field = page.get_by_role("searchbox", name="Customer", exact=True)
        expect(field).to_be_hidden()
        page.get_by_text("Narrow it down").click()
        field.fill(followup.customer)
        page.get_by_role("button", name="Filter", exact=True).click()
        expect(page.get_by_role("link", name="Remove the filter Customer")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hold_by_another_is_said_and_what_was_typed_is_kept(desk, open_page, acme):
    agent = f"agent-{next(_numbers)}"
    desk.tell(lambda session: create_followup(session, acme, now=clock.now(), agent=agent))
    with open_page() as page:
        signed_in(desk, page)
        page.goto(f"{desk.url}/acme/agents/{agent}")
        page.get_by_role("link", name="Put on hold").click()
        page.get_by_label("Why").fill("the provider is down")
        desk.tell(
            lambda session: tenants.hold(
                session, acme, agent, held=True, reason="r", actor=SETTER_UP, now=clock.now()
            )
        )
        press(page, "Put on hold")
        expect(page.get_by_text("by tests, so nothing was done.")).to_be_visible()
        expect(page.get_by_label("Why")).to_have_value("the provider is down")
