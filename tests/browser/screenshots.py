"""Pictures of every page: `python -m tests.browser.screenshots FOLDER`, wide and narrow, light and dark."""

import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from playwright.sync_api import Browser, Page, sync_playwright
from sqlalchemy import select
from sqlalchemy.orm import Session

from models import clock, demo
from models.followups import booking
from models.followups.records import FollowUp, Status
from models.tenants import Tenant
from tests.browser import settings_screenshots
from tests.browser.served import CHROMIUM, NARROW, SETTER_UP, WIDE, Console, console, context
from tests.support.declare import declared


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
    few = desk.tenant("few")
    desk.tell(lambda session: _book_three(session, few))
    many = desk.tenant("many")
    desk.tell(lambda session: demo.fill(session, many, now=clock.now(), size=demo.Size.LARGE))


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
        page.goto(f"{desk.url}/many/followups")
        page.get_by_role("button", name="Cancel").first.click()
        page.locator("[data-toast]").wait_for()
        shoot(page, "cancelled")
        settings_screenshots.take(desk, page, shoot)


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
