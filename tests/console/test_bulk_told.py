"""What bulk work tells: before it is done, when it was stopped or done in part, and in its file."""

import csv
import json
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from jobs import bulk as runner
from models import bulk, clock, endpoints, tenants
from models.deliveries import Delivery
from models.endpoints import EndpointState, WebhookEndpoint
from models.followups import transitions
from models.followups.records import FollowUp
from tests.console.test_bulk import (
    LIST,
    WHY,
    asked,
    book,
    cancelled,
    confirmed,
    dead,
    operations,
    running,
    ticks,
)
from tests.console.visiting import SETTER_UP
from tests.support.api import on_sqlite
from tests.support.create import create_followup

__all__ = ["dead"]

pytestmark = on_sqlite


def cancel(desk, tenant, followup):
    now = clock.now()
    desk.tell(lambda s: transitions.cancel(s, tenant.id, followup.id, actor=SETTER_UP, now=now))


def move(desk, tenant, followup):
    now = clock.now()
    at = now + timedelta(days=2)
    desk.tell(lambda s: transitions.reschedule(s, tenant.id, followup.id, at, actor=SETTER_UP, now=now))


def test_question_counts_and_lists_only_those_that_it_can_still_be_done_to(desk, acme, lead):
    first, second, _third = book(desk, acme, 3)
    rows = ticks(lead.open(LIST))
    cancel(desk, acme, first)
    question = asked(lead, row=rows).check()
    assert question.title.startswith("Cancel 2 follow-ups")
    assert ">Cancel 2 follow-ups</button>" in question.html
    assert "2 of the 3 selected can still be cancelled." in question.text
    assert f"c-0 was cancelled just now by {SETTER_UP.label}." in question.text
    assert "c-0, pix pending" not in question.text and "c-1, pix pending" in question.text
    move(desk, acme, second)
    question = asked(lead, row=rows)
    assert question.title.startswith("Cancel 1 follow-up ")
    assert "1 of the 3 selected can still be cancelled." in question.text
    assert "c-1 changed just now." in question.text
    # Each that was selected has its outcome, also those of which was told already.
    page = lead.follow(confirmed(lead, question))
    assert "1 done, 2 not done" in page.text and "Cancelled just before its turn came." in page.text


def test_question_names_the_first_that_are_gone_and_counts_the_others(desk, acme, lead):
    followups = book(desk, acme, 6)
    rows = ticks(lead.open(LIST))
    for one in followups[:5]:
        cancel(desk, acme, one)
    question = asked(lead, row=rows)
    assert question.text.count(f"by {SETTER_UP.label}.") == 3
    assert "The same is so of 2 more." in question.text


def test_question_is_refused_and_says_why_when_none_is_left(desk, acme, lead):
    [only] = book(desk, acme, 1)
    page = lead.open(LIST)
    cancel(desk, acme, only)
    answer = lead.press(page.form("/followups/bulk"), do="cancellation", row=ticks(page))
    assert answer.status == 422
    assert f"c-0 was cancelled just now by {SETTER_UP.label}. None of them is left" in answer.text


def test_question_of_rearming_names_what_was_booked_again(desk, acme, lead):
    cancelled(desk, acme, 2)
    path = f"{LIST}?tab=cancelled"
    page = lead.open(path)
    rows = ticks(page)
    form = page.form("/followups/bulk")
    one = lead.press(form, do="rearming", row=rows[:1])
    assert "It is booked anew" in one.text and "the same for all of them" not in one.text
    confirmed(lead, one, at="2099-08-14T10:00")
    question = lead.press(form, do="rearming", row=rows)
    assert "1 of the 2 selected can still be re-armed." in question.text
    assert "was booked again already, or the same fired since." in question.text


def test_question_about_one_and_about_many_is_worded_so(desk, acme, lead):
    book(desk, acme, 2)
    rows = ticks(lead.open(LIST))
    one, many = asked(lead, row=rows[:1]), asked(lead, row=rows)
    assert "The one that you selected. If it changes meanwhile, it is left as it is." in one.text
    assert "Those that you selected. If one changes meanwhile, it is left as it is." in many.text
    assert "with each of them" in many.text and "with each of them" not in one.text
    assert "Where" in many.text


def test_partial_result_warns_and_does_not_lead_to_where_it_stands(desk, acme, lead):
    first, _second = book(desk, acme, 2)
    question = asked(lead)
    move(desk, acme, first)
    page = lead.follow(confirmed(lead, question))
    assert 'class="toast warn"' in page.html
    assert "1 could not be done." in page.text and "Show the result" not in page.text
    whole = lead.follow(confirmed(lead, asked(lead)))
    assert 'class="toast good"' in whole.html and "Show the result" in whole.text


@pytest.mark.parametrize("query", ["", "?agent=store-support&reason=pix+pending"])
def test_result_leads_back_to_the_list_that_it_came_from(desk, acme, lead, query):
    first, _second = book(desk, acme, 2)
    path = f"{LIST}{query}"
    question = asked(lead, path)
    move(desk, acme, first)
    page = lead.follow(confirmed(lead, question)).check()
    named = ", Agent: store-support, Reason: pix pending" if query else ""
    assert f"Back to Follow-ups: Pending{named}" in page.text
    assert f'href="{path.replace("&", "&amp;")}"' in page.html
    assert f"Back to Follow-ups: Pending{named}" in lead.open(f"/acme/bulk/{operations(desk)[0].id}").text


def test_stopped_work_shows_what_was_done_who_stopped_it_and_why_each_was_left(desk, acme, lead):
    id = running(desk, acme, lead)
    desk.tell(lambda session: runner.go_on(session, id, most=1))
    answer = lead.press(lead.open(f"/acme/bulk/{id}").form("/stop"), htmx=True)
    assert "Stopped: 1 done, 2 left as they were." in answer.text
    page = lead.open(f"/acme/bulk/{id}").check()
    assert '<progress max="3" value="1"' in page.html and 'class="stopped"' in page.html
    assert "Stopped by lead@acme.test just now" in page.text
    assert page.text.count("Stopped by lead@acme.test before its turn came.") == 2
    export = lead.client.get(f"/acme/bulk/{id}/results.csv?became=left_out")
    found = list(csv.DictReader(export.text.removeprefix("\ufeff").splitlines()))
    assert [one["why"] for one in found] == ["Stopped by lead@acme.test before its turn came."] * 2
    assert lead.open("/acme/bulk").text.count("1 done, 2 left as they were") == 1


def test_progress_and_stop_answer_with_the_results_that_stand_on_the_page(desk, acme, lead):
    id = running(desk, acme, lead)
    desk.tell(lambda session: runner.go_on(session, id, most=1))
    page = lead.open(f"/acme/bulk/{id}?became=done")
    assert f'hx-get="/acme/bulk/{id}/progress?became=done"' in page.html
    block = lead.block(f"/acme/bulk/{id}/progress?became=done")
    assert block.html.count('id="result-') == 1
    stopped = lead.press(page.form("/stop?became=done"), htmx=True)
    assert stopped.html.count('id="result-') == 1


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_file_of_results_names_customer_and_reason_of_each(desk, acme, lead, kind):
    followups = book(desk, acme, 2)
    confirmed(lead, asked(lead))
    [operation] = operations(desk)
    desk.tell(
        lambda session: bulk.execute_unaudited(
            session,
            update(FollowUp).where(FollowUp.id == followups[1].id).values(customer="=cmd()"),
        )
    )
    text = lead.client.get(f"/acme/bulk/{operation.id}/results.{kind}").text.removeprefix("\ufeff")
    if kind == "csv":
        found = list(csv.DictReader(text.splitlines()))
        assert found[1]["customer"] == "'=cmd()"
    else:
        found = [json.loads(line) for line in text.splitlines()]
    assert list(found[0]) == ["position", "row_id", "customer", "reason", "result", "why", "at"]
    assert (found[0]["customer"], found[0]["reason"], found[0]["result"]) == ("c-0", "pix pending", "done")


def paused(desk):
    change = update(WebhookEndpoint).values(state=EndpointState.PAUSED.value)
    desk.tell(lambda session: bulk.execute_unaudited(session, change))


def test_deliveries_to_a_paused_endpoint_are_said_to_wait(desk, acme, lead, dead):
    paused(desk)
    page = lead.open("/acme/deliveries?tab=dead")
    rows, form = ticks(page), page.form("/deliveries/bulk")
    answer = lead.press(
        lead.press(form, do="rearming", row=rows[:2]).form("/deliveries/bulk/rearming"), reason="it is back"
    )
    said = "2 wait until their endpoints, which are paused, are resumed."
    assert f"Re-armed 2 deliveries. {said} Show the result" in lead.follow(answer).text
    [operation] = operations(desk)
    assert said in lead.open(f"/acme/bulk/{operation.id}").text
    question = lead.press(form, do="rearming", row=rows)
    assert "1 of the 3 selected can still be re-armed." in question.text
    assert "to https://hooks.example" in question.text and "changed just now." in question.text
    export = lead.client.get(f"/acme/bulk/{operation.id}/results.jsonl").text
    assert {json.loads(line)["origin"] for line in export.splitlines()} == {"https://hooks.example"}
    assert "secret-path" not in export


@pytest.mark.parametrize("every", [True, False], ids=["all", "ticked"])
def test_delivery_is_left_and_told_of_when_its_endpoint_moved_since_the_question(
    app, desk, acme, lead, dead, every
):
    page = lead.open("/acme/deliveries?tab=dead")
    meant = {"all": "1"} if every else {"row": ticks(page)[:2]}
    question = lead.press(page.form("/deliveries/bulk"), do="rearming", **meant)
    settings, now = app.extensions["desk_settings"], clock.now()

    def move(session):
        [endpoint] = endpoints.of_tenant(session, acme.id)
        endpoints.update(
            session,
            acme.id,
            endpoint.id,
            url="https://elsewhere.example/",
            settings=settings,
            actor=SETTER_UP,
            now=now,
        )

    desk.tell(move)
    form = question.form("/deliveries/bulk/rearming")
    answer = lead.follow(lead.press(form, reason="it is back"))
    assert "Nothing was done." in answer.text
    assert "The address of its endpoint changed since you saw it, so nothing was done." in answer.text
    assert desk.tell(lambda session: set(session.scalars(select(Delivery.state)))) == {"dead"}
    question = lead.press(page.form("/deliveries/bulk"), do="rearming", **meant)
    assert "to https://elsewhere.example" in question.text
    lead.press(question.form("/deliveries/bulk/rearming"), reason="it is back")
    assert desk.tell(lambda session: set(session.scalars(select(Delivery.state)))) >= {"pending"}


def test_bar_says_the_filters_and_the_buttons_without_scripts_whom_they_mean(desk, acme, lead):
    book(desk, acme, 1)
    page = lead.open(f"{LIST}?reason=pix+pending").check()
    assert 'data-within title="Pending, Reason: pix pending" hidden' in page.html
    assert "Cancel the ticked ones" in page.html


def test_bulk_of_all_is_a_conflict_when_other_agents_are_held_than_in_the_question(desk, acme, lead):
    """What is overdue depends on what is held, and that changes no row."""
    past = clock.now() - timedelta(hours=1)

    def fill(session):
        for number in range(101):
            customer = f"c-{number}"
            create_followup(session, acme, now=past - timedelta(hours=5), customer=customer, at=past)

    desk.tell(fill)
    question = asked(lead, f"{LIST}?tab=overdue", every=True)
    form = next(one for one in question.forms if one.fields.get("number"))
    assert form.fields["number"] == "101"
    held = {"reason": None, "actor": SETTER_UP, "now": clock.now()}
    desk.tell(lambda session: tenants.hold(session, acme, "another", held=True, **held))
    answer = lead.press(form, reason=WHY, typed="101")
    assert answer.status == 409
    assert "an agent was put on hold or released" in answer.text
    assert operations(desk) == []
    form = next(one for one in answer.forms if one.fields.get("number"))
    assert lead.press(form, reason=WHY, typed="101").status == 303
