"""The installation under torture: PostgreSQL, Redis, and the processes, each started again when it ends."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import httpx
import psycopg

from jobs.redis import Embedded, free_port
from tests.support import postgres, redis
from tests.support.processes import Process, Processes, running
from tests.support.sink import sink
from tests.support.waiting import eventually
from tests.torture.evidence import Evidence, Outage
from tests.torture.sink import ALL, PICKY, MoodySink

TENANT = "acme"
# The ceiling of all agents, in SQL of the checker too.
FIRES, WINDOW_S = 2, 60
SILENCE = 5
OPT_OUT = "stop writing to me"
SCOPES = ("read", "ingest", "operate")
READY_WITHIN_S = 120
PORT_TAKEN = "Address already in use"
WORKERS = ("sweeps", "sweeps", "runs", "delivery")
SCHEDULERS = 2


def declarations(now: datetime) -> str:
    """desk.toml: three agents that fire, one in its quiet hours, one whose policy is faulty."""
    policy = (
        f'max_frequency = "{FIRES}/1m"\nsilence_after_sends = {SILENCE}\ncancel_keywords = ["{OPT_OUT}"]\n'
    )
    firing = "".join(f"[agents.{name}.followup]\n{policy}" for name in ("store", "billing", "night"))
    begin, end = (now + timedelta(hours=hours) for hours in (-1, 4))
    return f"""
{firing}
[agents.night.followup.quiet_hours]
timezone = "UTC"
start = "{begin:%H:%M}"
end = "{end:%H:%M}"
[agents.faulty.followup]
max_frequency = "2/3w"
[sweeps.fire_followups]
every = "2s"
limit = 200
[sweeps.deliver]
every = "2s"
[sweeps.seal_audit]
every = "5s"
"""


@dataclass
class Role:
    """One process that shall always run."""

    name: str
    command: tuple[str, ...]
    process: Process | None = None
    starts: int = 0
    expected: bool = False


@dataclass
class World:
    """All of it, with what is known of what was done to it."""

    server: str
    database: str
    redis: Embedded
    processes: Processes
    sink: MoodySink
    evidence: Evidence
    address: str
    token: str = ""
    roles: list[Role] = field(default_factory=list)

    def look_after(self) -> None:
        """Start again whatever ended, and write down what ended without having been killed."""
        for role in self.roles:
            if role.process is not None and role.process.is_alive:
                continue
            if role.process is not None and not role.expected:
                code, said = role.process.popen.returncode, role.process.output()[-800:]
                # The workers of a web process that was killed hold its port until they notice.
                if PORT_TAKEN not in said:
                    self.evidence.deaths.append(f"{role.name} ended by itself with {code}: {said}")
            role.process = self.processes.installed(*role.command)
            role.expected = False
            role.starts += 1

    def kill(self, role: Role) -> None:
        if role.process is not None and role.process.is_alive:
            role.expected = True
            role.process.kill()

    def call(self, method: str, path: str, **given: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}", **given.pop("headers", {})}
        return httpx.request(
            method, f"{self.address}/api/v1{path}", headers=headers, timeout=30, trust_env=False, **given
        )

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.database, autocommit=True)

    def ask(self, query: str) -> Any:
        """The first value that `query` finds."""
        with self.connect() as connection:
            row = connection.execute(query).fetchone()
            return row[0] if row else None

    def outage(self) -> Outage:
        """A new outage of PostgreSQL that begins now."""
        found = Outage(time.time())
        self.evidence.outages.append(found)
        return found

    @property
    def is_away(self) -> bool:
        """Whether PostgreSQL is stopped."""
        return any(outage.ended is None for outage in self.evidence.outages)

    def is_up(self) -> bool:
        try:
            return self.call("GET", "/followups?limit=1").status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def world(folder: Path, seed: int) -> Iterator[World]:
    """Everything started and answering, with a tenant, a token and two endpoints."""
    (folder / "desk.toml").write_text(declarations(datetime.now(UTC)))
    with (
        postgres.server(durable=True) as server,
        redis.server(folder) as embedded,
        sink(kind=MoodySink) as receiver,
    ):
        postgres.execute(server, "CREATE DATABASE torture")
        database = postgres.database_url(server, "torture")
        env = {"DESK_API_RATE": "1000000", "DESK_WEBHOOK_HOSTS": "127.0.0.1"}
        with running(folder, database, embedded.url, **env) as processes:
            port = free_port()
            assert isinstance(receiver, MoodySink)
            receiver.mood = Random(f"{seed}:sink")
            found = World(
                server, database, embedded, processes, receiver, Evidence(), f"http://127.0.0.1:{port}"
            )
            _prepare(found, port)
            yield found


def _prepare(world: World, port: int) -> None:
    _desk(world, "db", "upgrade")
    _desk(world, "tenant", "add", TENANT)
    scopes = [part for scope in SCOPES for part in ("--scope", scope)]
    added = _desk(world, "token", "add", "--tenant", TENANT, "--name", "load", *scopes, "--json")
    world.token = json.loads(added)["token"]
    world.roles = [
        Role("web", ("web", "--port", str(port))),
        *(Role(f"worker {queue}", ("worker", "--queue", queue)) for queue in WORKERS),
        *(Role("scheduler", ("scheduler",)) for _ in range(SCHEDULERS)),
    ]
    world.look_after()
    eventually(world.is_up, within=READY_WITHIN_S, what="the web process")
    for path, types in ((ALL, ["*"]), (PICKY, ["task.created", "followup.blocked"])):
        body = {"url": world.sink.url(path), "event_types": types}
        made = world.call("POST", "/endpoints", json=body)
        assert made.status_code == 201, made.text
        world.sink.secrets[path] = made.json()["secret"]


def _desk(world: World, *args: str) -> str:
    done = world.processes.run(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout
