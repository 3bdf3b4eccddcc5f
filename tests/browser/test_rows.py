"""What stands in a row has room beside what else stands there, on a wide screen and on a narrow one."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect
from sqlalchemy import select, update

from models import clock, demo
from models.followups import transitions
from models.followups.records import AgentTask
from tests.browser.pages import FollowUps
from tests.browser.served import NARROW, SETTER_UP, WIDE
from tests.support.create import create_followup

pytestmark = pytest.mark.slow

SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1440", "390"])
# The cells whose own words reach beyond them, and the rows whose cells cover one another.
SPILLS = """() => [...document.querySelectorAll('.list tbody tr')].flatMap((row) => {
  const own = row.querySelector('td.s .state').getBoundingClientRect();
  const cell = row.querySelector('td.s').getBoundingClientRect();
  const next = row.querySelector('td.w').getBoundingClientRect();
  const covers = own.right > next.left + 0.5 && own.left < next.right && own.bottom > next.top + 0.5 &&
    own.top < next.bottom;
  return own.right > cell.right + 0.5 || covers ? [row.textContent.trim().slice(0, 40)] : [];
})"""


@pytest.fixture(scope="module")
def filled(desk):
    acme = desk.tenant("shown")
    desk.tell(lambda session: demo.fill(session, acme, now=clock.now()))
    stranded = select(AgentTask.id).where(AgentTask.tenant_id == acme.id).order_by(AgentTask.id)

    def mark(session):
        ids = session.scalars(stranded).all()
        for id, state in zip(ids, ("queued", "dispatched", "failed"), strict=False):
            earlier = clock.now() - timedelta(hours=2)
            session.execute(
                update(AgentTask).where(AgentTask.id == id).values(status=state, updated_at=earlier)
            )

    desk.tell(mark)
    return acme


@SIZES
def test_each_word_of_a_state_has_room(desk, open_page, filled, size):
    with open_page(viewport=size) as page:
        desk.sign_in(page, "lead@shown.test")
        seen = set()
        for tab in ("pending", "overdue", "blocked", "fired", "cancelled", "fired&task=unfinished"):
            FollowUps(page, desk.url, "shown").open(f"?tab={tab}")
            seen |= {word.strip() for word in page.locator(".list td.s .state").all_inner_texts()}
            assert page.evaluate(SPILLS) == [], tab
        assert {"Pending", "Blocked", "Fired", "Cancelled", "Not taken", "Not finished"} <= seen


def test_exact_time_takes_the_place_of_the_relative_one_alone(desk, open_page, filled):
    followup = desk.tell(
        lambda session: create_followup(session, filled, now=clock.now(), customer="c-beside")
    )
    desk.tell(
        lambda session: transitions.cancel(session, filled.id, followup.id, actor=SETTER_UP, now=clock.now())
    )
    with open_page() as page:
        desk.sign_in(page, "lead@shown.test")
        row = FollowUps(page, desk.url, "shown").open("?tab=cancelled&customer=c-beside").row("c-beside")
        cell, tall = row.locator("td.w"), row.bounding_box()["height"]
        expect(cell.locator("time")).to_be_visible()
        for point in (cell.hover, row.get_by_role("link").first.focus):
            point()
            expect(cell.get_by_text("by tests")).to_be_visible()
            expect(cell.locator(".exact")).to_be_visible()
            expect(cell.locator("time")).to_be_hidden()
            assert row.bounding_box()["height"] == tall
            page.mouse.move(0, 0)


@SIZES
def test_number_of_the_navigation_leads_to_its_lines(desk, open_page, filled, size):
    with open_page(viewport=size) as page:
        desk.sign_in(page, "lead@shown.test")
        FollowUps(page, desk.url, "shown").open()
        page.locator("#needs-followups a").click()
        page.wait_for_url("**/shown#need-followups")
        expect(page.locator("#need-followups")).to_be_in_viewport()


@pytest.mark.parametrize("width", [1025, 1281, 1409, 1440])
def test_reason_has_the_most_room_of_all_columns(desk, open_page, filled, width):
    with open_page(viewport={"width": width, "height": 900}) as page:
        desk.sign_in(page, "lead@shown.test")
        for tab in ("pending", "blocked", "fired"):
            FollowUps(page, desk.url, "shown").open(f"?tab={tab}")
            heads = page.get_by_role("columnheader").filter(visible=True)
            wide = heads.evaluate_all(
                "all => Object.fromEntries(all.map(one => [one.innerText, one.clientWidth]))"
            )
            reason = wide.pop("Reason")
            # Where the columns are about to become cards, little is left to give.
            assert reason >= (300 if width > 1280 else 160), tab
            assert width < 1280 or reason > max(wide.values()), tab
            cut = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
            assert page.locator("td.a .clip").filter(visible=True).evaluate_all(cut) == [], tab


@SIZES
def test_events_are_as_high_as_one_another_and_tell_who_from_whom(desk, open_page, filled, size):
    with open_page(viewport=size) as page:
        desk.sign_in(page, "lead@shown.test")
        page.goto(f"{desk.url}/shown/audit?kind=followup")
        rows = page.locator(".list tbody tr")
        assert page.locator("td.r .sub a").count() > rows.count()
        by = page.locator("td.a .card").first
        if size is WIDE:
            assert len(set(rows.evaluate_all("all => all.map(one => one.offsetHeight)"))) == 1
            expect(by).to_be_hidden()
        else:
            expect(page.locator("td.a").first).to_have_text(re.compile("^by "))
