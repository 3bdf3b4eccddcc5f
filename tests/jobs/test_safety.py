"""What reaches Redis does not reach the machine: jobs outside the list, callbacks, and the server's files."""

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from rq import Callback, Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from jobs.redis import Embedded, NoServer, url_of
from tests.conftest import settings_for
from tests.jobs.conftest import Engine
from tests.support import redis as servers
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

LAUNCHER = """
import sys, threading
from jobs.redis import Embedded
from models.settings import from_env
server = Embedded(from_env({"DESK_VAR": sys.argv[1]}))
server.start()
print(server.url, flush=True)
threading.Event().wait()
"""


def burst(engine: Engine) -> str:
    worker = engine.processes.desk("worker", "--queue", "sweeps", "--burst")
    assert worker.popen.wait(60) == 0
    return worker.output()


def enqueue(engine: Engine, function: str, *args: str, **given: object) -> Job:
    client = redis.Redis.from_url(engine.redis.url)
    queue = Queue("sweeps", connection=client, serializer=JSONSerializer)
    return queue.enqueue_call(function, args=list(args), **given)


def test_job_is_refused_when_its_function_is_not_on_the_list(sqlite_engine: Engine, tmp_path: Path):
    made = tmp_path / "made"
    job = enqueue(sqlite_engine, "os.mkdir", str(made))
    burst(sqlite_engine)
    assert job.get_status(refresh=True) == "failed"
    assert "os.mkdir is not on the list" in job.latest_result().exc_string
    assert not made.exists()


def test_callbacks_of_a_job_are_not_called_when_it_ends(sqlite_engine: Engine, tmp_path: Path):
    marker = tmp_path / "marker"
    called = Callback("tests.jobs.evil.touch")
    job = enqueue(sqlite_engine, "os.mkdir", str(marker), on_failure=called, on_success=called)
    fine = enqueue(sqlite_engine, "run_woken", "deliver", on_failure=called, on_success=called)
    burst(sqlite_engine)
    assert job.get_status(refresh=True) == "failed"
    assert fine.get_status(refresh=True) == "finished"
    assert not marker.exists()


def test_pickled_job_is_refused(sqlite_engine: Engine, tmp_path: Path):
    client = redis.Redis.from_url(sqlite_engine.redis.url)
    job = Queue("sweeps", connection=client).enqueue_call("os.mkdir", args=(str(tmp_path / "made"),))
    burst(sqlite_engine)
    assert job.get_status(refresh=True) == "failed"
    assert not (tmp_path / "made").exists()


def test_password_never_shows_in_the_logs(sqlite_engine: Engine):
    password = sqlite_engine.redis.url.split(":")[2].split("@")[0]
    output = burst(sqlite_engine)
    sqlite_engine.redis.stop()
    scheduler = sqlite_engine.processes.desk("scheduler")
    eventually(lambda: "Redis is away" in scheduler.output())
    assert password not in output + scheduler.output()


def test_embedded_server_needs_its_password_and_keeps_it_private(tmp_path: Path):
    with servers.server(tmp_path) as server:
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=server.port).ping()
        assert redis.Redis.from_url(server.url).ping()
        for name in ("password", "url", "redis.conf"):
            assert stat.S_IMODE((tmp_path / "redis" / name).stat().st_mode) == 0o600


def test_second_server_is_refused_when_one_runs_on_the_same_files(tmp_path: Path):
    with servers.server(tmp_path) as first:
        settings = settings_for("sqlite:///unused.db", tmp_path)
        second = Embedded(settings)
        with pytest.raises(NoServer, match="Another desk up"):
            second.start()
        second.stop()
        assert url_of(settings) == first.url


def test_embedded_server_keeps_what_it_holds_when_it_is_stopped_and_started(tmp_path: Path):
    with servers.server(tmp_path) as server:
        redis.Redis.from_url(server.url).set("kept", "1")
        before = server.port
        server.stop()
        server.start()
        assert server.port == before
        assert redis.Redis.from_url(server.url).get("kept") == b"1"


def test_embedded_server_stops_when_its_launcher_is_killed(tmp_path: Path):
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    url = launcher.stdout.readline().strip() if launcher.stdout else ""
    while not url.startswith("redis://"):
        url = launcher.stdout.readline().strip()
    assert redis.Redis.from_url(url).ping()
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    eventually(lambda: is_gone(url), what="the server gone")


def is_gone(url: str) -> bool:
    try:
        redis.Redis.from_url(url, socket_connect_timeout=1, retry=None).ping()
    except redis.RedisError:
        return True
    return False
