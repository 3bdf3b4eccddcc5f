from uuid import uuid4

import pytest
from sqlalchemy import select

from models.audit import AuditEvent
from models.automations.records import AutomationRule
from tests.support.api import code_of, on_sqlite, read

OPEN = {"attribute": "status", "operator": "equal_to", "values": ["open"], "joiner": None}
LABELS = {"attribute": "labels", "operator": "equal_to", "values": ["vip"], "joiner": None}
RULE = {
    "name": "Chase",
    "event": "conversation_updated",
    "execution_delay": 60,
    "conditions": [OPEN],
    "actions": [{"name": "add_label", "params": ["late"]}],
}
WHOLE = {
    **RULE,
    "description": "",
    "window_start": None,
    "window_end": None,
    "trigger": None,
    "on_failure": "continue",
    "active": True,
}


@pytest.fixture
def rule(api):
    return api.post("/rules", RULE).get_json()


def test_create_answers_201_with_the_rule(api):
    response = api.post("/rules", RULE)
    made = response.get_json()
    assert response.status_code == 201
    assert made == {**WHOLE, "id": made["id"], "version": 1}
    assert api.get(f"/rules/{made['id']}").get_json() == made
    assert api.get("/rules").get_json() == {"items": [made], "next_cursor": None}


def test_create_takes_all_fields(api):
    given = {
        **WHOLE,
        "description": "After hours",
        "execution_delay": 43_200,
        "window_start": 0,
        "window_end": 1_439,
        "trigger": "inactivity",
        "on_failure": "stop",
        "active": False,
        "conditions": [
            {**LABELS, "joiner": "or"},
            {"attribute": "custom.tier", "operator": "is_present", "values": [], "joiner": "and"},
            OPEN,
        ],
        "actions": [
            {"name": "send_message", "params": ["Are you still there?"]},
            {"name": "send_email_to_team", "params": [{"team_ids": [4], "message": "Look"}]},
            {"name": "change_priority", "params": [None]},
            {"name": "resolve_conversation", "params": []},
        ],
    }
    made = api.post("/rules", given).get_json()
    assert made == {**given, "id": made["id"], "version": 1}


def test_create_answers_the_same_when_the_key_is_the_same(api):
    first, second = (api.post("/rules", RULE, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.get_json() == second.get_json()
    assert len(api.get("/rules").get_json()["items"]) == 1


@on_sqlite
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"execution_delay": 9}, "execution_delay"),
        ({"execution_delay": 43_201}, "execution_delay"),
        ({"execution_delay": 10.5}, "execution_delay"),
        ({"execution_delay": "60"}, "execution_delay"),
        ({"execution_delay": True}, "execution_delay"),
        ({"conditions": [LABELS]}, "execution_delay"),
        (
            {"conditions": [{**OPEN, "operator": "attribute_changed", "values": {"from": [], "to": []}}]},
            "execution_delay",
        ),
        ({"conditions": [OPEN, OPEN]}, "conditions.0.joiner"),
        ({"conditions": [{**OPEN, "joiner": "xor"}, OPEN]}, "conditions.0.joiner"),
        ({"conditions": [{**OPEN, "joiner": "and"}]}, "conditions.0.joiner"),
        ({"conditions": [{**OPEN, "attribute": "colour"}]}, "conditions.0.attribute"),
        ({"conditions": [{**OPEN, "operator": "is"}]}, "conditions.0.operator"),
        ({"conditions": [{**OPEN, "values": ["closed"]}]}, "conditions.0.values"),
        ({"conditions": [{**OPEN, "values": [float("nan")]}]}, "conditions.0.values"),
        ({"conditions": [{**OPEN, "more": 1}]}, "conditions.0.more"),
        ({"conditions": "all"}, "conditions"),
        ({"conditions": None}, "conditions"),
        ({"actions": []}, "actions"),
        ({"actions": {}}, "actions"),
        ({"actions": [{"name": "shout", "params": []}]}, "actions.0.name"),
        ({"actions": [{"name": "add_label", "params": [1]}]}, "actions.0.params"),
        ({"actions": [{"name": "add_label", "params": ["a\x00"]}]}, "actions.0.params"),
        ({"actions": [{"name": "assign_agent", "params": [10**400]}]}, "actions.0.params"),
        (
            {"actions": [{"name": "send_webhook_event", "params": ["http://127.0.0.1/"]}]},
            "actions.0.params",
        ),
        ({"window_start": 60}, "window_end"),
        ({"window_start": 60, "window_end": 60}, "window_end"),
        ({"window_start": 60, "window_end": 1_440}, "window_end"),
        ({"window_start": 60, "window_end": 61, "execution_delay": None}, "window_start"),
        ({"trigger": "inactivity", "execution_delay": None}, "trigger"),
        ({"trigger": "inactivity", "event": "message_created"}, "trigger"),
        ({"trigger": "silence"}, "trigger"),
        ({"event": "conversation_deleted"}, "event"),
        ({"on_failure": "retry"}, "on_failure"),
        ({"name": " "}, "name"),
        ({"name": None}, "name"),
        ({"description": "a\x00"}, "description"),
        ({"active": 1}, "active"),
        ({"version": 1}, "version"),
        ({"armed_version": 1}, "armed_version"),
    ],
)
def test_create_answers_422_with_the_field_when_it_cannot_be_used(api, given, field):
    response = api.post("/rules", {**RULE, **given})
    assert (response.status_code, code_of(response)) == (422, "invalid")
    assert response.get_json()["field"] == field
    assert api.get("/rules").get_json()["items"] == []


@on_sqlite
@pytest.mark.parametrize("name", ["name", "event", "actions"])
def test_create_answers_422_when_a_needed_field_is_missing(api, name):
    response = api.post("/rules", {key: value for key, value in RULE.items() if key != name})
    assert (response.status_code, response.get_json()["field"]) == (422, name)


def test_change_changes_what_is_given_alone(api, rule):
    changed = api.patch(f"/rules/{rule['id']}", {"name": "Another", "active": False}).get_json()
    assert changed == {**rule, "name": "Another", "active": False, "version": 2}
    assert api.patch(f"/rules/{rule['id']}", {}).get_json() == changed
    assert api.patch(f"/rules/{rule['id']}", {"active": False}).get_json() == changed


def test_change_tells_a_delay_of_null_from_one_that_is_left_out(api, rule):
    path = f"/rules/{rule['id']}"
    assert api.patch(path, {"description": "d"}).get_json()["execution_delay"] == 60
    assert api.patch(path, {"execution_delay": None}).get_json()["execution_delay"] is None
    assert api.patch(path, {"conditions": [LABELS]}).get_json()["conditions"] == [LABELS]
    response = api.patch(path, {"execution_delay": 60})
    assert (response.status_code, response.get_json()["field"]) == (422, "execution_delay")


@on_sqlite
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": None}, "name"),
        ({"event": None}, "event"),
        ({"actions": None}, "actions"),
        ({"conditions": None}, "conditions"),
        ({"description": None}, "description"),
        ({"on_failure": None}, "on_failure"),
        ({"active": None}, "active"),
        ({"execution_delay": 9}, "execution_delay"),
        ({"window_end": 60}, "window_start"),
        ({"conditions": [LABELS]}, "execution_delay"),
        ({"conditions": [OPEN, OPEN]}, "conditions.0.joiner"),
        ({"id": str(uuid4())}, "id"),
    ],
)
def test_change_answers_422_with_the_field_when_it_cannot_be_used(api, rule, given, field):
    response = api.patch(f"/rules/{rule['id']}", given)
    assert (response.status_code, response.get_json()["field"]) == (422, field)
    assert api.get(f"/rules/{rule['id']}").get_json() == rule


def test_change_answers_409_with_the_rule_as_it_is_when_it_moved(api, rule, session):
    changed = api.patch(f"/rules/{rule['id']}", {"name": "Another", "version": 1}).get_json()
    stale = api.patch(f"/rules/{rule['id']}", {"active": False, "version": 1})
    assert (stale.status_code, code_of(stale)) == (409, "conflict")
    assert stale.get_json()["current"] == changed
    refused = read(session, select(AuditEvent).where(AuditEvent.result == "refused"))
    assert [(one.action, one.resource_type, one.resource_id) for one in refused] == [
        ("rule.changed", "rule", rule["id"])
    ]


def test_change_answers_422_before_404(api):
    assert api.patch(f"/rules/{uuid4()}", {"conditions": [OPEN, OPEN]}).status_code == 422
    assert api.patch(f"/rules/{uuid4()}", {"conditions": [OPEN]}).status_code == 404


def test_delete_answers_204_and_then_404(api, rule, session):
    response = api.delete(f"/rules/{rule['id']}")
    assert (response.status_code, response.data) == (204, b"")
    assert api.delete(f"/rules/{rule['id']}").status_code == 404
    assert api.get(f"/rules/{rule['id']}").status_code == 404
    assert read(session, select(AutomationRule)) == []
    told = [one["action"] for one in api.get("/audit?resource_type=rule").get_json()["items"]]
    assert told == ["rule.deleted", "rule.created"]


def test_list_is_newest_first_and_goes_on(api):
    made = [api.post("/rules", {**RULE, "name": f"Rule {number}"}).get_json() for number in range(5)]
    first = api.get("/rules?limit=3").get_json()
    second = api.get("/rules", query_string={"limit": 3, "cursor": first["next_cursor"]}).get_json()
    assert first["items"] + second["items"] == made[::-1]
    assert second["next_cursor"] is None
    assert api.get("/rules?active=true").status_code == 422


def test_refused_scope_is_audited_when_the_rule_exists(client_for, acme, api, rule, session):
    reader = client_for(acme, "read", "ingest")
    assert reader.get(f"/rules/{rule['id']}").status_code == 200
    assert reader.post("/rules", RULE).status_code == 403
    assert reader.patch(f"/rules/{rule['id']}", {"active": False}).status_code == 403
    assert reader.delete(f"/rules/{rule['id']}").status_code == 403
    refused = read(session, select(AuditEvent).where(AuditEvent.result == "refused").order_by(AuditEvent.id))
    assert [(one.action, one.resource_id, one.purpose) for one in refused] == [
        ("rule.changed", rule["id"], "forbidden"),
        ("rule.deleted", rule["id"], "forbidden"),
    ]


@on_sqlite
def test_deeply_nested_values_answer_422(api):
    body = b'{"name":"n","event":"message_created","actions":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    assert api.post("/rules", data=body).status_code == 422
    nested = [{**OPEN, "values": [[[[["open"]]]]]}]
    assert api.post("/rules", {**RULE, "conditions": nested}).get_json()["field"] == "conditions.0.values"
