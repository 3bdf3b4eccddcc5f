"""What a rule's actions ask of Chatwoot, and what the ledger is told of each answer."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jobs.delivery.chatwoot import perform
from models.automations.outside import Came, Errand
from models.connectors import Opened
from models.settings import Settings
from tests.automations.world import T0
from tests.support.api import on_sqlite
from tests.support.chatwoot import TOKEN, Chatwoot

# Nothing here is asked of a database but the connector.
pytestmark = on_sqlite
KEY = "5b0c7e0a-0000-4000-8000-000000000001:0"
MESSAGES = "/conversations/7/messages"


def errand(name: str, *params: Any, **given: Any) -> Errand:
    values = {
        "tenant_id": 1,
        "tenant": "acme",
        "source": "chatwoot",
        "idempotency_key": KEY,
        "execution_id": KEY[:-2],
        "rule_id": "r",
        "rule": "rule",
        "conversation": {"id": "7", "status": "open"},
    }
    return Errand(name=name, params=params, **{**values, **given})


Do = Callable[..., Came]


@pytest.fixture
def connector(fake: Chatwoot, connect: Callable[..., Opened]) -> Opened:
    fake.create(7, T0.timestamp(), labels=["vip"])
    return connect(fake.url)


@pytest.fixture
def do(connector: Opened, settings: Settings) -> Do:
    def do(name: str, *params: Any, **given: Any) -> Came:
        return perform(errand(name, *params, **given), connector, settings)

    return do


def test_message_is_made_with_our_key_and_its_id_is_the_receipt(fake, do):
    came = do("send_message", "Still there?")
    assert (came.state, came.error) == ("done", None)
    [asked] = fake.requests()
    assert (asked["method"], asked["path"]) == ("POST", f"/api/v1/accounts/7{MESSAGES}")
    assert asked["body"] == {
        "content": "Still there?",
        "message_type": "outgoing",
        "private": False,
        "content_attributes": {"recovery_desk_key": KEY},
    }
    [message] = fake.conversation(7)["messages"]
    assert (came.receipt, fake.sent()) == (str(message["id"]), {KEY: 1})


def test_note_is_private(fake, do):
    assert do("add_private_note", "Look here").state == "done"
    assert [one["private"] for one in fake.conversation(7)["messages"]] == [True]
    assert fake.sent() == {}


def test_label_is_added_to_the_set_that_is_there(fake, do):
    """Case 70. add_label "late" when remote labels are ["vip"]: POST carries ["vip","late"]."""
    assert do("add_label", "late").state == "done"
    [asked] = fake.requests("POST")
    assert asked["body"] == {"labels": ["vip", "late"]}
    assert fake.conversation(7)["labels"] == ["vip", "late"]


def test_labels_are_left_alone_when_they_are_so_already(fake, do):
    assert do("add_label", "VIP").state == do("remove_label", "late").state == "done"
    assert fake.requests("POST") == []


def test_label_is_taken_out_of_the_set(fake, do):
    do("add_label", "late", "slow")
    assert do("remove_label", "Vip", "late").state == "done"
    assert fake.conversation(7)["labels"] == ["slow"]


@pytest.mark.parametrize(
    ("name", "params", "status"),
    [
        ("resolve_conversation", (), "resolved"),
        ("open_conversation", (), "open"),
        ("pending_conversation", (), "pending"),
        ("snooze_conversation", (), "snoozed"),
        ("change_status", ("pending",), "pending"),
    ],
)
def test_status_is_always_named_so_that_nothing_is_turned_over(fake, do, name, params, status):
    assert do(name, *params).state == do(name, *params).state == "done"
    assert [one["body"] for one in fake.requests("POST")] == [{"status": status}] * 2
    assert fake.conversation(7)["status"] == status


def test_snooze_says_until_when(fake, do):
    do("snooze_conversation", "2031-03-04T12:00:00Z")
    assert fake.requests("POST")[0]["body"] == {"status": "snoozed", "snoozed_until": 1930392000}


@pytest.mark.parametrize(
    ("name", "params", "body"),
    [
        ("assign_agent", (42,), {"assignee_id": 42}),
        ("assign_agent", ("nil",), {"assignee_id": 0}),
        ("remove_assigned_agent", (), {"assignee_id": 0}),
        ("assign_team", (5,), {"team_id": 5}),
        ("assign_team", ("nil",), {"team_id": 0}),
        ("remove_assigned_team", (), {"team_id": 0}),
    ],
)
def test_assignment_names_the_agent_or_the_team(fake, do, name, params, body):
    assert do(name, *params).state == "done"
    [asked] = fake.requests("POST")
    assert (asked["path"].rpartition("/")[2], asked["body"]) == ("assignments", body)


def test_person_who_answered_last_is_assigned_whatever_our_own_messages_say(fake, do):
    fake.say(7, T0.timestamp(), "outgoing", "I look", sender={"id": 42, "type": "user"})
    fake.say(7, T0.timestamp(), "outgoing", "note", private=True, sender={"id": 43, "type": "user"})
    for number in range(25):
        fake.say(7, T0.timestamp(), "incoming", f"and {number}")
    do("send_message", "ours, under the token's user")
    assert do("assign_agent", "last_responding_agent").state == "done"
    assert fake.conversation(7)["assignee"] == 42


def test_nobody_is_assigned_when_no_person_answered(fake, do):
    came = do("assign_agent", "last_responding_agent")
    assert came.state == "failed" and "nobody to assign it to" in came.error
    assert fake.requests("POST") == []


def test_priority_mute_and_transcript(fake, do):
    assert do("change_priority", "urgent").state == "done"
    assert fake.conversation(7)["priority"] == "urgent"
    assert do("change_priority", "none").state == "done"
    assert fake.conversation(7)["priority"] is None
    assert do("mute_conversation").state == "done"
    assert fake.conversation(7)["muted"] is True
    assert do("send_email_transcript", "a@customers.example").state == "done"
    assert fake.tell("counts")["transcripts"] == [{"conversation": 7, "email": "a@customers.example"}]


@pytest.mark.parametrize("status", ["400", "401", "403", "404", "422", "429"])
def test_action_failed_when_chatwoot_refuses(fake, do, status):
    fake.fail("messages", status)
    came = do("send_message", "a customer's words")
    assert came.state == "failed" and f"answered {status}" in came.error
    assert "words" not in came.error and fake.sent() == {}


@pytest.mark.parametrize("how", ["500", "502", "503", "500_after", "cut", "cut_after"])
def test_end_is_unknown_when_it_may_have_gone_out(fake, do, how):
    fake.fail("messages", how)
    assert do("send_message", "hello").state == "unknown"
    assert fake.sent() == ({KEY: 1} if how.endswith("after") else {})
    assert len(fake.requests()) == 1


@pytest.mark.parametrize("how", ["hang", "hang_after"])
def test_end_is_unknown_when_no_answer_comes_in_time(fake, connector, settings, how):
    fake.fail("messages", how)
    came = perform(errand("send_message", "hello"), connector, settings, seconds=0.3)
    assert came.state == "unknown" and "within" in came.error


def test_action_failed_when_the_connection_never_opened(connect, settings):
    came = perform(errand("send_message", "hello"), connect("http://127.0.0.1:1"), settings)
    assert came.state == "failed" and "No connection" in came.error


def test_action_failed_when_the_host_is_not_public_and_not_allowed(connector, settings):
    closed = replace(settings, webhook_allowed_hosts=frozenset())
    came = perform(errand("send_message", "hello"), connector, closed)
    assert came.state == "failed" and "not a public address" in came.error


def test_account_that_is_asked_too_often_answers_429_and_nothing_is_sent(fake, do):
    fake.tell("flood", requests=2, seconds=60)
    states = [do("send_message", "hello", idempotency_key=f"k:{number}").state for number in range(4)]
    assert states == ["done", "done", "failed", "failed"]
    assert sum(fake.sent().values()) == 2


@pytest.mark.parametrize("how", ["500", "cut", "429"])
def test_labels_are_failed_not_unknown_when_they_could_not_be_read(fake, do, how):
    fake.fail("labels", how, method="GET")
    assert do("add_label", "late").state == "failed"
    assert fake.requests("POST") == []


def test_message_is_found_and_not_sent_again_when_its_answer_was_lost(fake, do):
    fake.fail("messages", "cut_after")
    assert do("send_message", "hello").state == "unknown"
    for number in range(30):
        fake.say(7, T0.timestamp(), "incoming", f"and {number}")
    came = do("send_message", "hello", again=True)
    assert came.state == "done" and "found, not sent again" in came.receipt
    assert fake.sent() == {KEY: 1}


def test_message_is_sent_when_it_is_not_found(fake, do):
    fake.fail("messages", "500")
    assert do("send_message", "hello").state == "unknown"
    assert do("send_message", "hello", again=True).state == "done"
    assert fake.sent() == {KEY: 1}


@pytest.mark.parametrize("how", ["500", "cut", "404"])
def test_nothing_is_sent_again_when_it_can_t_be_found_out(fake, do, how):
    fake.fail("messages", "cut_after", method="POST")
    do("send_message", "hello")
    fake.fail("messages", how, method="GET")
    came = do("send_message", "hello", again=True)
    assert came.state == "unknown" and came.error.startswith("Nothing was sent now")
    assert fake.sent() == {KEY: 1}


def test_action_failed_when_chatwoot_has_no_such_way(do):
    assert do("send_webhook_event", "https://x.example/").state == "failed"


@pytest.mark.parametrize("name", ["send_message", "assign_agent", "change_priority"])
def test_action_failed_when_the_rule_gives_nothing(fake, do, name):
    assert do(name).state == "failed"
    assert fake.requests() == []


def test_no_error_holds_the_token(fake, do, connect, settings):
    fake.fail("conversations", "500", times=5)
    wrong = connect(fake.url, token="another-token")
    errors = [do("send_message", "x").error, perform(errand("send_message", "x"), wrong, settings).error]
    assert all(TOKEN not in error and "another-token" not in error for error in errors)
    assert TOKEN not in repr(wrong) and "another-token" not in repr(wrong)
