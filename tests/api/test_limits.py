import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from desk_ui import create_app
from desk_ui.api import limits
from models.base import db
from tests.conftest import settings_for
from tests.support import redis
from tests.support.api import Client, code_of, on_sqlite

pytestmark = on_sqlite

CALLS = 6


@pytest.fixture
def three_a_minute(app):
    before = app.extensions["desk_settings"]
    app.extensions["desk_settings"] = replace(before, api_rate=3)
    yield
    app.extensions["desk_settings"] = before


def test_calls_answer_429_with_retry_after_when_there_are_too_many(api, client_for, acme, three_a_minute):
    statuses = [api.get("/tenant").status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    assert "Retry-After" not in client_for(acme).get("/tenant").headers
    refused = api.post("/followups", {})
    assert (refused.status_code, code_of(refused)) == (429, "rate-limited")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert client_for(acme).get("/tenant").status_code == 200


def test_calls_without_a_valid_token_answer_429_when_there_are_too_many(app, api, monkeypatch):
    nobody = Client(app, None)
    for number in range(limits.UNAUTHORIZED_A_MINUTE + 1):
        nobody.secret = f"desk_{number}"
        status = nobody.get("/tenant", environ_overrides={"REMOTE_ADDR": "203.0.113.7"}).status_code
        if status == 429:
            break
    assert status == 429
    elsewhere = nobody.get("/tenant", environ_overrides={"REMOTE_ADDR": "203.0.113.8"})
    assert elsewhere.status_code == 401


@pytest.mark.slow
def test_calls_answer_as_they_ended_when_redis_goes_away_meanwhile(database, acme, client_for, tmp_path):
    """All of them have been counted, and wait for what their headers say, when Redis ends."""
    with redis.server(tmp_path) as server, ThreadPoolExecutor(CALLS) as pool:
        served = create_app(settings_for(database.url, tmp_path, REDIS_URL=server.url))
        counted = Barrier(CALLS, action=lambda: os.kill(server.pid, signal.SIGSTOP))
        asking = Barrier(CALLS + 1)
        # The limiter counts before this, and asks after that.
        served.before_request(lambda: (counted.wait(30), None)[1])
        served.after_request(lambda response: (asking.wait(30), response)[1])
        secret = client_for(acme).secret
        calls = [pool.submit(Client(served, secret).get, "/tenant") for _ in range(CALLS)]
        asking.wait(30)
        os.kill(server.pid, signal.SIGKILL)
        assert [call.result().status_code for call in calls] == [200] * CALLS
    with served.app_context():
        # An open connection would meet the next test's file under its feet.
        db.engine.dispose()
