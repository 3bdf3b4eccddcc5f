"""Firing 20,000 due among 1,000,000: against the leanest SQL by hand, and against one record at a time."""

import psycopg

from bench import lean_sql, one_at_a_time
from bench.support import NOW, Result, application, copy, timed
from models.base import db
from models.declarations import Declared
from models.followups.firing import fire_due
from models.followups.tasks import prompt
from tests.support import postgres

ROUNDS = 3
SINGLES = 2_000
POLICY = Declared(
    1, {"agents": {"store-support": {"followup": {"max_frequency": "2/24h", "silence_after_sends": 3}}}}
)
# What both ways wrote, without the ids that are drawn by chance.
SAME = {
    "follow_up": "SELECT md5(string_agg((to_jsonb(t) - 'task_id')::text, '|' ORDER BY id)) FROM follow_up t",
    "contact": "SELECT md5(string_agg((to_jsonb(t))::text, '|' ORDER BY id)) FROM contact t",
    "agent_task": (
        "SELECT md5(string_agg((to_jsonb(t) - 'id')::text, '|' ORDER BY followup_id)) FROM agent_task t"
    ),
    "audit_event": (
        "SELECT md5(string_agg((to_jsonb(t) - 'id' #- '{detail,task_id}')::text, '|' ORDER BY resource_id))"
        " FROM audit_event t"
    ),
    "outbox_event": (
        "SELECT md5(string_agg((to_jsonb(t) - 'id' - 'aggregate_id' #- '{payload,task_id}')::text, '|'"
        " ORDER BY payload->>'followup_id', event_type)) FROM outbox_event t"
    ),
}


def run(server: str, template: str, *, due: int) -> list[Result]:
    """Time all three ways on fresh copies of `template`, in turn; the best of three rounds of each."""
    before, after = prompt("\x00", NOW).split("\x00")
    lean, ours, single = [], [], []
    for _round in range(ROUNDS):
        lean_url, our_url = copy(server, template, "lean"), copy(server, template, "ours")
        with psycopg.connect(lean_url) as connection:
            lean.append(timed(lambda: lean_sql.fire(connection, prompt=(before, after), now=NOW)))
        with application(our_url):
            ours.append(timed(lambda: fire_due(db.session(), declared=POLICY, now=NOW, limit=2 * due)))
        compared = compare(lean_url, our_url)
        with psycopg.connect(copy(server, template, "single")) as connection:
            single.append(
                timed(
                    lambda: one_at_a_time.fire(connection, prompt=(before, after), now=NOW, records=SINGLES)
                )
            )
    per_row = {"lean": min(lean) / due, "ours": min(ours) / due, "single": min(single) / SINGLES}
    print(lean_sql.STATEMENT)
    rates = {f"{name} rows a second": round(1 / seconds) for name, seconds in per_row.items()}
    rounds = {"seconds, lean": lean, "seconds, ours": ours, "seconds, single": single}
    slower, faster = per_row["ours"] / per_row["lean"], per_row["single"] / per_row["ours"]
    return [
        Result(
            f"firing {due} due, per row",
            "the leanest SQL by hand (times slower)",
            slower,
            "at most 2.0",
            slower <= 2.0,
            {**rates, **rounds, "tables compared, all the same": compared},
        ),
        Result(
            "firing, per row",
            f"one record a transaction, over {SINGLES} (times faster)",
            faster,
            "at least 15",
            faster >= 15,
        ),
    ]


def compare(lean_url: str, our_url: str) -> str:
    """Raise `AssertionError` unless both ways left the same rows; names the tables that were compared."""
    for table, query in SAME.items():
        digests = []
        for url in (lean_url, our_url):
            with psycopg.connect(url) as connection:
                digests.append(connection.execute(query).fetchone())
        assert digests[0] == digests[1], f"{table} differs"
    return ", ".join(SAME)


def drop_copies(server: str) -> None:
    postgres.execute(server, *(f"DROP DATABASE IF EXISTS {name}" for name in ("lean", "ours", "single")))
