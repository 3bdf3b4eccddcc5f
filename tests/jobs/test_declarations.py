"""`desk.toml` broken under running processes: they go on with the last good version, and say so."""

import json
import re
import socket
from pathlib import Path

import httpx
import pytest

from tests.jobs.conftest import DESK_TOML, Engine
from tests.support.processes import Process
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow


def test_processes_go_on_and_say_so_when_desk_toml_is_broken_under_them(
    engine: Engine, tmp_path: Path
) -> None:
    running = [engine.processes.desk("scheduler"), engine.processes.desk("worker", "--queue", "sweeps")]
    first = engine.book_due("c-1")
    page = sign_in(engine, running)
    eventually(lambda: engine.status_of(first) == "fired", what="a follow-up fired by the good file")

    (tmp_path / "desk.toml").write_text("[agents.store-support\n")
    said = eventually(lambda: notice(page.get("/acme/followups").text), what="the page says so")
    assert "last good version stays in force" in said
    doctor = engine.processes.run("doctor", "--json")
    assert doctor.returncode == 1
    assert "desk.toml can't be read" in doctor.stdout
    second = engine.book_due("c-2")
    eventually(lambda: engine.status_of(second) == "fired", what="a follow-up fired by the last good version")
    assert not engine.processes.dead()

    (tmp_path / "desk.toml").write_text(DESK_TOML.replace("2/24h", "3/24h"))
    eventually(lambda: not notice(page.get("/acme/followups").text), what="the notice gone")
    assert all(process.is_alive for process in running)


def sign_in(engine: Engine, running: list[Process]) -> httpx.Client:
    """A client signed in by a one-time link to a web process of this engine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    running.append(engine.processes.desk("web", "--port", str(port)))
    client = httpx.Client(base_url=address, follow_redirects=True)
    eventually(lambda: answers(client), what="the web process")
    lead = "lead@acme.test"
    assert engine.processes.run("operator", "add", lead, "--role", "lead", "--tenant", "acme").returncode == 0
    made = engine.processes.run("operator", "link", lead, "--url", address, "--json")
    link = json.loads(made.stdout)["url"]
    form = client.get(link).text
    token = re.search(r'name="csrf_token" value="([^"]+)"', form)
    assert token
    assert client.post(link, data={"csrf_token": token[1]}).status_code == 200
    return client


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


def notice(html: str) -> str:
    """What the page says of the file, or nothing."""
    found = re.search(r"desk\.toml can(?:'|&#39;)t be used[^<]*", html)
    return found[0] if found else ""
