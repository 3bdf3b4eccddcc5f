from sqlalchemy import select

from models.audit import AuditEvent
from tests.support.api import code_of

BOOKING = {"agent": "store-support", "customer": "c-1", "at": "+6h", "reason": "pix pending"}
FIELDS = set(
    [
        "id",
        "tenant",
        "agent",
        "customer",
        "session_id",
        "at",
        "reason",
        "arm",
        "transport",
        "status",
        "task_id",
        "blocked_reason",
        "created_at",
        "updated_at",
        "fired_at",
        "rearmed_from",
        "version",
    ]
)


def test_book_answers_201_in_the_fixed_shape(api):
    response = api.post("/followups", BOOKING)
    assert response.status_code == 201
    made = response.get_json()
    assert set(made) == FIELDS
    assert made["status"] == "pending"
    assert made["tenant"] == "acme"
    assert made["version"] == 1
    assert made["at"].endswith("Z") and len(made["at"]) == len("2031-08-14T12:00:00.000000Z")
    assert api.get(f"/followups/{made['id']}").get_json() == made


def test_book_answers_409_with_prior_id_when_pair_is_pending(api):
    first = api.post("/followups", BOOKING).get_json()
    response = api.post("/followups", BOOKING)
    assert (response.status_code, code_of(response)) == (409, "already-pending")
    assert response.get_json()["prior_id"] == first["id"]


def test_cancel_answers_200_and_again_unchanged(api, session):
    made = api.post("/followups", BOOKING).get_json()
    first = api.post(f"/followups/{made['id']}/cancel")
    again = api.post(f"/followups/{made['id']}/cancel")
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.get_json() == again.get_json()
    assert first.get_json()["status"] == "cancelled"
    session.rollback()
    events = session.scalars(select(AuditEvent).where(AuditEvent.action == "followup.cancelled")).all()
    assert len(events) == 1
