"""The console takes forms: JSON is refused as a form without its fields is, and never answered by a 500."""

import json

import pytest

from desk_ui.accounts import Account
from models import accounts, operators
from tests.console.visiting import HTMX, Visitor

BODIES = {"nested deeply": b'{"a":' * 10_000, "a list": b"[1, 2]", "a number": b"7", "no JSON": b"{"}
NONE = "00000000-0000-0000-0000-000000000000"
PATHS = (
    "/sign-in",
    "/profile/theme",
    "/profile/password",
    "/nothing/here",
    "/acme/followups/bulk",
    f"/acme/followups/{NONE}/cancellation",
    "/acme/deliveries/bulk/rearming",
    "/sign-out",
)


def send(client, path, body, **headers):
    return client.post(path, data=body, content_type="application/json", headers=headers)


@pytest.mark.parametrize("name", BODIES)
def test_json_is_refused_when_somebody_signed_out_sends_it(app, acme, name):
    client = Visitor(app).client
    for path in PATHS:
        for headers in ({}, HTMX):
            # Who is signed out is sent to sign in, whatever they sent.
            assert 300 <= send(client, path, BODIES[name], **headers).status_code < 500, path


@pytest.mark.parametrize("name", BODIES)
def test_json_is_refused_when_it_is_sent_with_a_token(app, acme, visitor, name):
    """By the header that scripts use, so that the views themselves get it."""
    for known, page, form in (
        (Visitor(app), "/sign-in", "/sign-in"),
        (visitor("lead"), "/profile", "/profile/password"),
    ):
        given = {"X-CSRFToken": known.open(page).form(form).fields["csrf_token"]}
        for path in PATHS:
            answer = send(known.client, path, BODIES[name], **given)
            assert 300 <= answer.status_code < 500, (path, answer.status_code)


def test_token_of_flask_security_opens_nothing(app, desk, acme):
    desk.give("lead@acme.test", acme, "lead")
    lead = desk.tell(lambda session: operators.by_email(session, "lead@acme.test"))
    with app.test_request_context():
        token = Account(lead).get_auth_token()
    client = Visitor(app).client
    for path in ("/acme/followups", f"/acme/followups?auth_token={token}"):
        answer = client.get(path, headers={"Authentication-Token": token})
        assert answer.status_code == 303 and answer.location.startswith("/sign-in")
    body = json.dumps({"auth_token": token}).encode()
    assert send(client, "/acme/followups/bulk", body).status_code == 303


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["whole", "htmx"])
def test_page_answers_its_own_500_when_who_is_there_can_not_be_told(visitor, monkeypatch, headers):
    lead = visitor("lead")

    def fail(_session, _known):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(accounts, "of_session", fail)
    for path in ("/acme/followups", "/nothing/here"):
        answer = lead.client.get(path, headers=headers)
        assert answer.status_code == 500
        assert "Something went wrong here" in answer.text
        assert "a fault of ours" not in answer.text
