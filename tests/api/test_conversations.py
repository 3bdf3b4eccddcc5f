import pytest

from tests.support.api import on_sqlite

T0 = "2031-03-04T10:00:00Z"
WHOLE = {
    "status": "pending",
    "created_at": T0,
    "inbox_id": 3,
    "customer": "c-1",
    "assignee_id": "agent-7",
    "team_id": None,
    "priority": "high",
    "labels": ["vip", "late", "vip"],
    "language": "pt",
    "attributes": {"referer": "https://example.com", "custom": {"plan": "gold"}},
    "auto_reply": False,
}


def micro(text):
    return text.replace("Z", ".000000Z")


def put(api, called="v/1", **given):
    return api.call("PUT", f"/conversations/{called}", json=given)


def test_put_makes_a_conversation_and_get_reads_it_as_it_was_given(api):
    made = put(api, **WHOLE)
    assert made.status_code == 201
    shown = made.get_json()
    assert shown == api.get("/conversations/v/1").get_json()
    assert shown["labels"] == ["vip", "late"]
    assert (shown["inbox_id"], shown["assignee_id"], shown["team_id"]) == (3, "agent-7", None)
    assert (shown["id"], shown["source"], shown["attributes"]) == ("v/1", "native", WHOLE["attributes"])
    # A new one's status clock is when it was made.
    assert shown["status_changed_at"] == shown["created_at"] == micro(T0)


def test_put_changes_what_it_names_and_nothing_else(api):
    put(api, **WHOLE)
    changed = put(api, labels=["late"])
    assert changed.status_code == 200
    assert changed.get_json()["labels"] == ["late"]
    assert (changed.get_json()["priority"], changed.get_json()["status"]) == ("high", "pending")


def test_status_takes_the_clock_that_is_given_else_the_sources_else_now(api):
    put(api, **WHOLE)
    by_source = put(api, status="open", updated_at="2031-03-04T11:00:00Z").get_json()
    assert by_source["status_changed_at"] == "2031-03-04T11:00:00.000000Z"
    given = put(api, status="resolved", status_changed_at="2031-03-04T12:00:00.000001Z").get_json()
    assert given["status_changed_at"] == "2031-03-04T12:00:00.000001Z"
    now = put(api, status="open").get_json()
    assert now["status_changed_at"] not in (given["status_changed_at"], by_source["status_changed_at"])


def test_status_clock_is_kept_as_null_when_null_is_given(api):
    shown = put(api, status="open", status_changed_at=None, created_at=T0).get_json()
    assert shown["status_changed_at"] is None


def test_older_news_never_overwrites_newer(api):
    put(api, status="open", updated_at="2031-03-04T12:00:00Z", labels=["new"])
    late = put(api, status="resolved", updated_at="2031-03-04T11:00:00Z", labels=["old"])
    assert late.status_code == 200
    assert (late.get_json()["status"], late.get_json()["labels"]) == ("open", ["new"])


def say(api, id, at, direction="incoming", **given):
    sender = {"type": "customer" if direction == "incoming" else "agent", "key": "k"}
    body = {
        "id": id, "conversation_id": "v/1", "direction": direction, "sender": sender,
        "created_at": f"2031-03-04T10:{at:02}:00Z", **given,
    }  # fmt: skip
    return api.post("/messages", body).get_json()


def waiting(api):
    return api.get("/conversations/v/1").get_json()["waiting_since"]


def test_customer_waits_since_their_first_message_that_nobody_answered(api):
    say(api, "m1", 5)
    say(api, "m2", 7)
    assert waiting(api) == "2031-03-04T10:05:00.000000Z"
    say(api, "n", 8, "outgoing", private=True)
    say(api, "r", 9, "outgoing", sender={"type": "rule"})
    assert waiting(api) == "2031-03-04T10:05:00.000000Z"
    say(api, "m3", 10, "outgoing")
    assert waiting(api) is None


def test_customer_waits_alike_in_whatever_order_messages_come_in(api):
    say(api, "m3", 10, "outgoing")
    say(api, "m1", 5)
    assert waiting(api) is None
    say(api, "m4", 12)
    say(api, "m2", 7, "outgoing")
    assert waiting(api) == "2031-03-04T10:12:00.000000Z"


def test_resolving_ends_the_wait_and_a_later_message_begins_another(api):
    say(api, "m1", 5)
    put(api, status="resolved", status_changed_at="2031-03-04T10:06:00Z")
    assert waiting(api) is None
    say(api, "m2", 7)
    assert waiting(api) == "2031-03-04T10:07:00.000000Z"


def test_message_takes_the_next_place_when_its_source_gives_none(api):
    first, second = say(api, "m1", 5), say(api, "m2", 6)
    assert (first["seq"], second["seq"]) == (1, 2)
    assert say(api, "m9", 7, seq=900)["seq"] == 900
    assert say(api, "m3", 8)["seq"] == 901


@on_sqlite
@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("status", "asleep", "status"),
        ("status_changed_at", "2031-03-04T10:00:00", "status_changed_at"),
        ("updated_at", 5, "updated_at"),
        ("labels", ["ok", ""], "labels.1"),
        ("labels", "vip", "labels"),
        ("labels", ["x"] * 201, "labels"),
        ("inbox_id", {"a": 1}, "inbox_id"),
        ("inbox_id", "", "inbox_id"),
        ("attributes", [1], "attributes"),
        ("customer", "x" * 201, "customer"),
        ("auto_reply", "no", "auto_reply"),
        ("mood", "good", "mood"),
        ("waiting_since", T0, "waiting_since"),
    ],
)
def test_put_answers_422_when_a_field_is_wrong(api, field, value, named):
    response = put(api, **{field: value})
    assert (response.status_code, response.get_json()["field"]) == (422, named)
    assert api.get("/conversations/v/1").status_code == 404


@on_sqlite
@pytest.mark.parametrize("value", ["a\u0000b", {"deep": ["\u0000"]}, {"na\u0000me": 1}, "x" * 100_001])
def test_put_answers_422_when_an_attribute_cannot_be_stored(api, value):
    response = put(api, attributes={"note": value})
    assert (response.status_code, response.get_json()["field"]) == (422, "attributes")
