"""axe finds nothing serious on accounts and settings, in either theme, wide and narrow."""

import pytest

from models import clock, operators, tenants, tokens
from tests.browser.served import SETTER_UP
from tests.browser.test_accessibility import EACH, check, settled
from tests.support.devices import Device

pytestmark = pytest.mark.slow

BOSS = "boss@seen.test"


@pytest.fixture(scope="module")
def seen(desk):
    """A tenant with an admin, who is one of platform too, and a token in use and one revoked."""
    tenant = desk.tenant("seen")

    def work(session):
        now = clock.now()
        for one in (tenant, tenants.get(session, None)):
            operators.add(session, BOSS, tenant=one, role="admin", actor=SETTER_UP, now=now)
        for name in ("shop", "old"):
            tokens.add(session, tenant, name=name, scopes=["read"], actor=SETTER_UP, now=now)
        tokens.revoke(session, tenant, "old", actor=SETTER_UP, now=now)
        return operators.by_email(session, "lead@seen.test").id

    return desk.tell(work)


@EACH
def test_axe_finds_nothing_serious_on_accounts_and_settings(desk, seen, open_page, scheme, size):
    with open_page(color_scheme=scheme, viewport=size) as page:
        desk.sign_in(page, BOSS)
        home = f"{desk.url}/seen/settings"
        paths = ["", "/operators", f"/operators/{seen}", "/tokens", "/tenants/adding"]
        paths += ["/features/followups/switching", "/operators/adding", "/tokens/adding"]
        paths += [
            f"/operators/{seen}/{act}" for act in ("role", "removal", "link", "factor-reset", "switching")
        ]
        for path in [home + path for path in paths] + [f"{desk.url}/profile"]:
            page.goto(path)
            settled(page)
            check(page, path)
        page.goto(f"{home}/tokens")
        page.get_by_role("link", name="Add a token").click()
        page.locator("dialog[open]").wait_for()
        check(page, "asked for a token")
        _second_factor(desk, page, f"{size['width']}-{scheme}@seen.test")


def _second_factor(desk, page, email):
    """Through all pages of the second factor, as somebody new."""
    tenant = desk.tenant("seen")
    desk.tell(
        lambda session: operators.add(
            session, email, tenant=tenant, role="viewer", actor=SETTER_UP, now=clock.now()
        )
    )
    page.context.clear_cookies()
    desk.sign_in(page, email)
    page.goto(f"{desk.url}/profile/second-factor")
    check(page, "second factor")
    page.get_by_text("Can't scan?").click()
    device = Device.of(page.locator("#key").inner_text())
    page.get_by_label("Code that the app shows").fill("000000")
    page.get_by_role("button", name="Switch on").click()
    check(page, "second factor, wrong code")
    page.get_by_label("Code that the app shows").fill(device.code())
    page.get_by_role("button", name="Switch on").click()
    check(page, "recovery codes")
    for path in ("/profile", "/profile/second-factor/removal", "/profile/second-factor/recovery-codes"):
        page.goto(f"{desk.url}{path}")
        check(page, path)
    page.context.clear_cookies()
    page.goto(desk.link(email))
    page.get_by_role("button", name="Sign in").click()
    check(page, "asked for a code")
    page.get_by_label("Code", exact=True).fill("000000")
    page.get_by_role("button", name="Sign in").click()
    check(page, "asked for a code again")
