"""No text that others write is markup, breaks a page or runs, wherever it is shown."""

import csv
import io
import json

import pytest

from desk_ui.exporting import FORMULA_STARTS
from desk_ui.permissions import requirement_of
from models.operators import Role
from tests.console import world
from tests.console.visiting import Page
from tests.support.api import on_sqlite

# Drawing knows nothing of the database.
pytestmark = [pytest.mark.slow, on_sqlite]

MARKUP = '"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}${7*7}</textarea></title>'
FORMULA = '=HYPERLINK("http://evil.test","x")+cmd|\' /C calc\'!A0'
CONTROL = "a\u0001\u001b[31m\u202eb\u2066\u200b\r\n\tc\x7f<b>d"
LONG = "w" * 200
TEXTS = {"markup": MARKUP, "formula": FORMULA, "control characters": CONTROL, "long": LONG}
# Of what is in the texts, as an element; the pages themselves have none of it.
ELEMENTS = ("<script>alert", "<b>d", "<img src=x")


def assert_harmless(page: Page, where: str) -> None:
    assert [element for element in ELEMENTS if element in page.html] == [], where
    assert page.inline == [], where
    assert page.html.count("{{7*7}}") == page.html.count("${7*7}"), where


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_page_holds_it_as_markup(app, desk, acme, visitor, text):
    there = world.make(desk, acme, app.extensions["desk_settings"], text)
    admin = visitor(Role.ADMIN)
    desk.give("admin@acme.test", desk.tell(lambda session: world.tenants.get(session, None)), "admin")
    opened = 0
    for rule in world.console_rules(app):
        if "GET" not in rule.methods or requirement_of(app, rule.endpoint).permission == "public":
            continue
        # A file is no page; what it holds is told below.
        if rule.endpoint.endswith(".export"):
            continue
        for arguments in there.arguments(rule):
            with app.test_request_context():
                path = rule.build(arguments)
            assert path is not None, rule
            partly = rule.rule.endswith(("/counts", "/needs", "/progress", "/rows"))
            page = admin.block(path[1]) if partly else admin.open(path[1])
            assert page.status in (200, 302, 303, 404, 409), (path, page.status)
            assert_harmless(page, path[1])
            opened += page.status == 200
    for path in (
        f"?customer={text}",
        f"?reason={text}",
        f"?agent={text}&arm={text}&tab=fired",
        "?tab=blocked",
    ):
        page = admin.client.get("/acme/followups" + path.partition("?")[0], query_string=path[1:])
        assert page.status_code == 200
        assert_harmless(Page(page), path)
    assert opened > 20


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_file_holds_it_as_a_formula_or_as_another_row(app, desk, acme, visitor, text):
    world.make(desk, acme, app.extensions["desk_settings"], text)
    admin, seen = visitor(Role.ADMIN), 0
    for area, tabs in (
        ("followups", ("pending", "blocked", "fired", "cancelled")),
        ("deliveries", ("failing", "dead", "delivered")),
        ("audit", ("",)),
    ):
        for tab in tabs:
            query = f"?tab={tab}" if tab else ""
            answer = admin.client.get(f"/acme/{area}/export.csv{query}")
            # No browser takes it for a page, whatever it holds.
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Content-Disposition"].startswith("attachment; ")
            rows = list(csv.reader(io.StringIO(answer.data.decode("utf-8-sig"), newline="")))
            as_lines = admin.client.get(f"/acme/{area}/export.jsonl{query}").text.split("\n")[:-1]
            assert {len(row) for row in rows} == {len(rows[0])}, (area, tab)
            assert len(rows) - 1 == len(as_lines), (area, tab)
            whole = [str(value) for line in as_lines for value in json.loads(line).values()]
            assert [cell for row in rows for cell in row if cell.startswith(FORMULA_STARTS)] == []
            seen += sum(text[:60] in value for value in whole)
    assert seen > 5


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_toast_or_answer_holds_it_as_markup(app, desk, acme, lead, text):
    for htmx in (True, False):
        followup = desk.followup(acme, customer=text, reason=text)
        form = lead.open(f"/acme/followups/{followup.id}").form(f"{followup.id}/cancellation")
        answer = lead.press(form, htmx=htmx)
        page = answer if htmx else lead.follow(answer)
        assert "Cancelled the follow-up to" in page.text
        assert_harmless(page, "toast")
