"""The pages in an operator's words."""

from playwright.sync_api import Locator, Page, expect


class FollowUps:
    """The list."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, query: str = "") -> "FollowUps":
        self.page.goto(f"{self.url}/acme/followups{query}")
        return self

    def row(self, customer: str) -> Locator:
        return self.page.get_by_role("row").filter(
            has=self.page.get_by_role("link", name=customer, exact=True)
        )

    def cancel(self, customer: str) -> None:
        self.row(customer).get_by_role("button", name="Cancel").click()

    def says(self, words: str) -> None:
        """A toast, whether a script put it there or the page came with it."""
        expect(self.page.locator("[data-toast]")).to_contain_text(words)

    def shows(self, customer: str, words: str) -> None:
        expect(self.row(customer)).to_contain_text(words)

    def tab(self, name: str) -> Locator:
        return self.page.get_by_role("navigation", name="Follow-ups by state").get_by_role("link", name=name)
