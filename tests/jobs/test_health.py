from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from flask import Flask
from rq.serializers import JSONSerializer
from rq.worker import Worker
from sqlalchemy import event, update

from desk_ui import create_app
from jobs import queues, schedule
from models import clock
from models.base import db
from models.tenants import Tenant
from models.transactions import commit
from tests.conftest import Database, settings_for
from tests.jobs.conftest import Engine
from tests.support import redis as servers
from tests.support.create import create_followup, create_tenant


@pytest.fixture
def server(tmp_path):
    with servers.server(tmp_path) as started:
        yield started


@pytest.fixture
def serve() -> Iterator[Callable[..., Flask]]:
    """Makes an application on a database; its connections are closed before the next test has the file."""
    made: list[Flask] = []

    def application(database: Database, folder: Path, **env: str) -> Flask:
        made.append(create_app(settings_for(database.url, folder, **env)))
        return made[-1]

    yield application
    for app in made:
        with app.app_context():
            db.session.remove()
            db.engine.dispose()


@pytest.fixture
def client(serve):
    return lambda *args, **env: serve(*args, **env).test_client()


def installed_now(database: Database) -> None:
    """As after the first start: no sweep had the time to be late."""
    Engine(database, None, None).tell(lambda s: s.execute(update(Tenant).values(created_at=clock.now())))


def register_workers(url: str) -> None:
    connection = redis.Redis.from_url(url)
    for name in queues.QUEUES:
        Worker([name], connection=connection, serializer=JSONSerializer).register_birth()


def test_healthz_answers_when_database_and_redis_are_away(tmp_path, client):
    away = Database("sqlite", f"sqlite:///{tmp_path}/none/desk.db", None, None)
    assert client(away, tmp_path).get("/healthz").get_json() == {"status": "ok"}


def test_readyz_web_needs_no_redis(database, tmp_path, client):
    answer = client(database, tmp_path).get("/readyz/web")
    assert (answer.status_code, answer.get_json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("path", ["/readyz", "/readyz/web"])
def test_readyz_names_the_database_when_it_is_away(tmp_path, path, client):
    away = Database("sqlite", f"sqlite:///{tmp_path}/none/desk.db", None, None)
    answer = client(away, tmp_path).get(path)
    assert answer.status_code == 503
    assert {"database", "migrations"} <= set(answer.get_json()["faults"])


def test_readyz_web_names_the_migrations_when_they_are_missing(tmp_path, client):
    empty = Database("sqlite", f"sqlite:///{tmp_path}/desk.db", None, None)
    answer = client(empty, tmp_path).get("/readyz/web")
    assert answer.status_code == 503
    assert answer.get_json()["faults"] == {
        "migrations": "The database is not up to date. Run: desk db upgrade"
    }


def test_readyz_names_redis_and_workers_when_redis_is_away(database, tmp_path, client):
    installed_now(database)
    answer = client(database, tmp_path, REDIS_URL="redis://127.0.0.1:1/0").get("/readyz")
    assert answer.status_code == 503
    assert set(answer.get_json()["faults"]) == {"redis", "workers"}


def test_readyz_names_the_queues_without_a_worker(database, tmp_path, server, client):
    installed_now(database)
    answer = client(database, tmp_path, REDIS_URL=server.url).get("/readyz")
    assert answer.get_json()["faults"] == {"workers": "No worker is alive for: sweeps, runs, delivery."}


def test_readyz_names_the_sweeps_that_are_late(database, tmp_path, server, client):
    Engine(database, None, None).tell(
        lambda s: s.execute(update(Tenant).values(created_at=clock.now().replace(year=2020)))
    )
    register_workers(server.url)
    answer = client(database, tmp_path, REDIS_URL=server.url).get("/readyz")
    assert answer.status_code == 503
    late = ", ".join(schedule.SWEEPS)
    assert answer.get_json()["faults"] == {"schedule": f"Late: {late}."}


def test_readyz_is_ok_when_all_of_it_works(database, tmp_path, server, client):
    installed_now(database)
    register_workers(server.url)
    assert client(database, tmp_path, REDIS_URL=server.url).get("/readyz").status_code == 200


def test_metrics_show_what_waits(database, tmp_path, server, now, client):
    with database.app.app_context():
        tenant = create_tenant(db.session(), now=now)
        create_followup(db.session(), tenant, now=now)
        commit(db.session(), "tests.health")
        db.session.remove()
    register_workers(server.url)
    text = client(database, tmp_path, REDIS_URL=server.url).get("/metrics").text
    for line in (
        "desk_followups_pending 1.0",
        "desk_followups_overdue 0.0",
        "desk_outbox_unpublished 1.0",
        'desk_queue_depth{queue="sweeps"} 0.0',
        'desk_workers_alive{queue="delivery"} 1.0',
        'desk_sweep_paused{sweep="deliver"} 0.0',
        'desk_deliveries{state="dead"} 0.0',
        "desk_redis_up 1.0",
    ):
        assert line in text.splitlines()


def test_metrics_go_on_without_redis(database, tmp_path, client):
    text = client(database, tmp_path, REDIS_URL="redis://127.0.0.1:1/0").get("/metrics").text
    assert "desk_redis_up 0.0" in text.splitlines()


def test_metrics_ask_a_bounded_number_of_questions(database, tmp_path, serve):
    app = serve(database, tmp_path)
    seen = []
    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", lambda *args: seen.append(args[2]))
    app.test_client().get("/metrics")
    assert len(seen) <= 48


def test_metrics_are_refused_when_the_token_is_wrong(database, tmp_path, client):
    scraper = client(database, tmp_path, DESK_METRICS_TOKEN="a-token-of-some-length")
    assert scraper.get("/metrics").status_code == 401
    wrong = {"Authorization": "Bearer another"}
    assert scraper.get("/metrics", headers=wrong).status_code == 401
    right = {"Authorization": "Bearer a-token-of-some-length"}
    assert scraper.get("/metrics", headers=right).status_code == 200


@pytest.mark.parametrize(
    ("address", "headers", "expected"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("203.0.113.9", {}, 401),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 401),
    ],
)
def test_metrics_without_a_token_are_for_this_machine_alone(
    sqlite_database, tmp_path, address, headers, expected, client
):
    scraper = client(sqlite_database, tmp_path)
    answer = scraper.get("/metrics", headers=headers, environ_base={"REMOTE_ADDR": address})
    assert answer.status_code == expected
