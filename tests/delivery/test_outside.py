"""Who does an errand, and what is said of it where something goes wrong that nobody foresaw."""

import dataclasses

import pytest
from structlog.testing import capture_logs

from jobs.delivery import http_client, outside
from models import connectors
from models.automations.outside import Came, Said
from models.automations.records import ActionState
from models.base import db
from models.tenants import Tenant
from models.transactions import commit, rollback
from tests.conftest import T
from tests.delivery.errands import KEY, errand
from tests.support import smtp
from tests.support.create import API
from tests.support.sink import status

WORDS = "my card number is 4111"
TEAM = {"team_ids": [7], "message": WORDS}


@pytest.fixture
def server():
    with smtp.sink() as running:
        yield running


@pytest.fixture
def here(settings, server):
    """The application's settings, with a mail server."""
    return dataclasses.replace(settings, smtp_url=server.url, mail_from="desk@acme.test")


@pytest.fixture
def perform(here, session):
    return outside.performer(here, session)


@pytest.mark.parametrize("source", ["native", "chatwoot"])
def test_webhook_goes_to_its_address_when_the_conversation_is_of_any_source(perform, receiver, source):
    came = perform(errand("send_webhook_event", receiver.url(), source=source))
    assert came == Came.done("Answered 200.")
    assert [request.webhook_id for request in receiver.received] == [KEY]


@pytest.mark.parametrize("source", ["native", "chatwoot"])
def test_team_is_mailed_when_the_conversation_is_of_any_source(perform, server, source):
    came = perform(errand("send_email_to_team", TEAM, source=source, teams={"7": ["lead@acme.test"]}))
    assert came.state is ActionState.DONE
    assert len(server.messages) == 1


def test_transcript_is_mailed_when_the_conversation_is_our_own(perform, server):
    said = [Said(T, "c-1", WORDS)]
    came = perform(errand("send_email_transcript", "a@acme.test", transcript=said))
    assert came.state is ActionState.DONE
    assert WORDS in server.messages[0]
    assert WORDS not in came.receipt


def test_errand_failed_when_it_can_not_be_done_as_it_stands(perform, server):
    came = perform(errand("send_email_to_team", TEAM, teams={}))
    assert came.state is ActionState.FAILED
    assert "The team 7 has no mail address" in came.error
    assert server.commands == []


def test_errand_failed_when_nobody_does_it(perform):
    assert perform(errand("send_smoke", 1)) == Came.failed(
        "Nothing here does send_smoke for conversations of native."
    )
    assert perform(errand("send_email_transcript", "a@b", source="other")).state is ActionState.FAILED


def test_errand_failed_and_nothing_is_sent_when_a_transaction_is_open(perform, session, receiver):
    session.connection()
    with capture_logs() as logs:
        came = perform(errand("send_webhook_event", receiver.url()))
    rollback(session)
    assert came == Came.failed("Nothing was sent: it could not be prepared (RuntimeError).")
    assert receiver.received == []
    assert [(log["log_level"], log["error"]) for log in logs] == [("error", "RuntimeError")]


@pytest.mark.parametrize("name", ["send_webhook_event", "send_email_to_team"])
def test_errand_failed_when_it_holds_what_can_not_be_written(perform, receiver, server, name):
    odd = f"\ud800 {WORDS}"
    given = {"send_webhook_event": receiver.url(), "send_email_to_team": {"team_ids": [7], "message": odd}}
    with capture_logs() as logs:
        came = perform(
            errand(
                name, given[name], teams={"7": ["lead@acme.test"]}, conversation={"id": "k", "labels": [odd]}
            )
        )
    assert came == Came.failed("Nothing was sent: it could not be prepared (UnicodeEncodeError).")
    assert (receiver.received, server.commands) == ([], [])
    assert WORDS not in repr(logs)
    assert [(log["action"], log["key"]) for log in logs] == [(name, KEY)]


def test_errand_is_unknown_when_the_call_raises_what_nobody_foresaw(perform, receiver, monkeypatch):
    """What raises in the middle may have gone out: nobody may send it again unasked."""
    true_post = http_client.post

    def post(*given, **named):
        true_post(*given, **named)
        raise KeyError(WORDS)

    monkeypatch.setattr(http_client, "post", post)
    with capture_logs() as logs:
        came = perform(errand("send_webhook_event", receiver.url()))
    assert len(receiver.received) == 1
    assert came == Came.unknown("It broke off and may have had its effect (KeyError).")
    [log] = logs
    assert log["at"].startswith("test_outside.py:")
    assert WORDS not in repr(log)


def test_no_transaction_is_left_open_when_an_errand_is_done(perform, session, receiver):
    perform(errand("send_webhook_event", receiver.url()))
    perform(errand("add_label", "late", source="chatwoot"))
    assert not session.in_transaction()


@pytest.fixture
def connected(session, here, tenant, receiver, now):
    """The tenant, with the sink for its Chatwoot."""
    given = {"url": receiver.url(""), "account": "7", "token": "t0ken", "secret": "whsec_demo"}
    connectors.set_chatwoot(session, tenant, **given, settings=here, actor=API, now=now)
    commit(session, "tests.create")
    return tenant


@pytest.mark.parametrize(
    ("name", "params", "path"),
    [
        ("add_private_note", [WORDS], "messages"),
        ("resolve_conversation", [], "toggle_status"),
        ("send_email_transcript", ["a@acme.test"], "transcript"),
    ],
)
def test_errand_goes_to_chatwoot_when_the_conversation_is_of_it(
    perform, session, connected, receiver, server, name, params, path
):
    """Its transcript too, which it mails itself."""
    given = {"source": "chatwoot", "tenant_id": connected.id, "conversation": {"id": "42"}}
    came = perform(errand(name, *params, **given))
    assert came.state is ActionState.DONE
    [request] = receiver.received
    assert request.path == f"/api/v1/accounts/7/conversations/42/{path}"
    assert request.headers["api_access_token"] == "t0ken"
    assert server.commands == []
    assert not session.in_transaction()


@pytest.mark.parametrize(("code", "state"), [(404, "failed"), (429, "failed"), (500, "unknown")])
def test_errand_comes_to_what_chatwoot_answers_when_it_refuses(perform, connected, receiver, code, state):
    receiver.script(status(code), path="/api/v1/accounts/7/conversations/42/messages")
    given = {"source": "chatwoot", "tenant_id": connected.id, "conversation": {"id": "42"}}
    assert perform(errand("send_message", WORDS, **given)).state == state
    assert len(receiver.received) == 1


def test_errand_failed_when_the_connectors_secrets_can_not_be_read(session, here, connected, receiver):
    other = dataclasses.replace(here, secret_key="another-secret-key-of-enough-length")
    given = {"source": "chatwoot", "tenant_id": connected.id}
    came = outside.performer(other, session)(errand("send_message", WORDS, **given))
    assert came.state is ActionState.FAILED
    assert "SECRET_KEY has changed" in came.error
    assert receiver.received == []


def test_errand_of_a_connector_failed_when_there_is_none(perform, tenant):
    came = perform(errand("add_label", "late", source="chatwoot", tenant_id=tenant.id))
    assert came == Came.failed("The tenant acme has no connector: set it by `desk connector set chatwoot`.")


def test_errand_of_a_connector_failed_when_the_tenant_is_gone(perform, session):
    came = perform(errand("add_label", "late", source="chatwoot", tenant_id=10_000))
    assert came == Came.failed("There is no such tenant.")
    assert session.get(Tenant, 10_000) is None
    db.session.rollback()


def test_errand_is_unknown_when_the_answer_does_not_say(perform, receiver):
    receiver.script(status(503))
    assert perform(errand("send_webhook_event", receiver.url())).state is ActionState.UNKNOWN
