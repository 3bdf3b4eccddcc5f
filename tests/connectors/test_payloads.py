"""What is read from Chatwoot's payloads, without a database."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from models.chatwoot_payloads import KEY, News, document_of, news_of
from models.chatwoot_values import clean, time_of
from models.errors import Invalid
from tests.automations.world import T0
from tests.connectors.world import conversation_event, conversation_of, message_event

EXACT = datetime(2026, 7, 15, 7, 54, 40, 844761, tzinfo=UTC)


def read(document: dict[str, Any]) -> News:
    return news_of(document_of(json.dumps(document).encode()))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-07-15T07:54:40.844761Z", EXACT),
        ("2026-07-15T09:54:40.844761+02:00", EXACT),
        ("2026-07-15 07:54:40 UTC", EXACT.replace(microsecond=0)),
        (1784102080, EXACT.replace(microsecond=0)),
        ("1784102080", EXACT.replace(microsecond=0)),
        (Decimal("1784102080.844761"), EXACT),
        (1784102080.844761, EXACT),
        ("1784102080.844761", EXACT),
        (0, None),
        (Decimal("0.0"), None),
        (None, None),
        ("", None),
    ],
)
def test_time_is_read_to_the_microsecond_when_written_in_any_form(written, meant):
    assert time_of(written, "at") == meant


@pytest.mark.parametrize("written", ["soon", "2026-07-15T07:54:40", True, [], 10**15, Decimal("1e30")])
def test_time_is_refused_when_it_is_none(written):
    with pytest.raises(Invalid) as fault:
        time_of(written, "updated_at")
    assert fault.value.field == "updated_at"


def test_fraction_of_an_epoch_is_exact_when_read_from_json():
    """Case 2. 2026-07-15T07:54:40.844761Z, to the microsecond."""
    news = read(conversation_event("conversation_updated", updated_at=1784102080.844761))
    assert news.told_at == news.given["updated_at"] == EXACT


def test_id_is_the_conversations_when_the_event_is_about_one():
    news = read(conversation_event("conversation_created", 31))
    assert (news.conversation_id, list(news.messages)) == ("31", [])


def test_id_is_the_messages_when_the_event_is_about_one():
    news = read(message_event(501, conversation=conversation_of(31)))
    assert (news.conversation_id, news.messages[0].id) == ("31", 501)


def test_conversation_is_found_by_its_id_alone_when_a_message_names_no_more():
    document = {**message_event(), "conversation": None, "conversation_id": 31}
    news = read(document)
    assert (news.conversation_id, dict(news.given), news.told_at) == ("31", {}, None)


@pytest.mark.parametrize(
    ("written", "direction"),
    [(0, "incoming"), (1, "outgoing"), (2, "activity"), (3, "template"), ("incoming", "incoming")],
)
def test_message_type_is_read_when_a_word_or_a_number(written, direction):
    assert read(message_event(message_type=written)).messages[0].direction == direction


@pytest.mark.parametrize("written", [4, -1, True, "letter", None])
def test_message_is_refused_when_its_type_is_unknown(written):
    with pytest.raises(Invalid, match="message_type"):
        read(message_event(message_type=written))


@pytest.mark.parametrize(
    ("message", "sender"),
    [
        ({}, {"type": "customer", "key": "c-1", "name": "Customer"}),
        ({"sender": {"id": 900, "name": "Customer"}}, {"type": "customer", "key": "chatwoot:900"}),
        ({"sender": None}, {"type": "customer", "key": "c-1"}),
        (
            {"message_type": "outgoing", "sender": {"id": 42, "name": "Ann", "type": "user"}},
            {"type": "agent", "key": "42", "name": "Ann"},
        ),
        ({"message_type": 1, "sender": {"id": 9, "type": "agent_bot"}}, {"type": "bot", "key": "9"}),
        ({"message_type": 1, "sender": None}, {"type": "system"}),
        (
            {"message_type": 1, "sender": None, "content_attributes": {"external_echo": True}},
            {"type": "agent"},
        ),
        (
            {
                "message_type": 1,
                "sender": {"id": 1, "type": "user"},
                "content_attributes": {KEY: "an-id:0"},
            },
            {"type": "rule"},
        ),
        ({"message_type": 1, "content_attributes": {"automation_rule_id": 3}}, {"type": "rule"}),
        ({"message_type": 1, "content_attributes": f'{{"{KEY}": "an-id:0"}}'}, {"type": "rule"}),
        ({"message_type": "activity", "sender": None}, {"type": "system"}),
        ({"message_type": "template", "sender": None}, {"type": "system"}),
    ],
)
def test_sender_is_told_by_what_the_message_says(message, sender):
    found = dict(read(message_event(**message)).messages[0].sender)
    assert {name: found.get(name) for name in sender} == sender


def test_mail_is_an_auto_reply_when_its_headers_said_so():
    said = read(message_event(content_attributes={"email": {"auto_reply": True}})).messages[0]
    plain = read(message_event(content_attributes={"email": {"auto_reply": False}})).messages[0]
    assert (said.auto_reply, plain.auto_reply) == (True, False)


def test_note_is_private():
    note = read(message_event(message_type="outgoing", private=True)).messages[0]
    assert (note.private, read(message_event()).messages[0].private) == (True, False)


def test_conversation_is_given_with_all_that_conditions_ask_for():
    document = conversation_event(
        "conversation_updated",
        status="pending",
        priority="urgent",
        labels=["vip", "late"],
        additional_attributes={
            "conversation_language": "pt",
            "browser": {"browser_language": "pt-BR"},
            "referer": "https://shop.example/",
            "mail_subject": "Order",
            "auto_reply": True,
        },
        custom_attributes={"plan": "gold", "seats": 2.5},
        meta={
            "sender": {
                "id": 900,
                "identifier": "c-1",
                "email": "c-1@customers.example",
                "phone_number": "+351",
                "additional_attributes": {"city": "Lisbon", "country_code": "PT", "company_name": "Acme"},
                "custom_attributes": {"since": 2019},
            },
            "assignee": {"id": 42},
            "team": {"id": 5},
        },
    )
    given = dict(read(document).given)
    attributes = given.pop("attributes")
    assert given == {
        "status": "pending",
        "created_at": T0,
        "updated_at": T0,
        "inbox_id": 3,
        "priority": "urgent",
        "labels": ["vip", "late"],
        "assignee_id": 42,
        "team_id": 5,
        "customer": "c-1",
        "language": "pt",
        "auto_reply": True,
    }
    assert attributes == {
        "browser_language": "pt-BR",
        "referer": "https://shop.example/",
        "mail_subject": "Order",
        "custom": {"plan": "gold", "seats": 2.5},
        "customer": {
            "email": "c-1@customers.example",
            "phone_number": "+351",
            "country_code": "PT",
            "city": "Lisbon",
            "company": "Acme",
            "custom": {"since": 2019},
        },
    }


def test_nothing_is_said_of_what_a_payload_leaves_out():
    assert dict(read({"event": "conversation_updated", "id": 7}).given) == {}


def test_waiting_since_is_not_taken_from_the_source():
    assert "waiting_since" not in read(conversation_event("conversation_updated", waiting_since=99)).given


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ([{"status": {"previous_value": "open", "current_value": "resolved"}}], True),
        ({"status": {"previous_value": "open", "current_value": "resolved"}}, True),
        # Told late: meanwhile it has another status.
        ([{"status": {"previous_value": "pending", "current_value": "open"}}], False),
        ([{"label_list": {"previous_value": [], "current_value": ["vip"]}}], False),
        (None, False),
        ("status", False),
    ],
)
def test_status_changed_when_the_payload_says_that_it_just_did(changed, expected):
    document = conversation_event("conversation_updated", status="resolved", changed_attributes=changed)
    assert read(document).status_changed is expected


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff", b"NaN", b'{"a": NaN}', b"[" * 100_000])
def test_body_is_refused_when_it_is_no_json_object(raw):
    with pytest.raises(Invalid, match="body"):
        document_of(raw)


@pytest.mark.parametrize("id", [None, 0, -1, "x", 1.5, True, 2**63])
def test_event_is_refused_when_its_id_is_none(id):
    with pytest.raises(Invalid, match=r"conversation\.id"):
        read({"event": "conversation_updated", "id": id})


def test_event_is_refused_when_its_name_is_another():
    with pytest.raises(Invalid, match="event"):
        read({"event": "webwidget_triggered", "id": 1})


def test_texts_can_be_stored_whatever_they_held():
    dirty = {"a\x00": ["\ud800", {"b": Decimal("1.5")}], "c": 3}
    assert clean(dirty) == {"a\ufffd": ["\ufffd", {"b": 1.5}], "c": 3}
    said = read(message_event(content="a\x00b" + "x" * 200_000)).messages[0]
    assert said.text.startswith("a\ufffdb") and len(said.text) == 100_000


def test_bot_is_nobodys_assignee():
    meta = {"assignee": {"id": 42}, "assignee_type": "AgentBot"}
    assert read(conversation_event("conversation_updated", meta=meta)).given["assignee_id"] is None


def test_message_keeps_when_it_was_told_of():
    at = T0 + timedelta(seconds=5)
    said = read(message_event(conversation=conversation_of(at=at))).messages[0]
    assert said.attributes["told_at"] == at.isoformat()
