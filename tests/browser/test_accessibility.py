"""axe finds nothing serious on any page, in either theme, wide or narrow."""

import re
from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from sqlalchemy import select

from desk_ui.automations.executions_queries import Tab
from models import clock, demo, operators
from models.audit import AuditEvent
from models.followups.records import FollowUp, Status
from tests.browser.served import NARROW, OVERVIEW, SETTER_UP, WIDE
from tests.support.create import create_followup
from tests.support.deliver import create_each_state
from tests.support.executions import STATES, create_execution
from tests.support.sweeping import create_day

pytestmark = pytest.mark.slow

SERIOUS = {"serious", "critical"}
# Each page in both themes and at both widths, not in all four pairs: colours don't change with the width.
EACH = pytest.mark.parametrize(
    ("size", "scheme"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide and light", "narrow and dark"]
)


@pytest.fixture(scope="module")
def filled(desk):
    tenant = desk.tenant("demo")
    desk.tell(lambda session: demo.fill(session, tenant, now=clock.now()))
    desk.tell(lambda session: create_day(session, tenant, now=clock.now()))
    desk.tell(
        lambda session: create_followup(
            session, tenant, now=clock.now(), customer="c-1", at=clock.now() + timedelta(minutes=6)
        )
    )
    return desk


def one_of(desk, status):
    def find(session):
        rows = session.query(FollowUp).join(demo.Tenant, demo.Tenant.id == FollowUp.tenant_id)
        return rows.filter(demo.Tenant.key == "demo", FollowUp.status == status.value).first().id

    return desk.tell(find)


def settled(page):
    """Wait for what comes after the page."""
    page.wait_for_load_state("load")
    expect(page.locator(".htmx-request")).to_have_count(0)


def check(page, where):
    found = Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["target"] for node in one["nodes"]][:5])
        for one in found
        if one["impact"] in SERIOUS
    ]
    assert serious == [], where


@EACH
def test_axe_finds_nothing_serious_on_any_page(filled, open_page, scheme, size):
    desk = filled
    with open_page(color_scheme=scheme, viewport=size) as page:
        page.goto(f"{desk.url}/sign-in")
        check(page, "sign-in")
        page.get_by_label("Mail address").fill("lead@demo.test")
        page.get_by_label("Password").fill("not the right one")
        page.get_by_role("button", name="Sign in").click()
        check(page, "sign-in refused")
        page.goto(desk.link("lead@demo.test"))
        check(page, "link")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile(OVERVIEW))
        lists = f"{desk.url}/demo/followups"
        paths = [f"{lists}?tab={tab}" for tab in ("pending", "overdue", "blocked", "fired", "cancelled")]
        paths += [f"{lists}?agent=billing&customer=nobody&arm=x&reason=y", f"{lists}?tab=odd"]
        paths += [f"{lists}/{one_of(desk, status)}" for status in Status]
        paths += [f"{desk.url}/demo/sweeps{one}" for one in ("", "/fire_followups", "/deliver/pause")]
        paths += [f"{lists}/{one_of(desk, Status.BLOCKED)}/{ask}" for ask in ("rearming", "revocation")]
        paths += [f"{desk.url}/demo/agents{one}" for one in ("", "/store-support", "/billing/hold")]
        paths += [f"{desk.url}/{one}" for one in ("keys", "profile", "nowhere/followups")]
        paths += [f"{lists}/not-an-id"]
        for path in paths:
            page.goto(path)
            settled(page)
            check(page, path)
        page.goto(f"{desk.url}/demo")
        page.get_by_text("As a table").click()
        check(page, "overview, table open")
        page.goto(lists)
        page.get_by_role("button", name="Cancel").first.click()
        page.locator("[data-toast]").wait_for()
        page.locator(".person summary").click()
        check(page, "cancelled, menu open")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        page.locator("dialog[open]").wait_for()
        check(page, "keys")


@pytest.fixture(scope="module")
def told(desk):
    """A tenant whose deliveries stand in each state, with an admin."""
    tenant = desk.tenant("told")
    settings = desk.app.extensions["desk_settings"]
    desk.tell(
        lambda session: operators.add(
            session, "admin@told.test", tenant=tenant, role="admin", actor=SETTER_UP, now=clock.now()
        )
    )
    found = desk.tell(lambda session: create_each_state(session, tenant, settings, now=clock.now()))
    newest = select(AuditEvent.id).where(AuditEvent.tenant_id == tenant.id).limit(1)
    return found | {"event": desk.tell(lambda session: session.scalars(newest).one())}


@EACH
def test_axe_finds_nothing_serious_on_deliveries_and_endpoints(desk, told, open_page, scheme, size):
    with open_page(color_scheme=scheme, viewport=size) as page:
        desk.sign_in(page, "admin@told.test")
        lists, ends = f"{desk.url}/told/deliveries", f"{desk.url}/told/endpoints"
        paths = [f"{lists}?tab={tab}" for tab in ("failing", "dead", "pending", "delivered")]
        audit = f"{desk.url}/told/audit"
        paths += [audit, f"{audit}?result=refused", f"{audit}/{told['event']}", f"{audit}/verification"]
        paths += [f"{lists}?receiver={told['taking']}&event=task.created", f"{lists}/{told['dead']}/rearming"]
        paths += [f"{lists}/{told[state]}" for state in ("pending", "failed", "dead", "delivered")]
        paths += [ends, f"{ends}/adding", f"{ends}/{told['taking']}", f"{ends}/{told['paused']}"]
        paths += [f"{ends}/{told['taking']}/{act}" for act in ("editing", "pausing", "rotation", "removal")]
        for path in paths:
            page.goto(path)
            settled(page)
            check(page, path)
        page.goto(f"{lists}?tab=dead")
        page.get_by_role("link", name="Re-arm").first.click()
        page.locator("dialog[open]").wait_for()
        check(page, "asked whether to re-arm")


@pytest.fixture(scope="module")
def ran(desk):
    """A tenant with an execution in each state; their ids, by state."""
    tenant = desk.tenant("ran")
    return {
        state: desk.tell(lambda session: create_execution(session, tenant, state, now=clock.now()))  # noqa: B023
        for state in STATES
    }


@EACH
def test_axe_finds_nothing_serious_on_executions(desk, ran, open_page, scheme, size):
    with open_page(color_scheme=scheme, viewport=size) as page:
        desk.sign_in(page, "lead@ran.test")
        lists = f"{desk.url}/ran/executions"
        paths = [lists, *(f"{lists}?tab={tab}" for tab in Tab)]
        paths += [f"{lists}?tab=skipped&skipped=expired&conversation=nothing"]
        paths += [f"{lists}/{id}" for id in ran.values()]
        acts = ("cancellation", "reclaim", "settlement", "drop", "rearming")
        paths += [f"{lists}/{ran[state]}/{act}" for state in ("abandoned", "stale") for act in acts]
        for path in paths:
            page.goto(path)
            settled(page)
            check(page, path)
        for id in ("settle", "rearm"):
            page.goto(f"{lists}/{ran['abandoned']}")
            page.locator(f"#{id}").click()
            page.locator("dialog[open]").wait_for()
            check(page, f"asked whether to {id}")
