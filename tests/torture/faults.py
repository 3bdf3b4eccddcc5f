"""What goes wrong, from a seeded random source: kills, flushes, cut connections, servers that stop."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import psutil
import psycopg
import redis

from tests.support import postgres
from tests.torture.world import Role, World

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'torture' AND random() < {share}"
)
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = 'torture' ORDER BY pid"


@dataclass
class Chaos:
    """Does one fault after the other. Each kind comes once, in random order, before any comes again."""

    world: World
    random: Random
    every_s: tuple[float, float]
    done: Counter[str] = field(default_factory=Counter)
    later: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    next_at: float = 0
    deck: list[str] = field(default_factory=list)

    def tick(self) -> None:
        """Do what is due: what a fault before left to be mended, then the next fault."""
        now = time.monotonic()
        due = [mend for at, mend in self.later if at <= now]
        self.later = [(at, mend) for at, mend in self.later if at > now]
        for mend in due:
            mend()
        if now >= self.next_at:
            self._strike()
            self.next_at = time.monotonic() + self.random.uniform(*self.every_s)

    def mend(self) -> None:
        """No more faults; what was left broken is mended at once."""
        for _at, mend in self.later:
            mend()
        self.later = []

    def _strike(self) -> None:
        if not self.deck:
            self.deck = [name for name, (weight, _do) in KINDS.items() for _ in range(weight)]
            self.random.shuffle(self.deck)
        if not self.done:
            self.deck = self.random.sample(list(KINDS), len(KINDS))
        name = self.deck.pop()
        if KINDS[name][1](self):
            self.done[name] += 1

    def role(self, prefix: str) -> Role:
        return self.random.choice([role for role in self.world.roles if role.name.startswith(prefix)])

    def after(self, seconds: float, mend: Callable[[], None]) -> None:
        self.later.append((time.monotonic() + seconds, mend))


def kill_process(prefix: str) -> Callable[[Chaos], bool]:
    def strike(chaos: Chaos) -> bool:
        chaos.world.kill(chaos.role(prefix))
        return True

    return strike


def kill_child(prefix: str) -> Callable[[Chaos], bool]:
    """A process that one of ours started: a worker of the web server, or the process that runs a job."""

    def strike(chaos: Chaos) -> bool:
        role = chaos.role(prefix)
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(role.process.pid).children() if role.process else []
            if children:
                chaos.random.choice(children).kill()
                return True
        return False

    return strike


def flush_redis(chaos: Chaos) -> bool:
    with suppress(redis.RedisError), redis.Redis.from_url(chaos.world.redis.url, socket_timeout=5) as client:
        client.flushall()
        return True
    return False


def kill_redis(chaos: Chaos) -> bool:
    server = chaos.world.redis
    if not server.is_running() or server.pid is None:
        return False
    os.kill(server.pid, signal.SIGKILL)
    chaos.after(chaos.random.uniform(0.5, 6), server.start)
    return True


def cut_connections(chaos: Chaos) -> bool:
    if chaos.world.is_away:
        return False
    outage = chaos.world.outage()
    with suppress(psycopg.OperationalError), psycopg.connect(chaos.world.server, autocommit=True) as session:
        session.execute(CUT.format(share=chaos.random.choice((0.3, 0.6, 1))))
    outage.ended = time.time()
    return True


def kill_backend(chaos: Chaos) -> bool:
    """PostgreSQL then ends all of its processes and recovers by itself."""
    if chaos.world.is_away:
        return False
    outage = chaos.world.outage()
    with suppress(psycopg.OperationalError, ProcessLookupError):
        with psycopg.connect(chaos.world.server, autocommit=True) as session:
            pids = [row[0] for row in session.execute(BACKENDS)]
        if pids:
            os.kill(chaos.random.choice(pids), signal.SIGKILL)
    _wait_for_postgres(chaos.world)
    outage.ended = time.time()
    return True


def stop_postgres(chaos: Chaos) -> bool:
    if chaos.world.is_away:
        return False
    outage = chaos.world.outage()
    postgres.stop_at_once(chaos.world.server)

    def start() -> None:
        postgres.start_again(chaos.world.server, durable=True)
        outage.ended = time.time()

    chaos.after(chaos.random.uniform(0.2, 4), start)
    return True


def _wait_for_postgres(world: World) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(psycopg.OperationalError), psycopg.connect(world.server):
            return
        time.sleep(0.1)


# How often each comes in a round, and what it does; it says whether there was anything to do it to.
KINDS: dict[str, tuple[int, Callable[[Chaos], bool]]] = {
    "worker killed": (5, kill_process("worker")),
    "job's process killed": (3, kill_child("worker")),
    "scheduler killed": (3, kill_process("scheduler")),
    "web killed": (2, kill_process("web")),
    "web worker killed": (3, kill_child("web")),
    "Redis flushed": (2, flush_redis),
    "Redis killed": (2, kill_redis),
    "connections cut": (4, cut_connections),
    "PostgreSQL backend killed": (1, kill_backend),
    "PostgreSQL stopped": (1, stop_postgres),
}
