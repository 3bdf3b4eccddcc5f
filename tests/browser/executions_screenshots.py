"""Pictures of the executions pages: `python -m tests.browser.executions_screenshots FOLDER`."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from playwright.sync_api import Page, sync_playwright
from sqlalchemy import select

from desk_ui.automations.executions_queries import Tab
from models import clock, demo
from models.automations.records import Execution
from models.conversations import Conversation
from models.demo_automations import ABANDONED
from models.tenants import Tenant
from tests.browser.served import CHROMIUM, NARROW, WIDE, Console, console, context

NONE, FEW, MANY = "ex-none", "ex-few", "ex-many"
SIZES = {FEW: demo.Size.SMALL, MANY: demo.Size.LARGE}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as var,
        console(Path(var)) as desk,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        fill(desk)
        for scheme in ("light", "dark"):
            for size, name in ((WIDE, "1440"), (NARROW, "390")):
                with context(browser, viewport=size, color_scheme=scheme) as opened:

                    def shoot(page: Page, what: str) -> None:
                        page.wait_for_load_state("networkidle")
                        page.screenshot(path=folder / f"{what}-{name}-{scheme}.png")  # noqa: B023

                    take(desk, opened.new_page(), shoot)
        browser.close()


def fill(desk: Console) -> None:
    desk.tenant(NONE)
    for key, size in SIZES.items():
        tenant = desk.tenant(key)
        desk.tell(lambda session: demo.fill(session, tenant, now=clock.now(), size=size))  # noqa: B023


def take(desk: Console, page: Page, shoot: Callable[[Page, str], None]) -> None:
    """Pictures of each page, as a lead of three tenants; signs out."""
    for tenant in (NONE, FEW, MANY):
        page.context.clear_cookies()
        desk.sign_in(page, f"lead@{tenant}.test")
        if tenant != NONE:
            shoot(page, f"{tenant}-overview")
        for tab in Tab:
            if tenant == FEW or tab in (Tab.REVIEW, Tab.WAITING):
                page.goto(f"{desk.url}/{tenant}/executions?tab={tab}")
                shoot(page, f"{tenant}-{tab}")
    page.context.clear_cookies()
    desk.sign_in(page, f"lead@{FEW}.test")
    home = f"{desk.url}/{FEW}/executions"
    for tab in Tab:
        page.goto(f"{home}?tab={tab}")
        page.locator("[data-focus]").first.click()
        shoot(page, f"one-{tab}")
    abandoned = f"{home}/{_abandoned(desk)}"
    page.goto(abandoned)
    page.wait_for_load_state("networkidle")
    shoot(page, "abandoned")
    for id, what in (("settle", "ask-settle"), ("rearm", "ask-rearm"), ("drop", "ask-drop")):
        page.goto(abandoned)
        page.locator(f"#{id}").click()
        page.locator("dialog[open]").wait_for()
        shoot(page, what)
    page.goto(f"{home}?tab=waiting")
    for number in (1, 2, 3):
        page.locator("[data-tick]").nth(number).check()
    shoot(page, "selected")
    page.locator("[data-picked] [name=do]").click()
    page.locator("dialog[open]").wait_for()
    shoot(page, "bulk-ask")
    page.context.clear_cookies()


def _abandoned(desk: Console) -> UUID:
    query = (
        select(Execution.id)
        .join(Conversation, Conversation.id == Execution.conversation_id)
        .join(Tenant, Tenant.id == Execution.tenant_id)
        .where(Conversation.external_id == ABANDONED, Tenant.key == FEW)
    )
    return desk.tell(lambda session: session.scalars(query).one())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
