"""A served console and real browsers in front of it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.served import CHROMIUM, Console, console, context


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # What is drawn by the processor anyway is drawn faster without the detour.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def desk() -> Iterator[Console]:
    with tempfile.TemporaryDirectory(prefix="desk-browser-") as folder, console(Path(folder)) as served:
        yield served


CUT_OFF = ("status of 502", "status of 503", "net::ERR_INTERNET_DISCONNECTED", "Failed to fetch")


class Opened:
    """Opens pages; nothing may go wrong in them that the person would not see."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.faults: list[str] = []
        self.cut_off = False

    @contextmanager
    def page(self, **given: Any) -> Iterator[Page]:
        with context(self.browser, **given) as opened:
            page = opened.new_page()
            page.on("pageerror", lambda error: self.faults.append(str(error)))
            page.on(
                "console",
                lambda line: self.faults.append(line.text) if line.type == "error" else None,
            )
            yield page


@pytest.fixture
def opened(chromium: Browser) -> Opened:
    return Opened(chromium)


@pytest.fixture
def open_page(opened: Opened) -> Iterator[Any]:
    """`with open_page(java_script_enabled=False) as page:`; a fault in a script or of the policy fails."""
    yield opened.page
    # A refused action is an answer, not a fault.
    let_pass = ("status of 40", "status of 42", *(CUT_OFF if opened.cut_off else ()))
    assert [fault for fault in opened.faults if not any(words in fault for words in let_pass)] == []


@pytest.fixture
def cut_off(opened: Opened) -> None:
    """The test itself cuts the server off, which the browser writes down."""
    opened.cut_off = True
