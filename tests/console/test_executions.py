"""The list of executions: what rules armed, how far it came, and who acts next."""

import csv
import dataclasses
import io
import json
from datetime import timedelta

import pytest

from desk_ui.automations.executions_queries import Tab
from models import clock, tenants
from models.automations import operating, rules
from tests.console.counting import selects
from tests.console.running import LIST, TAB_OF, reply, set_values
from tests.console.visiting import SETTER_UP
from tests.support.executions import ANOTHER, OTHER, create_rule


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
        ("failed", "no machine goes on with it"),
        ("unknown", "the customer may have it"),
        ("abandoned", "the customer may have it"),
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


def test_refresh_is_304_when_only_the_time_of_the_next_run_changed(app, made, lead):
    made("due")
    made("stale")
    for tab in ("waiting", "stale"):
        page = lead.open(f"{LIST}?tab={tab}")
        assert "the next run, " in page.text
        sign = page.html.partition('data-sign="')[2].partition('"')[0]
        _read_at, found = app.extensions["desk_sweep_lines"]
        later = [
            dataclasses.replace(one, next_due_at=one.next_due_at + timedelta(minutes=1)) for one in found
        ]
        app.extensions["desk_sweep_lines"] = (clock.now(), later)
        headers = {"HX-Request": "true", "If-None-Match": f'W/"{sign}"'}
        assert lead.client.get(f"{LIST}?tab={tab}", headers=headers).status_code == 304
