"""The commands of the processes, run as a person runs them."""

import json
import re
import signal
import socket
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psutil
import pytest
from sqlalchemy import select

from models.actors import Actor
from models.audit import AuditEvent
from models.sweep_states import pause
from tests.conftest import Database
from tests.jobs.conftest import DESK_TOML, Engine
from tests.support import processes
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

UP_WITHIN_S = 90


def test_sweep_prints_one_line_of_json_and_leaves_no_slot_when_run_inline(engine: Engine):
    followup = engine.book_due()
    ran = engine.processes.run("sweep", "fire_followups", "--json", REDIS_URL="")
    assert ran.returncode == 0, ran.stderr
    [line] = ran.stdout.splitlines()
    shown = json.loads(line)
    assert list(shown)[:6] == ["name", "at", "examined", "changed", "errors", "capped"]
    assert (shown["name"], shown["fired"], shown["blocked"], shown["deferred"]) == ("fire_followups", 1, 0, 0)
    assert engine.status_of(followup) == "fired"
    assert not engine.slots()
    [run] = engine.runs()
    assert (run.by_hand, run.slot_id, run.status) == (True, None, "ok")
    query = select(AuditEvent).where(AuditEvent.action == "sweep.run_by_hand")
    assert len(engine.ask(lambda s: s.scalars(query).all())) == 1


def test_sweep_runs_as_of_the_time_that_is_given(engine: Engine):
    ran = engine.processes.run("sweep", "fire_followups", "--at", "2020-01-01T00:00:00+01:00", "--json")
    assert json.loads(ran.stdout)["at"] == "2019-12-31T23:00:00.000000Z"


@pytest.mark.parametrize(
    "args",
    [
        ("sweep", "polish"),
        ("sweep", "deliver", "--at", "noon"),
        ("sweep", "deliver", "--at", "2031-08-14T12:00:00"),
        ("sweep", "deliver", "--limit", "0"),
        ("worker", "--queue", "none"),
        ("worker",),
    ],
)
def test_command_exits_with_2_when_used_wrongly(tmp_path: Path, args):
    with processes.running(tmp_path, f"sqlite:///{tmp_path}/desk.db", None) as started:
        assert started.run(*args).returncode == 2


@pytest.mark.parametrize("args", [("scheduler",), ("worker", "--queue", "sweeps")])
def test_process_says_what_to_do_when_there_is_no_redis(tmp_path: Path, args):
    with processes.running(tmp_path, f"sqlite:///{tmp_path}/desk.db", None) as started:
        ran = started.run(*args)
    assert ran.returncode == 1
    assert "Start desk up, or set REDIS_URL" in ran.stderr


def test_paused_sweep_does_not_run_and_says_so(engine: Engine):
    admin = Actor.operator("1", "admin@acme.test")
    engine.processes.desk("worker", "--queue", "sweeps")
    engine.processes.desk("scheduler")
    eventually(lambda: engine.runs(), what="a first run")
    engine.tell(
        lambda s: pause(
            s, "fire_followups", known=["fire_followups"], reason="moving", actor=admin, now=datetime.now(UTC)
        )
    )
    # One that began before goes on, and would take what is booked now.
    eventually(lambda: all(run.status != "running" for run in engine.runs()))
    followup = engine.book_due()
    # Another sweep goes on, so two of its further runs show that the paused one had its chance.
    seen = len(engine.slots("deliver"))
    eventually(lambda: len(engine.slots("deliver")) >= seen + 2)
    assert engine.status_of(followup) == "pending"
    assert all(run.status != "running" for run in engine.runs())


def test_up_runs_everything_and_stops_all_of_it_on_sigterm(postgresql_database: Database, tmp_path: Path):
    postgresql_database.reset()
    with up(postgresql_database, tmp_path) as (started, process, address):
        answer = eventually(lambda: ok(f"{address}/readyz"), within=60, what="everything ready")
        assert answer.json() == {"status": "ok"}
        link = re.search(r"(http://\S+/sign-in/\S+)", process.output())
        assert link and httpx.get(link[1]).status_code == 200
        assert 'desk_workers_alive{queue="sweeps"} 1.0' in httpx.get(f"{address}/metrics").text
        another = started.run("operator", "link", "admin@desk.local")
        assert (another.stdout.startswith(f"{address}/sign-in/"), another.stderr) == (True, "")
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        assert process.stop() == 0
        _gone, alive = psutil.wait_procs(family, timeout=20)
        assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []


def test_up_starts_a_process_again_and_says_so_when_it_is_killed(sqlite_database: Database, tmp_path: Path):
    sqlite_database.reset()
    with up(sqlite_database, tmp_path) as (_started, process, address):
        eventually(lambda: ok(f"{address}/readyz"), within=60)
        scheduler = child(process.pid, "scheduler")
        scheduler.send_signal(signal.SIGKILL)
        eventually(lambda: "a process ended and is started again" in process.output())
        again = eventually(lambda: child(process.pid, "scheduler"))
        assert again.pid != scheduler.pid
        redis_server = child(process.pid, "valkey-server")
        redis_server.send_signal(signal.SIGKILL)
        eventually(lambda: "the embedded Redis ended and is started again" in process.output())
        eventually(lambda: ok(f"{address}/readyz"), within=90, what="ready again")


def test_children_stop_when_up_is_killed(sqlite_database: Database, tmp_path: Path):
    sqlite_database.reset()
    with up(sqlite_database, tmp_path) as (_started, process, address):
        eventually(lambda: ok(f"{address}/healthz"), within=60)
        family = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        _gone, alive = psutil.wait_procs(family, timeout=30)
        assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []


def test_up_refuses_a_port_that_is_taken(sqlite_database: Database, tmp_path: Path):
    sqlite_database.reset()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with processes.running(tmp_path, sqlite_database.url, None) as started:
            ran = started.run("up", "--no-demo", "--port", str(port))
    assert (ran.returncode, f"Port {port} is taken." in ran.stderr) == (1, True)


class up:
    """`desk up` on a database, until the block ends."""

    def __init__(self, database: Database, folder: Path) -> None:
        (folder / "desk.toml").write_text(DESK_TOML)
        self._running = processes.running(folder, database.url, None)

    def __enter__(self):
        started = self._running.__enter__()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = started.installed("up", "--no-demo", "--port", str(port))
        eventually(lambda: "Ctrl-C stops" in process.output(), within=UP_WITHIN_S, what="desk up ready")
        return started, process, f"http://127.0.0.1:{port}"

    def __exit__(self, *args: object) -> None:
        self._running.__exit__(*args)


def child(pid: int, word: str) -> psutil.Process | None:
    for one in psutil.Process(pid).children(recursive=True):
        try:
            if any(word in part for part in one.cmdline()):
                return one
        except psutil.Error:
            continue
    return None


def ok(address: str) -> httpx.Response | None:
    try:
        answer = httpx.get(address, timeout=5)
    except httpx.HTTPError:
        return None
    return answer if answer.is_success else None
