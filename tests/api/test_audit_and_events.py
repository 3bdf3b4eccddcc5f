import pytest
from sqlalchemy import select

from models.deliveries import Delivery
from models.outbox import OutboxEvent
from tests.support.api import on_sqlite, read


def book(api, number):
    given = {"agent": "a", "customer": f"c-{number}", "at": "+6h", "reason": "r"}
    return api.post("/followups", given).get_json()["id"]


def test_audit_lists_the_tenants_events_by_each_filter(api):
    first, second = book(api, 1), book(api, 2)
    items = api.get("/audit?action=followup.scheduled").get_json()["items"]
    assert [item["resource_id"] for item in items] == [second, first]
    assert set(items[0]) == {
        "id", "at", "actor_type", "actor_id", "actor_label", "action", "resource_type", "resource_id",
        "purpose", "result", "detail",
    }  # fmt: skip
    found = api.get(f"/audit?resource_type=followup&resource_id={first}").get_json()["items"]
    assert [item["resource_id"] for item in found] == [first]
    by_name = api.get("/audit?actor=token 1&resource_type=followup").get_json()["items"]
    by_id = api.get(f"/audit?actor={items[0]['actor_id']}&resource_type=followup").get_json()["items"]
    assert by_name == by_id and len(by_name) == 2
    assert api.get("/audit?actor=nobody").get_json()["items"] == []
    bounds = {"resource_type": "followup", "from": items[1]["at"], "to": items[0]["at"]}
    within = api.get("/audit", query_string=bounds).get_json()["items"]
    assert [item["resource_id"] for item in within] == [first]


@on_sqlite
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=soon", "from"),
        ("to=2031-01-01T00:00:00", "to"),
        ("since=x", "since"),
        ("result=success", "result"),
    ],
)
def test_audit_answers_422_when_a_filter_is_wrong(api, query, field):
    response = api.get(f"/audit?{query}")
    assert (response.status_code, response.get_json()["field"]) == (422, field)


def test_events_are_published_by_reading_when_no_worker_runs(api, session):
    api.post("/endpoints", {"url": "https://sink.example.com/", "event_types": ["*"]})
    ids = [book(api, number) for number in range(3)]
    items = api.get("/events").get_json()["items"]
    assert [item["aggregate_id"] for item in items] == ids[::-1]
    assert set(items[0]) == {
        "id", "at", "event_type", "aggregate_type", "aggregate_id", "deduplication_key", "payload",
    }  # fmt: skip
    assert read(session, select(OutboxEvent.id).where(OutboxEvent.position.is_(None))) == []
    assert len(read(session, select(Delivery.id))) == 3


def test_events_after_one_come_oldest_first_and_none_is_missed(api):
    book(api, 0)
    [start] = api.get("/events").get_json()["items"]
    ids = [book(api, number) for number in range(1, 6)]
    first = api.get(f"/events?after={start['id']}&limit=2").get_json()
    assert [item["aggregate_id"] for item in first["items"]] == ids[:2]
    walked = api.get(
        "/events", query_string={"after": start["id"], "limit": 2, "cursor": first["next_cursor"]}
    ).get_json()
    assert [item["aggregate_id"] for item in walked["items"]] == ids[2:4]
    rest = api.get(f"/events?after={walked['items'][-1]['id']}").get_json()
    assert [item["aggregate_id"] for item in rest["items"]] == ids[4:]
    assert rest["next_cursor"] is None


def test_events_newest_first_go_on_by_cursor(api):
    ids = [book(api, number) for number in range(3)]
    first = api.get("/events?limit=2").get_json()
    book(api, 9)
    second = api.get("/events", query_string={"limit": 2, "cursor": first["next_cursor"]}).get_json()
    found = [item["aggregate_id"] for item in first["items"] + second["items"]]
    assert found == ids[::-1]
    wrong_way = {"cursor": first["next_cursor"], "after": first["items"][0]["id"]}
    assert api.get("/events", query_string=wrong_way).get_json()["field"] == "cursor"


@on_sqlite
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=x", "after"),
        ("after=-1", "after"),
        ("after=999999", "after"),
        ("after=99999999999999999999", "after"),
        ("type=no.such", "type"),
        ("cursor=abc", "cursor"),
    ],
)
def test_events_answer_422_when_a_filter_is_wrong(api, query, field):
    response = api.get(f"/events?{query}")
    assert (response.status_code, response.get_json()["field"]) == (422, field)


def test_events_after_0_begin_with_the_oldest_kept(api):
    for number in range(2):
        book(api, number)
    oldest_first = api.get("/events?after=0").get_json()["items"]
    newest_first = api.get("/events").get_json()["items"]
    assert oldest_first == newest_first[::-1]
    assert len(oldest_first) == 2
