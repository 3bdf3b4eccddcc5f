"""Acting on many rows from their list: what is asked, what is done, and what it is refused for."""

import re
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select, update

from desk_ui.bulk import starting
from jobs import bulk as runner
from models import bulk, bulk_operations, clock
from models.bulk_operations import BulkItem, BulkOperation
from models.deliveries import Delivery
from models.followups import in_bulk, transitions
from models.followups.records import FollowUp, Status
from tests.bulk.working import LEAD, rows_of
from tests.console.counting import selects
from tests.console.visiting import SETTER_UP, Form
from tests.support.deliver import create_delivery, create_endpoint

LIST = "/acme/followups"
WHY = "the shop is closed"
NONE = UUID(int=7)
TICK = re.compile(r'name="row" value="([0-9a-f-]+\.\d+)"')


def book(desk, tenant, number, **given):
    return [desk.followup(tenant, customer=f"c-{n}", **given) for n in range(number)]


def ticks(page):
    return TICK.findall(page.html)


def asked(visitor, path=LIST, *, do="cancellation", row=None, every=False, htmx=False, **given):
    """The question about the rows that are ticked, all of the page unless `row` says otherwise."""
    page = visitor.open(path)
    if every:
        return visitor.press(page.form("/followups/bulk"), htmx=htmx, all="1", do=do, **given)
    rows = ticks(page) if row is None else row
    return visitor.press(page.form("/followups/bulk"), htmx=htmx, do=do, row=rows, **given)


def confirmed(visitor, question, *, htmx=False, **given):
    form = next(one for one in question.forms if one.action.startswith("/acme/") and "rows" in one.fields)
    return visitor.press(form, htmx=htmx, **{"reason": WHY, **given})


def confirmed_all(visitor, question, **given):
    form = next(one for one in question.forms if one.fields.get("number"))
    return visitor.press(form, **{"reason": WHY, **given})


def operations(desk):
    return desk.tell(lambda session: list(session.scalars(select(BulkOperation))))


def statuses(desk):
    return desk.tell(lambda session: sorted(session.scalars(select(FollowUp.status))))


def test_list_has_a_tick_for_each_row_that_can_be_acted_on(desk, acme, lead, visitor):
    book(desk, acme, 3)
    assert len(ticks(lead.open(LIST))) == 3
    assert ticks(visitor("viewer").open(LIST)) == []
    assert "bulk" not in visitor("viewer").open(LIST).ids
    assert "bulk" not in lead.open(f"{LIST}?tab=fired").ids


def test_question_tells_what_will_happen_and_changes_nothing(desk, acme, lead):
    book(desk, acme, 7)
    question = asked(lead).check()
    assert question.title.startswith("Cancel 7 follow-ups")
    assert "c-0, pix pending" in question.text and "and 2 more" in question.text
    assert "It can't be undone" in question.text and "Pending" in question.text
    assert statuses(desk) == ["pending"] * 7
    assert operations(desk) == []


@pytest.mark.parametrize("htmx", [True, False], ids=["htmx", "plain"])
def test_cancel_is_done_to_each_that_was_ticked_and_told(desk, acme, lead, htmx):
    book(desk, acme, 3)
    rows = ticks(lead.open(LIST))[:2]
    answer = confirmed(lead, asked(lead, row=rows, htmx=htmx), htmx=htmx)
    if htmx:
        assert answer.headers["HX-Redirect"].startswith(LIST)
        page = lead.open(answer.headers["HX-Redirect"])
    else:
        assert answer.status == 303
        page = lead.follow(answer)
    assert "Cancelled 2 follow-ups. Show the result" in page.text
    assert statuses(desk) == ["cancelled", "cancelled", "pending"]
    events = desk.audit("followup.cancelled")
    [operation] = operations(desk)
    assert {(e.actor_label, e.purpose) for e in events} == {("lead@acme.test", WHY)}
    assert {e.detail["bulk"] for e in events} == {str(operation.id)}
    for action in ("bulk.started", "bulk.finished"):
        [event] = desk.audit(action)
        assert (event.actor_label, event.purpose, event.resource_id) == (
            "lead@acme.test",
            WHY,
            str(operation.id),
        )


def test_filters_are_kept_through_the_act(desk, acme, lead):
    book(desk, acme, 2)
    desk.followup(acme, customer="x", reason="another")
    path = f"{LIST}?reason=pix+pending"
    question = asked(lead, path, every=True)
    assert "Reason: pix pending" in question.text and question.title.startswith("Cancel 2 follow-ups")
    answer = confirmed_all(lead, question)
    assert answer.headers["Location"] == path
    assert statuses(desk) == ["cancelled", "cancelled", "pending"]
    assert operations(desk)[0].filters == {"reason": "pix pending"}


def test_row_that_changed_since_it_was_shown_is_left_and_told_of(desk, acme, lead):
    first, second = book(desk, acme, 2)
    question = asked(lead)
    now = clock.now()
    desk.tell(
        lambda session: transitions.reschedule(
            session, acme.id, first.id, now + timedelta(days=2), actor=SETTER_UP, now=now
        )
    )
    answer = confirmed(lead, question)
    page = lead.follow(answer)
    assert "Cancelled 1 follow-up. 1 could not be done." in page.text
    assert "/acme/bulk/" in answer.headers["Location"]
    assert "This follow-up changed since you saw it, so nothing was done." in page.text
    assert desk.read(acme, first.id).status == Status.PENDING
    assert desk.read(acme, second.id).status == Status.CANCELLED


def test_all_that_match_leaves_what_changed_since_the_list_was_read(desk, acme, lead):
    book(desk, acme, 2)
    form = lead.open(LIST).form("/followups/bulk")
    late = desk.followup(acme, customer="late")
    question = lead.press(form, all="1", do="cancellation")
    assert question.title.startswith("Cancel 2 follow-ups")
    confirmed_all(lead, question)
    assert desk.read(acme, late.id).status == Status.PENDING
    assert statuses(desk) == ["cancelled", "cancelled", "pending"]


def test_what_matches_only_since_the_question_is_left_as_it_is(desk, acme, lead):
    first, _second = book(desk, acme, 2)
    question = asked(lead, every=True)
    # The number stays the same: one comes, and one goes.
    late = desk.followup(acme, customer="late")
    desk.tell(
        lambda session: transitions.cancel(session, acme.id, first.id, actor=SETTER_UP, now=clock.now())
    )
    answer = confirmed_all(lead, question)
    assert desk.read(acme, late.id).status == Status.PENDING
    assert statuses(desk) == ["cancelled", "cancelled", "pending"]
    assert "1 could not be done" in lead.follow(answer).text


NOT_READ_AT = ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "", "yesterday", "2031-01-01")
NOT_READ_AT += ("1969-12-31T23:59:59Z", "2999-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00")


@pytest.mark.parametrize("area", ["followups", "deliveries"])
def test_time_at_which_no_list_was_read_is_refused_before_anything_is_looked_for(desk, acme, lead, area):
    book(desk, acme, 1)
    token = lead.open(LIST).form("/followups/bulk").fields["csrf_token"]
    for ending in ("", "/cancellation", "/rearming") if area == "followups" else ("", "/rearming"):
        do = "rearming" if area == "deliveries" else "cancellation"
        form = Form("post", f"/acme/{area}/bulk{ending}", {"csrf_token": token, "all": "1", "do": do})
        form.fields |= {"number": "1", "reason": WHY, "list": "tab=dead" if area == "deliveries" else ""}
        for seen in NOT_READ_AT:
            answer = lead.press(form, seen=seen)
            assert answer.status == 422, (ending, seen)
            assert "seen is not when this list was read; reload it and select again." in answer.text
    assert statuses(desk) == ["pending"] and operations(desk) == []


def test_time_long_ago_matches_nothing(desk, acme, lead):
    book(desk, acme, 1)
    question = asked(lead, every=True, seen="1970-01-01T00:00:00Z")
    assert question.status == 422 and "None of them is left as you saw it." in question.text


def test_more_than_were_confirmed_are_not_done_but_asked_about_anew(desk, acme, lead):
    book(desk, acme, 3)
    question = asked(lead, every=True)
    answer = confirmed_all(lead, question, number="2")
    assert answer.status == 409
    assert "There are more of them now than you confirmed, so nothing was done." in answer.text
    assert "Cancel 3 follow-ups" in answer.text
    assert WHY in answer.html
    assert statuses(desk) == ["pending"] * 3
    [event] = desk.audit("bulk.started")
    assert event.result == "refused"


def test_over_100_are_done_by_a_worker_when_their_number_was_typed(desk, acme, lead, monkeypatch):
    monkeypatch.setattr(starting, "MOST_CHOSEN", 2)
    monkeypatch.setattr(starting, "UNTYPED", 2)
    monkeypatch.setattr(starting, "AT_ONCE", 2)
    book(desk, acme, 3)
    question = asked(lead, every=True)
    assert "Type 3 to confirm how many" in question.text and "A worker does it" in question.text
    for typed in (None, "", "2", "three"):
        answer = confirmed_all(lead, question, typed=typed)
        assert answer.status == 422 and "Must be 3, the number of them." in answer.text
    assert operations(desk) == []
    answer = confirmed_all(lead, question, typed=" 3 ")
    page = lead.follow(answer)
    assert "Cancelling 3 follow-ups." in page.text and "0 done, 3 to go" in page.text
    assert 'hx-trigger="every 2s"' in page.html
    assert statuses(desk) == ["pending"] * 3


def test_reason_is_asked_for(desk, acme, lead):
    book(desk, acme, 1)
    answer = confirmed(lead, asked(lead), reason=" ")
    assert answer.status == 422 and "Must not be blank." in answer.text
    answer = confirmed(lead, asked(lead), reason="x" * 201)
    assert answer.status == 422 and "200 is the most" in answer.text
    assert operations(desk) == []


@pytest.mark.parametrize("htmx", [True, False], ids=["htmx", "plain"])
def test_nothing_selected_is_said_so(desk, acme, lead, htmx):
    book(desk, acme, 1)
    answer = asked(lead, row=[], htmx=htmx)
    assert answer.status == 422 and "Nothing is selected." in answer.text
    question = asked(lead)
    assert confirmed(lead, question, rows="").status == 422
    assert operations(desk) == []


def test_double_click_acts_once(desk, acme, lead):
    book(desk, acme, 2)
    question = asked(lead)
    confirmed(lead, question)
    again = confirmed(lead, question)
    assert again.status == 409 and "sent twice" in again.text
    assert len(operations(desk)) == 1
    assert len(desk.audit("followup.cancelled")) == 2


def test_rows_of_another_tenant_are_as_those_that_are_not_there(desk, acme, lead):
    other = desk.tenant("other")
    theirs, [mine] = desk.followup(other), book(desk, acme, 1)
    rows = [f"{theirs.id}.1", f"{uuid4()}.1"]
    assert "None of them is left as you saw it." in asked(lead, row=rows).text
    question = asked(lead, row=[*rows, f"{mine.id}.1"])
    assert question.title.startswith("Cancel 1 follow-up ")
    confirmed(lead, question)
    assert desk.read(other, theirs.id).status == Status.PENDING
    assert desk.read(acme, mine.id).status == Status.CANCELLED


@pytest.mark.parametrize(
    "row",
    [
        "x.1",
        "1.1",
        f"{UUID(int=1)}",
        f"{UUID(int=1)}.-1",
        f"{UUID(int=1)}.99999999999",
        f"{UUID(int=1)}.\u0663",
        "'; --.1",
        ".",
    ],
)
def test_row_that_is_none_is_refused(desk, acme, lead, row):
    book(desk, acme, 1)
    answer = asked(lead, row=[row])
    assert answer.status == 422 and "reload it and select again" in answer.text


def test_more_rows_than_a_page_holds_are_refused(desk, acme, lead):
    book(desk, acme, 1)
    answer = asked(lead, row=[f"{uuid4()}.1" for _ in range(101)])
    assert answer.status == 422 and "up to 100 times" in answer.text


@pytest.mark.parametrize(
    "query",
    [
        "tab=fired",
        "tab=nowhere",
        "blocked=x",
        "since=never",
        "reason=" + "x" * 300,
        "customer=%00",
        "tab=blocked",
    ],
)
def test_all_of_a_list_that_can_not_be_so_is_refused(desk, acme, lead, query):
    """A filter that can't be used must not widen what is acted on."""
    book(desk, acme, 2)
    question = asked(lead, every=True, list=query)
    assert question.status == 422
    answer = confirmed_all(lead, asked(lead, every=True), list=query)
    assert answer.status in (409, 422)
    assert statuses(desk) == ["pending"] * 2


def test_act_is_refused_and_audited_when_the_role_may_only_look(desk, acme, lead, visitor):
    book(desk, acme, 1)
    question = asked(lead)
    viewer = visitor("viewer")
    token = viewer.open(LIST).form("/sign-out").fields["csrf_token"]
    for form in (lead.open(LIST).form("/followups/bulk"), question.form("/followups/bulk/cancellation")):
        assert viewer.press(form, csrf_token=token, reason=WHY, do="cancellation").status == 403
    assert statuses(desk) == ["pending"]
    assert {(e.actor_label, e.result) for e in desk.audit("bulk.started")} == {
        ("viewer@acme.test", "refused")
    }


def cancelled(desk, tenant, number):
    found = book(desk, tenant, number)
    now = clock.now()
    for one in found:
        desk.tell(lambda s, one=one: transitions.cancel(s, tenant.id, one.id, actor=SETTER_UP, now=now))
    return found


def test_rearm_books_all_again_for_the_one_time(desk, acme, lead):
    first, second = cancelled(desk, acme, 2)
    path = f"{LIST}?tab=cancelled"
    question = asked(lead, path, do="rearming")
    assert question.title.startswith("Re-arm 2 follow-ups")
    answer = confirmed(lead, question, at="2020-01-01T00:00")
    assert answer.status == 422 and "at least 5 minutes ahead" in answer.text
    answer = confirmed(lead, question, at="2099-08-14T10:00")
    assert "Re-armed 2 follow-ups." in lead.follow(answer).text
    made = desk.tell(lambda s: list(s.scalars(select(FollowUp).where(FollowUp.status == "pending"))))
    assert {row.rearmed_from for row in made} == {first.id, second.id}
    assert {row.at.isoformat() for row in made} == {"2099-08-14T10:00:00+00:00"}
    # What was booked again is neither ticked nor taken with all.
    assert ticks(lead.open(path)) == []
    page = lead.open(f"/acme/bulk/{operations(desk)[0].id}")
    assert "Fri 14 Aug 2099, 10:00:00 UTC" in page.text


def test_first_10_000_are_meant_when_more_match(desk, acme, lead, monkeypatch):
    for module in (bulk_operations, starting):
        monkeypatch.setattr(module, "MOST", 2)
    followups = book(desk, acme, 3)
    question = asked(lead, every=True)
    assert question.title.startswith("Cancel 2 follow-ups")
    assert "The first 2 that match." in question.text
    confirmed_all(lead, question)
    assert statuses(desk) == ["cancelled", "cancelled", "pending"]
    assert len(followups) == 3


def test_10_001_rows_are_counted_and_taken_down_set_wise(app, desk, acme, lead, monkeypatch):
    monkeypatch.setattr(bulk.audit_guard, "note_changes", lambda *_args: None)
    now = clock.now() - timedelta(seconds=1)

    def fill(session):
        rows = [row_of(acme, number, now) for number in range(10_001)]
        bulk.insert_absent(session, FollowUp, rows, resource_type="followup")

    desk.tell(fill)
    monkeypatch.undo()
    question = asked(lead, every=True)
    assert question.title.startswith("Cancel 10,000 follow-ups")
    with selects(app) as seen:
        answer = confirmed_all(lead, question, typed="10,000")
    assert answer.status == 303
    assert len(seen) < 25
    counted = desk.tell(lambda s: s.scalar(select(func.count()).select_from(BulkItem)))
    assert counted == 10_000
    page = lead.follow(answer)
    assert "0 done, 10,000 to go" in page.text
    stop = page.form("/stop")
    stopped = lead.follow(lead.press(stop))
    assert "Stopped: 0 done, 10,000 left as they were." in stopped.text


def row_of(tenant, number, now):
    return {
        "tenant_id": tenant.id,
        "id": uuid4(),
        "agent": "store-support",
        "customer": f"c-{number}",
        "at": now + timedelta(hours=1, seconds=number),
        "reason": "pix pending",
        "arm": "schedule",
        "status": "pending",
        "created_at": now,
        "updated_at": now,
        "attempts": 0,
        "version": 1,
    }


def running(desk, tenant, lead, number=3):
    """An operation that nobody does yet."""
    book(desk, tenant, number)
    now = clock.now()
    made = desk.tell(
        lambda session: bulk_operations.begin(
            session,
            tenant.id,
            in_bulk.CANCEL.name,
            rows_of(tenant, FollowUp.status == "pending"),
            confirmed=number,
            reason=WHY,
            actor=LEAD,
            now=now,
        )
    )
    return made.id


@pytest.mark.parametrize("htmx", [True, False], ids=["htmx", "plain"])
def test_stop_leaves_the_rest_and_says_how_far_it_came(desk, acme, lead, htmx):
    id = running(desk, acme, lead)
    form = lead.open(f"/acme/bulk/{id}").form("/stop")
    answer = lead.press(form, htmx=htmx)
    page = answer if htmx else lead.follow(answer)
    assert "Stopped: 0 done, 3 left as they were." in page.text
    assert "every 2s" not in page.html
    again = lead.press(form, once=None)
    assert "It had ended already, so there was nothing to stop." in lead.follow(again).text
    [event] = desk.audit("bulk.stopped")
    assert event.detail["counts"]["left_out"] == 3
    assert statuses(desk) == ["pending"] * 3


def test_stop_is_refused_when_the_role_may_not_do_what_it_does(desk, acme, lead, visitor):
    id = running(desk, acme, lead)
    viewer = visitor("viewer")
    page = viewer.open(f"/acme/bulk/{id}")
    assert "3 to go" in page.text and not [one for one in page.forms if one.action.endswith("/stop")]
    form = lead.open(f"/acme/bulk/{id}").form("/stop")
    token = viewer.open(LIST).form("/sign-out").fields["csrf_token"]
    assert viewer.press(form, csrf_token=token).status == 403
    # Who may act on deliveries stops none of the follow-ups by it.
    form.action = form.action.replace("followups", "deliveries")
    assert lead.press(form).status == 404
    assert operations(desk)[0].state == "running"


def test_progress_is_read_until_the_end_and_brings_the_results_then(desk, acme, lead, app):
    id = running(desk, acme, lead)
    path = f"/acme/bulk/{id}/progress"
    block = lead.block(path)
    assert "every 2s" in block.html and "3 to go" in block.text
    assert 'hx-target="#results"' in block.html and block.text.count("Waiting") == 3

    def go_on(session):
        runner.go_on(session, id, most=100)

    desk.tell(go_on)
    block = lead.block(path)
    assert "every 2s" not in block.html and "3 done" in block.text
    assert 'hx-target="#results"' in block.html and "c-2, pix pending" in block.text


def test_results_are_narrowed_paged_and_exported(desk, acme, lead):
    followups = book(desk, acme, 60)
    rows = [f"{one.id}.{2 if number < 4 else 1}" for number, one in enumerate(followups)]
    confirmed(lead, asked(lead, row=rows))
    [operation] = operations(desk)
    path = f"/acme/bulk/{operation.id}"
    page = lead.open(path)
    assert "56 done, 4 not done" in page.text
    assert page.html.count('id="result-') == 50
    assert lead.open(page.links["More"]).html.count('id="result-') == 10
    assert lead.open(f"{path}?became=not_done").html.count("changed since you saw it") == 8
    assert lead.open(f"{path}?became=nonsense&after=-1").html.count('id="result-') == 50
    assert lead.open(f"{path}?after=99999999999999").status == 200
    export = lead.client.get(f"{path}/results.csv")
    lines = export.text.splitlines()
    assert len(lines) == 61 and lines[0].endswith("position,row_id,customer,reason,result,why,at")
    assert sum("not_done" in line for line in lines) == 4
    assert str(followups[0].id) in export.text
    assert len(lead.client.get(f"{path}/results.jsonl?became=not_done").text.splitlines()) == 4


def test_list_of_operations_leads_to_each_newest_first(desk, acme, lead, visitor):
    book(desk, acme, 1)
    assert "No bulk work yet" in lead.open("/acme/bulk").text
    confirmed(lead, asked(lead))
    cancelled(desk, acme, 1)
    confirmed(lead, asked(lead, f"{LIST}?tab=cancelled", do="rearming"), at="2099-08-14T10:00")
    page = visitor("viewer").open("/acme/bulk")
    titles = re.findall(r"data-focus>([^<]+)</a>", page.html)
    assert [title.split(" ")[0] for title in titles] == ["Re-arm", "Cancel"]
    assert WHY in page.text and "lead@acme.test" in page.text
    assert lead.open(page.links[titles[0]]).status == 200


def test_operation_of_another_tenant_is_not_found(desk, acme, lead):
    id = running(desk, acme, lead)
    other = desk.visitor("lead@other.test", desk.tenant("other"), "admin")
    for path in ("", "/progress", "/results.csv"):
        assert other.client.get(f"/other/bulk/{id}{path}").status_code == 404
    token = other.open("/other/followups").form("/sign-out").fields["csrf_token"]
    answer = other.client.post(f"/other/followups/bulk/{id}/stop", data={"csrf_token": token})
    assert answer.status_code == 404
    assert operations(desk)[0].state == "running"


def test_texts_that_customers_and_operators_wrote_are_no_markup(desk, acme, lead):
    hostile = "<b>=1+1</b>"
    desk.followup(acme, customer=hostile, reason=hostile)
    question = asked(lead)
    assert hostile not in question.html and "&lt;b&gt;" in question.html
    answer = confirmed(lead, question, reason=hostile)
    shown = lead.follow(answer)
    [operation] = operations(desk)
    for page in (shown, lead.open("/acme/bulk"), lead.open(f"/acme/bulk/{operation.id}")):
        assert hostile not in page.html


def test_audit_names_the_operation_and_leads_to_it(desk, acme, lead):
    book(desk, acme, 1)
    confirmed(lead, asked(lead))
    [operation] = operations(desk)
    page = lead.open(f"/acme/audit?kind=bulk&id={operation.id}")
    assert "Bulk work begun" in page.text and "Bulk work ended" in page.text
    assert f'href="/acme/bulk/{operation.id}"' in page.html


def test_list_reads_nothing_more_for_its_ticks(app, desk, acme, lead, visitor):
    book(desk, acme, 3)
    viewer = visitor("viewer")
    counts = []
    for person in (viewer, lead):
        person.open(LIST)
        with selects(app) as seen:
            person.open(LIST)
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_overdue_ones_can_be_cancelled_all_at_once(desk, acme, lead):
    followups = book(desk, acme, 2)
    at = clock.now() - timedelta(hours=3)
    desk.tell(
        lambda session: bulk.execute_unaudited(
            session, update(FollowUp).where(FollowUp.id == followups[0].id).values(at=at)
        )
    )
    question = asked(lead, f"{LIST}?tab=overdue", every=True)
    assert question.title.startswith("Cancel 1 follow-up ")
    assert "Overdue" in question.text
    confirmed_all(lead, question)
    assert desk.read(acme, followups[0].id).status == Status.CANCELLED
    assert desk.read(acme, followups[1].id).status == Status.PENDING


def test_every_filter_of_the_list_holds_for_all_that_match(desk, acme, lead):
    wanted = desk.followup(acme, customer="c-1", reason="one", arm="a", agent="store-support")
    desk.followup(acme, customer="c-2", reason="two", arm="b", agent="store-support")
    since, until = wanted.at - timedelta(minutes=2), wanted.at + timedelta(minutes=2)
    for query in (
        "customer=c-1",
        "reason=one",
        "arm=a",
        "agent=store-support&reason=one",
        f"since={since:%Y-%m-%dT%H:%M}&until={until:%Y-%m-%dT%H:%M}&customer=c-1",
    ):
        question = asked(lead, f"{LIST}?{query}", every=True)
        assert question.title.startswith("Cancel 1 follow-up "), query
    confirmed_all(lead, question)
    assert desk.read(acme, wanted.id).status == Status.CANCELLED
    assert statuses(desk) == ["cancelled", "pending"]


@pytest.fixture
def dead(app, desk, acme):
    """Three deliveries that were given up, to one endpoint."""
    settings, now = app.extensions["desk_settings"], clock.now()

    def make(session):
        endpoint, _secret = create_endpoint(session, acme, settings, now=now)
        return [create_delivery(session, acme, endpoint, now=now).id for _number in range(3)]

    return desk.tell(make)


def test_deliveries_that_were_given_up_are_sent_again_together(desk, acme, lead, dead):
    page = lead.open("/acme/deliveries?tab=dead")
    rows = ticks(page)
    assert sorted(int(row.partition(".")[0]) for row in rows) == dead
    assert ticks(lead.open("/acme/deliveries?tab=pending")) == []
    question = lead.press(page.form("/deliveries/bulk"), do="rearming", row=rows[:2]).check()
    assert question.title.startswith("Re-arm 2 deliveries")
    assert "https://hooks.example" in question.text and "secret-path" not in question.html
    answer = lead.press(question.form("/deliveries/bulk/rearming"), reason=WHY)
    assert "Re-armed 2 deliveries. Show the result" in lead.follow(answer).text
    states = desk.tell(lambda session: sorted(session.scalars(select(Delivery.state))))
    assert states == ["dead", "pending", "pending"]
    [operation] = operations(desk)
    shown = lead.open(f"/acme/bulk/{operation.id}")
    assert f'href="/acme/deliveries/{rows[0].partition(".")[0]}"' in shown.html
    everything = lead.press(page.form("/deliveries/bulk"), all="1", do="rearming")
    assert everything.title.startswith("Re-arm 1 delivery ")
    assert lead.press(page.form("/deliveries/bulk"), all="1", do="rearming", list="tab=failing").status == 422


def test_deliveries_are_left_to_those_who_may_send_them(visitor, desk, acme, dead):
    marketer = visitor("marketer")
    page = marketer.open("/acme/deliveries?tab=dead")
    assert ticks(page) == [] and "bulk" not in page.ids
    token = page.form("/sign-out").fields["csrf_token"]
    for path in ("", "/rearming"):
        answer = marketer.client.post(f"/acme/deliveries/bulk{path}", data={"csrf_token": token})
        assert answer.status_code == 403


def test_what_the_list_does_not_know_is_not_kept(desk, acme, lead):
    book(desk, acme, 1)
    page = lead.open(LIST)
    form = page.form("/followups/bulk")
    question = lead.press(form, do="cancellation", row=ticks(page), list="zz=%00&agent=store-support")
    answer = confirmed(lead, question)
    assert answer.status == 303
    [operation] = desk.tell(lambda session: list(session.scalars(select(BulkOperation))))
    assert operation.filters == {"agent": "store-support"}


def test_times_are_meant_in_the_zone_in_which_they_were_asked_for(desk, acme, lead):
    [one] = book(desk, acme, 1)
    desk.tell(lambda session: transitions.cancel(session, acme.id, one.id, actor=SETTER_UP, now=clock.now()))
    question = asked(lead, f"{LIST}?tab=cancelled", do="rearming")
    at = (clock.now() + timedelta(hours=20)).replace(second=0, microsecond=0)
    profile = lead.open("/profile")
    lead.press(profile.form("/profile/timezone"), timezone="Asia/Tokyo")
    confirmed(lead, question, at=f"{at:%Y-%m-%dT%H:%M}")
    [again] = desk.tell(
        lambda session: list(session.scalars(select(FollowUp).where(FollowUp.status == "pending")))
    )
    assert again.at == at
