"""Where there is little room: everything can be seen and pressed, and nothing moves from page to page."""

import pytest
from playwright.sync_api import expect

from models import clock
from tests.browser.served import NARROW, WIDE
from tests.browser.test_accessibility import settled
from tests.support.create import create_followup

pytestmark = pytest.mark.slow


def inside(page, locator):
    """Whether the whole of it lies within the page's width."""
    box = locator.bounding_box()
    return box is not None and box["x"] >= 0 and box["x"] + box["width"] <= page.viewport_size["width"]


def test_account_menu_lies_within_the_page(desk, open_page):
    with open_page(viewport=NARROW) as page:
        desk.tenant()
        desk.sign_in(page)
        page.goto(f"{desk.url}/acme")
        summary = page.locator(".person summary")
        assert summary.evaluate("e => getComputedStyle(e, '::after').content") != "none"
        summary.click()
        controls = page.locator(".person .sheet :is(a, button)")
        expect(controls.first).to_be_visible()
        assert controls.count() >= 5
        assert [i for i in range(controls.count()) if not inside(page, controls.nth(i))] == []


def test_navigation_shows_all_areas_in_two_lines(desk, open_page):
    with open_page(viewport=NARROW) as page:
        desk.tenant()
        desk.sign_in(page)
        page.goto(f"{desk.url}/acme")
        links = page.locator(".areas a:not(.n)")
        assert links.count() >= 7
        assert [i for i in range(links.count()) if not inside(page, links.nth(i))] == []
        assert len({links.nth(i).bounding_box()["y"] for i in range(links.count())}) == 2


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_no_area_and_no_tab_moves_when_another_is_at_hand(desk, open_page, size):
    desk.tenant()
    places = "all => all.map(one => [one.offsetLeft, one.offsetTop])"
    with open_page(viewport=size) as page:
        desk.sign_in(page)

        def placed(found, paths):
            seen = []
            for path in paths:
                page.goto(f"{desk.url}/acme{path}")
                settled(page)
                seen.append(page.locator(found).evaluate_all(places))
            return seen

        areas = placed(".areas li > a", ("", "/followups", "/agents", "/deliveries", "/sweeps", "/audit"))
        assert len(areas[0]) >= 7 and areas == [areas[0]] * len(areas)
        tabs = placed(".tabs a", [f"/followups?tab={tab}" for tab in ("pending", "overdue", "fired")])
        # How far down they stand is a matter of the heading.
        along = [[left for left, _top in one] for one in tabs]
        assert len(along[0]) == 5 and along == [along[0]] * len(along)


@pytest.mark.parametrize("width", [320, 961, 1024, 1100, 1440])
def test_exact_times_stay_within_their_panel(desk, open_page, width):
    acme, now = desk.tenant(), clock.now()
    followup = desk.tell(lambda session: create_followup(session, acme, now=now, customer=f"c-{width}").id)
    with open_page(viewport={"width": width, "height": 900}) as page:
        desk.sign_in(page)
        page.goto(f"{desk.url}/acme/followups/{followup}")
        assert page.locator(".facts time").count() >= 4
        too_wide = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
        assert page.locator(".facts dd").evaluate_all(too_wide) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
