"""Pictures of accounts and settings, for screenshots.py."""

from collections.abc import Callable

from playwright.sync_api import Page

from models import clock, operators, second_factor, tenants, tokens
from tests.browser.served import SETTER_UP, Console
from tests.support.devices import Device

EMAIL = "admin@kept.test"
PEOPLE = ("lead", "marketer", "viewer")


def take(desk: Console, page: Page, shoot: Callable[[Page, str], None]) -> None:
    """Pictures of each page, as an admin of the tenant `kept` and of platform; signs out."""
    _fill(desk)
    page.context.clear_cookies()
    desk.sign_in(page, EMAIL)
    home = f"{desk.url}/kept/settings"
    for path, what in (
        ("", "settings"),
        ("/operators", "operators"),
        ("/tokens", "tokens"),
        ("/features/followups/switching", "switch"),
        ("/tenants/adding", "tenant-adding"),
    ):
        page.goto(home + path)
        shoot(page, what)
    page.goto(f"{home}/operators")
    page.get_by_role("link", name="viewer@kept.test").click()
    shoot(page, "operator")
    page.get_by_role("link", name="Make a sign-in link").click()
    page.get_by_role("button", name="Make a link").click()
    page.locator("#told").wait_for()
    shoot(page, "operator-link")
    page.context.clear_cookies()
    _take_account(desk, page, shoot)


def _take_account(desk: Console, page: Page, shoot: Callable[[Page, str], None]) -> None:
    email = "marketer@kept.test"
    page.goto(desk.link(email))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{desk.url}/profile")
    shoot(page, "account")
    page.goto(f"{desk.url}/profile/second-factor")
    shoot(page, "factor")
    device = Device.of(page.locator("#key").text_content() or "")
    page.get_by_label("Code that the app shows").fill(device.code())
    page.get_by_role("button", name="Switch on").click()
    shoot(page, "recovery-codes")
    page.goto(desk.link(email))
    page.get_by_role("button", name="Sign in").click()
    shoot(page, "second-step")


def _fill(desk: Console) -> None:
    """Anew each time: nobody has a second factor yet, and one token is in use."""
    tenant = desk.tenant("kept")

    def work(session) -> None:  # type: ignore[no-untyped-def]
        now = clock.now()
        for role in PEOPLE:
            operators.add(session, f"{role}@kept.test", tenant=tenant, role=role, actor=SETTER_UP, now=now)
        for one in (tenant, tenants.get(session, None)):
            operators.add(session, EMAIL, tenant=one, role="admin", actor=SETTER_UP, now=now)
        second_factor.reset(
            session, operators.by_email(session, "marketer@kept.test"), actor=SETTER_UP, now=now
        )
        if not tokens.listed(session, tenant):
            tokens.add(session, tenant, name="shop", scopes=["read", "ingest"], actor=SETTER_UP, now=now)

    desk.tell(work)
