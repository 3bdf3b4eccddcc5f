"""Cancels one follow-up in Chromium, as a person would: sign in by the link, find the row, press Cancel.

python examples/cancel_in_browser.py LINK TENANT CUSTOMER
"""

import shutil
import sys
from urllib.parse import urljoin

from playwright.sync_api import expect, sync_playwright


def main() -> None:
    link, tenant, customer = sys.argv[1:]
    # The system's Chromium where there is one, else the one that playwright installed.
    executable = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable)
        page = browser.new_page()
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda url: "/sign-in/" not in url)
        page.goto(urljoin(link, f"/{tenant}/followups"))
        row = page.get_by_role("row").filter(has_text=customer)
        expect(row).to_have_count(1)
        row.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("status").filter(has_text="ancelled").first).to_be_visible()
        browser.close()
    sys.stdout.write(f"The follow-up to {customer} was cancelled in the browser.\n")


if __name__ == "__main__":
    main()
