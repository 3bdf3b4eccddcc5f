from uuid import uuid4

import pytest

from tests.support.api import on_sqlite

ENDPOINT = {"url": "https://sink.example.com/hook", "event_types": ["followup.fired"]}


@pytest.fixture
def endpoint(api):
    return api.post("/endpoints", ENDPOINT).get_json()


def test_add_shows_the_secret_once(api, endpoint):
    assert endpoint["secret"].startswith("whsec_")
    shown = api.get(f"/endpoints/{endpoint['id']}").get_json()
    assert shown == {name: endpoint[name] for name in endpoint if name != "secret"}
    assert api.get("/endpoints").get_json()["items"] == [shown]
    assert endpoint["secret"] not in api.get("/audit").text


def test_add_answers_422_when_an_idempotency_key_is_given(api):
    response = api.post("/endpoints", ENDPOINT, headers={"Idempotency-Key": "k"})
    assert (response.status_code, response.get_json()["field"]) == (422, "Idempotency-Key")
    assert api.get("/endpoints").get_json()["items"] == []


@on_sqlite
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "ftp://sink.example.com"),
        ("url", "http://127.0.0.1/"),
        ("url", "https://a:b@sink.example.com/"),
        ("url", ""),
        ("url", "x" * 2_001),
        ("event_types", []),
        ("event_types", ["no.such"]),
        ("event_types", "followup.fired"),
        ("active", 1),
        ("secret", "mine"),
    ],
)
def test_add_answers_422_when_a_field_is_wrong(api, field, value):
    response = api.post("/endpoints", {**ENDPOINT, field: value})
    assert response.status_code == 422
    assert response.get_json()["field"].partition(".")[0] == field


def test_change_pauses_and_readdresses(api, endpoint):
    changed = api.patch(
        f"/endpoints/{endpoint['id']}", {"active": False, "url": "https://other.example.com/"}
    ).get_json()
    assert (changed["active"], changed["url"]) == (False, "https://other.example.com/")
    stale = api.patch(f"/endpoints/{endpoint['id']}", {"active": True, "version": 1})
    assert stale.status_code == 409
    assert stale.get_json()["current"] == changed
    assert "secret" not in stale.get_json()["current"]
    assert api.patch(f"/endpoints/{endpoint['id']}", {"url": None}).status_code == 422


def test_remove_answers_204_and_then_404(api, endpoint):
    response = api.delete(f"/endpoints/{endpoint['id']}")
    assert (response.status_code, response.data) == (204, b"")
    assert api.delete(f"/endpoints/{endpoint['id']}").status_code == 404
    assert api.get(f"/endpoints/{endpoint['id']}").status_code == 404
    assert api.get("/endpoints").get_json()["items"] == []


def test_rotate_gives_another_secret(api, endpoint):
    rotated = api.post(f"/endpoints/{endpoint['id']}/secret").get_json()
    assert rotated["secret"] != endpoint["secret"]


def test_test_sends_an_event_to_it_alone(api, endpoint):
    response = api.post(f"/endpoints/{endpoint['id']}/test")
    assert response.status_code == 202
    found = api.get("/events?type=endpoint.test").get_json()["items"]
    assert [event["id"] for event in found] == [response.get_json()["event_id"]]


def test_every_call_answers_404_when_unknown(api):
    for method, verb in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/secret"), ("POST", "/test")):
        assert api.call(method, f"/endpoints/{uuid4()}{verb}").status_code == 404
