"""The webhook: who may call it, what is stored of a call, and what each call answers."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select
from werkzeug.test import TestResponse

from desk_ui import create_app, hooks
from models import clock, connectors
from models.base import db
from models.connectors import Connector
from models.inbound_events import InboundEvent
from tests.conftest import Database, settings_for
from tests.connectors.world import conversation_event, message_event
from tests.support.chatwoot import SECRET

BODY = b'{"event":"message_created","id":501}'
MINUTES = timedelta(minutes=1)


@pytest.fixture(scope="module")
def made(worker_folder: Path) -> Iterator[Callable[[str], Flask]]:
    """The application that `desk web` serves, made once for each database."""
    apps: dict[str, Flask] = {}

    def make(url: str) -> Flask:
        if url not in apps:
            apps[url] = create_app(settings_for(url, worker_folder))
        return apps[url]

    yield make
    for app in apps.values():
        with app.app_context():
            db.engine.dispose()


@pytest.fixture
def app(made: Callable[[str], Flask], database: Database, tmp_path: Path) -> Iterator[Flask]:
    app = made(database.url)
    app.extensions["desk_settings"] = replace(
        app.extensions["desk_settings"], config_file=tmp_path / "none.toml"
    )
    with app.app_context():
        yield app
        db.session.remove()
        if database.dialect == "sqlite":
            db.engine.dispose()


class Caller:
    """Calls the hook as Chatwoot does; `more` are headers that it replaces or adds."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def __call__(
        self,
        body: bytes | dict[str, Any] = BODY,
        *,
        tenant: str = "acme",
        secret: str = SECRET,
        age: timedelta = timedelta(),
        delivery: str | None = None,
        **more: str,
    ) -> TestResponse:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        stamp = str(clock.micros(clock.now() - age) // 1_000_000)
        headers = {
            "X-Chatwoot-Timestamp": stamp,
            "X-Chatwoot-Signature": signature(secret, stamp, raw),
            **({"X-Chatwoot-Delivery": delivery} if delivery else {}),
            **{f"X-Chatwoot-{name}": value for name, value in more.items()},
        }
        db.session.remove()
        return self.app.test_client().post(f"/hooks/chatwoot/{tenant}", data=raw, headers=headers)


def signature(secret: str, stamp: str, raw: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), f"{stamp}.".encode() + raw, hashlib.sha256).hexdigest()


@pytest.fixture
def call(app: Flask, connect: Callable[..., object]) -> Caller:
    connect()
    return Caller(app)


def stored(session) -> list[InboundEvent]:
    session.rollback()
    return list(session.scalars(select(InboundEvent).order_by(InboundEvent.id)))


def test_signature_is_the_one_of_the_check_vector():
    headers = {
        "X-Chatwoot-Timestamp": "1930384800",
        "X-Chatwoot-Signature": ("sha256=7d3a4b40b35d732fdeaa1c49634ff1fc62f565f144273c0b7652cc670a38736b"),
    }
    now = clock.EPOCH + timedelta(seconds=1930384800)
    assert hooks.is_signed("whsec_demo", BODY, headers, now=now)
    assert not hooks.is_signed("whsec_demo", BODY + b" ", headers, now=now)
    assert not hooks.is_signed("whsec_other", BODY, headers, now=now)


@pytest.mark.parametrize("age", [timedelta(minutes=5), timedelta(minutes=-5), timedelta()])
def test_signature_is_taken_when_it_is_up_to_5_minutes_old(age):
    now = clock.EPOCH + timedelta(seconds=1930384800)
    stamp = str(1930384800 - int(age.total_seconds()))
    headers = {"X-Chatwoot-Timestamp": stamp, "X-Chatwoot-Signature": signature("s", stamp, BODY)}
    assert hooks.is_signed("s", BODY, headers, now=now)
    assert not hooks.is_signed("s", BODY, headers, now=now + (age or timedelta(minutes=6)) * 1.01)


def test_event_is_stored_and_202_answered_when_signature_and_time_are_right(session, call):
    """Case 69. Valid and fresh: 2xx."""
    answer = call(message_event(), delivery="d-1")
    assert (answer.status_code, answer.get_json()) == (202, {"status": "stored"})
    [event] = stored(session)
    assert (event.state, event.event, event.conversation, event.customer) == (
        "stored",
        "message_created",
        "7",
        "c-1",
    )
    assert json.loads(event.raw) == message_event()


@pytest.mark.parametrize(
    "refused",
    [
        {"age": 6 * MINUTES},
        {"age": -6 * MINUTES},
        {"secret": "whsec_other"},
        {"tenant": "nobody"},
        {"tenant": "platform"},
        {"tenant": "Acme!"},
        {"Timestamp": ""},
        {"Timestamp": "soon"},
        {"Timestamp": "99999999999999999999"},
        {"Signature": ""},
        {"Signature": "sha256="},
        {"Signature": "caf\xe9"},
        {"Signature": "sha256=" + hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()},
    ],
    ids=str,
)
def test_call_is_refused_alike_and_nothing_stored_when_it_is_not_ours(session, call, refused):
    """Case 69. A timestamp 6 minutes old: 401; a signature over the body only: 401. Unknown tenants too."""
    answer = call(**refused)
    assert (answer.status_code, answer.get_json()) == (
        401,
        {"status": "refused", "detail": "The signature is not valid."},
    )
    assert stored(session) == []


def test_call_is_refused_when_the_stored_secret_can_no_longer_be_read(session, call, app):
    row = session.scalars(select(Connector)).one()
    row.secret = row.token
    session.commit()
    assert call().status_code == 401
    assert stored(session) == []


def test_event_is_stored_once_when_its_delivery_comes_again(session, call):
    first, again = (call(message_event(), delivery="d-1") for _ in range(2))
    assert (first.get_json()["status"], again.get_json()["status"]) == ("stored", "known")
    assert (again.status_code, len(stored(session))) == (202, 1)


def test_event_is_stored_once_when_it_names_no_delivery_and_says_the_same(session, call):
    for _ in range(2):
        assert call(message_event()).status_code == 202
        assert call(conversation_event("conversation_updated")).status_code == 202
    assert call(conversation_event("conversation_updated", 8)).status_code == 202
    assert [event.event for event in stored(session)] == [
        "message_created",
        "conversation_updated",
        "conversation_updated",
    ]


def test_same_delivery_is_another_event_when_another_tenant_gets_it(session, call, app, settings):
    from tests.support.create import API, create_tenant

    other = create_tenant(session, "other", now=clock.now())
    connectors.set_chatwoot(
        session,
        other,
        url="http://127.0.0.1:1",
        account="9",
        token="t",
        secret=SECRET,
        settings=settings,
        actor=API,
        now=clock.now(),
    )
    session.commit()
    assert call(delivery="d-1").status_code == call(delivery="d-1", tenant="other").status_code == 202
    assert len({event.tenant_id for event in stored(session)}) == 2


@pytest.mark.parametrize(
    ("body", "state", "why"),
    [
        (b"{", "failed", "The body is not JSON."),
        (b"[]", "failed", "The body is not a JSON object."),
        (BODY, "failed", "It could not be read: message_type must be one of "),
        (b'{"event":"webwidget_triggered","id":1}', "done", "Nothing here uses events of this name."),
        (b'{"id":1}', "done", "Nothing here uses events of this name."),
    ],
)
def test_event_is_kept_with_its_reason_and_without_its_body_when_it_can_t_be_applied(
    session, call, body, state, why
):
    assert call(body, delivery="d-1").status_code == 202
    [event] = stored(session)
    assert (event.state, event.raw, event.next_attempt_at) == (state, b"", None)
    assert event.error.startswith(why)


def test_call_is_refused_when_its_body_is_over_1_mib(session, call):
    assert call(b"x" * 1_048_577).status_code == 413
    assert call(b'{"a":"' + b"x" * (1_048_576 - 8) + b'"}').status_code == 202
    assert session.scalar(select(func.count()).select_from(InboundEvent)) == 1


def test_get_is_not_allowed(call, app):
    assert app.test_client().get("/hooks/chatwoot/acme").status_code == 405


def test_sweep_is_woken_when_an_event_was_stored_and_not_for_a_repeat(call, monkeypatch):
    woken: list[str] = []
    monkeypatch.setattr(hooks.wake, "wake", woken.append)
    call(delivery="d-1")
    call(delivery="d-1")
    call(delivery="d-2", secret="whsec_other")
    assert woken == ["process_inbound"]


def test_event_is_stored_when_redis_is_down(session, call, app, monkeypatch):
    settings = replace(app.extensions["desk_settings"], redis_url="redis://127.0.0.1:1/0")
    monkeypatch.setitem(app.extensions, "desk_settings", settings)
    assert call(message_event()).status_code == 202
    assert len(stored(session)) == 1
