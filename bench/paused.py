"""The sweep of one tenant beside another that is paused, with 1,000,000 executions due."""

import time

from bench import seeding
from bench.support import NOW, Result, application, copy, empty
from models import clock
from models.automations import claiming
from models.automations.outside import Came
from models.automations.running import Worker
from models.base import db
from models.declarations import Declared
from models.transactions import rollback
from tests.support import postgres

ROUNDS = 5
DUE = 1_000
# In each conversation of the paused tenant.
EACH = 100


def run(server: str, *, paused: int) -> list[Result]:
    """The median of five rounds, each of 1,000 others, with and without the paused ones."""
    alone_url = empty(server, "alone")
    with application(alone_url):
        seeding.fill_executions(db.session(), "acme", conversations=DUE * (ROUNDS + 1), enabled=True, now=NOW)
    beside_url = copy(server, "alone", "beside")
    with application(beside_url):
        seeding.fill_executions(
            db.session(), "paused", conversations=paused // EACH, each=EACH, enabled=False, now=NOW
        )
    alone, beside = measure(alone_url), measure(beside_url)
    postgres.execute(server, "DROP DATABASE alone", "DROP DATABASE beside")
    slower = sum(beside) / sum(alone)
    return [
        Result(
            f"the sweep of {DUE} due, beside a paused tenant with {paused} due",
            "without it (times slower)",
            slower,
            "at most 1.3",
            slower <= 1.3,
            {
                "milliseconds of picking": f"{beside[0] * 1000:.1f} against {alone[0] * 1000:.1f}",
                "milliseconds of running": f"{beside[1] * 1000:.0f} against {alone[1] * 1000:.0f}",
            },
        )
    ]


def measure(url: str) -> tuple[float, float]:
    """The median seconds of picking and of running, after a first round that fills the caches."""
    with application(url):
        rounds = [_sweep() for _n in range(ROUNDS + 1)][1:]
    picking, working = (sorted(seconds)[ROUNDS // 2] for seconds in zip(*rounds, strict=True))
    return picking, working


def _sweep() -> tuple[float, float]:
    session = db.session()
    started = time.perf_counter()
    picked = claiming.pick(session, now=clock.now(), limit=DUE)
    rollback(session)
    found = time.perf_counter()
    worker = Worker(session, Declared(), clock.now, lambda _errand: Came.done("no call is made"))
    counts = worker.work(picked.ids)
    assert counts.own["executed"] == DUE
    return found - started, time.perf_counter() - found
