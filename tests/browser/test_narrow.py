"""At 390 px: everything of the frame can be seen and pressed."""

import pytest
from playwright.sync_api import expect

from tests.browser.served import NARROW

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
