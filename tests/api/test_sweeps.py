from sqlalchemy import select

from jobs.schedule import SWEEPS
from models import tenants
from models.audit import AuditEvent
from models.sweep_states import pause
from models.sweeps import SweepRun, SweepSlot
from models.transactions import commit
from tests.support.api import read
from tests.support.create import API


def test_list_shows_each_sweep(api):
    items = api.get("/sweeps").get_json()["items"]
    assert {item["name"] for item in items} == set(SWEEPS)
    assert all(item["last_run"] is None and item["own_errors"] == 0 for item in items)


def test_list_goes_on_by_its_cursor_when_a_limit_is_given(api):
    first = api.get("/sweeps?limit=3").get_json()
    rest = api.get("/sweeps", query_string={"cursor": first["next_cursor"]}).get_json()
    assert [item["name"] for item in first["items"] + rest["items"]] == sorted(SWEEPS)
    assert (len(first["items"]), rest["next_cursor"]) == (3, None)


def test_run_is_asked_for_by_the_platform_only(api, client_for, session):
    refused = api.post("/sweeps/fire_followups/run")
    assert refused.status_code == 403
    platform = client_for(tenants.get(session, None))
    response = platform.post("/sweeps/fire_followups/run")
    assert (response.status_code, response.get_json()["name"]) == (202, "fire_followups")
    assert read(session, select(SweepSlot.name)) == ["fire_followups"]
    acts = select(AuditEvent.result).where(AuditEvent.action == "sweep.run_by_hand")
    assert read(session, acts.order_by(AuditEvent.id)) == ["refused", "success"]
    assert platform.post("/sweeps/no_such/run").status_code == 404


def test_run_answers_409_when_paused(client_for, session, now):
    platform = client_for(tenants.get(session, None))
    pause(session, "deliver", known=SWEEPS, reason="storm", actor=API, now=now)
    commit(session, "tests.create")
    response = platform.post("/sweeps/deliver/run")
    assert response.status_code == 409
    assert response.get_json()["current"]["reason"] == "storm"


def test_counts_and_error_of_a_run_are_shown_to_the_platform_only(api, client_for, session, now):
    session.add(
        SweepRun(
            name="deliver",
            by_hand=False,
            holder="x",
            status="error",
            started_at=now,
            finished_at=now,
            counts={"examined": 7},
            error="of another tenant",
        )
    )
    commit(session, "tests.create")
    mine = api.get("/sweeps")
    assert "of another tenant" not in mine.text
    platform = client_for(tenants.get(session, None)).get("/sweeps").get_json()["items"]
    [deliver] = [item for item in platform if item["name"] == "deliver"]
    assert (deliver["last_run"]["counts"], deliver["last_run"]["status"]) == ({"examined": 7}, "error")
