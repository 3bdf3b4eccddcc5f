import pytest

from tests.support.api import on_sqlite

MESSAGE = {
    "id": "m-1",
    "conversation_id": "conv/1",
    "direction": "incoming",
    "created_at": "2026-08-14T12:00:00Z",
    "text": "hello",
    "sender": {"type": "customer", "key": "c-1"},
}


def test_receive_answers_201_then_200_then_409(api):
    first, again = api.post("/messages", MESSAGE), api.post("/messages", MESSAGE)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.get_json() == again.get_json()
    assert first.get_json()["conversation_id"] == "conv/1"
    assert first.get_json()["customer"] == "c-1"
    assert api.post("/messages", {**MESSAGE, "text": "other"}).status_code == 409


def test_receive_answers_409_when_the_id_was_given_in_another_conversation(api):
    api.post("/messages", MESSAGE)
    assert api.post("/messages", {**MESSAGE, "conversation_id": "conv-2"}).status_code == 409


def test_receive_grants_the_contact_and_a_keyword_revokes_it(api):
    api.post("/messages", MESSAGE)
    assert api.get("/contacts/c-1").get_json()["state"] == "granted"
    booking = {"agent": "store-support", "customer": "c-1", "at": "+6h", "reason": "r"}
    followup = api.post("/followups", booking).get_json()
    stop = {**MESSAGE, "id": "m-2", "text": "please STOP!", "created_at": "2026-08-14T12:01:00Z"}
    assert api.post("/messages", stop).status_code == 201
    assert api.get("/contacts/c-1").get_json()["state"] == "revoked"
    assert api.get(f"/followups/{followup['id']}").get_json()["status"] == "cancelled"


def test_receive_leaves_the_contact_when_an_agent_quotes_the_keyword(api):
    api.post("/messages", MESSAGE)
    quoted = {**MESSAGE, "id": "m-2", "text": "stop", "direction": "outgoing", "sender": {"type": "agent"}}
    api.post("/messages", quoted)
    assert api.get("/contacts/c-1").get_json()["state"] == "granted"


def test_list_shows_a_conversation_newest_first(api):
    for number in range(3):
        at = f"2026-08-14T12:00:0{number}Z"
        api.post("/messages", {**MESSAGE, "id": f"m-{number}", "created_at": at})
    for path in ("/conversations/conv/1/messages", "/conversations/conv%2F1/messages"):
        items = api.get(path).get_json()["items"]
        assert [item["id"] for item in items] == ["m-2", "m-1", "m-0"]
    assert api.get("/conversations/unknown/messages").status_code == 404


@on_sqlite
@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("id", "", "id"),
        ("conversation_id", None, "conversation_id"),
        ("direction", "sideways", "direction"),
        ("created_at", "yesterday", "created_at"),
        ("created_at", "0001-01-01T00:00:00+23:00", "created_at"),
        ("seq", True, "seq"),
        ("seq", 2**63, "seq"),
        ("text", "a\u0000b", "text"),
        ("text", "x" * 100_001, "text"),
        ("text", 5, "text"),
        ("sender", {"type": "ghost"}, "sender.type"),
        ("sender", {"type": "customer", "shoe": 1}, "sender.shoe"),
        ("sender", "c-1", "sender"),
        ("private", "no", "private"),
        ("customer", "", "customer"),
        ("mood", "good", "mood"),
    ],
)
def test_receive_answers_422_when_a_field_is_wrong(api, field, value, named):
    response = api.post("/messages", {**MESSAGE, field: value})
    assert (response.status_code, response.get_json()["field"]) == (422, named)
    assert api.get("/conversations/conv/1/messages").status_code == 404
