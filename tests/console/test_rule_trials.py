"""Trying a rule on a conversation, stored or only typed: what is told, and that nothing is written."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from models import clock, intake, tenants
from models.automations.records import AutomationRule, Execution
from models.conversations import Conversation, get
from models.happenings import Happening
from models.messages import Message
from tests.console.filled import inputs
from tests.console.ruling import MESSAGE, RULES, adding, left, made, talk
from tests.console.visiting import SETTER_UP, Form
from tests.support.rules import INCOMING, create_conversation, say


def test_trial_says_of_each_condition_what_was_found_and_when_it_would_be_due(desk, acme, lead):
    rule = made(desk, acme, actions=[MESSAGE, {"name": "add_label", "params": ["late"]}])
    talk(desk, acme)
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    for words in (
        "Would act",
        "It would wait until its time, and act if its reason still stands. Nothing was done.",
        "The message is incoming Holds Found: incoming",
        "The status is open Holds Found: open",
        "incoming: “Where is my parcel?”",
        "While the customer waits for an answer awaiting_agent:",
        "in 1 h 29 min",
        "1 Send the message “Are you still there?” on our own data, exactly once A customer reads this.",
        "2 Add the label “late”",
    ):
        assert words in page.text, words
    assert left(desk) == []
    assert desk.audit("execution.armed") == []


def test_trial_finds_the_conversation_among_the_latest(desk, acme, lead):
    rule = made(desk, acme)
    talk(desk, acme)
    talk(desk, desk.tenant("other"), "theirs")
    page = lead.open(f"{RULES}/{rule.id}/trial")
    assert "talk-1, c-1, open" in page.text and "theirs" not in page.text
    found = inputs(page.html, "/trial")
    assert found.fields["pick"] == ""
    [pick] = [one for one in page.html.split('<option value="')[1:] if "talk-1" in one]
    picked = lead.open(f"{RULES}/{rule.id}/trial?pick={pick.partition(chr(34))[0]}")
    assert "On conversation talk-1" in picked.text


def test_trial_finds_no_conversation_of_another_tenant_by_its_number(desk, acme, lead):
    rule = made(desk, acme)
    talk(desk, desk.tenant("other"), "theirs")
    number = desk.tell(lambda session: session.scalars(select(Conversation.id)).one())
    page = lead.open(f"{RULES}/{rule.id}/trial?pick={number}")
    assert page.status == 404
    assert "Choose a conversation, or give its id." in page.text


@pytest.mark.parametrize("named", ["conversation=theirs", "conversation=%00", "pick=999", "pick=x", "pick=²"])
def test_trial_says_so_when_there_is_no_such_conversation(desk, acme, lead, named):
    rule = made(desk, acme)
    talk(desk, desk.tenant("other"), "theirs")
    page = lead.open(f"{RULES}/{rule.id}/trial?{named}")
    assert page.status == 404
    assert "There is no conversation" in page.text or "Choose a conversation" in page.text


def test_trial_says_what_does_not_hold(desk, acme, lead):
    rule = made(desk, acme)
    talk(desk, acme, status="resolved")
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    assert "Would not act" in page.text
    assert "The status is open Does not hold Found: resolved" in page.text


def test_trial_says_that_it_would_be_skipped_when_the_reason_is_gone(desk, acme, lead):
    rule = made(desk, acme, conditions=[INCOMING])
    talk(desk, acme)
    desk.tell(lambda session: say(session, acme, "talk-1", at=clock.now(), direction="outgoing"))
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    assert "Since then the conversation moved on, so it would be skipped." in page.text
    old = made(desk, acme, conditions=[INCOMING])
    talk(desk, acme, "talk-2", ago=timedelta(days=9))
    page = lead.open(f"{RULES}/{old.id}/trial?conversation=talk-2")
    assert "over for more than 3 d, so it would be skipped" in page.text


def test_trial_names_the_execution_that_there_is(desk, acme, lead):
    rule = made(desk, acme)
    talk(desk, acme)

    def hear(session):
        conversation = get(session, acme.id, "talk-1")
        message = session.scalars(select(Message)).one()
        happening = Happening("1", conversation.id, ["message_created"], message.id)
        intake.arm(session, acme, happening, now=clock.now())

    desk.tell(hear)
    [execution] = desk.tell(lambda session: session.scalars(select(Execution)).all())
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    assert "It waits for this already." in page.text
    assert page.links["Show it"] == f"/acme/executions/{execution.id}"


def test_trial_tells_the_hours_of_the_inbox(desk, acme, lead, config):
    config.write_text(config.read_text() + '\n[inboxes.7]\ntimezone = "Asia/Tokyo"\n')
    rule = made(desk, acme, window_start=0, window_end=1)
    talk(desk, acme, inbox_id=7)
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    assert "It would wait for its hours" in page.text
    assert "JST" in page.text


def test_trial_tells_why_nothing_would_be_armed(desk, acme, lead):
    talk(desk, acme)
    desk.tell(
        lambda session: create_conversation(session, acme, "silent", now=clock.now(), status_changed_at=None)
    )
    by_message, by_status = made(desk, acme), made(desk, acme, event="conversation_updated", conditions=[])
    assert "no message that could arm" in lead.open(f"{RULES}/{by_message.id}/trial?conversation=silent").text
    assert "not known since when" in lead.open(f"{RULES}/{by_status.id}/trial?conversation=silent").text
    desk.tell(
        lambda session: tenants.set_features(
            session, acme, {"delayed_automations": False}, actor=SETTER_UP, now=clock.now()
        )
    )
    page = lead.open(f"{RULES}/{by_message.id}/trial?conversation=talk-1")
    assert "Delayed automations are switched off for this tenant, so nothing is armed." in page.text


def test_trial_of_what_is_typed_writes_nothing_and_keeps_it(desk, acme, lead):
    talk(desk, acme)
    form = adding(lead, name="", **{"a0.lines": "late"})
    refused = lead.press(Form("post", f"{RULES}/trial", form.fields), conversation="talk-1")
    assert refused.status == 422 and "name-fault" in refused.ids
    page = lead.press(
        Form("post", f"{RULES}/trial", form.fields), name="x", delay="1", conversation="talk-1"
    ).check()
    assert page.status == 200
    assert "Would act" in page.text and "in 29 min" in page.text
    kept = inputs(page.html, "/adding")
    assert (kept.fields["name"], kept.fields["delay"], kept.focus) == ("x", "1", "trial-lead")
    swapped = lead.press(
        Form("post", f"{RULES}/trial", form.fields), htmx=True, name="x", conversation="talk-1"
    )
    assert "Would act" in swapped.text and 'id="editor"' not in swapped.html
    nowhere = lead.press(Form("post", f"{RULES}/trial", form.fields), htmx=True, name="x", conversation="no")
    assert nowhere.status == 422 and "There is no conversation no." in nowhere.text
    assert desk.tell(lambda session: session.scalars(select(AutomationRule)).all()) == []


def test_trial_tells_what_would_keep_an_action_from_being_done(desk, acme, lead):
    rule = made(
        desk,
        acme,
        conditions=[],
        actions=[
            {"name": "send_email_to_team", "params": [{"team_ids": [7], "message": "Look"}]},
            {"name": "send_email_transcript", "params": ["a@example.com"]},
            {"name": "send_webhook_event", "params": ["https://hooks.example.com/in?token=s3cret"]},
            {"name": "resolve_conversation", "params": []},
        ],
    )
    talk(desk, acme)
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    assert page.text.count("It would fail: no mail server is configured.") == 2
    assert "https://hooks.example.com to another system, tried once 4" in page.text
    assert "s3cret" not in page.html
    desk.tell(_move_to_chatwoot)
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    assert page.text.count("It would fail: no mail server is configured.") == 1
    assert page.text.count("in Chatwoot, tried once") == 2
    assert page.text.count("It would fail: no Chatwoot is connected.") == 2


def _move_to_chatwoot(session):
    for conversation in session.scalars(select(Conversation)):
        conversation.source = "chatwoot"
