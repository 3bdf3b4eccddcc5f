"""All components in all their states: axe, nothing wider than the screen, more contrast, paper."""

import pytest

from tests.browser.served import NARROW, WIDE
from tests.browser.test_accessibility import check

pytestmark = pytest.mark.slow

PAGE = "/dev/components"
ASKS = ("fields", "danger", "refused", "sample", "told")


@pytest.fixture(scope="module")
def shown(desk):
    desk.tenant("parts")
    return desk


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_axe_finds_nothing_serious_in_any_component(shown, open_page, size, scheme):
    with open_page(viewport=size, color_scheme=scheme) as page:
        shown.sign_in(page, "lead@parts.test")
        page.goto(f"{shown.url}{PAGE}")
        page.wait_for_load_state("networkidle")
        check(page, "components")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "wider than the screen"
        for name in ASKS:
            page.goto(f"{shown.url}{PAGE}/asks/{name}")
            check(page, name)


@pytest.mark.parametrize("contrast", ["more", "forced"])
def test_components_are_read_as_well_with_more_contrast(shown, open_page, contrast):
    given = {"contrast": "more"} if contrast == "more" else {"forced_colors": "active"}
    with open_page(**given) as page:
        shown.sign_in(page, "lead@parts.test")
        page.goto(f"{shown.url}{PAGE}")
        page.wait_for_load_state("networkidle")
        check(page, contrast)
        # The tab at hand is told from the others, and no other is underlined like it.
        edges = page.locator("#tabs a").evaluate_all(
            "tabs => tabs.map(tab => getComputedStyle(tab).borderBlockEndColor)"
        )
        assert len(set(edges)) == 2 and edges.count(edges[0]) == 1


def test_each_heading_stands_over_its_own_cells(shown, open_page):
    with open_page() as page:
        shown.sign_in(page, "lead@parts.test")
        page.goto(f"{shown.url}{PAGE}")
        place = "all => all.map(one => Math.round(one.getBoundingClientRect().left))"
        heads = page.locator(".list thead th").evaluate_all(place)
        assert len(heads) == 8
        assert heads == page.locator(".list tbody tr").first.locator("td").evaluate_all(place)
        # What needs a person is drawn as on the overview: a shape, and its button in a column beside it.
        for need in page.locator(".need").all():
            assert need.locator(".big .shape").count() == 1
            assert need.locator("a.button").bounding_box()["width"] < need.bounding_box()["width"] / 4


def test_list_on_paper_has_every_column_and_nothing_to_press(shown, open_page):
    with open_page(viewport=NARROW) as page:
        shown.sign_in(page, "lead@parts.test")
        page.goto(f"{shown.url}{PAGE}")
        page.wait_for_load_state("networkidle")
        page.emulate_media(media="print")
        for name in ("Due", "Customer", "Reason", "Agent", "Arm"):
            assert page.get_by_role("columnheader", name=name).is_visible(), name
        for hidden in (".rail", ".bar", ".filters", "#tabs", ".list td.acts", ".export"):
            assert not page.locator(hidden).first.is_visible(), hidden


def test_button_that_is_off_looks_off_under_the_pointer(shown, open_page):
    drawn = "one => { const as = getComputedStyle(one); return [as.color, as.backgroundColor]; }"
    with open_page() as page:
        shown.sign_in(page, "lead@parts.test")
        page.goto(f"{shown.url}{PAGE}")
        for kind in ("primary", "danger", "plain"):
            for name in (f"Off, {kind}", f"Under way, {kind}"):
                button = page.get_by_role("button", name=name)
                page.mouse.move(0, 0)
                before = button.evaluate(drawn)
                button.hover(force=True)
                assert button.evaluate(drawn) == before, name
