"""Everything by keyboard alone: no pointer is used here, and the focus is never lost to the page's body."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from models import clock
from models.deliveries import State
from models.settings import from_env
from tests.browser.test_followups import status
from tests.browser.test_undo import again, booked, overdue
from tests.support.deliver import create_delivery, create_endpoint

pytestmark = pytest.mark.slow


class Keyboard:
    """A person who has nothing but keys."""

    def __init__(self, page):
        self.page = page

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def focused(self):
        """The text of what has the focus, which is never nothing."""
        return self.page.evaluate(
            "() => { const a = document.activeElement;"
            " return a === document.body ? '' : (a.innerText || a.value || a.id || a.tagName); }"
        )

    def tab_to(self, name):
        """Tab on to what begins so."""
        for _step in range(60):
            self.press("Tab")
            if self.focused().strip().startswith(name):
                return
        raise AssertionError(f"no way by Tab to {name}")

    def holds(self, selector):
        """The focus comes to what `selector` finds, or into it."""
        found = self.page.locator(f"{selector}:focus, {selector} :focus")
        expect(found).to_have_count(1)


@pytest.fixture
def keyboard(desk, open_page):
    desk.tenant()
    with open_page() as page:
        desk.sign_in(page)
        yield Keyboard(page)


def test_cancel_and_undo_and_reschedule_and_opening_by_keys(desk, keyboard):
    followup = booked(desk)
    page = keyboard.page
    page.goto(f"{desk.url}/acme/followups?customer={followup.customer}")
    keyboard.press("j")
    keyboard.holds(f"#followup-{followup.id} [data-focus]")
    keyboard.tab_to("Cancel")
    keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text("Cancelled the follow-up to")
    keyboard.holds(f"#followup-{followup.id}")
    keyboard.press("u")
    expect(page.locator("[data-toast]")).to_contain_text("Taken back")
    made = again(desk, followup)
    keyboard.holds(f"#followup-{made.id}")
    # The same by Tab to the button of the toast, which is gone when it was pressed.
    keyboard.tab_to("Cancel")
    keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text("Cancelled the follow-up to")
    keyboard.tab_to("Undo")
    keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text("Taken back")
    made = again(desk, made)
    keyboard.holds(f"#followup-{made.id}")
    # A toast that is closed gives the focus back to where it came from, from where a key leads to the row.
    keyboard.tab_to("Close")
    keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_have_count(0)
    assert keyboard.focused()
    keyboard.press("j")
    keyboard.holds(f"#followup-{made.id}")
    keyboard.tab_to("Reschedule")
    keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    keyboard.holds("dialog [name=at]")
    # Keys are for the page behind it, and rest.
    keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    keyboard.holds(f"#followup-{made.id}")
    keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    keyboard.tab_to("Reschedule")
    keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    keyboard.holds(f"#followup-{made.id}")
    keyboard.press("k", "j", "Enter")
    page.wait_for_url(f"**/followups/{made.id}**")
    assert status(desk, made) == "pending"


def test_places_search_and_the_list_of_keys_by_keys(desk, keyboard):
    page = keyboard.page
    for keys, path in (("gf", "followups"), ("gd", "deliveries"), ("gw", "sweeps"), ("ga", "audit")):
        keyboard.press(*keys)
        page.wait_for_url(f"**/acme/{path}")
    keyboard.press("g", "o")
    page.wait_for_url("**/acme")
    # Until the script has the link, its key leads to a page of the same.
    page.wait_for_load_state("networkidle")
    keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Next row")
    # Not from within a dialog.
    keyboard.press("g", "f")
    keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert page.url.endswith("/acme")
    keyboard.press("/")
    keyboard.holds("[name=q]")
    # What is typed is text.
    keyboard.press("g", "f", "j", "?")
    expect(page.locator("[name=q]")).to_have_value("gfj?")
    keyboard.press("Enter")
    page.wait_for_url("**/search?**")


def test_rows_are_moved_between_and_ticked_by_keys(desk, keyboard):
    first, second = booked(desk, at=clock.now() + timedelta(minutes=6)), booked(desk)
    page = keyboard.page
    page.goto(f"{desk.url}/acme/followups")
    rows = page.locator("main tbody tr[id]")
    ids = rows.evaluate_all("rows => rows.map((row) => row.id)")
    assert {f"followup-{first.id}", f"followup-{second.id}"} <= set(ids)
    keyboard.press("j", "j")
    keyboard.holds(f"#{ids[1]}")
    keyboard.press("k")
    keyboard.holds(f"#{ids[0]}")
    keyboard.press("k")
    keyboard.holds(f"#{ids[0]}")
    box = page.locator(f"#{ids[0]} [data-tick]")
    keyboard.press("x")
    expect(box).to_be_checked()
    keyboard.holds(f"#{ids[0]}")
    keyboard.press("x")
    expect(box).not_to_be_checked()


def test_range_is_ticked_acted_on_and_cleared_by_keys(desk, keyboard):
    for minutes in (6, 7, 8):
        booked(desk, at=clock.now() + timedelta(minutes=minutes))
    page = keyboard.page
    page.goto(f"{desk.url}/acme/followups")
    ticked, bar = page.locator("[data-tick]:checked"), page.locator("[data-picked]")
    # Nothing is ticked, so there is nowhere to go to.
    keyboard.press("j", "b")
    keyboard.holds("tbody tr:first-child")
    keyboard.press("x", "j", "j", "Shift+X")
    expect(ticked).to_have_count(3)
    keyboard.holds("tbody tr:nth-child(3)")
    keyboard.press("b")
    assert keyboard.focused() == "Cancel 3 follow-ups"
    # What stands over the page goes first, then what is ticked.
    keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(ticked).to_have_count(3)
    summary = page.locator("details.menu.export summary")
    summary.focus()
    keyboard.press("Enter", "Escape")
    expect(page.locator("details.menu[open]")).to_have_count(0)
    expect(ticked).to_have_count(3)
    keyboard.press("b", "Escape")
    expect(ticked).to_have_count(0)
    expect(bar).to_be_hidden()
    keyboard.holds("tbody tr:nth-child(3)")


def test_keys_do_nothing_when_they_are_switched_off(desk, keyboard):
    page = keyboard.page
    page.goto(f"{desk.url}/keys")
    keyboard.tab_to("Switch keys off")
    keyboard.press("Enter")
    expect(page.get_by_text("They are switched off in this browser.")).to_be_visible()
    keyboard.press("g", "o", "?", "j")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url.endswith("/keys")
    keyboard.tab_to("Switch keys on")
    keyboard.press("Enter")
    expect(page.get_by_text("They need a script")).to_be_visible()


def test_taking_on_and_letting_go_by_keys(desk, keyboard):
    followup = overdue(desk)
    page = keyboard.page
    page.goto(f"{desk.url}/acme/followups/{followup.id}")
    keyboard.tab_to("I'm on it")
    keyboard.press("Enter")
    expect(page.get_by_text("You are on it,")).to_be_visible()
    keyboard.holds("#hand")
    assert keyboard.focused() == "Let go"
    keyboard.press("Enter")
    expect(page.get_by_text("nobody is on it")).to_be_visible()
    keyboard.holds("#hand")


def test_delivery_is_rearmed_by_keys(desk, keyboard, tmp_path):
    acme = desk.tenant()

    def make(session):
        settings = from_env({"DESK_VAR": str(tmp_path), "SECRET_KEY": "of no importance here"})
        endpoint, _secret = create_endpoint(session, acme, settings, now=clock.now())
        return create_delivery(session, acme, endpoint, now=clock.now(), state=State.DEAD).id

    delivery, page = desk.tell(make), keyboard.page
    page.goto(f"{desk.url}/acme/deliveries?tab=dead")
    keyboard.press("j")
    keyboard.holds(f"#delivery-{delivery}")
    keyboard.tab_to("Re-arm")
    keyboard.press("Enter")
    keyboard.holds("dialog [name=reason]")
    page.keyboard.type("it is back")
    keyboard.tab_to("Re-arm")
    keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text("Re-armed")
    expect(page.get_by_role("dialog")).to_have_count(0)
    keyboard.holds(f"#delivery-{delivery}")
