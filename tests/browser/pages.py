"""The pages in an operator's words."""

from uuid import UUID

from playwright.sync_api import Locator, Page, expect


class FollowUps:
    """The list."""

    def __init__(self, page: Page, url: str, tenant: str = "acme") -> None:
        self.page = page
        self.url = url
        self.tenant = tenant

    def open(self, query: str = "") -> "FollowUps":
        self.page.goto(f"{self.url}/{self.tenant}/followups{query}")
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


class Sweeps:
    """The sweeps of the tenant acme, one of them looked at: it has no part in what other tests wait for."""

    def __init__(
        self, page: Page, url: str, name: str = "Sealing of the audit", key: str = "seal_audit"
    ) -> None:
        self.page = page
        self.url = f"{url}/acme/sweeps"
        self.name = name
        self.one = page.locator(f"#sweep-{key}")

    def open(self) -> "Sweeps":
        self.page.goto(self.url)
        return self

    def run_now(self) -> None:
        self.one.get_by_role("button", name=f"Run now {self.name}").click()

    def pause(self, reason: str) -> None:
        self.one.get_by_role("link", name=f"Pause {self.name}").click()
        self.page.get_by_label("Reason", exact=True).fill(reason)
        self.page.get_by_role("button", name=f"Pause {self.name}").click()

    def resume(self) -> None:
        self.one.get_by_role("link", name=f"Resume {self.name}").click()
        self.page.get_by_role("button", name=f"Resume {self.name}").click()

    def says(self, words: str) -> None:
        expect(self.page.locator("[data-toast]")).to_contain_text(words)

    def shows(self, words: str) -> None:
        expect(self.one).to_contain_text(words)


class Deliveries:
    """The deliveries of the tenant acme, of which one is looked at."""

    def __init__(self, page: Page, url: str, delivery: int) -> None:
        self.page = page
        self.url = f"{url}/acme/deliveries"
        self.delivery = delivery
        self.row = page.locator(f"#delivery-{delivery}")

    def open(self, query: str = "") -> "Deliveries":
        self.page.goto(f"{self.url}{query}")
        return self

    def open_one(self) -> "Deliveries":
        self.page.goto(f"{self.url}/{self.delivery}")
        return self

    def rearm(self, reason: str) -> None:
        self.row.get_by_role("link", name="Re-arm").click()
        self.page.get_by_label("Why is it sent again?").fill(reason)
        self.page.get_by_role("button", name="Re-arm it").click()

    def send_now(self) -> None:
        self.row.get_by_role("button", name="Send now").click()

    def says(self, words: str) -> None:
        expect(self.page.locator("[data-toast]")).to_contain_text(words)


class Endpoint:
    """The page of one endpoint of the tenant acme."""

    def __init__(self, page: Page, url: str, id: str) -> None:
        self.page = page
        self.url = f"{url}/acme/endpoints/{id}"

    def open(self) -> "Endpoint":
        self.page.goto(self.url)
        return self

    def ask(self, name: str, verb: str) -> None:
        """Press `name`, and `verb` on the question that it asks."""
        self.page.get_by_role("link", name=name, exact=True).click()
        self.page.get_by_role("button", name=verb, exact=True).click()

    def test(self) -> None:
        self.page.get_by_role("button", name="Send a test").click()

    def secret(self) -> str:
        """What is told once, then left behind."""
        told = self.page.get_by_label("Secret", exact=True).input_value()
        self.page.get_by_role("link", name="I have copied it").click()
        return told

    def says(self, words: str) -> None:
        expect(self.page.locator("[data-toast]")).to_contain_text(words)

    def shows(self, words: str) -> None:
        expect(self.page.locator("#endpoint")).to_contain_text(words)


class Executions:
    """The executions: the list, and the way to one."""

    def __init__(self, page: Page, url: str, tenant: str = "acme") -> None:
        self.page = page
        self.url = f"{url}/{tenant}/executions"

    def open(self, query: str = "") -> "Executions":
        self.page.goto(f"{self.url}{query}")
        return self

    def open_one(self, id: UUID) -> None:
        self.page.goto(f"{self.url}/{id}")

    def row(self, id: UUID) -> Locator:
        return self.page.locator(f"#execution-{id}")

    def follow(self, id: UUID) -> None:
        self.row(id).locator("[data-focus]").click()

    def says(self, words: str) -> None:
        expect(self.page.locator("[data-toast]")).to_contain_text(words)
