"""What a person sees while an answer is on its way, and when none comes that can be used."""

import pytest
from playwright.sync_api import expect

from models import clock
from tests.browser.pages import FollowUps
from tests.support.create import create_followup

pytestmark = pytest.mark.slow


@pytest.fixture
def row(desk, request):
    """A follow-up of its own in acme."""
    acme = desk.tenant()
    customer = f"waits-{request.node.name[:40]}"
    desk.tell(lambda session: create_followup(session, acme, now=clock.now(), customer=customer))
    return customer


def test_act_under_way_is_told_and_nothing_moves(desk, row, open_page):
    with open_page() as page:
        desk.sign_in(page)
        found = FollowUps(page, desk.url).open(f"?customer={row}")
        held = []
        page.route("**/cancellation", lambda route: held.append(route))
        before = found.row(row).bounding_box()
        found.cancel(row)
        expect(found.row(row).locator("form[aria-busy=true] button")).to_be_disabled()
        assert found.row(row).bounding_box() == before
        held[0].continue_()
        found.says("Cancelled the follow-up to")
        expect(page.locator("[aria-busy]")).to_have_count(0)


@pytest.mark.usefixtures("cut_off")
def test_dialog_that_failed_is_told_with_the_request_and_the_page_stays(desk, row, open_page):
    with open_page() as page:
        desk.sign_in(page)
        found = FollowUps(page, desk.url).open(f"?customer={row}")
        page.route(
            "**/rescheduling*", lambda route: route.continue_(url=f"{desk.url}/dev/components/errors/503")
        )
        found.row(row).get_by_role("link", name="Reschedule").click()
        toast = page.locator("[data-toast]")
        expect(toast).to_contain_text("Request ")
        assert page.locator("dialog[open]").count() == 0
        expect(found.row(row)).to_be_visible()
