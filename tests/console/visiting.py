"""Visitors to the console: they open pages, which are checked for what must hold on each, and press."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any, TypeVar
from uuid import UUID

from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session
from werkzeug.test import TestResponse

from desk_ui.security import CONTENT_SECURITY_POLICY
from models import clock, operators, tenants
from models.actors import Actor
from models.audit import AuditEvent
from models.base import db
from models.followups.records import FollowUp
from models.tenants import Tenant
from models.transactions import commit
from tests.support.create import create_followup

SETTER_UP = Actor.system("tests")
HTMX = {"HX-Request": "true", "HX-Request-Type": "partial"}

T = TypeVar("T")


@dataclass
class Form:
    """A form as a browser would send it."""

    method: str
    action: str
    fields: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """What a test asks of a page: its texts, ids and forms."""

    def __init__(self, response: TestResponse) -> None:
        super().__init__()
        self.status = response.status_code
        self.headers = response.headers
        self.html = response.text
        self.title = ""
        self.ids: list[str] = []
        self.forms: list[Form] = []
        self.links: dict[str, str] = {}
        self._text: list[str] = []
        self._open: list[str] = []
        self._href: str | None = None
        self.inline: list[str] = []
        self.feed(response.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in {"input", "meta", "link", "br", "path", "circle", "rect"}:
            self._open.append(tag)
        if "id" in given:
            self.ids.append(given["id"])
        self.inline += [name for name in given if name.startswith("on") or name == "style"]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)
        if tag == "form":
            self.forms.append(Form(given.get("method", "get"), given.get("action", "")))
        if tag == "input" and self.forms and given.get("type") == "hidden":
            self.forms[-1].fields[given["name"]] = given.get("value", "")
        if tag == "a":
            self._href = given.get("href")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        text = data.strip()
        # A chart's own titles are read by pointing at it.
        if not text or "svg" in self._open:
            return
        if "title" in self._open:
            self.title += text
        self._text.append(text)
        if self._href is not None:
            self.links.setdefault(text, self._href)
            self._href = None

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self._text))

    def form(self, ending: str) -> Form:
        """The first form whose action ends so."""
        return next(form for form in self.forms if form.action.endswith(ending))

    def check(self) -> "Page":
        """What must hold on every whole page."""
        assert self.status != 500, self.text
        assert self.title.endswith("· Recovery Desk") and not self.title.startswith("·")
        assert [id for id, times in Counter(self.ids).items() if times > 1] == []
        assert self.inline == []
        for form in self.forms:
            if form.method == "post":
                assert form.fields.get("csrf_token"), form
        return self


class Visitor:
    """Somebody with a browser; with no script unless HTMX is asked for."""

    def __init__(self, app: Flask) -> None:
        self.client = app.test_client()
        self.app = app

    def open(self, path: str, **given: Any) -> Page:
        """The whole page at `path`, checked."""
        page = self._page(self.client.get(path, **given))
        assert page.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
        assert page.headers["Cache-Control"] == "no-store"
        return page if 300 <= page.status < 400 else page.check()

    def block(self, path: str) -> Page:
        """What HTMX gets at `path`."""
        return self._page(self.client.get(path, headers=HTMX))

    def press(self, form: Form, *, htmx: bool = False, **changes: Any) -> Page:
        """Send `form`, some fields changed, None meaning left out."""
        data = {name: value for name, value in {**form.fields, **changes}.items() if value is not None}
        return self._page(self.client.post(form.action, data=data, headers=HTMX if htmx else {}))

    def follow(self, page: Page) -> Page:
        return self.open(page.headers["Location"])

    def _page(self, response: TestResponse) -> Page:
        assert response.status_code != 500, response.text
        return Page(response)


class Desk:
    """The installation, worked on from outside."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def tell(self, work: Callable[[Session], T]) -> T:
        """Do `work` in a transaction of its own and commit it."""
        with self.app.app_context():
            session = db.session()
            answer = work(session)
            commit(session, "tests.tell")
            session.expunge_all()
            db.session.remove()
            return answer

    def tenant(self, key: str) -> Tenant:
        return self.tell(
            lambda session: tenants.add(session, key=key, name=None, actor=SETTER_UP, now=clock.now())
        )

    def followup(self, tenant: Tenant, **given: Any) -> FollowUp:
        return self.tell(lambda session: create_followup(session, tenant, now=clock.now(), **given))

    def give(self, email: str, tenant: Tenant, role: str) -> None:
        self.tell(
            lambda session: operators.add(
                session, email, tenant=tenant, role=role, actor=SETTER_UP, now=clock.now()
            )
        )

    def link(self, email: str, *, made_ago: timedelta = timedelta()) -> str:
        secret = self.tell(
            lambda session: operators.make_link(
                session, operators.by_email(session, email), actor=SETTER_UP, now=clock.now() - made_ago
            )
        )
        return f"/sign-in/{secret}"

    def visitor(self, email: str, tenant: Tenant, role: str) -> Visitor:
        """Somebody with `role` in `tenant`, signed in."""
        self.give(email, tenant, role)
        found = Visitor(self.app)
        link = self.link(email)
        assert found.press(found.open(link).form(link)).status == 303
        return found

    def read(self, tenant: Tenant, followup_id: UUID) -> FollowUp:
        return self.tell(lambda session: session.get_one(FollowUp, (tenant.id, followup_id)))

    def audit(self, action: str) -> list[AuditEvent]:
        query = select(AuditEvent).where(AuditEvent.action == action).order_by(AuditEvent.id)
        return self.tell(lambda session: list(session.scalars(query)))
