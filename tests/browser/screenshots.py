"""Pictures of every page: `python -m tests.browser.screenshots FOLDER`, wide and narrow, light and dark."""

import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from playwright.sync_api import Browser, Page, sync_playwright
from sqlalchemy import select
from sqlalchemy.orm import Session

from desk_ui.deliveries.queries import Tab
from models import clock, demo, operators, tenants
from models.endpoints import WebhookEndpoint
from models.followups import booking
from models.followups.records import FollowUp, Status
from models.tenants import Tenant
from tests.browser import executions_screenshots, rules_screenshots, settings_screenshots
from tests.browser.served import CHROMIUM, NARROW, SETTER_UP, WIDE, Console, console, context
from tests.support.declare import declared
from tests.support.deliver import create_each_state
from tests.support.sweeping import create_day

BOSS = "boss@many.test"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as var,
        console(Path(var)) as desk,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        _fill(desk)
        for scheme in ("light", "dark"):
            for size, name in ((WIDE, "1440"), (NARROW, "390")):
                _take(desk, browser, folder, scheme, size, name)
        browser.close()


def _fill(desk: Console) -> None:
    desk.tenant("none")
    executions_screenshots.fill(desk)
    rules_screenshots.fill(desk)
    few = desk.tenant("few")
    desk.tell(lambda session: _book_three(session, few))
    many = desk.tenant("many")
    desk.tell(lambda session: demo.fill(session, many, now=clock.now(), size=demo.Size.LARGE))
    desk.tell(lambda session: create_day(session, many, now=clock.now()))
    desk.tell(lambda session: _give_platform(session, many))
    settings = desk.app.extensions["desk_settings"]
    desk.tell(lambda session: create_each_state(session, many, settings, now=clock.now()))


def _give_platform(session: Session, tenant: Tenant) -> None:
    """Somebody who looks at `tenant` and is an admin of the platform."""
    for one, role in ((tenant, "viewer"), (tenants.get(session, None), "admin")):
        operators.add(session, BOSS, tenant=one, role=role, actor=SETTER_UP, now=clock.now())


def _book_three(session: Session, tenant: Tenant) -> None:
    now = clock.now()
    for number, reason in enumerate(("pix pending", "cart left, size 42", "asked to be called back")):
        booking.book(
            session,
            tenant,
            agent="store-support",
            customer=f"c-{1042 + number}",
            at=now + timedelta(minutes=12 + 40 * number),
            reason=reason,
            declared=declared(),
            actor=SETTER_UP,
            now=now,
        )


def _take(
    desk: Console, browser: Browser, folder: Path, scheme: str, size: dict[str, int], name: str
) -> None:
    def shoot(page: Page, what: str) -> None:
        page.wait_for_load_state("networkidle")
        page.screenshot(path=folder / f"{what}-{name}-{scheme}.png")

    with context(browser, viewport=size, color_scheme=scheme) as opened:
        page = opened.new_page()
        page.goto(f"{desk.url}/sign-in")
        shoot(page, "sign-in")
        page.goto(desk.link("lead@few.test"))
        shoot(page, "link")
        for tenant in ("none", "few", "many"):
            opened.clear_cookies()
            desk.sign_in(page, f"lead@{tenant}.test")
            shoot(page, f"overview-{tenant}")
            page.goto(f"{desk.url}/{tenant}/followups")
            shoot(page, f"list-{tenant}")
        for tab in ("overdue", "blocked", "fired"):
            page.goto(f"{desk.url}/many/followups?tab={tab}")
            shoot(page, f"list-{tab}")
        page.goto(f"{desk.url}/many/followups?agent=store-support&reason=pix+pending&customer=nobody")
        shoot(page, "list-filtered")
        for status in Status:
            page.goto(f"{desk.url}/many/followups/{_any(desk, status)}")
            shoot(page, f"one-{status.value}")
        page.goto(f"{desk.url}/many/followups/{uuid4()}")
        shoot(page, "not-found")
        _take_deliveries(desk, page, shoot)
        page.goto(f"{desk.url}/many/followups")
        page.get_by_role("button", name="Cancel").first.click()
        page.locator("[data-toast]").wait_for()
        shoot(page, "cancelled")
        _take_bulk(desk, page, shoot)
        _take_asks(desk, page, shoot)
        _take_sweeps(desk, page, shoot)
        executions_screenshots.take(desk, page, shoot)
        rules_screenshots.take(desk, page, shoot)
        settings_screenshots.take(desk, page, shoot)
        _take_components(desk, page, folder, f"{name}-{scheme}")


def _take_components(desk: Console, page: Page, folder: Path, what: str) -> None:
    """All components on one long picture, and as with more contrast and on paper."""
    page.goto(f"{desk.url}/dev/components")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=folder / f"components-{what}.png", full_page=True)
    page.emulate_media(contrast="more")
    page.screenshot(path=folder / f"components-contrast-{what}.png", full_page=True)
    page.emulate_media(contrast="no-preference")
    page.goto(f"{desk.url}/many/followups")
    page.emulate_media(media="print")
    page.screenshot(path=folder / f"list-paper-{what}.png")
    page.emulate_media(media="screen")


def _take_deliveries(desk: Console, page: Page, shoot: Callable[[Page, str], None]) -> None:
    for tab in Tab:
        page.goto(f"{desk.url}/many/deliveries?tab={tab}")
        shoot(page, f"deliveries-{tab}")
    for name in ("endpoints", f"endpoints/{_endpoint(desk)}"):
        page.goto(f"{desk.url}/many/{name}")
        shoot(page, name.partition("/")[0] + ("-one" if "/" in name else ""))
    page.goto(f"{desk.url}/many/deliveries?tab=dead")
    page.locator("[data-focus]").first.click()
    shoot(page, "delivery-dead")
    page.get_by_role("link", name="Re-arm").click()
    page.locator("dialog[open]").wait_for()
    shoot(page, "delivery-rearm")


def _take_bulk(desk: Console, page: Page, shoot: Callable[[Page, str], None]) -> None:
    """Rows that are selected, what is asked about them and about all, and what became of them."""
    page.goto(f"{desk.url}/many/followups")
    for number in (1, 2, 3):
        page.locator("[data-tick]").nth(number).check()
    shoot(page, "selected")
    page.locator("[data-take=all]").click()
    page.locator("[data-picked] [name=do]").click()
    page.locator("dialog[open]").wait_for()
    shoot(page, "bulk-all")
    page.get_by_role("link", name="Leave it").click()
    page.locator("[data-take=none]").click()
    page.locator("[data-tick]").first.check()
    page.locator("[data-picked] [name=do]").click()
    page.get_by_label("Why").fill("the shop moves until noon")
    page.locator("dialog [data-verb]").click()
    page.get_by_role("link", name="Show the result").click()
    page.wait_for_url("**/bulk/*")
    shoot(page, "bulk-result")
    page.goto(f"{desk.url}/many/bulk")
    shoot(page, "bulk")


def _take_asks(desk: Console, page: Page, shoot: Callable[[Page, str], None]) -> None:
    """The agents, and what is asked before the acts on them and on follow-ups."""
    blocked, pending = (_any(desk, status) for status in (Status.BLOCKED, Status.PENDING))
    for path, what in (
        ("agents", "agents"),
        ("agents/store-support", "agent"),
        ("agents/store-support/hold", "agent-hold"),
        (f"followups/{blocked}/rearming", "rearm"),
        (f"followups/{pending}/revocation", "revoke"),
    ):
        page.goto(f"{desk.url}/many/{path}")
        shoot(page, what)


def _take_sweeps(desk: Console, page: Page, shoot: Callable[[Page, str], None]) -> None:
    for path, what in (("sweeps", "sweeps"), ("sweeps/fire_followups", "sweep")):
        page.goto(f"{desk.url}/many/{path}")
        shoot(page, what)
    page.context.clear_cookies()
    desk.sign_in(page, BOSS)
    page.goto(f"{desk.url}/many/sweeps")
    page.get_by_role("link", name="Pause Firing").click()
    page.locator("dialog[open]").wait_for()
    shoot(page, "sweep-pause")
    page.get_by_label("Reason", exact=True).fill("the shop moves until noon")
    page.get_by_role("button", name="Pause Firing").click()
    page.locator("[data-toast]").wait_for()
    shoot(page, "sweep-paused")
    page.get_by_role("link", name="Resume Firing").click()
    page.get_by_role("button", name="Resume Firing").click()
    page.get_by_text("Resumed Firing").wait_for()


def _endpoint(desk: Console) -> str:
    query = select(WebhookEndpoint.id).where(WebhookEndpoint.state == "active")
    return str(desk.tell(lambda session: session.scalars(query).one()))


def _any(desk: Console, status: Status) -> str:
    newest_first = FollowUp.updated_at.desc()
    query = (
        select(FollowUp.id)
        .join(Tenant, Tenant.id == FollowUp.tenant_id)
        .where(Tenant.key == "many", FollowUp.status == status.value)
        .order_by(newest_first)
        .limit(1)
    )
    return str(desk.tell(lambda session: session.scalars(query).one()))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots"))
