from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select, update

from models.audit import AuditEvent
from models.automations import claiming, rules, upkeep
from models.automations.outside import Came
from models.automations.records import Execution
from models.automations.running import Worker
from models.declarations import Declared
from models.transactions import commit, rollback
from tests.support.api import code_of, read
from tests.support.create import API, create_tenant

LABEL = {"name": "add_label", "params": ["stale"]}
HOOK = {"name": "send_webhook_event", "params": ["https://example.com/h"]}


@pytest.fixture
def armed(api, session, acme, now):
    """`armed(*actions)`: a rule's execution in the conversation v-1, due now."""

    def arm(*actions, called="v-1", delay=60):
        body = {
            "name": "quiet", "event": "conversation_updated", "execution_delay": delay,
            "actions": list(actions) or [LABEL],
        }  # fmt: skip
        rule = api.post("/rules", body).get_json()
        since = (now - timedelta(hours=1)).isoformat()
        api.call("PUT", f"/conversations/{called}", json={"status": "open", "status_changed_at": since})
        [found] = api.get(f"/executions?rule={rule['id']}").get_json()["items"]
        return found

    return arm


def run(session, now, perform=lambda errand: Came.done("200")):
    picked = claiming.pick(session, now=now, limit=100).ids
    rollback(session)
    Worker(session, Declared(), lambda: now, perform).work(picked)


def test_armed_execution_is_shown_with_its_episode(api, armed, now):
    found = armed()
    assert found["status"] == "pending"
    assert found["conversation_id"] == "v-1"
    assert found["message_id"] is None
    assert found["episode_key"].startswith("status:")
    assert (found["skip_reason"], found["needs_review"], found["not_before"]) == (None, False, None)
    one = api.get(f"/executions/{found['id']}").get_json()
    assert one == {**found, "actions": []}


def test_executed_one_shows_its_actions(api, armed, session, now):
    found = armed(LABEL, HOOK)
    run(session, now)
    one = api.get(f"/executions/{found['id']}").get_json()
    assert one["status"] == "executed"
    shown = [(a["position"], a["name"], a["state"], a["error"], a["idempotency_key"]) for a in one["actions"]]
    assert shown == [
        (0, "add_label", "done", None, f"{found['id']}:0"),
        (1, "send_webhook_event", "done", None, f"{found['id']}:1"),
    ]
    assert api.get("/conversations/v-1").get_json()["labels"] == ["stale"]


def test_rule_without_a_delay_acts_before_the_call_is_answered(api):
    body = {"name": "greet", "event": "message_created", "actions": [LABEL]}
    assert api.post("/rules", body).status_code == 201
    message = {
        "id": "m", "conversation_id": "v-9", "direction": "incoming", "created_at": "2031-03-04T10:00:00Z",
    }  # fmt: skip
    assert api.post("/messages", message).status_code == 201
    assert api.get("/conversations/v-9").get_json()["labels"] == ["stale"]
    [row] = api.get("/executions").get_json()["items"]
    assert (row["status"], row["message_id"]) == ("executed", "m")
    assert api.post("/messages", message).status_code == 200
    assert len(api.get("/executions").get_json()["items"]) == 1


def test_list_filters(api, armed, session, now):
    first, second = armed(HOOK), armed(called="v-2")
    run(session, now, lambda errand: Came.unknown("cut off"))

    def ids(query):
        return [one["id"] for one in api.get(f"/executions?{query}").get_json()["items"]]

    assert first["id"] in ids("needs_review=true")
    assert second["id"] in ids("needs_review=false")
    assert set(ids("status=executed")) >= {first["id"], second["id"]}
    assert ids("status=pending") == []
    assert first["id"] in ids("conversation=v-1")
    assert ids("conversation=nobody") == []
    for wrong in ("status=asleep", "needs_review=maybe", "rule=5", "mood=good"):
        assert api.get(f"/executions?{wrong}").status_code == 422


def test_cancel_answers_200_twice_and_409_when_it_ran(api, armed, session, now):
    found = armed()
    for _time in range(2):
        done = api.post(f"/executions/{found['id']}/cancel", {})
        assert (done.status_code, done.get_json()["skip_reason"]) == (200, "cancelled_by_operator")
    other = armed(called="v-2")
    run(session, now)
    refused = api.post(f"/executions/{other['id']}/cancel", {})
    assert (refused.status_code, code_of(refused)) == (409, "conflict")
    assert refused.get_json()["current"]["status"] == "executed"
    query = select(AuditEvent).where(AuditEvent.result == "refused")
    assert [one.action for one in read(session, query)] == ["execution.cancelled"]


def test_act_answers_409_when_the_version_is_old(api, armed):
    found = armed()
    refused = api.post(f"/executions/{found['id']}/cancel", {"version": found["version"] + 3})
    assert (refused.status_code, refused.get_json()["current"]["id"]) == (409, found["id"])


def test_settle_answers_422_until_each_unknown_action_is_told_of(api, armed, session, now):
    found = armed(HOOK, LABEL)
    run(session, now, lambda errand: Came.unknown("cut off"))
    path = f"/executions/{found['id']}/settle"
    assert api.post(path, {}).get_json()["field"] == "unknown.0"
    assert api.post(path, {"unknown": {"first": "done"}}).get_json()["field"] == "unknown.first"
    assert api.post(path, {"unknown": {"0": "maybe"}}).status_code == 422
    done = api.post(path, {"unknown": {"0": "done"}, "note": "seen at the shop"})
    assert (done.status_code, done.get_json()["needs_review"]) == (200, False)
    assert [one["state"] for one in done.get_json()["actions"]] == ["done", "done"]
    assert api.post(path, {}).status_code == 409


def test_abandoned_run_is_dropped_or_goes_on_by_a_persons_word(api, armed, session, acme, now):
    found = armed(HOOK, LABEL)

    def dies(errand):
        raise SystemExit

    long_ago = now - timedelta(minutes=20)
    session.execute(
        update(Execution).values(due_at=long_ago, lapses_from=long_ago), execution_options={"audited": True}
    )
    commit(session, "tests.act")
    with pytest.raises(SystemExit):
        run(session, long_ago, dies)
    rollback(session)
    upkeep.mark_abandoned(session, now=now, limit=10)
    path = f"/executions/{found['id']}"
    assert [one["state"] for one in api.get(path).get_json()["actions"]] == ["unknown", "waiting"]
    gone_on = api.post(f"{path}/rearm", {"include_unknown": [], "reason": "label it"})
    assert (gone_on.status_code, gone_on.get_json()["status"]) == (200, "processing")
    asked = []
    run(session, now + timedelta(seconds=1), lambda errand: asked.append(errand))
    assert asked == []
    one = api.get(path).get_json()
    assert (one["status"], one["needs_review"]) == ("executed", True)
    assert [a["state"] for a in one["actions"]] == ["unknown", "done"]
    assert api.post(f"{path}/drop", {}).status_code == 409


def test_every_call_answers_404_when_the_execution_is_of_another_tenant(api, armed, client_for, session, now):
    found = armed()
    other = client_for(create_tenant(session, "other", now=now))
    assert other.get(f"/executions/{found['id']}").status_code == 404
    for verb in ("cancel", "reclaim", "settle", "drop", "rearm"):
        assert other.post(f"/executions/{found['id']}/{verb}", {}).status_code == 404
        assert api.post(f"/executions/{uuid4()}/{verb}", {}).status_code == 404
    assert other.get("/executions").get_json()["items"] == []


def test_what_is_to_run_at_once_is_left_to_the_sweep_when_it_cannot_be_run_now(api, session, acme, now):
    """What calls the outside is never run by the request, and stands due."""
    rules.create(
        session,
        acme,
        {"name": "tell", "event": "conversation_created", "actions": [HOOK]},
        actor=API,
        now=now,
    )
    commit(session, "tests.create")
    api.call("PUT", "/conversations/v-3", json={"status": "open"})
    [row] = api.get("/executions").get_json()["items"]
    assert row["status"] == "pending"
    run(session, now + timedelta(seconds=5))
    assert api.get(f"/executions/{row['id']}").get_json()["status"] == "executed"
