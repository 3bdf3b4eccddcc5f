"""A list as a file holds what the list shows on all its pages, and no more."""

import csv
import io
import json
import time
from datetime import timedelta

import pytest
from sqlalchemy import event, update

from desk_ui import downloads, exporting
from models import bulk, clock
from models.audit_reading import COLUMNS as OF_EVENTS
from models.base import db
from models.followups import transitions
from models.followups.exporting import COLUMNS
from models.followups.records import FollowUp
from models.operators import Role
from tests.console.visiting import SETTER_UP
from tests.support.api import on_sqlite
from tests.support.create import create_followup
from tests.support.deliver import create_each_state

LIST = "/acme/followups"


@pytest.fixture
def small_pages(monkeypatch):
    """A page of a file is as small as one of a list, so that few rows fill several."""
    monkeypatch.setattr(downloads, "PAGES", (4, 2))


def booked(desk, tenant, number, **given):
    """That many, of which two share each minute."""

    def book(session):
        now = clock.now()
        return [
            create_followup(
                session,
                tenant,
                now=now,
                customer=f"c-{n}",
                at=now + timedelta(hours=1, minutes=n // 2),
                **given,
            )
            for n in range(number)
        ]

    return desk.tell(book)


def download(visitor, path):
    answer = visitor.client.get(path)
    assert answer.status_code == 200, answer.text
    return answer


def lines(visitor, path=f"{LIST}/export.jsonl"):
    return [json.loads(line) for line in download(visitor, path).text.splitlines()]


def cells(visitor, path=f"{LIST}/export.csv"):
    return list(csv.DictReader(io.StringIO(download(visitor, path).data.decode("utf-8-sig"), newline="")))


def shown(visitor, query=""):
    """The ids of the rows on all pages of the list, in their order."""
    found, path = [], f"{LIST}{query}"
    while path:
        page = visitor.open(path)
        found += [id.removeprefix("followup-") for id in page.ids if id.startswith("followup-")]
        path = page.links.get("Later ones") or page.links.get("Older ones")
    return found


def test_file_holds_the_rows_of_all_pages_in_the_order_of_the_list(desk, acme, lead, small_pages):
    booked(desk, acme, 60)
    rows = lines(lead)
    assert [row["id"] for row in rows] == shown(lead)
    assert len(rows) == 60
    assert tuple(rows[0]) == COLUMNS
    assert rows[0]["at"].endswith("Z") and rows[0]["status"] == "pending"
    assert [row["id"] for row in cells(lead)] == shown(lead)


def test_file_holds_the_rows_of_its_tab_when_the_newest_come_first(desk, acme, lead, small_pages):
    for one in booked(desk, acme, 9)[:6]:
        desk.tell(
            lambda session, one=one: transitions.cancel(
                session, acme.id, one.id, actor=SETTER_UP, now=clock.now()
            )
        )
    rows = lines(lead, f"{LIST}/export.jsonl?tab=cancelled")
    assert [row["customer"] for row in rows] == [f"c-{n}" for n in range(5, -1, -1)]
    assert [row["id"] for row in rows] == shown(lead, "?tab=cancelled")


@pytest.mark.parametrize(
    "query",
    ["customer=c-3", "reason=other", "agent=billing", "arm=b", "since=2020-01-01T00:00", "tab=overdue"],
)
def test_file_holds_what_the_filters_of_the_list_let_pass(desk, acme, lead, small_pages, query):
    booked(desk, acme, 7)
    booked(desk, acme, 5, reason="other", agent="billing", arm="b")
    rows = lines(lead, f"{LIST}/export.jsonl?{query}")
    assert [row["id"] for row in rows] == shown(lead, f"?{query}")
    assert (len(rows) == 0) == (query == "tab=overdue")


def test_file_begins_at_the_start_of_the_list_whatever_page_one_is_on(desk, acme, lead):
    booked(desk, acme, 55)
    page = lead.open(lead.open(LIST).links["Later ones"])
    assert len(lines(lead, page.links["JSON Lines"])) == 55


def test_file_holds_nothing_of_another_tenant(desk, acme, lead):
    booked(desk, desk.tenant("other"), 3)
    assert lines(lead) == []
    for kind in ("csv", "jsonl"):
        assert lead.client.get(f"/other/followups/export.{kind}").status_code == 404


@on_sqlite
@pytest.mark.parametrize("role", Role)
def test_file_is_for_everybody_who_may_see_the_list(desk, acme, visitor, role):
    booked(desk, acme, 1)
    who = visitor(role)
    assert len(lines(who)) == 1
    assert {"CSV", "JSON Lines"} <= who.open(LIST).links.keys()


@on_sqlite
def test_file_is_named_by_tenant_list_and_day_in_the_zone_of_the_page(desk, acme, lead):
    answer = download(lead, f"{LIST}/export.csv?tab=blocked")
    day = f"{clock.now():%Y-%m-%d}"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="acme-followups-blocked-{day}.csv"'
    assert answer.content_type == "text/csv; charset=utf-8"
    assert answer.data.startswith(b"\xef\xbb\xbfid,agent,customer")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert download(lead, f"{LIST}/export.jsonl").content_type == "application/x-ndjson; charset=utf-8"


@on_sqlite
def test_no_file_is_made_when_a_filter_can_not_be_used(desk, acme, lead):
    """The list says beside its rows what it left out; a file could not."""
    assert lead.open(f"{LIST}/export.csv?tab=nonsense").status == 422
    assert lead.open(f"{LIST}/export.xml").status == 404


def test_every_text_is_defused_in_csv_and_as_it_is_in_json_lines(desk, acme, lead):
    hostile = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "\uff1d1+1", '"a","b"\nc']
    made = [desk.followup(acme, customer=f"c-{n}", reason=reason) for n, reason in enumerate(hostile)]
    as_csv = {row["customer"]: row["reason"] for row in cells(lead)}
    as_lines = {row["customer"]: row["reason"] for row in lines(lead)}
    for followup in made:
        reason, n = followup.reason, followup.customer
        assert as_lines[n] == reason
        assert as_csv[n] == (f"'{reason}" if reason.startswith(exporting.FORMULA_STARTS) else reason)


HIDDEN = [
    "x;=1+cmd|' /C calc'!A0;",
    "x\t=1+1",
    "|=1",
    "x,@SUM(A1)",
    "x\n=1+1",
    "x\r\n+1",
    "x; \u00a0-1",
    'x;"=1+1"',
    "x\u2028=1",
    "x;;;\uff1d1",
    " =1+1",
]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_no_cell_is_a_formula_by_whatever_separator_the_file_is_read(desk, acme, lead, separator):
    for n, reason in enumerate(HIDDEN):
        desk.followup(acme, customer=f"c-{n}", reason=reason)
    text = download(lead, f"{LIST}/export.csv").data.decode("utf-8-sig")
    read = [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) for cell in row]
    assert len(read) > len(HIDDEN)
    assert [cell for cell in read if cell.lstrip().startswith(exporting.FORMULA_STARTS)] == []


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("a; b, c | d", "a; b, c | d"),
        ("a-b - c = d", "a-b - c = d"),
        ("mail a@b.example, c@d.example", "mail a@b.example, c@d.example"),
        ("-1;-1", "'-1;'-1"),
        ("a;\n - b", "a;\n '- b"),
        ({"n": [1, -2], "why": "x;=1, -2"}, '{"n": [1, -2], "why": "x;\'=1, -2"}'),
        (-1, -1),
        (None, None),
    ],
)
def test_text_stays_as_it_is_where_no_formula_begins(value, cell):
    assert exporting.cell(value) == cell


def test_long_runs_of_separators_are_read_once():
    began = time.process_time()
    for text in ("\n" * 500_000, "; " * 250_000, ";=" * 50_000):
        exporting.cell(text)
    assert time.process_time() - began < 2


def test_rows_are_read_a_page_at_a_time_as_they_are_taken(app, desk, acme, lead, monkeypatch):
    """However long the list is, no more than a page of it is held; and no transaction is open in between."""
    monkeypatch.setattr(exporting, "BLOCK_CHARACTERS", 1)
    monkeypatch.setattr(downloads, "PAGES", (4, 2))
    booked(desk, acme, 40)
    seen = []

    def note(_connection, _cursor, statement, *_more):
        if "FROM follow_up" in statement:
            seen.append(statement)

    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        answer = lead.client.get(f"{LIST}/export.jsonl", buffered=False)
        blocks = answer.iter_encoded()
        taken = []
        for number, block in enumerate(blocks):
            taken.append(json.loads(block)["customer"])
            assert len(seen) == number // 4 + 1
            assert engine.pool.checkedout() == 0
        assert len(taken) == len(set(taken)) == 40
        assert len(seen) == 11
    finally:
        event.remove(engine, "before_cursor_execute", note)


def test_row_that_changed_meanwhile_stands_once_or_not_at_all(desk, acme, lead, monkeypatch):
    monkeypatch.setattr(exporting, "BLOCK_CHARACTERS", 1)
    monkeypatch.setattr(downloads, "PAGES", (4, 2))
    made = booked(desk, acme, 10)
    blocks = lead.client.get(f"{LIST}/export.jsonl", buffered=False).iter_encoded()
    first = json.loads(next(blocks))["id"]
    assert first in {str(one.id) for one in made}
    late = clock.now() + timedelta(days=3)
    desk.tell(
        lambda session: bulk.execute_unaudited(
            session, update(FollowUp).where(FollowUp.id == made[0].id).values(at=late, updated_at=clock.now())
        )
    )
    ids = [first, *(json.loads(block)["id"] for block in blocks)]
    assert sorted(ids) == sorted(str(one.id) for one in made)


def test_file_says_that_it_is_not_complete_and_is_cut_off_when_a_page_fails(desk, acme, lead, monkeypatch):
    monkeypatch.setattr(exporting, "BLOCK_CHARACTERS", 1)
    monkeypatch.setattr(downloads, "PAGES", (4, 2))
    booked(desk, acme, 10)
    for kind in ("csv", "jsonl"):
        taken = []
        with monkeypatch.context() as broken, pytest.raises(ZeroDivisionError):
            blocks = lead.client.get(f"{LIST}/export.{kind}", buffered=False).iter_encoded()
            broken.setattr("desk_ui.followups.exporting.page", lambda *_given: 1 / 0)
            for block in blocks:
                taken.append(block.decode())
        assert "It is not complete" in taken[-1]


def test_smaller_pages_are_read_when_a_page_takes_too_long(desk, acme, lead, small_pages, monkeypatch):
    from desk_ui.followups import exporting as of_followups

    booked(desk, acme, 7)
    whole, asked = of_followups.page, []

    def slow(session, scene, filters, after, most):
        asked.append(most)
        if most == 4 and after is not None:
            raise downloads.TooSlow("This took too long.")
        return whole(session, scene, filters, after, most)

    monkeypatch.setattr(of_followups, "page", slow)
    assert len(lines(lead)) == 7
    assert asked == [4, 4, 2, 2]


def test_page_says_that_it_took_too_long_when_even_the_first_rows_do(desk, acme, lead, monkeypatch):
    def too_slow(*_given):
        raise downloads.TooSlow("This took too long. Narrow it down with the filters.")

    monkeypatch.setattr("desk_ui.followups.exporting.page", too_slow)
    page = lead.open(f"{LIST}/export.csv")
    assert page.status == 503
    assert "Narrow it down" in page.text


def test_deliveries_are_exported_without_what_may_be_secret_of_an_address(app, desk, acme, lead, small_pages):
    settings = app.extensions["desk_settings"]
    desk.tell(lambda session: create_each_state(session, acme, settings, now=clock.now()))
    for tab in ("failing", "dead", "pending", "delivered"):
        query = f"?tab={tab}"
        rows = lines(lead, f"/acme/deliveries/export.jsonl{query}")
        page = lead.open(f"/acme/deliveries{query}")
        assert [f"delivery-{row['id']}" for row in rows] == [
            id for id in page.ids if id.startswith("delivery-")
        ]
        assert rows and all(row["endpoint_origin"].count("/") == 2 for row in rows)
        assert len(cells(lead, f"/acme/deliveries/export.csv{query}")) == len(rows)


def test_audit_is_exported_with_the_columns_of_the_command(desk, acme, lead, small_pages):
    booked(desk, acme, 9)
    rows = lines(lead, "/acme/audit/export.jsonl?action=followup.scheduled")
    page = lead.open("/acme/audit?action=followup.scheduled")
    assert [f"event-{row['id']}" for row in rows] == [id for id in page.ids if id.startswith("event-")]
    assert len(rows) == 9
    assert tuple(rows[0]) == OF_EVENTS and rows[0]["tenant"] == "acme"
    assert isinstance(rows[0]["detail"], dict)
    as_csv = cells(lead, "/acme/audit/export.csv?action=followup.scheduled")
    assert json.loads(as_csv[0]["detail"]) == rows[0]["detail"]


def test_menu_says_how_many_match_when_they_are_counted(desk, acme, lead):
    booked(desk, acme, 3)
    assert "All that match, in this order" in lead.open(LIST).text
    block = lead.block(f"{LIST}/counts")
    assert 'hx-target="#matching"' in block.html and "All 3 that match, in this order" in block.text
    assert "The 1 that matches" in lead.block(f"{LIST}/counts?customer=c-1").text


def test_no_more_run_at_once_than_leave_threads_to_the_pages(desk, acme, lead):
    desk.followup(acme)
    path = f"{LIST}/export.csv"
    running = [lead.client.get(path) for _ in range(downloads.AT_ONCE)]
    refused = lead.client.get(path)
    assert refused.status_code == 503 and "As many exports as can run at once" in refused.text
    running[0].close()
    again = lead.client.get(path)
    assert again.status_code == 200
    for answer in (again, *running[1:]):
        answer.close()
