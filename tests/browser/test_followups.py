"""What an operator does with follow-ups, in a real browser, on a real server, with and without scripts."""

import re
from datetime import timedelta
from itertools import count

import pytest
from playwright.sync_api import expect
from sqlalchemy import update

from models import bulk, clock
from models.followups.firing import fire_due
from models.followups.records import FollowUp
from tests.browser.pages import FollowUps
from tests.browser.served import NARROW
from tests.support.create import create_followup, create_good_run
from tests.support.declare import declared
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
_numbers = count(5_000)


@pytest.fixture
def followup(desk):
    """A pending follow-up to a customer of its own, due before all others."""
    acme = desk.tenant()
    return desk.tell(
        lambda session: create_followup(
            session,
            acme,
            now=clock.now(),
            customer=f"c-{next(_numbers)}",
            at=clock.now() + timedelta(minutes=6),
        )
    )


def fire(desk, followup):
    """What the sweep does when it is due, now."""
    now = clock.now()
    desk.tell(
        lambda session: bulk.execute_unaudited(
            session, update(FollowUp).where(FollowUp.id == followup.id).values(at=now - timedelta(seconds=3))
        )
    )
    desk.tell(lambda session: fire_due(session, declared=declared(), now=now, limit=1000))


def status(desk, followup):
    return desk.tell(lambda session: session.get_one(FollowUp, (followup.tenant_id, followup.id)).status)


@SCRIPTS
def test_cancel_is_done_and_said_when_pressed(desk, open_page, followup, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open("?agent=store-support")
        listed.cancel(followup.customer)
        listed.says(f"Cancelled the follow-up to {followup.customer}.")
        if scripts:
            listed.shows(followup.customer, "Cancelled")
            listed.shows(followup.customer, "by lead@acme.test")
        else:
            expect(listed.row(followup.customer)).to_have_count(0)
        assert page.url.endswith("/acme/followups?agent=store-support")
    assert status(desk, followup) == "cancelled"


@SCRIPTS
def test_cancel_is_refused_with_the_reason_when_it_fired_meanwhile(desk, open_page, followup, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open()
        fire(desk, followup)
        listed.cancel(followup.customer)
        listed.says("so it can't be cancelled.")
        if scripts:
            listed.shows(followup.customer, "Fired")
            expect(listed.row(followup.customer).get_by_role("button")).to_have_count(0)
    assert status(desk, followup) == "fired"


@SCRIPTS
def test_cancel_does_nothing_and_comes_back_when_signed_out_meanwhile(desk, open_page, followup, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open("?agent=store-support")
        if scripts:
            expect(listed.tab("Cancelled").locator(".c")).not_to_be_empty()
        page.context.clear_cookies()
        listed.cancel(followup.customer)
        page.wait_for_url("**/sign-in?to=**")
        assert "to=/acme/followups?agent%3Dstore-support" in page.url
        listed.says("You were signed out, so this was not done. Check what was saved")
    assert status(desk, followup) == "pending"


def test_cancel_acts_once_when_the_button_is_clicked_twice(desk, open_page, followup):
    with open_page() as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open()
        sent = []
        page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
        listed.row(followup.customer).get_by_role("button", name="Cancel").dblclick()
        listed.says("Cancelled the follow-up to")
        listed.shows(followup.customer, "Cancelled")
        assert len(sent) == 1


def test_cancel_is_done_on_the_page_of_one_follow_up(desk, open_page, followup):
    with open_page() as page:
        desk.sign_in(page)
        FollowUps(page, desk.url).open().row(followup.customer).get_by_role("link").first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(followup.customer)
        page.get_by_role("button", name="Cancel this follow-up").click()
        expect(page.get_by_text("Nothing was sent.")).to_be_visible()
        expect(page.get_by_text("Cancelled by lead@acme.test")).to_be_visible()
        # The same button, which now says why it is off.
        off = page.get_by_role("button", name=re.compile("Cancel this follow-up ?: It is cancelled"))
        expect(off).to_be_focused()


def test_cancel_works_by_keyboard_alone_and_keeps_its_place(desk, open_page, followup):
    with open_page() as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open(f"?customer={followup.customer}")
        for _press in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.matches('.act button')"):
                break
        page.keyboard.press("Enter")
        listed.says("Cancelled the follow-up to")
        # What was pressed is gone; the focus stays in its row.
        expect(listed.row(followup.customer).get_by_role("link").first).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("[data-toast]")).to_have_count(0)


def test_counts_arrive_after_the_page_and_only_with_scripts(desk, open_page, followup):
    with open_page() as page:
        desk.sign_in(page)
        expect(FollowUps(page, desk.url).open().tab("Pending")).to_have_text(re.compile(r"Pending\s+[1-9]"))
    with open_page(java_script_enabled=False) as page:
        desk.sign_in(page)
        expect(FollowUps(page, desk.url).open().tab("Pending")).to_have_text("Pending")


def test_filter_leaves_blank_fields_out_of_the_address(desk, open_page, followup):
    with open_page() as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open("?tab=fired")
        page.get_by_role("searchbox", name="Customer", exact=True).fill(followup.customer)
        page.get_by_role("button", name="Filter").click()
        page.wait_for_url(f"**/acme/followups?tab=fired&customer={followup.customer}")
        page.get_by_role("link", name="Remove the filter Customer").click()
        page.wait_for_url("**/acme/followups?tab=fired")
        page.go_back()
        expect(page.get_by_role("link", name="Remove the filter Customer")).to_be_visible()
        assert listed


def test_times_go_on_while_the_page_is_open(desk, open_page, followup):
    with open_page() as page:
        page.clock.install(time=clock.now())
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open(f"?customer={followup.customer}")
        listed.shows(followup.customer, "in 5 min")
        # Else the counts, still under way, would run into their time limit.
        expect(listed.tab("Cancelled").locator(".c")).not_to_be_empty()
        page.clock.fast_forward("07:00")
        listed.shows(followup.customer, "min ago")


def test_narrow_page_shows_cards_and_scrolls_only_downwards(desk, open_page, followup):
    with open_page(viewport=NARROW) as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open()
        expect(listed.row(followup.customer).get_by_role("button", name="Cancel")).to_be_visible()
        for address in (page.url, f"{page.url}/{followup.id}"):
            page.goto(address)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(page.get_by_role("navigation", name="Areas")).to_be_visible()


def test_page_fits_when_zoomed_to_twice_its_size(desk, open_page, followup):
    # 200 % zoom of a 1440 px window leaves 720 CSS pixels.
    with open_page(viewport={"width": 720, "height": 450}, device_scale_factor=2) as page:
        desk.sign_in(page)
        FollowUps(page, desk.url).open()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_menu_closes_by_escape_and_gives_the_focus_back(desk, open_page):
    desk.tenant()
    with open_page() as page:
        desk.sign_in(page)
        page.locator(".person summary").click()
        page.get_by_role("button", name="Sign out").focus()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
        expect(page.locator(".person summary")).to_be_focused()


def test_layout_does_not_shift_when_the_counts_arrive(desk, open_page, followup):
    with open_page() as page:
        desk.sign_in(page)
        page.add_init_script(
            "window.shifts = []; new PerformanceObserver((list) => window.shifts.push("
            "...list.getEntries().map((e) => e.value))).observe({type: 'layout-shift', buffered: true})"
        )
        listed = FollowUps(page, desk.url).open()
        expect(listed.tab("Cancelled").locator(".c")).not_to_be_empty()
        assert sum(page.evaluate("window.shifts")) < 0.01


def test_theme_follows_the_system_until_one_is_chosen(desk, open_page):
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    desk.tenant()
    with open_page(color_scheme="dark") as page:
        desk.sign_in(page)
        dark = page.evaluate(paper)
        page.locator(".person summary").click()
        page.get_by_role("button", name="Light", exact=True).click()
        page.wait_for_load_state()
        assert page.evaluate(paper) != dark
        page.reload()
        assert page.evaluate(paper) != dark


@pytest.mark.parametrize("width", [768, 834, 900, 1025, 1280])
def test_reason_has_room_at_every_width(desk, open_page, followup, width):
    with open_page(viewport={"width": width, "height": 1000}) as page:
        desk.sign_in(page)
        row = FollowUps(page, desk.url).open().row(followup.customer)
        assert row.locator(".r").bounding_box()["width"] > 150
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_bar_fits_on_the_smallest_screen(desk, open_page, followup):
    with open_page(viewport={"width": 320, "height": 640}) as page:
        desk.sign_in(page)
        FollowUps(page, desk.url).open()
        for part in (".bar", "html"):
            fits = (
                "(part) => { const e = document.querySelector(part); return e.scrollWidth <= e.clientWidth }"
            )
            assert page.evaluate(fits, part), part


def test_row_stays_when_an_answer_is_not_the_desks(desk, open_page, followup, cut_off):
    with open_page() as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open()
        html = "<html><body><h1>502 Bad Gateway</h1></body></html>"
        page.route(
            "**/cancellation", lambda route: route.fulfill(status=502, content_type="text/html", body=html)
        )
        listed.cancel(followup.customer)
        listed.says("No answer that can be read. Reload to see whether it was done.")
        listed.shows(followup.customer, "Pending")
        expect(page.get_by_text("Bad Gateway")).to_have_count(0)
        # It can be tried again.
        page.unroute("**/cancellation")
        listed.cancel(followup.customer)
        listed.says("Cancelled the follow-up to")


def test_row_stays_and_the_page_says_so_when_the_network_is_gone(desk, open_page, followup, cut_off):
    with open_page() as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open()
        expect(listed.tab("Cancelled").locator(".c")).not_to_be_empty()
        page.context.set_offline(True)
        listed.cancel(followup.customer)
        listed.says("The desk can't be reached. Nothing is known to have been done; reload to see.")
        listed.shows(followup.customer, "Pending")
    assert status(desk, followup) == "pending"


def test_counts_are_read_again_after_an_act(desk, open_page, followup):
    with open_page() as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open(f"?customer={followup.customer}")
        expect(listed.tab("Pending")).to_have_text(re.compile(r"Pending\s+1"))
        listed.cancel(followup.customer)
        expect(listed.tab("Pending")).to_have_text(re.compile(r"Pending\s+0"))
        expect(listed.tab("Cancelled")).to_have_text(re.compile(r"Cancelled\s+1"))


def test_current_tab_is_in_view_on_a_narrow_screen(desk, open_page, followup):
    with open_page(viewport=NARROW) as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open("?tab=cancelled")
        expect(listed.tab("Cancelled")).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("heading", level=1)).to_have_text("Follow-ups: cancelled")


def test_page_says_how_old_it_is_and_the_next_run_stops_at_now(desk, open_page, followup):
    with open_page() as page:
        page.clock.install(time=clock.now())
        desk.sign_in(page)
        desk.tell(lambda session: create_good_run(session, "fire_followups", now=clock.now()))

        def names_the_next_run():
            page.goto(f"{desk.url}/acme/agents")
            return page.locator(".next").count()

        # The web process may remember for some seconds that the sweep was late.
        eventually(names_the_next_run, what="the next run is named")
        expect(page.locator("[data-age]")).to_be_hidden()
        # What is still asked for would have run out of time by the page's clock.
        page.wait_for_load_state("networkidle")
        page.clock.fast_forward("02:00")
        expect(page.locator("[data-age]")).to_have_text("read 2 min ago")
        expect(page.locator(".next")).to_have_text("Next run: now")


def test_print_shows_the_list_without_what_can_only_be_pressed(desk, open_page, followup):
    with open_page(color_scheme="dark") as page:
        desk.sign_in(page)
        listed = FollowUps(page, desk.url).open()
        page.emulate_media(media="print", color_scheme="dark")
        for hidden in (".rail", ".filters", ".bar", ".acts >> nth=0"):
            expect(page.locator(hidden)).to_be_hidden()
        expect(listed.row(followup.customer)).to_be_visible()
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
