"""What a person does with one execution, and what is refused."""

import dataclasses

import pytest

from jobs.redis import connect
from models import clock
from models.automations import operating
from tests.console.running import LIST, audited, form_of, read, reply, states
from tests.console.visiting import SETTER_UP
from tests.support import redis
from tests.support.executions import work


@pytest.mark.parametrize("htmx", [True, False])
def test_cancel_skips_one_that_waits_and_says_so(desk, made, lead, htmx):
    id = made("waiting", called="talk-9")
    page = lead.press(form_of(lead, id, "cancellation"), htmx=htmx, reason="the customer called")
    assert page.status == (200 if htmx else 303)
    text = page.text if htmx else lead.follow(page).text
    assert "Cancelled “Unanswered for two hours” on conversation talk-9." in text
    assert (read(desk, id).status, read(desk, id).skip_reason) == ("skipped", "cancelled_by_operator")
    assert audited(desk, id)[-1] == ("execution.cancelled", "success", "the customer called")


def test_cancel_is_refused_with_what_was_typed_when_a_worker_took_it_meanwhile(desk, made, lead):
    id = made("due")
    form = form_of(lead, id, "cancellation")
    desk.tell(lambda session: work(session, [id], clock.now()))
    page = lead.press(form, reason="typed before")
    assert page.status == 409
    assert "typed before" in page.html and "was executed, so it can't be cancelled" in page.text
    assert "by the sweep" in page.text
    assert read(desk, id).status == "executed"
    assert ("execution.cancelled", "refused", "conflict") in audited(desk, id)


def test_reclaim_lets_a_stale_one_wait_due_now(desk, made, lead):
    id = made("stale")
    page = lead.open(f"{LIST}/{id}/reclaim")
    assert "reclaims this row by itself." in page.text
    page = lead.press(page.form("/reclaim"))
    assert page.status == 303 and "It is due now." in lead.follow(page).text
    found = read(desk, id)
    assert (found.status, found.lock_token) == ("pending", None)
    assert audited(desk, id)[-1][0] == "execution.reclaimed"


@pytest.mark.parametrize("state", ["waiting", "taken", "executed"])
def test_reclaim_is_off_with_the_reason_when_it_can_not_be_done(made, lead, state):
    id = made(state)
    page = lead.open(f"{LIST}/{id}/reclaim")
    assert "aria-disabled" in page.html and ("reclaim" in page.text)
    assert 'id="reclaim"' in lead.open(f"{LIST}/{id}").html


@pytest.mark.parametrize("said", ["done", "failed"])
def test_settle_closes_an_abandoned_run_as_the_person_says(desk, made, lead, said):
    id = made("abandoned")
    form = form_of(lead, id, "settlement")
    page = lead.press(form, **{"unknown.1": said}, note="seen in the inbox")
    assert page.status == 303 and "Settled “Unanswered" in lead.follow(page).text
    found = read(desk, id)
    assert (found.status, found.needs_review, found.settled_by, found.note) == (
        "executed",
        False,
        "lead@acme.test",
        "seen in the inbox",
    )
    assert states(desk, id) == ["done", said, "waiting"]
    assert audited(desk, id)[-1] == ("execution.settled", "success", "seen in the inbox")


@pytest.mark.parametrize("htmx", [True, False])
def test_settle_is_422_beside_the_action_of_which_nothing_was_said(desk, made, lead, htmx):
    id = made("abandoned")
    page = lead.press(form_of(lead, id, "settlement"), htmx=htmx, note="kept")
    assert page.status == 422
    assert 'id="ask-unknown.1-fault"' in page.html and "kept" in page.html
    assert read(desk, id).status == "executing"


def test_settle_is_refused_when_another_settled_it_meanwhile(desk, acme, made, lead):
    id = made("unknown")
    form = form_of(lead, id, "settlement", shown="row")
    desk.tell(
        lambda session: operating.settle(session, acme.id, id, {1: "done"}, actor=SETTER_UP, now=clock.now())
    )
    page = lead.press(form, htmx=True, **{"unknown.1": "failed"}, note="typed")
    assert page.status == 409
    assert "there is nothing to settle" in page.text and "Execution settled" in page.text
    assert f'id="execution-{id}"' in page.html and "typed" in page.html
    assert states(desk, id) == ["done", "done", "done"]


def test_drop_gives_an_abandoned_run_up(desk, made, lead):
    id = made("abandoned")
    page = lead.press(form_of(lead, id, "drop"), reason="answered by telephone")
    assert "Dropped what was left of" in lead.follow(page).text
    found = read(desk, id)
    assert (found.status, found.skip_reason) == ("skipped", "dropped_by_operator")
    assert states(desk, id) == ["done", "unknown", "waiting"]


def test_rearm_of_what_is_left_does_the_waiting_ones_and_no_unknown_one_unless_ticked(desk, made, lead):
    id = made("abandoned")
    page = lead.open(f"{LIST}/{id}/rearming?shown=panel")
    for words in (
        "The reason still stands:",
        "3. Set the priority to high",
        "What is ticked may be sent twice: the customer may have it already.",
        "Re-arm action 3",
    ):
        assert words in page.text, words
    assert "checked" not in page.html
    page = lead.press(page.form("/rearming"), reason="go on")
    assert "1 action goes on as soon as a worker takes it." in lead.follow(page).text
    assert (read(desk, id).status, read(desk, id).resumed) == ("processing", True)
    calls = desk.tell(lambda session: work(session, [id], clock.now()))
    assert [call.name for call in calls] == ["change_priority"]
    assert states(desk, id) == ["done", "unknown", "done"]


def test_rearm_does_the_unknown_one_too_when_it_is_ticked(desk, made, lead):
    id = made("abandoned")
    form = form_of(lead, id, "rearming")
    page = lead.press(form, reason="it did not arrive", include_unknown="1")
    assert "2 actions go on as soon as a worker takes them." in lead.follow(page).text
    calls = desk.tell(lambda session: work(session, [id], clock.now()))
    assert [(call.name, call.again) for call in calls] == [("send_message", True), ("change_priority", False)]
    text = lead.open(f"{LIST}/{id}").text
    assert "Actions 2, 3; 2 may be sent twice" in text and "it did not arrive" in text


def test_rearm_needs_an_action_and_a_reason(desk, made, lead):
    id = made("unknown")
    page = lead.press(form_of(lead, id, "rearming"), reason="go on")
    assert page.status == 422 and "nothing else is left to do" in page.text
    page = lead.press(form_of(lead, id, "rearming"), include_unknown="1", reason="")
    assert page.status == 422 and 'id="ask-reason-fault"' in page.html and "checked" in page.html
    page = lead.press(form_of(lead, id, "rearming"), include_unknown="0", reason="go on")
    assert page.status == 422
    page = lead.press(form_of(lead, id, "rearming"), include_unknown="x", reason="go on")
    assert page.status == 422
    assert states(desk, id) == ["done", "unknown", "done"]


def test_rearm_goes_against_the_checks_only_knowingly(desk, acme, made, lead):
    id = made("abandoned")
    before = form_of(lead, id, "rearming")
    reply(desk, acme, id)
    page = lead.press(before, reason="typed")
    assert page.status == 409 and "What the checks say changed since you saw them" in page.text
    assert "typed" in page.html and read(desk, id).status == "executing"
    page = lead.open(f"{LIST}/{id}/rearming?shown=panel")
    assert "The reason does not stand any more" in page.text
    assert "You go on although the conversation moved on." in page.text
    page = lead.press(page.form("/rearming"), reason="they asked for it")
    assert page.status == 303 and read(desk, id).status == "processing"
    assert "although the conversation moved on" in lead.open(f"{LIST}/{id}").text


def test_rearm_lets_a_skipped_one_wait_again_and_run(desk, made, lead):
    id = made("cancelled")
    page = lead.press(form_of(lead, id, "rearming"), reason="it was a mistake")
    assert "It is due now." in lead.follow(page).text
    assert read(desk, id).status == "pending"
    desk.tell(lambda session: work(session, [id], clock.now()))
    assert states(desk, id) == ["done", "done", "done"]


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("moved", "It can't be re-armed now: the conversation moved on."),
        ("dropped", "Some of its actions were begun before it was dropped"),
        ("executed", "was executed, so it can't be re-armed"),
    ],
)
def test_rearm_is_off_with_the_reason_when_it_can_not_be_done(desk, made, lead, state, why):
    page = lead.open(f"{LIST}/{made(state)}/rearming")
    assert why in page.text and "aria-disabled" in page.html


@pytest.mark.parametrize("act", ["cancellation", "reclaim", "settlement", "drop", "rearming"])
def test_acts_are_refused_and_audited_when_the_role_is_too_low(desk, made, visitor, act):
    id = made("abandoned")
    for role in ("viewer", "marketer"):
        person = visitor(role)
        page = person.open(f"{LIST}/{id}")
        assert page.html.count('aria-disabled="true"') >= 3 and "this needs a lead or admin" in page.text
        token = person.open("/profile").form("/sign-out").fields["csrf_token"]
        answer = person.client.post(f"{LIST}/{id}/{act}", data={"csrf_token": token})
        assert answer.status_code == 403
        assert audited(desk, id)[-1][1:] == ("refused", "role")
    assert "to act needs the role lead or admin" in person.open(LIST).text


def test_a_form_that_is_sent_twice_acts_once(desk, made, lead):
    id = made("abandoned")
    form = form_of(lead, id, "rearming")
    assert lead.press(form, reason="go on").status == 303
    assert lead.press(form, reason="go on").status == 409
    assert [action for action, _result, _why in audited(desk, id)].count("execution.rearmed") == 2
    assert [result for action, result, _why in audited(desk, id) if action == "execution.rearmed"] == [
        "success",
        "refused",
    ]


@pytest.mark.parametrize(("state", "act"), [("abandoned", "rearming"), ("stale", "reclaim")])
def test_act_wakes_a_worker_when_it_is_committed(app, made, lead, tmp_path, monkeypatch, state, act):
    with redis.server(tmp_path) as server:
        settings = dataclasses.replace(app.extensions["desk_settings"], redis_url=server.url)
        monkeypatch.setitem(app.extensions, "desk_settings", settings)
        client = connect(settings)
        form = form_of(lead, made(state), act)
        assert lead.press(form, version="77", reason="go on").status == 409
        assert client.llen("rq:queue:runs") == 0
        assert lead.press(form_again(lead, form), reason="go on").status == 303
        assert client.llen("rq:queue:runs") == 1


def form_again(visitor, form):
    """The same question asked afresh, since a form acts once."""
    return visitor.open(f"{form.action}?shown=panel").form(form.action)
