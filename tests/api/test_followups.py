from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from models.audit import AuditEvent
from models.clock import iso, parse_time
from models.followups import contacts
from models.followups.firing import fire_due
from models.followups.records import Contact, ContactState, FollowUp
from models.outbox import OutboxEvent
from models.transactions import commit
from tests.support.api import code_of, on_sqlite, read
from tests.support.create import API, create_followup, create_tenant
from tests.support.declare import declared

BOOKING = {"agent": "store-support", "customer": "c-1", "at": "+6h", "reason": "pix pending"}
FIELDS = {
    "id", "tenant", "agent", "customer", "session_id", "at", "reason", "arm", "transport", "status",
    "task_id", "blocked_reason", "created_at", "updated_at", "fired_at", "rearmed_from", "version",
}  # fmt: skip


@pytest.fixture
def booked(api):
    return api.post("/followups", BOOKING).get_json()


@pytest.fixture
def fired(session, acme, now):
    return _ended(session, acme, now, granted=True)


@pytest.fixture
def blocked(session, acme, now):
    """One that was blocked because its contact ran out."""
    return _ended(session, acme, now, granted=False)


def _ended(session, acme, now, *, granted):
    followup = create_followup(session, acme, now=now, customer="c-9")
    if not granted:
        contact = contacts.lock(session, acme.id, "c-9")
        contacts._move(session, contact, ContactState.UNAVAILABLE, actor=API, purpose="tests", now=now)
        commit(session, "tests.create")
    fire_due(session, declared=declared(), now=now + timedelta(hours=2), limit=10)
    session.refresh(followup)
    assert followup.status == ("fired" if granted else "blocked")
    followup_id = str(followup.id)
    session.rollback()
    return followup_id


def events_of(session, followup_id):
    query = select(AuditEvent).where(AuditEvent.resource_id == str(followup_id)).order_by(AuditEvent.id)
    return [(event.action, event.result) for event in read(session, query)]


def test_book_answers_201_in_the_fixed_shape(api):
    response = api.post("/followups", BOOKING)
    assert response.status_code == 201
    made = response.get_json()
    assert set(made) == FIELDS
    assert made["status"] == "pending" and made["tenant"] == "acme" and made["version"] == 1
    assert made["at"].endswith("Z") and len(made["at"]) == len("2031-08-14T12:00:00.000000Z")
    assert api.get(f"/followups/{made['id']}").get_json() == made


def test_book_keeps_what_is_given_when_all_fields_are_given(api):
    given = {
        **BOOKING,
        "id": str(uuid4()),
        "at": "2099-01-01T02:00:00+02:00",
        "session_id": "s-1",
        "arm": "late",
        "transport": "whatsapp",
    }
    made = api.post("/followups", given).get_json()
    assert {name: made[name] for name in given} == {**given, "at": "2099-01-01T00:00:00.000000Z"}


def test_book_answers_200_with_the_first_when_id_and_content_repeat(api):
    given = {**BOOKING, "id": str(uuid4())}
    first, again = api.post("/followups", given), api.post("/followups", given)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.get_json() == again.get_json()


def test_book_answers_409_when_id_comes_with_other_content(api):
    given = {**BOOKING, "id": str(uuid4())}
    api.post("/followups", given)
    response = api.post("/followups", {**given, "reason": "another"})
    assert (response.status_code, code_of(response)) == (409, "conflict")
    assert response.get_json()["current"]["reason"] == "pix pending"


@on_sqlite
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("at", "+4m"),
        ("at", "+6w"),
        ("at", "tomorrow"),
        ("at", "2099-08-15T10:00:00"),
        ("at", "2001-08-15T10:00:00Z"),
        ("at", 17),
        ("reason", ""),
        ("reason", "x" * 201),
        ("reason", "   "),
        ("agent", ""),
        ("agent", None),
        ("customer", "c" * 201),
        ("customer", ["c-1"]),
        ("id", "not-a-uuid"),
        ("arm", ""),
        ("arm", True),
        ("transport", "t" * 201),
        ("session_id", 5),
        ("status", "fired"),
    ],
)
def test_book_answers_422_and_writes_nothing_when_a_field_is_wrong(api, session, field, value):
    response = api.post("/followups", {**BOOKING, field: value})
    assert (response.status_code, response.get_json()["field"]) == (422, field)
    assert session.scalar(select(func.count()).select_from(FollowUp)) == 0
    assert session.scalar(select(func.count()).select_from(Contact)) == 0


@on_sqlite
@pytest.mark.parametrize("field", ["agent", "customer", "at", "reason"])
def test_book_answers_422_when_a_field_is_missing(api, field):
    response = api.post("/followups", {name: BOOKING[name] for name in BOOKING if name != field})
    assert (response.status_code, response.get_json()["field"]) == (422, field)


def test_book_takes_a_reason_of_200_characters(api):
    assert api.post("/followups", {**BOOKING, "reason": "r" * 200}).status_code == 201


def test_book_answers_409_with_prior_id_when_pair_is_pending(api, booked):
    response = api.post("/followups", BOOKING)
    assert (response.status_code, code_of(response)) == (409, "already-pending")
    assert response.get_json()["prior_id"] == booked["id"]


@pytest.mark.parametrize("field", ["agent", "customer", "reason"])
def test_book_answers_201_when_another_field_of_the_pair_differs(api, booked, field):
    assert api.post("/followups", {**BOOKING, field: "other"}).status_code == 201


def test_book_answers_201_when_the_first_was_cancelled(api, booked):
    api.post(f"/followups/{booked['id']}/cancel")
    again = api.post("/followups", BOOKING)
    assert again.status_code == 201
    assert again.get_json()["id"] != booked["id"]


def test_book_answers_409_opted_out_when_contact_is_revoked(api):
    api.post("/contacts/c-1/revoke")
    response = api.post("/followups", BOOKING)
    assert (response.status_code, code_of(response)) == (409, "opted-out")


def test_list_filters_by_each_field(api):
    for number in range(3):
        given = {"agent": f"a{number}", "customer": f"c{number}", "reason": f"r{number}", "arm": f"m{number}"}
        api.post("/followups", {"at": "+6h", **given})
    every = api.get("/followups").get_json()["items"]
    assert [one["agent"] for one in every] == ["a2", "a1", "a0"]
    for name in ("agent", "customer", "reason", "arm"):
        wanted = every[1][name]
        found = api.get("/followups", query_string={name: wanted}).get_json()
        assert [one["id"] for one in found["items"]] == [every[1]["id"]]
        assert found["next_cursor"] is None
    api.post(f"/followups/{every[0]['id']}/cancel")
    found = api.get("/followups?status=cancelled").get_json()["items"]
    assert [one["id"] for one in found] == [every[0]["id"]]


@on_sqlite
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=gone", "status"),
        ("status=", "status"),
        ("colour=red", "colour"),
        ("agent=", "agent"),
        ("agent=a&agent=b", "agent"),
    ],
)
def test_list_answers_422_when_a_filter_is_unknown(api, query, field):
    response = api.get(f"/followups?{query}")
    assert (response.status_code, response.get_json()["field"]) == (422, field)


@pytest.mark.parametrize("made_up", ["unknown", "7b1f0a3e-5d0c-4a57-9a41-6d6a4f0c2b11", "{0}", "%00", "a/b"])
def test_get_answers_404_when_there_is_no_such_one(api, made_up):
    assert api.get(f"/followups/{made_up}").status_code == 404


def test_get_and_acts_answer_404_alike_when_it_is_another_tenants(api, client_for, session, now):
    theirs = create_followup(session, create_tenant(session, "other", now=now), now=now)
    for method, verb, body in (
        ("GET", "", None),
        ("POST", "/cancel", {}),
        ("POST", "/rearm", {"at": "+1h"}),
        ("POST", "/reschedule", {"at": "+1h"}),
    ):
        foreign = api.call(method, f"/followups/{theirs.id}{verb}", json=body)
        missing = api.call(method, f"/followups/{uuid4()}{verb}", json=body)
        assert (foreign.status_code, foreign.get_json()) == (404, missing.get_json())
    assert [action for action, _ in events_of(session, theirs.id)] == ["followup.scheduled"]


def test_cancel_answers_200_and_again_unchanged(api, session, booked):
    first = api.post(f"/followups/{booked['id']}/cancel")
    again = api.post(f"/followups/{booked['id']}/cancel")
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.get_json() == again.get_json()
    assert first.get_json()["status"] == "cancelled"
    expected = [("followup.scheduled", "success"), ("followup.cancelled", "success")]
    assert events_of(session, booked["id"]) == expected


@pytest.mark.parametrize("state", ["fired", "blocked"])
def test_cancel_answers_409_with_current_and_is_audited_when_it_ended(api, session, state, request):
    followup_id = request.getfixturevalue(state)
    response = api.post(f"/followups/{followup_id}/cancel")
    assert (response.status_code, code_of(response)) == (409, "conflict")
    assert response.get_json()["current"]["status"] == state
    assert set(response.get_json()["current"]) == FIELDS
    assert events_of(session, followup_id)[-1] == ("followup.cancelled", "refused")


def test_acts_answer_409_with_current_and_change_nothing_when_version_moved(api, session, booked):
    for verb, body in (("cancel", {}), ("reschedule", {"at": "+9h"}), ("rearm", {"at": "+9h"})):
        if verb == "rearm":
            api.post(f"/followups/{booked['id']}/cancel")
        before = api.get(f"/followups/{booked['id']}").get_json()
        response = api.post(f"/followups/{booked['id']}/{verb}", {**body, "version": 77})
        assert response.status_code == 409
        assert response.get_json()["current"] == before
        assert api.get(f"/followups/{booked['id']}").get_json() == before


def test_cancel_answers_200_when_version_is_the_one_seen(api, booked):
    assert api.post(f"/followups/{booked['id']}/cancel", {"version": 1}).status_code == 200


@on_sqlite
@pytest.mark.parametrize("version", [-1, 1.5, "1", True, 10**30])
def test_cancel_answers_422_when_version_is_no_version(api, booked, version):
    response = api.post(f"/followups/{booked['id']}/cancel", {"version": version})
    assert (response.status_code, response.get_json()["field"]) == (422, "version")


def test_rearm_answers_201_with_a_new_one_when_cancelled(api, booked):
    api.post(f"/followups/{booked['id']}/cancel")
    response = api.post(f"/followups/{booked['id']}/rearm", {"at": "+2h"})
    assert response.status_code == 201
    made = response.get_json()
    assert made["rearmed_from"] == booked["id"] != made["id"]
    assert made["status"] == "pending"


def test_rearm_answers_409_when_fired_or_pending(api, session, fired, booked):
    for followup_id in (fired, booked["id"]):
        response = api.post(f"/followups/{followup_id}/rearm", {"at": "+2h"})
        assert response.status_code == 409
        assert events_of(session, followup_id)[-1] == ("followup.rearmed", "refused")


def test_rearm_answers_409_opted_out_when_contact_is_revoked(api, booked):
    api.post("/contacts/c-1/revoke")
    response = api.post(f"/followups/{booked['id']}/rearm", {"at": "+2h"})
    assert (response.status_code, code_of(response)) == (409, "opted-out")


def test_reschedule_answers_200_with_the_new_time_when_pending(api, booked):
    at = iso(parse_time(booked["at"], "at") + timedelta(hours=1))
    response = api.post(f"/followups/{booked['id']}/reschedule", {"at": at})
    assert response.status_code == 200
    assert (response.get_json()["at"], response.get_json()["version"]) == (at, 2)


@on_sqlite
@pytest.mark.parametrize("body", [{"at": "2001-01-01T00:00:00Z"}, {"at": "soon"}, {}])
def test_reschedule_answers_422_when_time_is_not_ahead(api, booked, body):
    response = api.post(f"/followups/{booked['id']}/reschedule", body)
    assert (response.status_code, response.get_json()["field"]) == (422, "at")


def test_reschedule_answers_409_when_cancelled(api, booked):
    api.post(f"/followups/{booked['id']}/cancel")
    assert api.post(f"/followups/{booked['id']}/reschedule", {"at": "+9h"}).status_code == 409


def test_import_takes_good_lines_and_names_the_bad(api):
    ids = [uuid4() for _ in range(2)]
    lines = [
        f'{{"id": "{ids[0]}", "agent": "a", "customer": "c", "at": "2001-01-01T00:00:00Z",'
        ' "reason": "r", "arm": "x"}',
        "not json",
        f'{{"id": "{ids[1]}", "agent": "a", "customer": "c", "at": "2001-01-01T00:00:00Z", "reason": "r"}}',
    ]
    response = api.post(
        "/followups/import", data="\n".join(lines).encode(), content_type="application/x-ndjson"
    )
    assert response.status_code == 200
    answer = response.get_json()
    assert answer["imported"] == 1
    assert [line["line"] for line in answer["refused"]] == [2, 3]
    again = api.post("/followups/import", data=lines[0].encode()).get_json()
    assert (again["imported"], again["refused"]) == (0, [])
    assert api.get(f"/followups/{ids[0]}").get_json()["status"] == "pending"
    assert api.get("/contacts/c").status_code == 404


def test_import_answers_200_with_refusals_when_bytes_are_hostile(api):
    hostile = b'\xff\xfe\n{"id": 1}\n[[[[\n' + b"[" * 50_000 + b"\n\x00\nnull\n"
    answer = api.post("/followups/import", data=hostile)
    assert answer.status_code == 200
    assert answer.get_json()["imported"] == 0


def test_acts_are_recorded_under_the_tokens_name(api, session, booked):
    [event] = read(session, select(AuditEvent).where(AuditEvent.resource_id == booked["id"]))
    assert (event.actor_type, event.actor_label) == ("api", "token 1")


def test_answers_write_outbox_without_the_reason(api, session, booked):
    [event] = read(session, select(OutboxEvent).where(OutboxEvent.aggregate_id == booked["id"]))
    assert "pix pending" not in str(event.payload)
