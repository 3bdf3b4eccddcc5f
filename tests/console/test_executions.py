"""The executions pages: what rules armed, how far it came, and what a person does about the rest."""

import csv
import dataclasses
import io
import json
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select

from desk_ui.automations.executions_queries import Tab
from jobs.redis import connect
from models import clock, tenants
from models.audit import AuditEvent
from models.automations import ledger, operating, rules
from models.automations.records import Execution
from models.conversations import Conversation
from tests.console.counting import selects
from tests.console.visiting import SETTER_UP
from tests.support import redis
from tests.support.executions import ANOTHER, OTHER, REVIEW, create_execution, create_rule, work, write

LIST = "/acme/executions"
TAB_OF = {
    "abandoned": "",
    "failed": "",
    "unknown": "",
    "waiting": "?tab=waiting",
    "due": "?tab=waiting",
    "taken": "?tab=running",
    "running": "?tab=running",
    "stale": "?tab=stale",
    "cancelled": "?tab=skipped",
    "moved": "?tab=skipped",
    "dropped": "?tab=skipped",
    "executed": "?tab=executed",
}


@pytest.fixture
def made(desk, acme):
    """`made("abandoned")`: the id of an execution in that state."""

    def make(state="waiting", tenant=acme, **given):
        return desk.tell(lambda session: create_execution(session, tenant, state, now=clock.now(), **given))

    return make


def read(desk, id):
    return desk.tell(lambda session: session.get_one(Execution, id))


def states(desk, id):
    return desk.tell(
        lambda session: [one.state for one in ledger.of(session, session.get_one(Execution, id))]
    )


def audited(desk, id):
    query = select(AuditEvent).where(AuditEvent.resource_id == str(id)).order_by(AuditEvent.id)
    return desk.tell(lambda session: [(e.action, e.result, e.purpose) for e in session.scalars(query)])


def form_of(visitor, id, act, *, shown="panel"):
    return visitor.open(f"{LIST}/{id}/{act}?shown={shown}").form(f"/{act}")


def called(desk, id):
    def find(session):
        return session.get_one(Conversation, session.get_one(Execution, id).conversation_id).external_id

    return desk.tell(find)


def reply(desk, acme, id, text="It is on its way."):
    """An agent answers, so that the episode moves on."""
    name = called(desk, id)
    desk.tell(lambda session: write(session, acme, name, now=clock.now(), direction="outgoing", text=text))


# The list.


@pytest.mark.parametrize("state", TAB_OF)
def test_list_shows_an_execution_in_the_tabs_of_its_state_alone(made, lead, state):
    id = made(state)
    for query in ("", *(f"?tab={tab}" for tab in Tab if tab is not Tab.REVIEW)):
        shown = f"execution-{id}" in lead.open(f"{LIST}{query}").ids
        # What needs review and has ended is among what was executed too.
        also = query == "?tab=executed" and state in ("failed", "unknown")
        assert shown == (query == TAB_OF[state] or also), query


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("abandoned", "1 of 3 actions done, 1 unknown, 1 waiting"),
        ("failed", "2 of 3 actions done, 1 failed"),
        ("unknown", "2 of 3 actions done, 1 unknown"),
        ("executed", "all 3 actions done"),
        ("running", "1 of 3 actions done, 1 begun, 1 waiting"),
        ("moved", "the conversation moved on"),
        ("dropped", "dropped by an operator; 1 of 3 actions done, 1 unknown, 1 waiting"),
        ("cancelled", "cancelled by an operator"),
        ("waiting", "for an answer"),
        ("due", "due 59 min ago"),
    ],
)
def test_list_says_how_far_it_came_or_why_it_waits(made, lead, state, says):
    made(state, called="talk-42", customer="c-7")
    text = lead.open(f"{LIST}{TAB_OF[state]}").text
    # An hour, less what the test takes.
    assert says in text or says.replace("59 min", "1 h") in text
    for words in ("Unanswered for two hours", "talk-42", "c-7"):
        assert words in text


def test_list_says_who_acts_next(made, lead):
    made("due")
    made("stale")
    assert "the next run, " in lead.open(f"{LIST}?tab=waiting").text
    text = lead.open(f"{LIST}?tab=stale").text
    assert "Stale" in text and "reclaims it" in text


def test_list_says_that_it_waits_for_its_window(desk, acme, made, lead):
    id = made("due")
    opens = clock.now() + timedelta(hours=5)
    desk.tell(lambda session: set_values(session, id, not_before=opens))
    assert "waits for the window, opens " in lead.open(f"{LIST}?tab=waiting").text


def set_values(session, id, **values):
    """Put a row where the engine would have left it."""
    from sqlalchemy import update

    statement = update(Execution).where(Execution.id == id).values(values)
    session.execute(statement, execution_options={"audited": True})


def test_list_says_that_due_ones_wait_when_the_switch_is_off(desk, acme, made, lead):
    made("due")
    desk.tell(
        lambda session: tenants.set_features(
            session, acme, {"delayed_automations": False}, actor=SETTER_UP, now=clock.now()
        )
    )
    text = lead.open(f"{LIST}?tab=waiting").text
    assert "Delayed automations are switched off for this tenant." in text
    assert "the next run" not in text
    assert "Delayed automations are switched off" in lead.open("/acme").text


@pytest.mark.parametrize("tab", list(Tab))
def test_list_says_that_it_is_empty_in_the_words_of_its_tab(acme, lead, tab):
    page = lead.open(f"{LIST}?tab={tab}")
    assert 'data-empty="none"' in page.html
    assert 'data-empty="no-match"' in lead.open(f"{LIST}?tab={tab}&conversation=nothing").html


def test_list_is_narrowed_by_rule_conversation_reason_and_time(desk, acme, made, lead):
    rule = desk.tell(lambda session: create_rule(session, acme, now=clock.now(), **ANOTHER))
    other = made("cancelled", called="talk-2", rule=rule, text=f"for {OTHER}")
    one = made(
        "moved", called="talk-1", rule=desk.tell(lambda session: create_rule(session, acme, now=clock.now()))
    )
    soon = f"{clock.now() + timedelta(days=2):%Y-%m-%dT%H:%M}"
    for query, wanted in (
        (f"rule={rule.id}", {other}),
        ("conversation=talk-1", {one}),
        ("skipped=episode_moved", {one}),
        (f"until={soon}", {one, other}),
        (f"since={soon}", set()),
    ):
        page = lead.open(f"{LIST}?tab=skipped&{query}")
        assert {id for id in (one, other) if f"execution-{id}" in page.ids} == wanted, query
    assert "Rule: Another rule" in lead.open(f"{LIST}?tab=skipped&rule={rule.id}").text
    assert (
        "Skipped because: the conversation moved on"
        in lead.open(f"{LIST}?tab=skipped&skipped=episode_moved").text
    )
    assert "was left out" in lead.open(f"{LIST}?rule=odd").text


def test_list_names_a_rule_that_was_deleted(desk, acme, made, lead):
    rule = desk.tell(lambda session: create_rule(session, acme, now=clock.now()))
    id = made("failed", rule=rule)
    desk.tell(lambda session: rules.delete(session, acme, rule.id, actor=SETTER_UP, now=clock.now()))
    assert "a rule that was deleted" in lead.open(LIST).text
    page = lead.open(f"{LIST}/{id}")
    assert "a rule that was deleted" in page.text and "is deleted" in page.text


def test_counts_follow_the_filters(desk, acme, made, lead):
    for state in ("abandoned", "failed", "waiting", "stale"):
        made(state, called=f"talk-{state}")
    text = lead.block(f"{LIST}/counts").text
    assert "Needs review 2 Waiting 1 Running 0 Stale 1 Skipped 0 Executed 1" in text
    text = lead.block(f"{LIST}/counts?conversation=talk-failed").text
    assert "Needs review 1 Waiting 0" in text


def test_pages_hold_every_row_once_in_the_order_of_the_tab(desk, acme, made, lead):
    rule = desk.tell(lambda session: create_rule(session, acme, now=clock.now()))
    ids = {str(made("due", rule=rule, called=f"talk-p{number}")) for number in range(53)}
    first = lead.open(f"{LIST}?tab=waiting")
    second = lead.open(first.links["Later ones"])
    found = [id.removeprefix("execution-") for page in (first, second) for id in page.ids]
    assert sorted(id for id in found if id in ids) == sorted(ids)


def test_list_asks_as_many_statements_for_many_rows_as_for_few(app, desk, acme, made, lead):
    rule = desk.tell(lambda session: create_rule(session, acme, now=clock.now()))
    made("failed", rule=rule, called="talk-n0")
    asked = []
    for _round in range(2):
        lead.open(LIST)
        with selects(app) as seen:
            lead.open(LIST)
        asked.append(len(seen))
        for number in range(8):
            made("failed", rule=rule, called=f"talk-n{_round}-{number}")
    assert asked[0] == asked[1]


def test_refresh_is_304_until_a_row_changes(desk, acme, made, lead):
    id = made("abandoned")
    page = lead.open(LIST)
    sign = page.html.partition('data-sign="')[2].partition('"')[0]
    headers = {"HX-Request": "true", "If-None-Match": f'W/"{sign}"'}
    assert lead.client.get(LIST, headers=headers).status_code == 304
    desk.tell(
        lambda session: operating.settle(session, acme.id, id, {1: "done"}, actor=SETTER_UP, now=clock.now())
    )
    assert lead.client.get(LIST, headers=headers).status_code == 200
    gone = lead.block(f"{LIST}/rows?id={id}")
    assert 'class="gone"' in gone.html and "Executed" in gone.text


def test_page_of_one_is_304_until_an_action_or_a_message_changes_it(desk, acme, made, lead):
    id = made("abandoned")
    answer = lead.client.get(f"{LIST}/{id}", headers={"HX-Request": "true"})
    headers = {"HX-Request": "true", "If-None-Match": answer.headers["ETag"]}
    assert lead.client.get(f"{LIST}/{id}", headers=headers).status_code == 304
    reply(desk, acme, id)
    answer = lead.client.get(f"{LIST}/{id}", headers=headers)
    assert answer.status_code == 200 and 'data-became="its conversation"' in answer.text


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_export_holds_the_filtered_rows_and_nothing_that_was_said(made, lead, kind):
    id = made("abandoned", called="talk-1", text="my secret")
    made("failed", called="talk-2")
    text = lead.client.get(f"{LIST}/export.{kind}?conversation=talk-1").text.lstrip("\ufeff")
    found = list(csv.DictReader(io.StringIO(text)))
    if kind == "jsonl":
        found = [json.loads(line) for line in text.splitlines()]
    [row] = found
    assert (row["id"], row["rule"], row["conversation"], row["status"]) == (
        str(id),
        "Unanswered for two hours",
        "talk-1",
        "executing",
    )
    assert "my secret" not in text


# The page of one.


def test_page_shows_each_action_with_what_is_certain_of_it(desk, made, lead):
    id = made("abandoned", text="Where is my code?")
    text = lead.open(f"{LIST}/{id}").text
    for words in (
        "No machine will touch this row again",
        "Add the label “late”",
        "Receipt: 200.",
        "Send the message “We have not forgotten you.”",
        "No answer was recorded. It may have reached the customer.",
        f"{id}:1",
        "Set the priority to high",
        "Never begun.",
        "Where is my code?",
        "Does the reason still stand? Yes",
        "Execution found abandoned by the sweep",
    ):
        assert words in text, words


def test_page_says_that_the_episode_moved_on(desk, acme, made, lead):
    id = made("abandoned")
    reply(desk, acme, id)
    text = lead.open(f"{LIST}/{id}").text
    assert "Does the reason still stand? No" in text
    assert "moved on: waits for no answer" in text
    assert "It is on its way." in text


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("due", "will run this."),
        ("stale", "reclaims this row by itself."),
        ("waiting", "It waits, and is judged when it is due."),
        ("failed", "No machine tries it again."),
        ("executed", "Ended "),
        ("cancelled", "cancelled by an operator. Nothing of it was done."),
        ("running", "A worker does its actions at this moment."),
    ],
)
def test_page_says_who_acts_next(made, lead, state, says):
    assert says in lead.open(f"{LIST}/{made(state)}").text


def test_page_foretells_that_the_next_run_only_judges_what_lost_its_reason(desk, acme, made, lead):
    id = made("due")
    reply(desk, acme, id)
    assert "will judge this." in lead.open(f"{LIST}/{id}").text


def test_page_is_not_found_when_it_is_another_tenants(desk, made, lead):
    id = made("abandoned", tenant=desk.tenant("other"))
    assert lead.open(f"{LIST}/{id}").status == 404
    assert lead.open(f"{LIST}/{uuid4()}").status == 404
    assert lead.open(f"{LIST}/{id}/settlement").status == 404


# The acts.


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


# Who is on it, the overview, search, bulk.


def test_somebody_is_on_one_that_needs_review_and_nobody_on_another(desk, made, lead, visitor):
    id, calm = made("abandoned"), made("waiting")
    page = lead.open(f"{LIST}/{id}")
    assert lead.press(page.form("/handling")).status == 303
    assert "You are on it" in lead.open(f"{LIST}/{id}").text
    assert "On it: you," in lead.open(LIST).text
    other = visitor("admin")
    assert "lead@acme.test is on it" in other.open(f"{LIST}/{id}").text
    assert 'id="hand"' not in lead.open(f"{LIST}/{calm}").html
    assert "Somebody is on it." in lead.open("/acme").text


def test_overview_counts_what_needs_review_and_leads_there(desk, made, lead):
    assert "need review" not in lead.open("/acme").text
    for state in REVIEW:
        made(state)
    page = lead.open("/acme")
    assert "3 Executions need review" in page.text
    assert 'href="/acme/executions"' in page.html
    assert '#need-executions">3<' in lead.block("/acme/needs").html


def test_search_leads_to_an_execution_by_its_id_and_to_those_of_a_conversation(desk, made, lead):
    id = made("abandoned", called="talk-77")
    for wanted in (str(id), str(id)[:8]):
        assert lead.open(f"/acme/search?q={wanted}").headers["Location"] == f"{LIST}/{id}"
    assert lead.open("/acme/search?q=talk-77").headers["Location"] == f"{LIST}?conversation=talk-77"


def ticked(visitor, query, ids, desk, do):
    page = visitor.open(f"{LIST}{query}")
    rows = [f"{id}.{read(desk, id).version}" for id in ids]
    form = page.form("/bulk")
    data = {**form.fields, "row": rows, "all": "", "do": do}
    return visitor._page(visitor.client.post(form.action, data=data))


@pytest.mark.parametrize(
    ("state", "do", "endpoint", "became"),
    [
        ("waiting", "cancellation", "/cancellation", "skipped"),
        ("stale", "cancellation", "/cancellation", "skipped"),
        ("stale", "reclaim", "/reclaim", "pending"),
        ("cancelled", "rearming", "/rearming", "pending"),
    ],
)
def test_bulk_does_it_to_the_ticked_ones(desk, made, lead, state, do, endpoint, became):
    ids = [made(state), made(state), made(state)]
    asked = ticked(lead, TAB_OF[state], ids[:2], desk, do)
    assert asked.status == 200 and "2 executions" in asked.text
    page = lead.press(asked.form(endpoint), reason="the shop moves")
    assert page.status == 303
    assert [read(desk, id).status for id in ids[:2]] == [became, became]
    assert read(desk, ids[2]).status != became
    action = {"cancellation": "cancelled", "reclaim": "reclaimed", "rearming": "rearmed"}[do]
    assert audited(desk, ids[0])[-1] == (f"execution.{action}", "success", "the shop moves")


def test_bulk_takes_all_that_match_and_leaves_what_moved_with_its_reason(desk, acme, made, lead):
    kept, gone = made("cancelled"), made("moved")
    page = lead.open(f"{LIST}?tab=skipped")
    form = page.form("/bulk")
    asked = lead._page(lead.client.post(form.action, data={**form.fields, "all": "1", "do": "rearming"}))
    assert "Re-arm 2 executions" in asked.text
    page = lead.press(asked.form("/bulk/rearming"), reason="again")
    text = lead.follow(page).text
    assert "The conversation moved on since, so it can't be re-armed." in text
    assert (read(desk, kept).status, read(desk, gone).status) == ("pending", "skipped")


def test_bulk_never_offers_to_settle_or_to_rearm_in_part(made, lead):
    made("abandoned")
    page = lead.open(LIST)
    assert 'name="row"' not in page.html
    made("dropped")
    assert 'name="row"' not in lead.open(f"{LIST}?tab=skipped").html
