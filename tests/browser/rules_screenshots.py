"""Pictures of the rules pages: `python -m tests.browser.rules_screenshots FOLDER`, and for screenshots.py."""

import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from sqlalchemy import select
from sqlalchemy.orm import Session

from models import clock
from models.automations.records import AutomationRule
from models.tenants import Tenant
from tests.browser.served import CHROMIUM, NARROW, WIDE, Console, console, context
from tests.support.rules import OPEN, create_conversation, create_executions, create_rule, say

NONE, THREE, MANY = "rules-none", "rules-three", "rules-many"
CHASE = {
    "name": "Remind who does not answer",
    "execution_delay": 1_440,
    "window_start": 540,
    "window_end": 1_080,
    "on_failure": "stop",
    "conditions": [
        {"attribute": "message_type", "operator": "equal_to", "values": ["outgoing"], "joiner": None}
    ],
    "actions": [
        {"name": "send_message", "params": ["Just checking whether the code arrived."]},
        {"name": "add_label", "params": ["chased"]},
        {"name": "snooze_conversation", "params": []},
    ],
}
QUIET = {
    "name": "Close what is quiet",
    "description": "Agreed with the shop in May:\nnothing stays open for more than three days.",
    "event": "conversation_updated",
    "trigger": "inactivity",
    "execution_delay": 4_320,
    "conditions": [OPEN],
    "actions": [{"name": "resolve_conversation", "params": []}],
}


def take(desk: Console, page: Page, shoot: Callable[[Page, str], None]) -> None:
    """Pictures of each page, as a lead of three tenants; signs out."""
    for tenant in (NONE, THREE, MANY):
        page.context.clear_cookies()
        desk.sign_in(page, f"lead@{tenant}.test")
        page.goto(f"{desk.url}/{tenant}/rules")
        shoot(page, tenant)
    page.context.clear_cookies()
    desk.sign_in(page, f"lead@{THREE}.test")
    home = f"{desk.url}/{THREE}/rules"
    one = _rule(desk, CHASE["name"])
    for path, what in (
        (f"/{one}", "rule"),
        ("/adding", "rule-adding"),
        (f"/{one}/editing", "rule-editing"),
        (f"/{one}/trial?conversation=talk-2", "rule-trial"),
        (f"/{one}/switching?on=0", "rule-switching"),
        (f"/{one}/deletion", "rule-deletion"),
    ):
        page.goto(home + path)
        shoot(page, what)
    page.goto(f"{home}/adding")
    page.get_by_role("button", name="Add a condition").click()
    page.locator("#c1-attribute").wait_for()
    page.locator("#delay").fill("soon")
    page.get_by_role("button", name="Make the rule").last.click()
    page.locator("#faults").wait_for()
    shoot(page, "rule-faults")
    page.goto(f"{home}/{one}/editing")
    page.get_by_label("One of the latest conversations").select_option(index=1)
    page.get_by_role("button", name="Try it").click()
    page.locator("#trial-lead").wait_for()
    shoot(page, "rule-tried")
    page.locator("#delay").fill("2")
    page.get_by_role("button", name="Save").last.click()
    page.locator("dialog[open]").wait_for()
    shoot(page, "rule-confirm")


def fill(desk: Console) -> None:
    desk.tenant(NONE)
    three, many = desk.tenant(THREE), desk.tenant(MANY)
    desk.tell(lambda session: _three(session, three))
    desk.tell(lambda session: _many(session, many))


def _three(session: Session, tenant: Tenant) -> None:
    now = clock.now()
    first = create_rule(session, tenant, now=now - timedelta(days=9))
    create_executions(session, first, now=now - timedelta(minutes=4), pending=12, executed=31, skipped=7)
    chase = create_rule(session, tenant, now=now - timedelta(days=5), **CHASE)
    create_executions(session, chase, now=now - timedelta(hours=2), pending=3, executed=4, review=2)
    create_rule(session, tenant, now=now - timedelta(days=1), active=False, **QUIET)
    for number in range(4):
        at = now - timedelta(hours=3 * number + 1)
        create_conversation(
            session, tenant, f"talk-{number}", now=at, customer=f"c-{1042 + number}", inbox_id=7
        )
        say(session, tenant, f"talk-{number}", at=at, text="Where is my code?")
        say(
            session,
            tenant,
            f"talk-{number}",
            at=at + timedelta(minutes=9),
            direction="outgoing",
            text="Sent it again.",
        )


def _many(session: Session, tenant: Tenant) -> None:
    now = clock.now()
    for number in range(60):
        given = (CHASE, QUIET, {})[number % 3]
        rule = create_rule(
            session,
            tenant,
            now=now - timedelta(hours=number),
            **{**given, "name": f"Rule {number} of the shop", "active": number % 7 != 0},
        )
        if number % 20 == 4:
            rule.conditions = [{**OPEN, "operator": "sounds_like"}]
        create_executions(
            session,
            rule,
            now=now,
            pending=number % 5,
            review=1 if number % 17 == 3 else 0,
            executed=number % 4,
        )


def _rule(desk: Console, name: object) -> str:
    query = select(AutomationRule.id).join(Tenant, Tenant.id == AutomationRule.tenant_id)
    found = query.where(Tenant.key == THREE, AutomationRule.name == name)
    return str(desk.tell(lambda session: session.scalars(found).one()))


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

                def shoot(page: Page, what: str, ending: str = f"{name}-{scheme}") -> None:
                    page.wait_for_load_state("networkidle")
                    page.screenshot(full_page=what.startswith("rule-"), path=folder / f"{what}-{ending}.png")

                with context(browser, viewport=size, color_scheme=scheme) as opened:
                    page = opened.new_page()
                    take(desk, page, shoot)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots"))
