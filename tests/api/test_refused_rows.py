"""A constraint or a trigger of the database that does not take a row: a problem, and no fault of ours."""

from sqlalchemy import func, select

from models.audit import AuditEvent
from models.base import db
from models.followups.records import Contact, FollowUp
from tests.support.api import code_of
from tests.support.triggers import MESSAGE, refusing

BOOKING = {"agent": "store-support", "customer": "lead@acme.test", "at": "+6h", "reason": "pix pending"}


def counts(session):
    session.rollback()
    models = (FollowUp, Contact, AuditEvent)
    return [session.scalar(select(func.count()).select_from(model)) for model in models]


def test_call_answers_409_and_does_nothing_when_a_trigger_refuses_its_row(api, session, caplog):
    before = counts(session)
    session.close()
    with refusing("INSERT", "follow_up"):
        answer = api.post("/followups", json=BOOKING)
    assert (answer.status_code, code_of(answer)) == (409, "conflict")
    assert counts(session) == before
    [record] = [record for record in caplog.records if "refused a row" in record.message]
    assert MESSAGE in record.message
    assert answer.headers["X-Request-ID"] in record.message
    assert "lead@acme.test" not in caplog.text


def test_call_answers_409_when_a_constraint_refuses_its_row(api, session, caplog):
    booked = api.post("/followups", json=BOOKING).get_json()
    session.close()
    with db.engine.begin() as connection:
        connection.exec_driver_sql("CREATE UNIQUE INDEX refusing ON follow_up (agent)")
    try:
        answer = api.post("/followups", json={**BOOKING, "reason": "another"})
        assert (answer.status_code, code_of(answer)) == (409, "conflict")
        assert api.get(f"/followups/{booked['id']}").get_json()["status"] == "pending"
    finally:
        with db.engine.begin() as connection:
            connection.exec_driver_sql("DROP INDEX refusing")
    assert "already exists" not in caplog.text
