"""Selecting rows and acting on them together, as a person does it in a browser."""

import re
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from jobs import bulk
from models import clock
from models.followups.records import FollowUp
from tests.browser.served import NARROW, WIDE
from tests.browser.test_accessibility import EACH, check, settled
from tests.support.create import create_followup

pytestmark = pytest.mark.slow

WHY = "the shop is closed"


@pytest.fixture
def tenant(desk, request):
    """A tenant of the test's own with six follow-ups, c-0 the first to be due."""
    key = f"bulk-{abs(hash(request.node.name)) % 10**8}"
    found = desk.tenant(key)
    now = clock.now()

    def book(session):
        for number in range(6):
            at = now + timedelta(hours=1, minutes=number)
            create_followup(session, found, now=now, at=at, customer=f"c-{number}", reason=f"r{number}")

    desk.tell(book)
    return found


def open_list(desk, page: Page, tenant, query: str = "") -> None:
    desk.sign_in(page, f"lead@{tenant.key}.test")
    page.goto(f"{desk.url}/{tenant.key}/followups{query}")


def ticks(page: Page):
    return page.locator("[data-tick]")


def bar(page: Page):
    return page.locator("[data-picked]")


def status_of(desk, tenant) -> list[str]:
    query = select(FollowUp.status).where(FollowUp.tenant_id == tenant.id)
    return desk.tell(lambda session: sorted(session.scalars(query)))


def test_rows_are_selected_by_tick_by_range_and_all_at_once(desk, open_page, tenant):
    with open_page() as page:
        open_list(desk, page, tenant)
        every = page.get_by_label("Select all rows of this page")
        expect(every).to_be_visible()
        expect(bar(page)).to_be_hidden()
        top = page.locator("tbody tr").first.bounding_box()
        ticks(page).nth(1).click()
        expect(bar(page)).to_contain_text("1 selected")
        expect(bar(page).get_by_role("button", name="Cancel 1 follow-up")).to_be_visible()
        assert every.evaluate("one => one.indeterminate")
        # The bar stands where the filters were, and moves nothing.
        assert page.locator("tbody tr").first.bounding_box() == top
        ticks(page).nth(4).click(modifiers=["Shift"])
        expect(bar(page)).to_contain_text("4 selected")
        ticks(page).nth(2).click()
        ticks(page).nth(2).press("Space")
        expect(bar(page)).to_contain_text("4 selected")
        every.check()
        expect(bar(page)).to_contain_text("6 selected")
        assert not every.evaluate("one => one.indeterminate")
        bar(page).get_by_role("button", name="Clear").click()
        expect(bar(page)).to_be_hidden()
        expect(every).to_be_focused()
        assert ticks(page).evaluate_all("all => all.filter((one) => one.checked).length") == 0


def test_cell_around_a_box_ticks_it_with_shift_a_stretch(desk, open_page, tenant):
    beside = {"x": 3, "y": 4}
    with open_page() as page:
        open_list(desk, page, tenant)
        cells = page.locator("td.tick")
        cells.nth(1).click(position=beside)
        expect(ticks(page).nth(1)).to_be_checked()
        expect(ticks(page).nth(1)).to_be_focused()
        cells.nth(4).click(position=beside, modifiers=["Shift"])
        expect(bar(page)).to_contain_text("4 selected")
        # The rows between are ticked, and their text is not marked.
        assert page.evaluate("getSelection().toString()") == ""
        cells.nth(1).click(position=beside)
        expect(bar(page)).to_contain_text("3 selected")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_bar_stays_in_view_far_down_the_list_and_covers_no_row_that_has_the_focus(
    desk, open_page, tenant, size
):
    now = clock.now()

    def book(session):
        for number in range(44):
            at = now + timedelta(hours=2, minutes=number)
            create_followup(session, tenant, now=now, at=at, customer=f"d-{number}")

    desk.tell(book)
    with open_page(viewport=size) as page:
        open_list(desk, page, tenant)
        first = page.locator("tbody tr").first
        down = page.evaluate("scrollY") + first.bounding_box()["y"]
        for number in range(40, 45):
            ticks(page).nth(number).check()
        expect(bar(page)).to_be_in_viewport(ratio=1)
        assert page.evaluate("scrollY") + first.bounding_box()["y"] == down
        page.keyboard.press("b")
        button = bar(page).get_by_role("button", name="Cancel 5 follow-ups")
        expect(button).to_be_focused()
        expect(button).to_be_in_viewport(ratio=1)
        page.locator("tbody [data-focus]").nth(44).focus()
        covered = """() => { const box = document.activeElement.getBoundingClientRect();
            const bar = document.querySelector("[data-picked]").getBoundingClientRect();
            return box.top < bar.bottom && bar.top < box.bottom; }"""
        for key in "k" * 30 + "j" * 30:
            page.keyboard.press(key)
            assert not page.evaluate(covered)
        bar(page).get_by_role("button", name="Clear").click()
        # Back to where one was, not to the head of the list.
        expect(ticks(page).nth(44)).to_be_focused()


def test_selected_ones_are_cancelled_and_the_filters_stay(desk, open_page, tenant):
    with open_page() as page:
        open_list(desk, page, tenant, "?agent=store-support")
        for number in (0, 1, 2):
            ticks(page).nth(number).check()
        bar(page).get_by_role("button", name="Cancel 3 follow-ups").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("c-1, r1, due in")
        expect(dialog.get_by_label("Why")).to_be_focused()
        page.keyboard.press("Escape")
        expect(bar(page)).to_contain_text("3 selected")
        bar(page).get_by_role("button", name="Cancel 3 follow-ups").click()
        dialog.get_by_label("Why").fill(WHY)
        dialog.get_by_role("button", name="Cancel 3 follow-ups").click()
        expect(page.get_by_role("status").filter(has_text="Cancelled 3 follow-ups.")).to_be_visible()
        assert urlsplit(page.url).query == "agent=store-support"
        expect(page.locator("tbody tr")).to_have_count(3)
        page.get_by_role("link", name="Show the result").click()
        expect(page.get_by_role("heading", name="Cancel 3 follow-ups")).to_be_visible()
        expect(page.locator("#results")).to_contain_text("c-2, r2")
    assert status_of(desk, tenant) == ["cancelled"] * 3 + ["pending"] * 3


def test_ticks_stay_where_an_act_changes_one_row(desk, open_page, tenant):
    with open_page() as page:
        open_list(desk, page, tenant)
        ticks(page).nth(0).check()
        ticks(page).nth(1).check()
        row = page.locator("tbody tr").first
        row.get_by_role("button", name="Cancel").click()
        expect(row).to_contain_text("Cancelled")
        expect(bar(page)).to_contain_text("1 selected")


def test_all_that_match_are_done_by_a_worker_with_a_bar_that_ends(desk, open_page, tenant):
    now = clock.now()

    def book(session):
        for number in range(100):
            create_followup(session, tenant, now=now, customer=f"d-{number}")

    desk.tell(book)
    with open_page() as page:
        open_list(desk, page, tenant)
        top = page.locator("tbody tr").first.bounding_box()
        page.get_by_label("Select all rows of this page").check()
        bar(page).get_by_role("button", name="Select all 106 that match").click()
        expect(bar(page)).to_contain_text("All 106 that match")
        # With the filters in words, on the one line that the bar is.
        expect(bar(page)).to_contain_text("Pending")
        assert page.locator("tbody tr").first.bounding_box() == top
        button = bar(page).get_by_role("button", name="Cancel 106 follow-ups")
        expect(button).to_be_focused()
        button.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Why").fill(WHY)
        dialog.get_by_label("Type 106").fill("105")
        dialog.get_by_role("button", name="Cancel 106 follow-ups").click()
        expect(dialog).to_contain_text("Must be 106, the number of them.")
        expect(dialog.get_by_label("Why")).to_have_value(WHY)
        dialog.get_by_label("Type 106").fill("106")
        dialog.get_by_role("button", name="Cancel 106 follow-ups").click()
        page.wait_for_url(re.compile(r"/bulk/[0-9a-f-]+$"))
        progress = page.locator("#progress")
        expect(progress).to_contain_text("0 done, 106 to go")
        operation = UUID(page.url.rsplit("/", 1)[1])
        stop = page.get_by_role("button", name="Stop")
        stop.focus()
        desk.tell(lambda session: bulk.go_on(session, operation, most=40))
        expect(progress).to_contain_text("40 done, 66 to go")
        # The table goes along with the bar.
        expect(page.locator("#results")).to_contain_text("Waiting")
        expect(page.locator("#result-40")).to_contain_text("Done")
        # What is read again leaves the focus where it was.
        expect(stop).to_be_focused()
        stop.press("Enter")
        expect(progress).to_contain_text("40 done, 66 left as they were")
        expect(page.locator("#results")).to_contain_text("Left as it was 66")
        expect(progress).not_to_have_attribute("hx-get", re.compile("."))


def test_everything_works_as_plain_forms(desk, open_page, tenant):
    with open_page(java_script_enabled=False) as page:
        open_list(desk, page, tenant)
        expect(bar(page)).to_be_hidden()
        ticks(page).nth(0).check()
        page.get_by_role("button", name="Cancel the ticked ones").click()
        expect(page.get_by_role("heading", name="Cancel 1 follow-up")).to_be_visible()
        page.get_by_label("Why").fill(WHY)
        page.get_by_role("button", name="Cancel 1 follow-up").click()
        expect(page.locator("#toasts")).to_contain_text("Cancelled 1 follow-up.")
        page.get_by_role("button", name="Cancel all that match").click()
        page.get_by_label("Why").fill(WHY)
        page.get_by_role("button", name="Cancel 5 follow-ups").click()
        expect(page.locator("#toasts")).to_contain_text("Cancelled 5 follow-ups.")
        page.goto(f"{desk.url}/{tenant.key}/bulk")
        expect(page.locator("tbody tr")).to_have_count(2)
    assert status_of(desk, tenant) == ["cancelled"] * 6


def test_bar_is_within_reach_of_a_thumb_on_a_phone(desk, open_page, tenant):
    with open_page(viewport=NARROW) as page:
        open_list(desk, page, tenant)
        first = page.locator("tbody tr").first
        top = first.bounding_box()
        ticks(page).nth(0).check()
        assert first.bounding_box() == top
        button = bar(page).get_by_role("button", name="Cancel 1 follow-up")
        box = button.bounding_box()
        assert box["height"] >= 33 and box["y"] + box["height"] <= NARROW["height"]
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        button.click()
        expect(page.get_by_role("dialog")).to_be_visible()


@EACH
def test_axe_finds_nothing_serious_while_rows_are_acted_on_together(desk, open_page, tenant, size, scheme):
    with open_page(viewport=size, color_scheme=scheme) as page:
        open_list(desk, page, tenant)
        ticks(page).nth(0).check()
        settled(page)
        check(page, "selected")
        bar(page).get_by_role("button", name="Cancel 1 follow-up").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Why").fill(WHY)
        check(page, "asked")
        dialog.get_by_role("button", name="Cancel 1 follow-up").click()
        page.get_by_role("link", name="Show the result").click()
        expect(page.locator("#results")).to_be_visible()
        check(page, "result")
        page.get_by_role("link", name="Bulk work").first.click()
        settled(page)
        check(page, "operations")
