"""One run: the load under faults for so long, then everything comes to rest, then the evidence is whole."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from tests.torture.client import Client
from tests.torture.faults import Chaos
from tests.torture.load import Load
from tests.torture.world import World, world

LOAD_OVER_WITHIN_S = 150
SETTLED_WITHIN_S = 180
SWEPT_WITHIN_S = 300
DRAINS = 20
# Longer than the longest wait between two attempts of a delivery.
LATER = timedelta(hours=26)

# What may still change by itself; a deferred one waits for the end of its agent's quiet hours.
RESTLESS = {
    "follow-ups due": """
        SELECT count(*) FROM follow_up WHERE status = 'pending' AND due_at <= now() + interval '3 s'
    """,
    "events not published": "SELECT count(*) FROM outbox_event WHERE position IS NULL",
    "runs at work": "SELECT count(*) FROM sweep_run WHERE status = 'running' AND name <> 'deliver'",
}
AHEAD = "SELECT id FROM follow_up WHERE status = 'pending' AND due_at > now() AND deferred_until IS NULL"
QUEUED = "SELECT id FROM agent_task WHERE status = 'queued' ORDER BY created_at, id LIMIT 300"
OPEN = "SELECT count(*) FROM delivery WHERE next_attempt_at IS NOT NULL"


@dataclass
class Run:
    """A run that came to rest; its database can still be asked."""

    seed: int
    seconds: float
    settled_in: float
    world: World
    chaos: Chaos


@contextmanager
def torture(folder: Path, *, seed: int, seconds: float) -> Iterator[Run]:
    """Torture an installation of its own with files in `folder`; yields once it has come to rest."""
    with world(folder, seed) as found:
        pace = min(3.0, seconds / 14)
        chaos = Chaos(found, Random(f"{seed}:faults"), (pace * 0.4, pace * 1.4))
        load = Load(found, seed)
        load.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found.look_after()
            chaos.tick()
            time.sleep(0.1)
        began = time.monotonic()
        _settle(found, chaos, load, seed)
        yield Run(seed, seconds, time.monotonic() - began, found, chaos)


def _settle(world: World, chaos: Chaos, load: Load, seed: int) -> None:
    """Faults end, the load ends, what is promised falls due, the sweeps run dry, the deliveries run out."""
    chaos.mend()
    world.sink.calm = True
    load.stop()
    _await(world, load.is_over, LOAD_OVER_WITHIN_S, "the load")
    _bring_forward(world, seed)
    _await_rest(world)
    _work_off(world, seed)
    _await_rest(world)
    world.processes.stop()
    _drain(world)
    world.evidence.received = list(world.sink.seen)


def _await(world: World, condition: Callable[[], bool], within: float, what: str) -> None:
    """Keep everything running until `condition` holds; what does not come is written down."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            world.evidence.unsettled.append(f"{what}: not at rest after {within} s")
            return
        world.look_after()
        time.sleep(0.2)


def _await_rest(world: World) -> None:
    for what, query in RESTLESS.items():
        _await(world, lambda query=query: world.ask(query) == 0, SETTLED_WITHIN_S, what)  # type: ignore[misc]


def _work_off(world: World, seed: int) -> None:
    """Two runtimes go for all tasks that are left, in the same order."""
    with world.connect() as connection:
        waiting = [str(row[0]) for row in connection.execute(QUEUED)]

    def claim_all(name: str) -> None:
        client = Client(world.address, world.token, world.evidence, Random(f"{seed}:{name}"))
        for id in waiting:
            client.call("claim", "POST", f"/tasks/{id}/claim", {}, id=id)
        client.close()

    rivals = [threading.Thread(target=claim_all, args=(name,), daemon=True) for name in ("first", "second")]
    for rival in rivals:
        rival.start()
    _await(world, lambda: not any(rival.is_alive() for rival in rivals), LOAD_OVER_WITHIN_S, "the claims")


def _bring_forward(world: World, seed: int) -> None:
    """What is booked for later falls due in a few seconds, as an operator may have it."""
    client = Client(world.address, world.token, world.evidence, Random(f"{seed}:forward"))
    with world.connect() as connection:
        waiting = [str(row[0]) for row in connection.execute(AHEAD)]
    for id in waiting:
        at = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
        client.settle("reschedule", "POST", f"/followups/{id}/reschedule", {"at": at}, id=id)
    client.close()


def _drain(world: World) -> None:
    """All deliveries that wait for another attempt are due at once, and the audit is sealed to its end."""
    for _ in range(DRAINS):
        if world.ask(OPEN) == 0:
            break
        _sweep(world, "deliver", "--at", (datetime.now(UTC) + LATER).isoformat(), "--limit", "100000")
    # Running a sweep by hand is audited too, so one event stays unsealed.
    _sweep(world, "seal_audit")
    verified = world.processes.run("audit", "verify", "--json")
    if verified.returncode:
        world.evidence.verify_fault = verified.stdout + verified.stderr


def _sweep(world: World, *args: str) -> None:
    process = world.processes.desk("sweep", *args, "--json")
    code = process.popen.wait(SWEPT_WITHIN_S)
    told = [json.loads(line) for line in process.output().splitlines() if line.startswith("{")]
    if code or any(counts["errors"] for counts in told):
        world.evidence.unsettled.append(f"desk sweep {args[0]}: {process.output()[-800:]}")
