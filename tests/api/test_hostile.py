"""What no well-meaning client sends: each gets its problem document, and never a 500."""

import json

import pytest

from tests.support.api import Client, code_of, on_sqlite

MIB = 1_048_576
BOOKING = {"agent": "a", "customer": "c", "at": "+6h", "reason": "r"}
BODIES = {
    "not JSON": b"{",
    "NUL": b'{"agent": "a\\u0000b", "customer": "c", "at": "+6h", "reason": "r"}',
    "half a surrogate pair": b'{"agent": "\\ud800", "customer": "c", "at": "+6h", "reason": "r"}',
    "not UTF-8": b'{"agent": "\xff\xfe"}',
    "overlong UTF-8": b'{"agent": "\xc0\xaf"}',
    "UTF-16": json.dumps(BOOKING).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "deeply nested array": b"[" * 100_000,
    "deeply nested object": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "deeply nested field": b'{"agent": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "NaN": b'{"agent": NaN}',
    "Infinity": b'{"version": Infinity}',
    "a number of 5,000 digits": b'{"agent": 1' + b"0" * 5_000 + b"}",
    "a number too large for a float": b'{"agent": 1e999}',
    "null": b"null",
    "a list": b"[]",
    "a string": b'"agent"',
    "a number": b"7",
    "two documents": b"{}{}",
    "a trailing comma": b'{"agent": "a",}',
    "single quotes": b"{'agent': 'a'}",
    "a form": b"agent=a&customer=c",
    "bool for text": b'{"agent": true, "customer": "c", "at": "+6h", "reason": "r"}',
    "a field that no name can have": b'{"\\u0000": 1}',
    "a field of 100,000 characters": b'{"' + b"x" * 100_000 + b'": 1}',
    "XML": b"<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]><x>&y;</x>",
}
PATHS = [
    "/followups",
    "/followups/7b1f0a3e-5d0c-4a57-9a41-6d6a4f0c2b11/cancel",
    "/followups/7b1f0a3e-5d0c-4a57-9a41-6d6a4f0c2b11/rearm",
    "/messages",
    "/outcomes",
    "/contacts/c/revoke",
    "/tasks/7b1f0a3e-5d0c-4a57-9a41-6d6a4f0c2b11/claim",
    "/endpoints",
    "/rules",
]


@on_sqlite
@pytest.mark.parametrize("name", BODIES)
def test_hostile_body_answers_422_on_every_path(api, name):
    for path in PATHS:
        response = api.post(path, data=BODIES[name], content_type="application/json")
        assert (response.status_code, code_of(response)) == (422, "invalid"), path
        assert len(response.text) < 2_000


def test_duplicate_keys_are_tolerated_and_the_last_one_counts(api):
    body = b'{"agent": "x", "agent": "a", "customer": "c", "at": "+6h", "reason": "r"}'
    assert api.post("/followups", data=body).get_json()["agent"] == "a"


@pytest.mark.parametrize(
    "text", ["\u202e reversed", "\U0001f600", "'; DROP TABLE tenant; --", "<b>", "\ufffe", "%s"]
)
def test_odd_text_comes_back_as_it_was_sent(api, text):
    given = {**BOOKING, "agent": text, "customer": text, "reason": text}
    made = api.post("/followups", given).get_json()
    assert (made["agent"], made["customer"], made["reason"]) == (text, text, text)
    [found] = api.get("/followups", query_string={"reason": text}).get_json()["items"]
    assert found == made


@pytest.mark.parametrize(
    "query",
    [
        "agent=%00",
        "agent=%ff%fe",
        "agent=%ED%A0%80",
        "status[]=x",
        "limit=%00",
        "cursor=%00",
        "=x",
        "&&&",
        "agent",
    ],
)
def test_hostile_query_answers_without_a_fault(api, query):
    assert api.get(f"/followups?{query}").status_code in (200, 422)


@pytest.mark.parametrize(
    "path",
    [
        "/contacts/%00",
        "/contacts/%ff",
        "/contacts/%ED%A0%80",
        "/contacts/" + "c" * 5_000,
        "/contacts/%0d%0aX-Injected:%20yes",
        "/contacts/..%2f..%2fetc",
        "/followups/%00",
        "/followups/'%20OR%201=1",
        "/tasks/%F0%9F%98%80",
        "/conversations/%00/messages",
        "/endpoints/%00",
        "/rules/%00",
        "/agents/%00",
    ],
)
def test_hostile_path_answers_404(api, path):
    method = "PATCH" if path.startswith("/agents") else "GET"
    response = api.call(method, path, json={"held": True} if method == "PATCH" else None)
    assert response.status_code == 404
    assert "X-Injected" not in response.headers


def test_revoke_answers_404_when_a_version_comes_with_a_customer_that_cannot_be(api):
    assert api.post("/contacts/a%00b/revoke", {"version": 1}).status_code == 404
    assert api.post("/contacts/a%00b/revoke").status_code == 422


@on_sqlite
@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("path", ["/followups", "/followups/import", "/messages"])
def test_body_over_one_mib_answers_413(api, path, announced):
    from io import BytesIO

    given = {"input_stream": BytesIO(b" " * (MIB + 1))}
    if announced:
        given["headers"] = {"Content-Length": str(MIB + 1)}
    else:
        # As a server hands a chunked body on.
        given["environ_overrides"] = {"wsgi.input_terminated": True}
    response = api.post(path, **given)
    assert (response.status_code, code_of(response)) == (413, "too-large")


@on_sqlite
def test_body_of_one_mib_is_read(api):
    assert api.post("/followups/import", data=b"\n" * MIB).status_code == 200


@on_sqlite
def test_faults_are_judged_in_their_order(app, api, client_for, acme):
    reader, nobody = client_for(acme, "read"), Client(app, None)
    unknown = "/followups/7b1f0a3e-5d0c-4a57-9a41-6d6a4f0c2b11/rearm"
    large = {"data": b" " * (MIB + 1)}
    assert nobody.post(unknown, **large).status_code == 401
    assert reader.post(unknown, **large).status_code == 403
    assert api.post(unknown, **large).status_code == 413
    assert api.post(unknown, data=b"{").status_code == 422
    assert api.post(unknown, {"at": "+6h"}).status_code == 404


@on_sqlite
@pytest.mark.parametrize(
    "path", ["/nothing", "/followups/", "//followups", "/followups/x/y/z", "/contacts/", ""]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_address_answers_404_as_a_problem(api, method, path):
    response = api.call(method, path)
    assert (response.status_code, code_of(response)) == (404, "not-found")


@on_sqlite
@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/followups", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("PUT", "/tenant", {"GET", "HEAD", "OPTIONS", "PATCH"}),
        ("GET", "/outcomes", {"OPTIONS", "POST"}),
        ("TRACE", "/tasks", {"GET", "HEAD", "OPTIONS"}),
        # Ids may hold slashes, but this address is the messages'.
        ("PUT", "/conversations/v-1/messages", {"GET", "HEAD", "OPTIONS"}),
        ("PUT", "/conversations/v/1%2Fmessages", {"GET", "HEAD", "OPTIONS"}),
    ],
)
def test_wrong_method_answers_405_with_allow(api, method, path, allowed):
    response = api.call(method, path)
    assert (response.status_code, code_of(response)) == (405, "method-not-allowed")
    assert set(response.headers["Allow"].split(", ")) == allowed


def test_same_id_in_two_calls_at_once_is_one_row_and_a_conflict(app, api, session):
    """The second loses the race at the key of the table, starts again, and finds the first."""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    session.rollback()
    barrier = Barrier(4)

    def book(number):
        barrier.wait()
        given = {**BOOKING, "id": "7b1f0a3e-5d0c-4a57-9a41-6d6a4f0c2b11", "customer": f"c-{number}"}
        return Client(app, api.secret).post("/followups", given).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(book, range(4))) == [201, 409, 409, 409]


def test_same_outcome_in_calls_at_once_is_made_once(app, api, session):
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    session.rollback()
    barrier = Barrier(4)
    given = {"id": "o", "agent": "a", "customer": "c", "kind": "k", "occurred_at": "2026-01-01T00:00:00Z"}

    def record(_number):
        barrier.wait()
        return Client(app, api.secret).post("/outcomes", given).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(record, range(4))) == [200, 200, 200, 201]


@on_sqlite
def test_a_fault_of_ours_answers_500_without_its_words(app, acme, client_for, monkeypatch, caplog):
    from desk_ui.api.operations import OPERATIONS

    def broken(_call):
        raise RuntimeError("the secret inner thing")

    api = client_for(acme)
    monkeypatch.setitem(OPERATIONS["tenant.get"].__dict__, "view", broken)
    response = app.test_client().get(
        "/api/v1/tenant", headers={"Authorization": f"Bearer {api.secret}", "X-Request-ID": "find-me"}
    )
    assert (response.status_code, response.content_type) == (500, "application/problem+json")
    assert "secret inner" not in response.text
    assert response.headers["X-Request-ID"] == "find-me"
    assert "find-me" in caplog.text and "the secret inner thing" in caplog.text
