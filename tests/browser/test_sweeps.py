"""What an admin of the platform does with a sweep, and what the overview says, in a real browser."""

import re
from datetime import timedelta
from itertools import count

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from jobs.schedule import SWEEPS
from models import clock, operators, sweep_states, tenants
from models.sweeps import SlotKind, SweepPause, SweepSlot
from tests.browser.pages import Sweeps
from tests.browser.served import NARROW, SETTER_UP, WIDE
from tests.support.create import create_followup

pytestmark = pytest.mark.slow

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
SWEEP = "seal_audit"
BOSS = "boss@acme.test"
_numbers = count(1)


@pytest.fixture
def boss(desk):
    """A viewer of acme who is an admin of the platform; the sweep is as it was in the end."""
    acme = desk.tenant()

    def give(session):
        now = clock.now()
        for tenant, role in ((acme, "viewer"), (tenants.get(session, None), "admin")):
            operators.add(session, BOSS, tenant=tenant, role=role, actor=SETTER_UP, now=now)

    desk.tell(give)
    yield BOSS
    desk.tell(
        lambda session: sweep_states.resume(session, SWEEP, known=SWEEPS, actor=SETTER_UP, now=clock.now())
    )


def pause(desk, reason):
    desk.tell(
        lambda session: sweep_states.pause(
            session, SWEEP, known=SWEEPS, reason=reason, actor=SETTER_UP, now=clock.now()
        )
    )


def paused(desk):
    """The reason for which it is paused; None where it is not."""
    row = desk.tell(lambda session: session.get(SweepPause, SWEEP))
    return row.reason if row and row.paused else None


@SCRIPTS
def test_sweep_is_paused_with_its_reason_and_resumed_when_asked(desk, open_page, boss, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, boss)
        sweeps = Sweeps(page, desk.url).open()
        sweeps.pause("the disk is full <b>")
        sweeps.says("Paused Sealing of the audit for all tenants.")
        sweeps.shows(f"{boss} paused it. “the disk is full <b>”.")
        assert paused(desk) == "the disk is full <b>"
        expect(
            page.get_by_role("button", name=re.compile(r"Run now ?: Sealing of the audit is paused\."))
        ).to_be_visible()
        sweeps.resume()
        sweeps.says("Resumed Sealing of the audit for all tenants.")
        sweeps.shows("every 5 min")
        assert paused(desk) is None


@SCRIPTS
def test_sweep_runs_now_when_pressed(desk, open_page, boss, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, boss)
        sweeps = Sweeps(page, desk.url).open()
        sweeps.run_now()
        sweeps.says("Sealing of the audit runs now")
        sweeps.shows("A run was asked for")
        by_hand = select(SweepSlot.id).where(SweepSlot.name == SWEEP, SweepSlot.kind == SlotKind.HAND.value)
        assert desk.tell(lambda session: session.scalars(by_hand).all())


@SCRIPTS
def test_pause_is_not_done_and_what_was_typed_is_kept_when_another_was_first(desk, open_page, boss, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, boss)
        sweeps = Sweeps(page, desk.url).open()
        page.locator("#sweep-seal_audit").get_by_role("link", name="Pause Sealing of the audit").click()
        page.get_by_label("Reason", exact=True).fill("mine")
        pause(desk, "theirs")
        page.get_by_role("button", name="Pause Sealing of the audit").click()
        expect(page.get_by_text("tests paused Sealing of the audit, so nothing was done.")).to_be_visible()
        expect(page.get_by_label("Reason", exact=True)).to_have_value("mine")
        page.get_by_role("link", name="Leave it").click()
        sweeps.shows("“theirs”")
        assert paused(desk) == "theirs"


@SCRIPTS
def test_acts_are_off_with_the_reason_when_the_person_is_no_admin_of_the_platform(desk, open_page, scripts):
    desk.tenant()
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        sweeps = Sweeps(page, desk.url).open()
        for verb in ("Run now", "Pause"):
            expect(
                sweeps.one.get_by_role("button", name=re.compile(rf"{verb} ?: This concerns all tenants"))
            ).to_have_attribute("aria-disabled", "true")
        page.goto(f"{desk.url}/acme/sweeps/{SWEEP}/pause")
        expect(page.get_by_role("button", name="Pause Sealing of the audit")).to_have_attribute(
            "aria-disabled", "true"
        )


@pytest.fixture
def overdue(desk):
    """The lead of a tenant of its own, of whose follow-ups the one to c-1042 is overdue."""
    key = f"waits-{next(_numbers)}"
    tenant, earlier = desk.tenant(key), clock.now() - timedelta(hours=1)
    desk.tell(
        lambda session: create_followup(
            session,
            tenant,
            now=earlier,
            # One without quiet hours, at whatever time of the day.
            agent="billing",
            customer="c-1042",
            at=earlier + timedelta(minutes=10),
        )
    )
    return f"lead@{key}.test"


@SCRIPTS
def test_overview_leads_to_what_needs_a_person(desk, open_page, overdue, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, overdue)
        # The sweeps may be late, too: nothing runs them here.
        expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("things? needs? a person"))
        number = page.locator("#needs-followups")
        # Without a script the navigation says nothing of it.
        expect(number).to_have_text("1 needs a person" if scripts else "")
        page.get_by_role("link", name=re.compile("Show it ?: Follow-up is overdue")).click()
        expect(page.get_by_role("link", name="c-1042", exact=True)).to_be_visible()
        page.get_by_role("button", name="Cancel the follow-up to c-1042").click()
        expect(page.locator("[data-toast]")).to_contain_text("Cancelled")
        expect(number).to_have_text("")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_layout_does_not_shift_when_the_numbers_arrive(desk, open_page, overdue, size):
    with open_page(viewport=size) as page:
        page.add_init_script(
            "window.shifts = []; new PerformanceObserver((list) => window.shifts.push("
            "...list.getEntries().map((e) => e.value))).observe({type: 'layout-shift', buffered: true})"
        )
        desk.sign_in(page, overdue)
        expect(page.locator("#needs-followups")).to_have_text("1 needs a person")
        assert sum(page.evaluate("window.shifts")) < 0.01
        # One screenful says whether something is wrong.
        heading = page.get_by_role("heading", level=1).bounding_box()
        assert heading["y"] + heading["height"] < size["height"]
        if size == WIDE:
            assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
