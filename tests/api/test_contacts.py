from uuid import uuid4

import pytest
from sqlalchemy import select

from models.audit import AuditEvent
from models.followups.records import Contact, FollowUp
from models.idempotency import KeptAnswer
from tests.support.api import on_sqlite, read
from tests.support.create import create_followup, create_tenant

ODD = [
    "a/b",
    "a/b/",
    "//x",
    "x/revoke",
    "ü ñ",
    "50%",
    "a?b=c",
    "..",
    "line\nbreak",
    "m@il.test",
    "'; --",
    "%2F",
]


def quoted(customer):
    from urllib.parse import quote

    return quote(customer, safe="")


def book(api, customer, reason="r"):
    given = {"agent": "store-support", "customer": customer, "at": "+6h", "reason": reason}
    response = api.post("/followups", given)
    assert response.status_code == 201
    return response.get_json()


def test_get_answers_the_contact_when_one_was_booked(api):
    book(api, "c-1")
    assert api.get("/contacts/c-1").get_json() == {
        "customer": "c-1",
        "state": "granted",
        "sends_without_reply": 0,
        "last_outbound_at": None,
        "version": 1,
    }


def test_get_answers_404_alike_when_never_messaged_or_another_tenants(api, session, now):
    create_followup(session, create_tenant(session, "other", now=now), now=now, customer="theirs")
    assert api.get("/contacts/nobody").get_json() == api.get("/contacts/theirs").get_json()
    assert api.get("/contacts/theirs").status_code == 404


@pytest.mark.parametrize("customer", ODD)
def test_contact_is_found_and_revoked_when_its_id_is_odd(api, customer):
    book(api, customer)
    assert api.get(f"/contacts/{quoted(customer)}").get_json()["customer"] == customer
    response = api.post(f"/contacts/{quoted(customer)}/revoke")
    assert response.get_json() == {"customer": customer, "state": "revoked", "cancelled": 1}
    assert api.get(f"/contacts/{quoted(customer)}").get_json()["state"] == "revoked"
    erased = api.delete(f"/customers/{quoted(customer)}")
    assert (erased.status_code, erased.get_json()["followups"]) == (200, 1)


def test_contact_with_slashes_is_found_when_they_are_not_encoded(api):
    book(api, "a/b")
    assert api.get("/contacts/a/b").get_json()["customer"] == "a/b"
    assert api.post("/contacts/a/b/revoke").get_json()["customer"] == "a/b"


def test_revoke_ends_the_pending_ones_once(api, session):
    book(api, "c-1", "one")
    book(api, "c-1", "two")
    assert api.post("/contacts/c-1/revoke", {"by": "channel"}).get_json()["cancelled"] == 2
    assert api.post("/contacts/c-1/revoke").get_json()["cancelled"] == 0
    events = read(session, select(AuditEvent).where(AuditEvent.action == "contact.revoked"))
    assert [event.purpose for event in events] == ["channel"]
    [contact] = read(session, select(Contact))
    assert events[0].resource_id == str(contact.id)


def test_revoke_makes_the_contact_when_there_is_none(api):
    assert api.post("/contacts/new/revoke").get_json() == {
        "customer": "new",
        "state": "revoked",
        "cancelled": 0,
    }


@on_sqlite
@pytest.mark.parametrize(
    ("body", "field"), [({"by": "whim"}, "by"), ({"by": ""}, "by"), ({"how": "x"}, "how"), ([], "body")]
)
def test_revoke_answers_422_when_body_is_wrong(api, body, field):
    response = api.post("/contacts/c-1/revoke", body)
    assert (response.status_code, response.get_json()["field"]) == (422, field)


def test_revoke_answers_409_with_current_and_is_audited_when_version_moved(api, session):
    book(api, "c-1")
    response = api.post("/contacts/c-1/revoke", {"version": 9})
    assert response.status_code == 409
    assert response.get_json()["current"]["state"] == "granted"
    [event] = read(session, select(AuditEvent).where(AuditEvent.result == "refused"))
    assert event.action == "contact.revoked"


@on_sqlite
@pytest.mark.parametrize("customer", ["%00", "c" * 201])
def test_revoke_answers_422_when_the_customer_cant_be_stored(api, customer):
    response = api.post(f"/contacts/{customer}/revoke")
    assert (response.status_code, response.get_json()["field"]) == (422, "customer")


def test_erase_counts_what_is_gone_and_leaves_others(api, session):
    book(api, "c-1")
    book(api, "c-2")
    api.post("/outcomes", outcome("c-1"))
    counts = api.delete("/customers/c-1").get_json()
    assert counts == {
        "followups": 1,
        "tasks": 0,
        "contacts": 1,
        "outcomes": 1,
        "conversations": 0,
        "messages": 0,
        "tickets": 0,
    }
    assert api.get("/contacts/c-1").status_code == 404
    assert api.get("/contacts/c-2").status_code == 200
    assert api.delete("/customers/c-1").get_json()["followups"] == 0
    assert len(read(session, select(FollowUp))) == 1


def test_erase_blanks_kept_answers_and_the_call_has_no_second_effect(api, session):
    given = {"agent": "a", "customer": "C-1", "at": "+6h", "reason": "r"}
    headers = {"Idempotency-Key": "k-1"}
    api.post("/followups", given, headers=headers)
    other = api.post("/followups", {**given, "customer": "c-1"}, headers={"Idempotency-Key": "k-2"})
    assert other.status_code == 201, other.text
    api.delete("/customers/C-1")
    answers = read(session, select(KeptAnswer.answer).order_by(KeptAnswer.created_at))
    assert answers[0] is None and '"c-1"' in answers[1]
    assert api.post("/followups", given, headers=headers).status_code == 404
    assert len(read(session, select(FollowUp))) == 1


def outcome(customer):
    return {
        "id": str(uuid4()),
        "agent": "a",
        "customer": customer,
        "kind": "sale",
        "occurred_at": "2031-08-14T12:00:00Z",
    }


def test_outcome_answers_201_then_200_then_409(api):
    given = {**outcome("c-1"), "value": 12.5, "session_id": "s"}
    first, again = api.post("/outcomes", given), api.post("/outcomes", given)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.get_json() == again.get_json()
    assert first.get_json()["occurred_at"] == "2031-08-14T12:00:00.000000Z"
    assert api.post("/outcomes", {**given, "value": 13}).status_code == 409


@on_sqlite
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", ""),
        ("id", None),
        ("kind", " "),
        ("occurred_at", "2031-08-14T12:00:00"),
        ("occurred_at", 5),
        ("value", "12"),
        ("value", True),
        ("value", 1e300),
        ("colour", "red"),
    ],
)
def test_outcome_answers_422_when_a_field_is_wrong(api, field, value):
    response = api.post("/outcomes", {**outcome("c-1"), field: value})
    assert (response.status_code, response.get_json()["field"]) == (422, field)
