"""What a run did, for people to read."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.torture.run import Run

TABLES = {
    "follow-ups": """
        SELECT coalesce(status || ' ' || blocked_reason, status), count(*) FROM follow_up GROUP BY 1
    """,
    "contacts": "SELECT state, count(*) FROM contact GROUP BY 1",
    "tasks": "SELECT status, count(*) FROM agent_task GROUP BY 1",
    "messages": "SELECT direction, count(*) FROM message GROUP BY 1",
    "outcomes": "SELECT kind, count(*) FROM outcome GROUP BY 1",
    "audit events": "SELECT result, count(*) FROM audit_event GROUP BY 1",
    "audit seals": "SELECT 'ranges', count(*) FROM audit_seal",
    "outbox events": "SELECT event_type, count(*) FROM outbox_event GROUP BY 1",
    "deliveries": "SELECT state, count(*) FROM delivery GROUP BY 1",
    "attempts lost with their process": """
        SELECT 'taken again', count(*) FROM delivery_event WHERE error LIKE 'The process that sent%'
    """,
    "sweep runs": "SELECT name || ' ' || status, count(*) FROM sweep_run GROUP BY 1",
    "records that failed alone": "SELECT 'attempts', coalesce(sum(attempts), 0) FROM follow_up",
}


def lines(run: Run, found: list[str]) -> Iterator[str]:
    """The report, line by line; `found` is what the checker found."""
    evidence = run.world.evidence
    rested = f"at rest after {run.settled_in:.0f} s more"
    yield f"torture, seed {run.seed}: {run.seconds:.0f} s under load, {rested}"
    yield f"faults: {_listed(run.chaos.done)}"
    starts = Counter({role.name: 0 for role in run.world.roles})
    for role in run.world.roles:
        starts[role.name] += role.starts
    yield f"starts: {_listed(starts)}"
    statuses: dict[str, Counter[str]] = defaultdict(Counter)
    for answer in evidence.answers:
        statuses[answer.kind][str(answer.status) if answer.status else "no answer"] += 1
    yield f"requests: {len(evidence.answers)}"
    for kind, counts in sorted(statuses.items()):
        yield f"  {kind}: {_listed(counts)}"
    with run.world.connect() as connection:
        for name, query in TABLES.items():
            counts = Counter(dict(connection.execute(query).fetchall()))
            yield f"{name}: {counts.total()} ({_listed(counts)})"
    accepted = sum(seen.accepted for seen in evidence.received)
    yield f"webhooks: {len(evidence.received)} received, {accepted} accepted"
    yield from (f"FOUND {line}" for line in found)
    yield (
        f"{len(found)} found. A failing seed becomes a test: "
        f"python -m tests.torture --seed {run.seed} --seconds {run.seconds:.0f}"
        if found
        else "nothing found: no effect twice, no promise lost, one audit event a change, the chain whole"
    )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
