import pytest
from sqlalchemy import select

from models.audit import AuditEvent
from tests.support.api import on_sqlite, read


def test_get_shows_the_tokens_tenant(api):
    found = api.get("/tenant").get_json()
    assert (found["key"], found["timezone"]) == ("acme", "UTC")
    assert found["features"] == {"delayed_automations": True, "followups": True}


def test_change_switches_a_feature_with_one_event(api, session):
    for _ in range(2):
        response = api.patch("/tenant", {"features": {"followups": False}})
        assert response.status_code == 200
        assert response.get_json()["features"] == {"delayed_automations": True, "followups": False}
    assert api.get("/tenant").get_json()["version"] == 2
    events = read(session, select(AuditEvent).where(AuditEvent.action == "tenant.feature_off"))
    assert len(events) == 1


@on_sqlite
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"features": {"followups": 0}}, "features.followups"),
        ({"features": {"followups": None}}, "features.followups"),
        ({"features": {"teleport": True}}, "features.teleport"),
        ({"features": []}, "features"),
        ({"name": "x"}, "name"),
    ],
)
def test_change_answers_422_when_a_switch_is_wrong(api, body, field):
    response = api.patch("/tenant", body)
    assert (response.status_code, response.get_json()["field"]) == (422, field)


def test_change_answers_409_with_current_when_version_moved(api, session):
    response = api.patch("/tenant", {"features": {"followups": False}, "version": 9})
    assert response.status_code == 409
    assert response.get_json()["current"] == api.get("/tenant").get_json()
    assert len(read(session, select(AuditEvent).where(AuditEvent.result == "refused"))) == 1


def test_agents_are_listed_and_held(api):
    [agent] = api.get("/agents").get_json()["items"]
    assert agent == {
        "key": "store-support",
        "declared": True,
        "held": False,
        "reason": None,
        "faults": [],
        "version": 0,
    }
    held = api.patch("/agents/store-support", {"held": True, "reason": "storm"})
    assert held.status_code == 200
    assert (held.get_json()["held"], held.get_json()["reason"]) == (True, "storm")
    assert api.get("/agents").get_json()["items"] == [held.get_json()]
    assert api.patch("/agents/store-support", {"held": True}).get_json()["version"] == 1
    assert api.patch("/agents/store-support", {"held": False, "version": 0}).status_code == 409
    assert api.patch("/agents/store-support", {"held": False, "version": 1}).get_json()["held"] is False


def test_agent_that_only_has_bookings_can_be_held(api):
    assert api.patch("/agents/un/declared", {"held": True}).status_code == 404
    api.post("/followups", {"agent": "un/declared", "customer": "c", "at": "+6h", "reason": "r"})
    assert api.patch("/agents/un/declared", {"held": True}).status_code == 200
    listed = api.get("/agents?limit=1").get_json()
    assert [one["key"] for one in listed["items"]] == ["store-support"]
    more = api.get("/agents", query_string={"cursor": listed["next_cursor"]}).get_json()
    assert [one["key"] for one in more["items"]] == ["un/declared"]
    assert more["next_cursor"] is None
    moved = api.patch("/agents/un/declared", {"held": False, "version": 0})
    assert (moved.status_code, moved.get_json()["current"]) == (409, more["items"][0])


@on_sqlite
@pytest.mark.parametrize("body", [{}, {"held": "yes"}, {"held": None}, {"held": 1}])
def test_agent_answers_422_when_held_is_wrong(api, body):
    response = api.patch("/agents/store-support", body)
    assert (response.status_code, response.get_json()["field"]) == (422, "held")
