import json
import os
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from desk_ui import create_app
from models import idempotency
from models.audit import AuditEvent
from models.followups.records import FollowUp
from models.idempotency import KeptAnswer
from models.settings import from_env
from models.transactions import commit
from tests.support import forks, processes
from tests.support.api import on_sqlite, read

BOOKING = {"agent": "a", "customer": "c", "at": "+6h", "reason": "r"}
KEY = {"Idempotency-Key": "order 17"}


def test_same_key_and_body_answers_as_the_first_time(api, session):
    first = api.post("/followups", BOOKING, headers=KEY)
    again = api.post("/followups", json.loads(json.dumps(BOOKING, indent=2)), headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.data == again.data
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert len(read(session, select(FollowUp.id))) == 1
    assert len(read(session, select(AuditEvent.id).where(AuditEvent.action == "followup.scheduled"))) == 1


def test_same_key_answers_the_first_time_even_when_the_row_moved_since(api):
    made = api.post("/followups", BOOKING, headers=KEY).get_json()
    api.post(f"/followups/{made['id']}/cancel")
    assert api.post("/followups", BOOKING, headers=KEY).get_json() == made


def test_same_key_with_another_body_answers_422(api):
    api.post("/followups", BOOKING, headers=KEY)
    response = api.post("/followups", {**BOOKING, "reason": "other"}, headers=KEY)
    assert (response.status_code, response.get_json()["field"]) == (422, "Idempotency-Key")


def test_a_key_belongs_to_its_token_and_its_path(api, client_for, acme, session):
    made = api.post("/followups", BOOKING, headers=KEY).get_json()
    other = client_for(acme)
    assert other.post("/followups", BOOKING, headers=KEY).status_code == 409
    assert api.post(f"/followups/{made['id']}/cancel", {}, headers=KEY).status_code == 200
    assert len(read(session, select(KeptAnswer.call))) == 2


def test_a_refused_call_keeps_no_answer(api, session):
    api.post("/followups", BOOKING)
    assert api.post("/followups", BOOKING, headers=KEY).status_code == 409
    assert api.post("/followups", {}, headers=KEY).status_code == 422
    assert read(session, select(KeptAnswer.call)) == []
    assert api.post("/followups", {**BOOKING, "reason": "other"}, headers=KEY).status_code == 201


def test_a_key_is_forgotten_after_24_hours(api, session, now):
    api.post("/followups", BOOKING, headers=KEY)
    session.execute(update(KeptAnswer).values(created_at=now - timedelta(hours=24, seconds=1)))
    commit(session, "tests.age")
    assert api.post("/followups", BOOKING, headers=KEY).status_code == 409
    assert idempotency.purge(session, now=now, limit=10) == 1
    commit(session, "tests.purge")
    assert read(session, select(KeptAnswer.call)) == []


@on_sqlite
@pytest.mark.parametrize("key", ["", " ", "k" * 201, "k\u00fc", "a\tb"])
def test_a_key_that_cant_be_kept_answers_422(api, session, key):
    response = api.post("/followups", BOOKING, headers={"Idempotency-Key": key})
    assert (response.status_code, response.get_json()["field"]) == (422, "Idempotency-Key")
    assert read(session, select(FollowUp.id)) == []


def test_imports_take_a_key_too(api):
    first = api.post("/followups/import", data=b"not json\n", headers=KEY)
    again = api.post("/followups/import", data=b"not json\n", headers=KEY)
    assert first.data == again.data
    assert api.post("/followups/import", data=b"other\n", headers=KEY).status_code == 422


def book(ready, secret):
    """What one of two that give the same key at once is answered."""
    client = create_app(from_env(os.environ)).test_client()
    headers = {"Authorization": f"Bearer {secret}"}
    client.get("/api/v1/tenant", headers=headers)
    ready()
    answer = client.post("/api/v1/followups", headers=headers | {"Idempotency-Key": "race"}, json=BOOKING)
    return answer.status_code, answer.headers.get("Idempotency-Replayed", "first"), answer.get_json()["id"]


@pytest.mark.slow
def test_same_key_from_two_processes_at_once_has_one_effect(api, app, session, database, tmp_path):
    session.rollback()
    env = processes.environment(tmp_path, database.url)
    answers = sorted(forks.together([(book, (api.secret,))] * 2, env=env, folder=tmp_path))
    assert [answer[:2] for answer in answers] == [(201, "first"), (201, "true")]
    assert answers[0][2] == answers[1][2]
    assert len(read(session, select(FollowUp.id))) == 1
    assert len(read(session, select(AuditEvent.id).where(AuditEvent.action == "followup.scheduled"))) == 1
