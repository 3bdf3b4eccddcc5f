"""A page that is left open: it is read again without moving under anybody's hands."""

import re
from contextlib import contextmanager
from datetime import timedelta
from itertools import count

import click
import pytest
from playwright.sync_api import expect
from sqlalchemy import delete, select

from jobs.schedule import SWEEPS
from models import clock, preferences, sweep_states, tenants
from models.followups import transitions
from models.operators import Operator
from models.sweeps import SweepRun
from tests.browser.pages import FollowUps
from tests.browser.served import NARROW, SETTER_UP
from tests.browser.test_followups import fire
from tests.support.create import create_followup, create_good_run
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

_numbers = count(20_000)
SHIFTS = """
    window.shifts = [];
    const told = (node) => node && (node.outerHTML || node.textContent).slice(0, 120);
    new PerformanceObserver((list) => list.getEntries().forEach((one) => window.shifts.push(
        [one.value, ...one.sources.map((from) => told(from.node))]
    ))).observe({ type: "layout-shift", buffered: true });
"""


HIDE = """
    (hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }
"""


@pytest.fixture
def acme(desk):
    return desk.tenant()


@pytest.fixture
def agent():
    """An agent of its own, so that the list holds what the test made alone."""
    return f"refreshed-{next(_numbers)}"


def book(desk, acme, agent, customer, minutes=7):
    return desk.tell(
        lambda session: create_followup(
            session,
            acme,
            now=clock.now(),
            customer=customer,
            agent=agent,
            at=clock.now() + timedelta(minutes=minutes),
        )
    )


def cancel(desk, acme, *followups):
    def work(session):
        for one in followups:
            transitions.cancel(session, acme.id, one.id, actor=SETTER_UP, now=clock.now())

    desk.tell(work)


def reschedule(desk, acme, *followups):
    def work(session):
        for one in followups:
            at = clock.now() + timedelta(days=5)
            transitions.reschedule(session, acme.id, one.id, at, actor=SETTER_UP, now=clock.now())

    desk.tell(work)


def refresh(page):
    """Let it be now, not in some seconds; the page then asks, or doesn't, as it would have."""
    page.evaluate("document.dispatchEvent(new CustomEvent('desk:refresh'))")


@contextmanager
def listed(desk, open_page, agent, **given):
    with open_page(**given) as page:
        page.add_init_script(SHIFTS)
        desk.sign_in(page)
        yield FollowUps(page, desk.url).open(f"?agent={agent}")


def shifts(page):
    """What moved by itself, and how far."""
    return page.evaluate("window.shifts")


@pytest.mark.parametrize("size", [None, NARROW], ids=["wide", "narrow"])
def test_rows_change_in_place_are_greyed_when_they_left_and_announced_when_new(
    desk, open_page, acme, agent, size
):
    stays, moves, goes = (book(desk, acme, agent, f"c-{name}-{agent}") for name in ("stays", "moves", "goes"))
    with listed(desk, open_page, agent, **({"viewport": size} if size else {})) as followups:
        page = followups.page
        before = page.locator("tbody tr").evaluate_all("(rows) => rows.map((row) => row.id)")
        reschedule(desk, acme, moves)
        cancel(desk, acme, goes)
        book(desk, acme, agent, f"c-new-{agent}", minutes=6)
        refresh(page)
        expect(followups.row(goes.customer)).to_have_class(re.compile("gone"))
        followups.shows(goes.customer, "Cancelled")
        followups.shows(goes.customer, "by tests")
        expect(followups.row(goes.customer).get_by_role("button", name="Cancel")).to_have_count(0)
        expect(followups.row(moves.customer).locator("[name=version]")).to_have_value("2")
        expect(page.get_by_role("link", name="1 new, show")).to_be_visible()
        expect(page.locator("[data-live]")).to_contain_text("2 rows changed, 1 new, show.")
        after = page.locator("tbody tr").evaluate_all("(rows) => rows.map((row) => row.id)")
        assert after == before
        assert shifts(page) == []
        page.get_by_role("link", name="1 new, show").click()
        expect(followups.row(f"c-new-{agent}")).to_be_visible()
        expect(followups.row(goes.customer)).to_have_count(0)
    assert stays


def test_row_that_was_put_in_can_be_acted_on(desk, open_page, acme, agent):
    followup = book(desk, acme, agent, f"c-{agent}")
    with listed(desk, open_page, agent) as followups:
        reschedule(desk, acme, followup)
        refresh(followups.page)
        expect(followups.row(followup.customer).locator("[name=version]")).to_have_value("2")
        followups.cancel(followup.customer)
        followups.says("Cancelled the follow-up to")
        refresh(followups.page)
        followups.says("Cancelled the follow-up to")


def test_nothing_changes_while_rows_are_ticked_and_all_is_shown_afterwards(desk, open_page, acme, agent):
    made = [book(desk, acme, agent, f"c-{number}-{agent}") for number in range(50)]
    with listed(desk, open_page, agent) as followups:
        page = followups.page
        tick = followups.row(made[3].customer).locator("[data-tick]")
        tick.check()
        # At once, which is before the next beat.
        assert re.search(
            "Paused while you select, read at [0-9:]{8}$", page.locator("[data-says]").inner_text()
        )
        cancel(desk, acme, *made)
        refresh(page)
        expect(page.get_by_text("Paused while you select").first).to_be_visible()
        expect(tick).to_be_checked()
        expect(page.locator("tr.gone")).to_have_count(0)
        tick.uncheck()
        refresh(page)
        expect(page.locator("tr.gone")).to_have_count(50)
        assert shifts(page) == []


def test_focus_stays_on_the_same_control_when_its_row_changes(desk, open_page, acme, agent):
    followup = book(desk, acme, agent, f"c-{agent}")
    with listed(desk, open_page, agent) as followups:
        button = followups.row(followup.customer).get_by_role("button", name="Cancel")
        button.focus()
        reschedule(desk, acme, followup)
        refresh(followups.page)
        expect(followups.row(followup.customer).locator("[name=version]")).to_have_value("2")
        expect(button).to_be_focused()
        cancel(desk, acme, followup)
        refresh(followups.page)
        expect(followups.row(followup.customer).get_by_role("link").first).to_be_focused()


def test_it_rests_while_a_question_or_a_menu_is_open(desk, open_page, acme, agent):
    followup = book(desk, acme, agent, f"c-{agent}")
    with listed(desk, open_page, agent) as followups:
        page = followups.page
        followups.row(followup.customer).get_by_role("link", name="Reschedule").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        reschedule(desk, acme, followup)
        refresh(page)
        expect(page.locator("[data-says]")).to_have_text(
            re.compile("^Paused while a question is open, read at [0-9:]{8}$")
        )
        page.get_by_role("link", name="Leave it").click()
        page.locator("details.person summary").click()
        refresh(page)
        expect(page.locator("[data-says]")).to_have_text(
            re.compile("^Paused while a menu is open, read at [0-9:]{8}$")
        )
        expect(followups.row(followup.customer).locator("[name=version]")).to_have_value("1")
        page.keyboard.press("Escape")
        refresh(page)
        expect(followups.row(followup.customer).locator("[name=version]")).to_have_value("2")


def test_it_rests_while_the_tab_is_hidden_and_goes_on_at_once(desk, open_page, acme, agent):
    followup = book(desk, acme, agent, f"c-{agent}")
    with listed(desk, open_page, agent) as followups:
        page = followups.page
        page.evaluate(HIDE, True)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        reschedule(desk, acme, followup)
        refresh(page)
        assert asked == []
        page.evaluate(HIDE, False)
        expect(followups.row(followup.customer).locator("[name=version]")).to_have_value("2")


def test_counts_follow_what_changed(desk, open_page, acme, agent):
    followup = book(desk, acme, agent, f"c-{agent}")
    with listed(desk, open_page, agent) as followups:
        expect(followups.tab("Pending").locator(".c")).to_have_text("1")
        cancel(desk, acme, followup)
        refresh(followups.page)
        expect(followups.tab("Pending").locator(".c")).to_have_text("0")
        expect(followups.tab("Cancelled").locator(".c")).to_have_text("1")


def test_it_says_so_and_goes_on_when_the_desk_could_not_be_reached(desk, open_page, acme, agent, cut_off):
    followup = book(desk, acme, agent, f"c-{agent}")
    with listed(desk, open_page, agent) as followups:
        page = followups.page
        page.context.set_offline(True)
        refresh(page)
        expect(page.locator("[data-says]")).to_contain_text("Not refreshed for")
        page.context.set_offline(False)
        reschedule(desk, acme, followup)
        refresh(page)
        expect(page.locator("[data-says]")).to_contain_text("Read at")
        expect(followups.row(followup.customer).locator("[name=version]")).to_have_value("2")


def test_it_says_so_and_stops_when_signed_out(desk, open_page, acme, agent):
    book(desk, acme, agent, f"c-{agent}")
    with listed(desk, open_page, agent) as followups:
        page = followups.page
        # The counts come after the page, and would lead away themselves.
        expect(followups.tab("Pending").locator(".c")).not_to_be_empty()
        page.context.clear_cookies()
        refresh(page)
        expect(page.locator("[data-says]")).to_contain_text("You are signed out.")
        page.get_by_role("link", name="Sign in").click()
        page.wait_for_url("**/sign-in?to=**")


def test_it_stops_and_offers_a_reload_when_the_desk_was_updated(desk, open_page, acme, agent):
    followup = book(desk, acme, agent, f"c-{agent}")
    with listed(desk, open_page, agent) as followups:
        page = followups.page
        page.evaluate("document.getElementById('fresh').dataset.page = '/static/js/refresh.js?v=older'")
        reschedule(desk, acme, followup)
        refresh(page)
        expect(page.locator("[data-says]")).to_have_text("The desk was updated. Reload")
        expect(followups.row(followup.customer).locator("[name=version]")).to_have_value("1")


def test_page_of_one_says_that_it_moved_and_changes_nothing_by_itself(desk, open_page, acme):
    followup = book(desk, acme, "store-support", f"c-{next(_numbers)}")
    with open_page() as page:
        page.add_init_script(SHIFTS)
        desk.sign_in(page)
        page.goto(f"{desk.url}/acme/followups/{followup.id}")
        fire(desk, followup)
        refresh(page)
        expect(page.locator("[data-moved]")).to_contain_text("This changed: fired. Show it")
        expect(page.get_by_role("button", name="Cancel this follow-up")).to_be_visible()
        assert shifts(page) == []
        page.get_by_role("link", name="Show it").click()
        expect(page.get_by_text("Fired").first).to_be_visible()
        expect(page.locator("[data-moved]")).to_be_empty()


def test_nothing_that_needs_a_script_is_shown_when_there_is_none(desk, open_page, acme, agent):
    book(desk, acme, agent, "c-plain")
    with listed(desk, open_page, agent, java_script_enabled=False) as followups:
        page = followups.page
        expect(page.locator("[data-says]")).to_be_visible()
        expect(page.locator(".fresh .every")).to_be_hidden()
        expect(page.locator("[data-tick-all]")).to_be_hidden()
        expect(page.locator("[data-tick]")).to_be_visible()


def test_interval_is_chosen_in_the_list(desk, open_page, acme, agent):
    def chosen():
        query = select(Operator).where(Operator.email == "lead@acme.test")
        return desk.tell(lambda session: preferences.refresh_of(session.scalars(query).one()))

    with listed(desk, open_page, agent) as followups:
        page = followups.page
        for value in ("60", "10", "0"):
            page.get_by_role("combobox", name="Refresh every").select_option(value)
            followups.says("Lists are read again")
            eventually(lambda value=value: chosen() == int(value), what="it is kept")
        assert page.url.endswith(f"?agent={agent}")


def set_interval(desk, seconds):
    query = select(Operator).where(Operator.email == "lead@acme.test")
    desk.tell(lambda session: setattr(session.scalars(query).one(), "refresh_seconds", seconds))


@pytest.fixture
def every_ten_seconds(desk, acme):
    """As it is for whoever chose nothing."""
    set_interval(desk, None)
    yield
    set_interval(desk, 0)


@pytest.fixture
def every_sweep_ran(desk, acme):
    """No sweep is late though nothing runs them here; and a tenant where nothing waits."""
    before = desk.tell(lambda session: tenants.get(session, None).created_at)

    def ran(session):
        for name in SWEEPS:
            create_good_run(session, name, now=clock.now() + timedelta(minutes=10))

    desk.tell(ran)
    yield desk.tenant(f"open-{next(_numbers)}")
    desk.tell(lambda session: setattr(tenants.get(session, None), "created_at", before))


def open_well(page):
    """How the sweeps stand is kept for some seconds, perhaps from a test before."""
    health = page.locator("#health a.state")
    is_well = lambda: page.reload() and health.inner_text() == "Sweeps on time"  # noqa: E731
    eventually(is_well, within=20, what="the sweeps are known to be on time")


def test_requests_of_an_idle_page_are_few(desk, open_page, acme, agent, every_ten_seconds, every_sweep_ran):
    """By the page's own clock, moved on by a minute."""
    book(desk, acme, agent, f"c-{agent}")
    with open_page() as page:
        desk.sign_in(page)
        open_well(page)
        page.clock.install()
        followups = FollowUps(page, desk.url).open(f"?agent={agent}")
        expect(followups.tab("Pending").locator(".c")).not_to_be_empty()
        seen = []
        page.on("response", lambda answer: seen.append((answer.status, answer.request.url)))
        for _step in range(60):
            before = len(seen)
            page.clock.run_for(1_000)
            page.evaluate("1")
            assert len(seen) - before <= 1
        eventually(lambda: page.evaluate("1") and len(seen) >= 5, what="it was read again")
        statuses = [status for status, _url in seen]
        click.echo(f"\nrequests of an idle open list within a minute: {len(seen)}, answered {statuses}")
        assert len(seen) <= 6
        assert set(statuses) == {304}


@pytest.mark.parametrize("chosen", [60, 0], ids=["every minute", "off"])
def test_row_that_a_run_took_is_read_soon_and_never_waits_for_the_next(desk, open_page, acme, agent, chosen):
    """By the page's own clock; until the row was read again its time stays at `now`."""
    followup = book(desk, acme, agent, f"c-{agent}")
    set_interval(desk, chosen)
    with open_page() as page:
        desk.sign_in(page)
        page.clock.install()
        listed = FollowUps(page, desk.url).open(f"?agent={agent}")
        row = listed.row(followup.customer)
        row.locator(".w").evaluate(
            """(cell) => {
                const soon = new Date(Date.now() + 3000).toISOString();
                const time = `<time datetime="${soon}" data-expected data-next-run data-ticks></time>`;
                cell.querySelector(".sub").innerHTML = `not taken yet; next run ${time}`;
            }"""
        )
        fire(desk, followup)
        page.clock.run_for(2_500)
        expect(row.locator("[data-next-run]")).to_have_text(re.compile("^(in 1 s|now)$"))
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        if chosen:
            page.clock.run_for(4_000)
            expect(page.locator(f"tr.gone#followup-{followup.id}")).to_contain_text("Blocked")
        else:
            page.clock.run_for(20_000)
            assert asked == []
            expect(row.locator("[data-next-run]")).to_have_text("now")
    set_interval(desk, 0)


@pytest.mark.parametrize("way", ["back", "crumb"])
def test_focus_is_on_the_row_that_was_opened_when_coming_back(desk, open_page, acme, agent, way):
    made = [book(desk, acme, agent, f"c-{number}-{agent}") for number in range(3)]
    with listed(desk, open_page, agent) as followups:
        page = followups.page
        link = followups.row(made[1].customer).locator("a[data-focus]")
        link.click()
        page.wait_for_url(f"**/followups/{made[1].id}**")
        if way == "back":
            page.go_back()
        else:
            page.locator(".crumb a").first.click()
        page.wait_for_url(f"**agent={agent}")
        expect(link).to_be_focused()
        page.reload()
        expect(link).not_to_be_focused()


def test_sweep_is_shown_as_it_stands_in_its_place(desk, open_page, acme):
    def pause(on):
        with_whom = {"known": ["retention"], "actor": SETTER_UP, "now": clock.now()}
        if on:
            desk.tell(lambda session: sweep_states.pause(session, "retention", reason="r", **with_whom))
        else:
            desk.tell(lambda session: sweep_states.resume(session, "retention", **with_whom))

    with open_page() as page:
        page.add_init_script(SHIFTS)
        desk.sign_in(page)
        page.goto(f"{desk.url}/acme/sweeps")
        one = page.locator("#sweep-retention")
        height = one.bounding_box()["height"]
        pause(True)
        try:
            refresh(page)
            expect(
                one.get_by_text("Paused", exact=True).or_(page.get_by_text("More changed, show"))
            ).to_be_visible()
            assert one.bounding_box()["height"] == height
            assert shifts(page) == []
        finally:
            pause(False)


def test_more_is_offered_when_it_can_not_be_put_in_without_moving_rows(desk, open_page, acme, agent):
    followup = book(desk, acme, agent, f"c-{agent}")
    with listed(desk, open_page, agent) as followups:
        page = followups.page
        row = page.locator(f"#followup-{followup.id}")
        row.evaluate("(row) => row.querySelectorAll('td').forEach((one) => one.remove())")
        reschedule(desk, acme, followup)
        refresh(page)
        expect(page.get_by_role("link", name="More changed, show")).to_be_visible()
        assert shifts(page) == [] or row.evaluate("(row) => row.childElementCount") == 0


def test_row_whose_text_is_marked_waits(desk, open_page, acme, agent):
    followup = book(desk, acme, agent, f"c-{agent}")
    with listed(desk, open_page, agent) as followups:
        page = followups.page
        row = followups.row(followup.customer)
        row.locator(".r .clip").select_text()
        reschedule(desk, acme, followup)
        with page.expect_response("**/followups?agent=*"):
            refresh(page)
        expect(row.locator("[name=version]")).to_have_value("1")
        page.evaluate("getSelection().removeAllRanges()")
        refresh(page)
        expect(row.locator("[name=version]")).to_have_value("2")


def make_late(desk, name):
    def forget(session):
        session.execute(delete(SweepRun).where(SweepRun.name == name))
        tenants.get(session, None).created_at = clock.EPOCH

    desk.tell(forget)


def make_overdue(desk, tenant, customer):
    """Of an agent without quiet hours, at whatever time of the day."""
    earlier = clock.now() - timedelta(hours=1)
    at = earlier + timedelta(minutes=10)
    desk.tell(
        lambda session: create_followup(
            session, tenant, now=earlier, agent="billing", customer=customer, at=at
        )
    )


def refresh_until(page, check):
    """How the sweeps stand is kept for some seconds by the process that tells it."""

    def shown():
        refresh(page)
        return check()

    eventually(shown, within=20, what="it is shown")


@contextmanager
def overview_of(desk, open_page, tenant, **given):
    with open_page(**given) as page:
        desk.sign_in(page, f"lead@{tenant.key}.test")
        open_well(page)
        yield page


def test_overview_left_open_shows_what_becomes_overdue_and_the_focus_stays(desk, open_page, every_sweep_ran):
    tenant = every_sweep_ran
    with overview_of(desk, open_page, tenant) as page:
        make_overdue(desk, tenant, "c-1")
        heading = page.get_by_role("heading", level=1)
        refresh_until(page, lambda: heading.inner_text() == "1 thing needs a person")
        expect(page.locator("[data-live]")).to_have_text("1 thing needs a person.")
        expect(page.locator("#needs-followups")).to_have_text("1 needs a person")
        link = page.get_by_role("link", name=re.compile("^Show it ?: Follow-up is overdue"))
        link.focus()
        make_overdue(desk, tenant, "c-2")
        refresh_until(page, lambda: heading.inner_text() == "2 things need a person")
        expect(page.get_by_role("link", name=re.compile("^Show 2 ?: Follow-ups are overdue"))).to_be_focused()
        expect(page.locator("#needs-followups")).to_have_text("2 need a person", timeout=15_000)
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="c-2", exact=True)).to_be_visible()


@pytest.mark.parametrize("path", ["", "/followups", "/audit"])
def test_page_left_open_says_that_a_sweep_is_late_and_the_focus_stays(desk, open_page, every_sweep_ran, path):
    tenant = every_sweep_ran
    with overview_of(desk, open_page, tenant) as page:
        page.goto(f"{desk.url}/{tenant.key}{path}")
        health = page.get_by_role("region", name="Where you are").get_by_role("link", name="Sweeps on time")
        health.focus()
        expect(page.locator(".bar .next")).to_be_visible()
        make_late(desk, "fire_followups")
        late = page.locator("#health").get_by_role("link", name="Firing is late")
        refresh_until(page, late.is_visible)
        expect(late).to_be_focused()
        expect(page.locator(".bar .next")).to_have_count(0)
        expect(page.locator("#needs-sweeps")).to_have_text("1 needs a person")
        if not path:
            expect(page.get_by_role("heading", name="Firing is late")).to_be_visible()
            expect(page.get_by_text("All sweeps")).to_have_count(0)
            expect(page.locator("#beat-fire_followups")).to_contain_text("Late")


def test_overview_rests_while_a_menu_is_open_or_the_tab_is_hidden(desk, open_page, every_sweep_ran):
    tenant = every_sweep_ran
    with overview_of(desk, open_page, tenant) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.locator("details.person summary").click()
        refresh(page)
        expect(page.locator("[data-says]")).to_have_text(re.compile("^Paused while a menu is open, read at"))
        page.keyboard.press("Escape")
        page.evaluate(HIDE, True)
        refresh(page)
        assert asked == []
        make_overdue(desk, tenant, "c-1")
        page.evaluate(HIDE, False)
        expect(page.get_by_role("heading", level=1)).to_have_text("1 thing needs a person")


def test_requests_of_an_idle_overview_are_few_and_its_times_go_on(desk, open_page, every_sweep_ran):
    """By the page's own clock, moved on by a minute."""
    tenant = every_sweep_ran
    make_overdue(desk, tenant, "c-1")
    query = select(Operator).where(Operator.email == f"lead@{tenant.key}.test")
    desk.tell(lambda session: setattr(session.scalars(query).one(), "refresh_seconds", None))
    with open_page() as page:
        desk.sign_in(page, f"lead@{tenant.key}.test")
        open_well(page)
        page.clock.install()
        page.reload()
        expect(page.locator("#needs-followups")).to_have_text("1 needs a person")
        waited = page.locator("[data-lasts]").inner_text()
        asked, seen = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("response", lambda answer: seen.append((answer.status, answer.request.url)))
        for _step in range(60):
            page.clock.run_for(1_000)
            # A minute of the page's clock is less than one of the server's, which is to have answered first.
            eventually(lambda: page.evaluate("1") and len(seen) == len(asked), what="it was answered")
        assert len(seen) >= 5
        click.echo(f"\nrequests of an idle open overview within a minute: {seen}")
        assert len(seen) <= 6
        # On a busy machine half a minute may pass meanwhile, and then there is news: that a sweep is late.
        assert [status for status, _url in seen].count(304) >= len(seen) - 1
        assert page.locator("[data-lasts]").inner_text() != waited
