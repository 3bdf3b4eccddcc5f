"""A console served by a real web process on a database of its own, and how a browser signs in to it."""

import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
from flask import Flask
from flask_migrate import upgrade
from playwright.sync_api import Browser, BrowserContext, Page
from sqlalchemy.orm import Session

from jobs.app import make_app
from models import clock, declarations, operators, tenants
from models.actors import Actor
from models.base import db
from models.tenants import Tenant
from models.transactions import commit
from tests.conftest import settings_for
from tests.support import processes
from tests.support.waiting import eventually

SETTER_UP = Actor.system("tests")
EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "desk.toml"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 390, "height": 844}
# Where signing in leads to: the overview of a tenant.
OVERVIEW = r"//[^/]+/(?!sign-in)[a-z0-9_-]+$"

T = TypeVar("T")


@dataclass
class Console:
    """A running console. `tell` works on its database from outside, as another process would."""

    url: str
    app: Flask
    web: processes.Process
    config: Path
    sessions: dict[str, list[Any]] = field(default_factory=dict)

    def tell(self, work: Callable[[Session], T]) -> T:
        """Do `work` and commit it."""
        with self.app.app_context():
            session = db.session()
            answer = work(session)
            commit(session, "tests.tell")
            session.expunge_all()
            return answer

    def tenant(self, key: str = "acme") -> Tenant:
        """The tenant `key`, made if absent, with a lead who may sign in."""

        def made(session: Session) -> Tenant:
            known = {tenant.key: tenant for tenant in tenants.all_of(session)}
            now = clock.now()
            found = known.get(key) or tenants.add(session, key=key, name=None, actor=SETTER_UP, now=now)
            lead, new = operators.add(
                session, f"lead@{key}.test", tenant=found, role="lead", actor=SETTER_UP, now=now
            )
            if new:
                # What a test meets is not to depend on how long it takes; those of the refresh ask for it.
                lead.refresh_seconds = 0
            return found

        return self.tell(made)

    def link(self, email: str = "lead@acme.test") -> str:
        """A fresh one-time sign-in link."""
        secret = self.tell(
            lambda session: operators.make_link(
                session, operators.by_email(session, email), actor=SETTER_UP, now=clock.now()
            )
        )
        return f"{self.url}/sign-in/{secret}"

    def sign_in(self, page: Page, email: str = "lead@acme.test") -> None:
        """By a link the first time, then by the session that it gave: links are limited by the minute."""
        known = self.sessions.get(email)
        if known:
            page.context.add_cookies(known)
            page.goto(f"{self.url}/")
        else:
            # From an address of their own: so many sign-ins from one would be too many.
            address = f"10.0.{len(self.sessions) // 250}.{len(self.sessions) % 250 + 1}"
            page.context.set_extra_http_headers({"X-Forwarded-For": address})
            page.goto(self.link(email))
            page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile(OVERVIEW))
        if not known:
            self.sessions[email] = [one for one in page.context.cookies() if one["name"] == "desk"]


@contextmanager
def console(folder: Path, database_url: str | None = None) -> Iterator[Console]:
    """Serve the console from `folder`, on an SQLite file in it unless a database is given."""
    url = database_url or f"sqlite:///{folder / 'desk.db'}"
    config = folder / "desk.toml"
    shutil.copyfile(EXAMPLE, config)
    app = make_app(settings_for(url, folder))
    with app.app_context():
        upgrade()
        declarations.refresh(db.session(), config, clock.now())
        db.session.remove()
    port = _free_port()
    with processes.running(folder, url, None, DESK_TRUSTED_PROXIES="1", DESK_DEV="1") as running:
        web = running.desk("web", "--port", str(port))
        here = f"http://127.0.0.1:{port}"
        eventually(lambda: _answers(here, web), within=60, what="the web process answers")
        yield Console(here, app, web, config)
    with app.app_context():
        db.engine.dispose()


def context(browser: Browser, **given: object) -> BrowserContext:
    return browser.new_context(**{"viewport": WIDE, "color_scheme": "light", **given})  # type: ignore[arg-type]


def _answers(url: str, web: processes.Process) -> bool:
    assert web.is_alive, web.output()
    try:
        return httpx.get(f"{url}/sign-in").status_code == 200
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
