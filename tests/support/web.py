"""A real web process on a database of its own, and a token for it."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.support.processes import Processes, running
from tests.support.waiting import eventually


@dataclass
class Web:
    """A web process, and a token of the platform with all scopes."""

    address: str
    token: str
    processes: Processes

    def call(self, method: str, path: str, **given: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.request(method, f"{self.address}/api/v1{path}", headers=headers, **given)
        assert answer.status_code < 300, answer.text
        return answer.json()


@contextmanager
def served(folder: Path) -> Iterator[Web]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "desk.toml").write_text('[agents.store-support.followup]\nmax_frequency = "2/24h"\n')
    with running(folder, f"sqlite:///{folder / 'desk.db'}", None, DESK_API_RATE="1000000") as processes:
        assert processes.run("db", "upgrade").returncode == 0
        scopes = [part for scope in ("read", "ingest", "operate") for part in ("--scope", scope)]
        added = processes.run("token", "add", "--tenant", "platform", "--name", "all", *scopes, "--json")
        process = processes.desk("web", "--port", str(port))
        web = Web(f"http://127.0.0.1:{port}", json.loads(added.stdout)["token"], processes)
        eventually(lambda: process.is_alive and answers(web.address), what="the web process")
        yield web
        assert process.is_alive
        assert "unexpected fault" not in process.output()


def answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/api/v1/openapi.json").status_code == 200
    except httpx.TransportError:
        return False
