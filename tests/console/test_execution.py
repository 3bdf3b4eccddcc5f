"""The page of one execution: its ledger, its reason then and now, and who is on it."""

from uuid import uuid4

import pytest

from tests.console.running import LIST, reply


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
