from dataclasses import replace

import pytest

from desk_ui import create_app
from desk_ui.api import limits
from tests.conftest import settings_for
from tests.support import redis
from tests.support.api import Client, code_of, on_sqlite

pytestmark = on_sqlite


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
    with redis.server(tmp_path) as server:
        served = create_app(settings_for(database.url, tmp_path, REDIS_URL=server.url))
        # After the limiter has counted the call, and before it asks for what its headers say.
        served.before_request(server.stop)
        answer = Client(served, client_for(acme).secret).get("/tenant")
        assert answer.status_code == 200
