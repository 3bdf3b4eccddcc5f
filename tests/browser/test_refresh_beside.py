"""What stands beside the rows of an open list, or on the page of one, is told of without moving anything."""

from itertools import count

import pytest
from playwright.sync_api import expect

from models import clock, endpoints, tenants
from models.followups import contacts
from tests.browser.served import SETTER_UP
from tests.browser.test_refresh import SHIFTS, book, cancel, listed, refresh, shifts
from tests.support.deliver import create_endpoint

pytestmark = pytest.mark.slow

_numbers = count(40_000)


@pytest.fixture
def acme(desk):
    return desk.tenant()


@pytest.fixture
def agent():
    """An agent of its own, so that the list holds what the test made alone."""
    return f"beside-{next(_numbers)}"


def switch(desk, acme, on):
    given = {"actor": SETTER_UP, "now": clock.now()}
    desk.tell(lambda session: tenants.set_features(session, acme, {"followups": on}, **given))


def hold(desk, acme, agent, held):
    given = {"held": held, "reason": None, "actor": SETTER_UP, "now": clock.now()}
    desk.tell(lambda session: tenants.hold(session, acme, agent, **given))


def test_note_over_the_list_is_hidden_once_it_is_over_and_announced_when_it_comes(
    desk, open_page, acme, agent
):
    book(desk, acme, agent, f"c-{agent}")
    switch(desk, acme, False)
    try:
        with listed(desk, open_page, agent) as followups:
            page = followups.page
            note = page.get_by_text("Follow-ups are switched off for this tenant.")
            expect(note).to_be_visible()
            switch(desk, acme, True)
            refresh(page)
            expect(note).to_be_hidden()
            expect(page.get_by_role("link", name="More changed, show")).to_be_visible()
            switch(desk, acme, False)
            refresh(page)
            expect(note).to_be_visible()
            expect(page.get_by_role("link", name="More changed, show")).to_be_hidden()
            assert shifts(page) == []
            switch(desk, acme, True)
            page.reload()
            expect(note).to_have_count(0)
            switch(desk, acme, False)
            refresh(page)
            expect(page.get_by_role("link", name="More changed, show")).to_be_visible()
            assert shifts(page) == []
    finally:
        switch(desk, acme, True)


def test_endpoint_that_was_added_can_be_chosen_without_a_reload(desk, open_page, acme):
    origin = f"https://beside-{next(_numbers)}.a-rather-long-name.example"
    with open_page() as page:
        page.add_init_script(SHIFTS)
        desk.sign_in(page)
        page.goto(f"{desk.url}/acme/deliveries")
        chosen = page.get_by_role("combobox", name="Event")
        chosen.select_option("followup.fired")
        settings = desk.app.extensions["desk_settings"]
        given = {"now": clock.now(), "url": f"{origin}/x"}
        made = desk.tell(lambda session: create_endpoint(session, acme, settings, **given)[0].id)
        try:
            refresh(page)
            place = page.get_by_role("combobox", name="Endpoint")
            expect(place.get_by_role("option", name=origin)).to_have_count(1)
            assert chosen.input_value() == "followup.fired"
            assert shifts(page) == []
        finally:
            given = {"actor": SETTER_UP, "now": clock.now()}
            desk.tell(lambda session: endpoints.remove(session, acme.id, made, **given))


def test_page_of_one_tells_of_a_hold_and_keeps_what_it_became_itself(desk, open_page, acme, agent):
    followup = book(desk, acme, agent, f"c-{agent}", minutes=90)
    with open_page() as page:
        page.add_init_script(SHIFTS)
        desk.sign_in(page)
        page.goto(f"{desk.url}/acme/followups/{followup.id}")
        moved = page.locator("[data-moved]")
        hold(desk, acme, agent, True)
        refresh(page)
        expect(moved).to_have_text("This changed: whether it waits. Show it")
        cancel(desk, acme, followup)
        refresh(page)
        expect(moved).to_contain_text("This changed: cancelled. Show it just now")
        given = {"by": "operator", "actor": SETTER_UP, "now": clock.now()}
        desk.tell(lambda session: contacts.revoke(session, acme, followup.customer, **given))
        refresh(page)
        expect(moved).to_contain_text("This changed: cancelled.")
        assert shifts(page) == []
        moved.get_by_role("link", name="Show it").click()
        expect(page.get_by_text("by tests").first).to_be_visible()
        expect(moved).to_have_text("")
