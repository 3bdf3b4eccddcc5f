from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select

from models.audit import AuditEvent
from models.followups import contacts
from models.followups.firing import fire_due
from models.followups.records import AgentTask, ContactState
from models.transactions import commit
from tests.support.api import code_of, read
from tests.support.create import API, create_followup, create_tenant
from tests.support.declare import declared


@pytest.fixture
def task(session, acme, now):
    create_followup(session, acme, now=now, transport="whatsapp", session_id="s-1")
    fire_due(session, declared=declared(), now=now + timedelta(hours=2), limit=10)
    made = str(session.scalars(select(AgentTask.id)).one())
    session.rollback()
    return made


def test_get_shows_no_prompt(api, task):
    shown = api.get(f"/tasks/{task}")
    listed = api.get("/tasks")
    assert shown.status_code == listed.status_code == 200
    assert "pix pending" not in shown.text + listed.text
    assert listed.get_json()["items"] == [shown.get_json()]
    found = shown.get_json()
    assert (found["origin"], found["agent"], found["customer"]) == ("scheduled", "store-support", "c-1")
    assert (found["transport"], found["session_id"], found["status"]) == ("whatsapp", "s-1", "queued")


def test_list_filters_by_agent_and_status(api, task):
    assert len(api.get("/tasks?agent=store-support&status=queued").get_json()["items"]) == 1
    assert api.get("/tasks?status=done").get_json()["items"] == []
    assert api.get("/tasks?agent=other").get_json()["items"] == []
    response = api.get("/tasks?status=lost")
    assert (response.status_code, response.get_json()["field"]) == (422, "status")


def test_claim_gives_the_prompt_once(api, session, task):
    first = api.post(f"/tasks/{task}/claim")
    assert first.status_code == 200
    assert "pix pending" in first.get_json()["prompt"]
    assert first.get_json()["status"] == "dispatched"
    second = api.post(f"/tasks/{task}/claim")
    assert (second.status_code, code_of(second)) == (409, "conflict")
    assert second.get_json()["current"]["status"] == "dispatched"
    assert "pix pending" not in second.text
    [refused] = read(session, select(AuditEvent).where(AuditEvent.result == "refused"))
    assert (refused.action, refused.resource_id) == ("task.claimed", task)


def test_claim_answers_409_opted_out_and_cancels_the_task_when_revoked_since(api, session, task):
    # Straight to the row: a revoke over the API would have cancelled the queued task itself.
    found = session.scalars(select(AgentTask)).one()
    contact = contacts.lock(session, found.tenant_id, "c-1")
    contacts._move(session, contact, ContactState.REVOKED, actor=API, purpose="tests", now=found.created_at)
    commit(session, "tests.create")
    response = api.post(f"/tasks/{task}/claim")
    assert (response.status_code, code_of(response)) == (409, "opted-out")
    assert api.get(f"/tasks/{task}").get_json()["status"] == "cancelled"


def test_claim_answers_422_when_an_idempotency_key_is_given(api, task):
    response = api.post(f"/tasks/{task}/claim", headers={"Idempotency-Key": "k"})
    assert (response.status_code, response.get_json()["field"]) == (422, "Idempotency-Key")
    assert api.get(f"/tasks/{task}").get_json()["status"] == "queued"


@pytest.mark.parametrize("verb", ["done", "failed"])
def test_report_answers_200_and_again_unchanged(api, task, verb):
    assert api.post(f"/tasks/{task}/{verb}").status_code == 409
    api.post(f"/tasks/{task}/claim")
    first = api.post(f"/tasks/{task}/{verb}", {"reason": "sent"})
    again = api.post(f"/tasks/{task}/{verb}")
    assert (first.status_code, first.get_json()["status"]) == (200, verb)
    assert first.get_json() == again.get_json()
    other = "failed" if verb == "done" else "done"
    assert api.post(f"/tasks/{task}/{other}").status_code == 409


def test_acts_answer_409_when_version_moved(api, task):
    assert api.post(f"/tasks/{task}/claim", {"version": 9}).status_code == 409
    assert api.post(f"/tasks/{task}/claim", {"version": 1}).status_code == 200
    assert api.post(f"/tasks/{task}/done", {"version": 1}).status_code == 409
    assert api.post(f"/tasks/{task}/done", {"version": 2}).status_code == 200


def test_every_call_answers_404_alike_when_unknown_or_another_tenants(api, client_for, session, now, task):
    stranger = client_for(create_tenant(session, "other", now=now))
    for method, verb in (("GET", ""), ("POST", "/claim"), ("POST", "/done"), ("POST", "/failed")):
        foreign = stranger.call(method, f"/tasks/{task}{verb}")
        missing = stranger.call(method, f"/tasks/{uuid4()}{verb}")
        assert (foreign.status_code, foreign.get_json()) == (404, missing.get_json())
