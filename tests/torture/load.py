"""The load: what sources, runtimes and operators do at once, each from its own seeded random source."""

import json
import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from tests.torture.client import Client, at_once
from tests.torture.evidence import Answer
from tests.torture.world import OPT_OUT, World

TALKING = tuple(f"c-{number}" for number in range(240))
# They never write, so that what is counted on their contacts is known exactly.
SILENT = tuple(f"s-{number}" for number in range(80))
AGENTS = ("store", "store", "store", "billing", "billing", "night", "faulty", "unknown")
REASONS = ("pix pending", "cart left", "invoice open", "visit booked", "trial ends")
# Minutes by which the clocks of the sources are wrong.
SKEWS = (-10.0, -0.5, 0.0, 0.2, 10.0)


@dataclass
class Shared:
    """What the actors know of each other's doings."""

    stop: threading.Event = field(default_factory=threading.Event)
    followups: deque[str] = field(default_factory=lambda: deque(maxlen=400))


Actor = Callable[[Client, Shared], None]


def uuid(random: Random) -> str:
    return str(UUID(int=random.getrandbits(128), version=4))


def ahead(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def customer(random: Random) -> str:
    return random.choice(TALKING if random.random() < 0.7 else SILENT)


def book(client: Client, shared: Shared) -> None:
    """A booking, with an id, a key, both or neither; perhaps twice at once or again; then what follows."""
    random = client.random
    body = {
        "agent": random.choice(AGENTS),
        "customer": customer(random),
        "reason": random.choice(REASONS),
        "at": f"+{random.randint(6, 9)}m",
    }
    facts = dict(body)
    mode = random.choice(("plain", "id", "key", "both"))
    if mode in ("id", "both"):
        body["id"] = facts["id"] = uuid(random)
    key = uuid(random) if mode in ("key", "both") else None

    def send() -> Answer:
        return client.settle("book", "POST", "/followups", body, key=key, **facts)

    answer = at_once(send, send) if random.random() < 0.2 else send()
    if answer.done:
        if mode != "plain" and random.random() < 0.25:
            send()
        shared.followups.append(answer.document["id"])
        follow(client, answer.document)


def follow(client: Client, followup: dict[str, Any]) -> None:
    """Most bookings are moved to a few seconds ahead, so that they fall due; some are cancelled."""
    draw = client.random.random()
    if draw < 0.7:
        reschedule(client, followup["id"], followup["version"])
    elif draw < 0.85:
        cancel(client, followup["id"], followup["version"])


def reschedule(client: Client, id: str, version: int | None) -> None:
    random = client.random
    body = {"at": ahead(random.uniform(2, 5)), "version": version}
    key = uuid(random) if random.random() < 0.3 else None

    def send() -> Answer:
        return client.settle("reschedule", "POST", f"/followups/{id}/reschedule", body, key=key, id=id)

    # Twice at once with one version: one of the two acts on what moved meanwhile, and is told so.
    at_once(send, send) if random.random() < 0.15 else send()


def cancel(client: Client, id: str, version: int | None) -> None:
    def send() -> Answer:
        return client.settle("cancel", "POST", f"/followups/{id}/cancel", {"version": version}, id=id)

    at_once(send, send) if client.random.random() < 0.4 else send()


def operate(client: Client, shared: Shared) -> None:
    """An operator who takes a follow-up known from before, whatever became of it."""
    random = client.random
    if not shared.followups:
        return
    id = random.choice(list(shared.followups))
    seen = client.settle("read", "GET", f"/followups/{id}", id=id)
    if not seen.done:
        return
    if seen.document["status"] in ("blocked", "cancelled"):
        again = client.settle(
            "rearm",
            "POST",
            f"/followups/{id}/rearm",
            {"at": "+6m", "version": seen.document["version"]},
            key=uuid(random),
            id=id,
        )
        if again.done:
            reschedule(client, again.document["id"], None)
    elif random.random() < 0.3:
        cancel(client, id, random.choice((None, seen.document["version"], 0)))
    elif seen.document["status"] == "pending":
        reschedule(client, id, seen.document["version"])
    if random.random() < 0.05:
        who = customer(random)
        client.settle("revoke", "POST", f"/contacts/{who}/revoke", {"by": "api"}, customer=who)


def write(client: Client, shared: Shared) -> None:
    """Messages of one customer, from a source whose clock is wrong: some doubled, in any order."""
    random = client.random
    who, skew = random.choice(TALKING), random.choice(SKEWS)
    bodies = [_message(random, who, skew) for _ in range(random.randint(1, 3))]
    sent = bodies + random.sample(bodies, random.randint(0, len(bodies)))
    random.shuffle(sent)
    for body in sent:

        def send(body: dict[str, Any] = body) -> Answer:
            return client.settle("message", "POST", "/messages", body, id=body["id"], customer=who)

        at_once(send, send) if random.random() < 0.1 else send()


def _message(random: Random, who: str, skew: float) -> dict[str, Any]:
    draw = random.random()
    incoming = draw > 0.1
    return {
        "id": uuid(random),
        "conversation_id": f"of-{who}",
        "direction": "incoming" if incoming else "outgoing",
        "sender": {"type": "customer" if incoming else "agent"},
        "customer": who,
        "created_at": ahead(skew * 60 - random.uniform(0, 3)),
        "text": f"Please {OPT_OUT.upper()}!" if draw < 0.14 else "Thank you, tomorrow is fine.",
        "auto_reply": random.random() < 0.05,
    }


def bring(client: Client, shared: Shared) -> None:
    """Another scheduler's records, due already; perhaps the same file twice at once or again."""
    random = client.random
    records = [
        {
            "id": uuid(random),
            "agent": random.choice(AGENTS),
            "customer": customer(random) if random.random() < 0.95 else f"stranger-{random.randint(0, 50)}",
            "at": ahead(-random.uniform(1, 3_600)),
            "reason": random.choice(REASONS),
            "arm": "imported",
        }
        for _ in range(random.randint(5, 30))
    ]
    lines = "\n".join(json.dumps(record) for record in records).encode()
    ids = [record["id"] for record in records]

    def send() -> Answer:
        return client.settle("import", "POST", "/followups/import", lines, ids=ids)

    at_once(send, send) if random.random() < 0.3 else send()


def work(client: Client, shared: Shared) -> None:
    """A runtime: claims what is queued, in competition with others, and reports how it went."""
    random = client.random
    listed = client.call("list", "GET", "/tasks?status=queued&limit=20")
    if not listed.done:
        return
    for task in random.sample(listed.document["items"], min(8, len(listed.document["items"]))):
        if shared.stop.is_set():
            return

        def claim(id: str = task["id"]) -> Answer:
            # Never sent again: who does not know whether it holds a task does not act on it.
            return client.call("claim", "POST", f"/tasks/{id}/claim", {}, id=id)

        answer = at_once(claim, claim) if random.random() < 0.3 else claim()
        if answer.done and random.random() < 0.9:
            _report(client, task["id"])


def _report(client: Client, id: str) -> None:
    random = client.random
    how = "done" if random.random() < 0.85 else "failed"
    key = uuid(random) if random.random() < 0.5 else None

    def send() -> Answer:
        return client.settle(how, "POST", f"/tasks/{id}/{how}", {}, key=key, id=id)

    at_once(send, send) if random.random() < 0.2 else send()


def conclude(client: Client, shared: Shared) -> None:
    """An outcome, reported again by its id."""
    random = client.random
    body = {
        "id": uuid(random),
        "agent": "store",
        "customer": customer(random),
        "kind": "sale",
        "value": round(random.uniform(1, 500), 2),
        "occurred_at": ahead(-random.uniform(0, 60)),
    }

    def send() -> Answer:
        return client.settle("outcome", "POST", "/outcomes", body, id=body["id"])

    at_once(send, send) if random.random() < 0.5 else send()


# What each thread does, and how long it rests between two acts, in seconds.
ACTORS: tuple[tuple[Actor, float], ...] = (
    (book, 0.25),
    (book, 0.25),
    (book, 0.25),
    (operate, 0.4),
    (write, 0.5),
    (write, 0.5),
    (bring, 3.0),
    (work, 0.4),
    (work, 0.4),
    (conclude, 1.0),
)


class Load:
    """All actors at work, each in a thread."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._shared = Shared()
        self._threads = [
            threading.Thread(target=self._act, args=(actor, rest, Random(f"{seed}:{number}")), daemon=True)
            for number, (actor, rest) in enumerate(ACTORS)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Nothing new begins; each brings to an end what it began."""
        self._shared.stop.set()

    def is_over(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def _act(self, actor: Actor, rest: float, random: Random) -> None:
        client = Client(self._world.address, self._world.token, self._world.evidence, random)
        try:
            while not self._shared.stop.wait(random.uniform(0, 2 * rest)):
                actor(client, self._shared)
        except Exception:  # noqa: BLE001  an actor that trips is a fault of the run, and must show
            self._world.evidence.unsettled.append(f"an actor failed: {traceback.format_exc()}")
        finally:
            client.close()
