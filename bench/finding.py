"""Finding 1,000 due records: among 1,000,000 against among 10,000, and against reading every record."""

import json
from datetime import timedelta
from uuid import UUID

from bench.support import NOW, Result, application, timed
from models.base import db
from models.clock import iso
from models.declarations import Declared
from models.followups import firing
from models.followups.firing_batch import Batch
from models.transactions import rollback

FOUND = 1_000
ROUNDS = 30


def find() -> int:
    """All that the sweep reads and locks before it judges; how many due records it found."""
    session = db.session()
    found = 0
    for pair in list(firing.agents_with_pending(session)):
        customers = list(dict.fromkeys(firing._pick(session, pair, NOW, FOUND)))
        found += len(Batch(session, pair[0], Declared(), NOW).lock(customers, [pair[1]], FOUND))
    rollback(session)
    return found


def measure(url: str) -> float:
    """The median seconds of one finding."""
    with application(url):
        assert find() == FOUND
        return sorted(timed(find) for _ in range(ROUNDS))[ROUNDS // 2]


def scan_json(records: int) -> float:
    """Seconds to find the due ones as a key-value store must: reading every record, JSON in memory."""
    stored = [json.dumps(_record(n)) for n in range(records)]
    due_before = iso(NOW) or ""

    def scan() -> int:
        found = 0
        for text in stored:
            row = json.loads(text)
            times = (row["at"], row["deferred_until"] or "", row["next_attempt_at"] or "")
            found += row["status"] == "pending" and max(times) <= due_before
        return found

    return min(timed(scan) for _ in range(3))


def _record(n: int) -> dict[str, object]:
    """A whole follow-up as the API shows it, with what the sweep needs beside."""
    at = iso(NOW + timedelta(minutes=n - 1_000))
    return {
        "id": str(UUID(int=n)),
        "tenant": "acme",
        "agent": "store-support",
        "customer": f"c-{n}",
        "session_id": None,
        "at": at,
        "reason": f"reason {n % 50}",
        "arm": "schedule",
        "transport": None,
        "status": "pending",
        "task_id": None,
        "blocked_reason": None,
        "cancelled_by": None,
        "created_at": at,
        "updated_at": at,
        "fired_at": None,
        "rearmed_from": None,
        "deferred_until": None,
        "attempts": 0,
        "next_attempt_at": None,
        "version": 1,
    }


def run(large: str, small: str, middle: str) -> list[Result]:
    """Three databases, of 1,000,000, 10,000 and 100,000 rows, 1,000 of them due in each."""
    slow, fast, pick = measure(large), measure(small), measure_pick(middle)
    scan = scan_json(100_000)
    return [
        Result(
            "finding and locking 1,000 due among 1,000,000",
            "among 10,000 (times slower)",
            slow / fast,
            "at most 1.3",
            slow / fast <= 1.3,
            {"milliseconds": f"{slow * 1000:.2f} against {fast * 1000:.2f}"},
        ),
        Result(
            "finding the due among 100,000",
            "reading every record as JSON in memory (times faster)",
            scan / pick,
            "at least 500",
            scan / pick >= 500,
            {"milliseconds": f"{pick * 1000:.2f} against {scan * 1000:.0f}"},
        ),
    ]


def measure_pick(url: str) -> float:
    """The median seconds of the query that finds the due records, by itself."""
    with application(url):
        session = db.session()
        [pair] = list(firing.agents_with_pending(session))
        seconds = sorted(timed(lambda: firing._pick(session, pair, NOW, FOUND)) for _ in range(ROUNDS))
        rollback(session)
        return seconds[ROUNDS // 2]
