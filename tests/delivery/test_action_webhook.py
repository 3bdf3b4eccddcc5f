"""A rule's webhook: what is sent, and what its answer, or the lack of one, says of its effect."""

import dataclasses
import json

import pytest

from jobs.delivery import action_webhook
from models.automations.outside import Came
from models.automations.records import ActionState
from models.errors import Invalid
from tests.conftest import T, settings_for
from tests.delivery.errands import KEY, errand
from tests.support.sink import drip, garbage, hang, hang_up, huge, sink, status

DONE, FAILED, UNKNOWN = ActionState.DONE, ActionState.FAILED, ActionState.UNKNOWN


@pytest.fixture
def here(tmp_path):
    return settings_for("sqlite:///unused.db", tmp_path, DESK_WEBHOOK_HOSTS="127.0.0.1")


@pytest.fixture
def soon(monkeypatch):
    """What a test must wait for is given up after 0.4 s."""
    monkeypatch.setattr(action_webhook, "SECONDS", 0.4)


def sent(here, *params, **given) -> Came:
    return action_webhook.prepared(errand("send_webhook_event", *params, **given), here)()


def test_webhook_carries_the_key_and_the_conversation_when_it_is_sent(here, receiver):
    came = sent(here, receiver.url("/hook?token=x"))
    assert came == Came.done("Answered 200.")
    [request] = receiver.received
    assert request.path == "/hook?token=x"
    assert (request.headers["idempotency-key"], request.webhook_id) == (KEY, KEY)
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body) == {
        "event": "automation_event.send_webhook_event",
        "tenant": "acme",
        "rule": {"id": "7a1d8a0e-1111-4f5e-8c4f-2f4d5a6b7c8d", "name": "Quiet for two hours"},
        "execution": KEY.partition(":")[0],
        "idempotency_key": KEY,
        "conversation": {
            "id": "k-42",
            "status": "open",
            "inbox_id": 3,
            "labels": ["vip"],
            "customer": "c-1",
        },
    }


def test_webhook_is_the_same_to_the_byte_when_it_is_tried_again(here, receiver):
    receiver.script(status(500))
    one = errand("send_webhook_event", receiver.url(), conversation={"id": "k-1", "at": T, "name": "Zoë"})
    assert action_webhook.prepared(one, here)().state is UNKNOWN
    assert action_webhook.prepared(dataclasses.replace(one, again=True), here)().state is DONE
    first, second = receiver.received
    assert first.body == second.body
    assert first.webhook_id == second.webhook_id == KEY
    assert json.loads(first.body)["conversation"]["at"] == "2031-08-14T12:00:00.000000Z"


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (200, DONE),
        (201, DONE),
        (204, DONE),
        (301, FAILED),
        (307, FAILED),
        (400, FAILED),
        (401, FAILED),
        (404, FAILED),
        (409, FAILED),
        (410, FAILED),
        (429, FAILED),
        (500, UNKNOWN),
        (502, UNKNOWN),
        (503, UNKNOWN),
        (504, UNKNOWN),
    ],
)
def test_webhook_comes_to_what_the_answer_says_when_there_is_one(here, receiver, code, state):
    receiver.script(status(code))
    came = sent(here, receiver.url())
    assert came.state is state
    assert f"Answered {code}" in (came.receipt or came.error)
    assert len(receiver.received) == 1


def test_webhook_is_done_when_the_answer_is_long(here, receiver):
    receiver.script(huge(1_000_000))
    assert sent(here, receiver.url()).state is DONE


@pytest.mark.parametrize("behaviour", [hang_up, garbage])
def test_webhook_is_unknown_when_the_connection_is_cut_after_it_was_sent(here, receiver, behaviour):
    receiver.script(behaviour)
    assert sent(here, receiver.url()).state is UNKNOWN
    assert len(receiver.received) == 1


@pytest.mark.parametrize("behaviour", [hang, drip])
def test_webhook_is_unknown_when_the_answer_takes_too_long(here, receiver, soon, behaviour):
    receiver.script(behaviour)
    came = sent(here, receiver.url())
    assert came == Came.unknown("There was no whole answer within 0.4 s.")
    assert len(receiver.received) == 1


def test_webhook_failed_when_nobody_listens(here):
    with sink() as gone:
        url = gone.url()
    came = sent(here, url)
    assert came.state is FAILED
    assert "No connection" in came.error


def test_webhook_failed_when_the_name_leads_inside(here, receiver):
    came = sent(here, f"http://127.0.0.1.nip.invalid:{receiver.port}/")
    assert came.state is FAILED
    narrow = dataclasses.replace(here, webhook_allowed_hosts=frozenset())
    with pytest.raises(Invalid, match="not a public address"):
        sent(narrow, receiver.url())
    assert receiver.received == []


@pytest.mark.parametrize(
    "params",
    [(), (7,), ("",), ("ftp://example.com/",), ("https://user:pw@example.com/",), ("http://10.0.0.1/",)],
)
def test_webhook_is_refused_before_it_is_sent_when_its_address_is_none(here, params):
    with pytest.raises(Invalid, match="url"):
        action_webhook.prepared(errand("send_webhook_event", *params), here)
