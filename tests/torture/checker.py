"""The checker: compares the database with the answers, the sink's log and itself, by SQL of its own."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.torture.evidence import Answer, Evidence, Seen
from tests.torture.sink import ALL
from tests.torture.statements import STATEMENTS

Connection = psycopg.Connection[Any]
Check = Callable[[Connection, Evidence], Iterator[str]]

SHOWN = 5
# What each kind of call may answer, beside nothing at all (0) and 503 while PostgreSQL is away.
EXPECTED = {
    "book": {200, 201, 409},
    "reschedule": {200, 409, 422},
    "cancel": {200, 409},
    "rearm": {201, 409},
    "revoke": {200},
    "read": {200},
    "list": {200},
    "message": {200, 201},
    "import": {200},
    "claim": {200, 409},
    "done": {200, 409},
    "failed": {200, 409},
    "outcome": {200, 201},
}


def check(connection: Connection, evidence: Evidence) -> list[str]:
    """What is wrong, a line each; empty where nothing is."""
    found = [
        f"{what}: {rows}"
        for what, query in STATEMENTS.items()
        if (rows := _shown(connection, query)) is not None
    ]
    for look in CHECKS:
        found += look(connection, evidence)
    return found


def _shown(connection: Connection, query: str) -> str | None:
    rows = connection.execute(query).fetchall()
    if not rows:
        return None
    listed = "; ".join(", ".join(map(str, row)) for row in rows[:SHOWN])
    return f"{len(rows)} found, such as {listed}"


def answers_are_expected(_connection: Connection, evidence: Evidence) -> Iterator[str]:
    """No fault of ours, and 503 only while PostgreSQL was away."""
    for answer in evidence.answers:
        away = any(outage.covers(answer) for outage in evidence.outages)
        allowed = EXPECTED[answer.kind] | {0} | ({503} if away else set())
        if answer.status not in allowed:
            yield f"{answer.kind} answered {answer.status}: {answer.document} to {answer.facts}"


def promises_exist(connection: Connection, evidence: Evidence) -> Iterator[str]:
    """Whatever was answered with success is there."""
    booked = {str(row["id"]): row for row in _rows(connection, "SELECT * FROM follow_up")}
    for answer in evidence.of("book", "rearm"):
        if answer.done:
            row = booked.get(answer.document["id"])
            asked = {
                name: answer.facts[name] for name in ("agent", "customer", "reason") if name in answer.facts
            }
            if row is None or any(row[name] != value for name, value in asked.items()):
                yield f"a promise was lost: {answer.kind} answered {answer.document['id']}"
    for answer in evidence.of("import"):
        refused = answer.document["refused"] if answer.done else []
        missing = set(answer.facts["ids"]) - booked.keys() if answer.done else set()
        if refused or missing:
            yield f"a promise was lost: imported and missing {sorted(missing)[:SHOWN]}, refused {refused}"
    for kind, query in (
        ("message", "SELECT external_id FROM message"),
        ("outcome", "SELECT id FROM outcome"),
    ):
        stored = {row[0] for row in connection.execute(query)}
        for answer in evidence.of(kind):
            if answer.done and answer.facts["id"] not in stored:
                yield f"a promise was lost: the {kind} {answer.facts['id']} was taken and is not there"


def acts_took_effect(connection: Connection, evidence: Evidence) -> Iterator[str]:
    """What was answered about a state agrees with the state, which nothing leaves."""
    states = dict(connection.execute("SELECT id::text, status FROM follow_up").fetchall())
    tasks = dict(connection.execute("SELECT id::text, status FROM agent_task").fetchall())
    for answer in evidence.of("cancel", "done", "failed"):
        if answer.done:
            of, wanted = (states, "cancelled") if answer.kind == "cancel" else (tasks, answer.kind)
            if of.get(answer.facts["id"]) != wanted:
                yield f"{answer.kind} was answered, but {answer.facts['id']} is {of.get(answer.facts['id'])}"


def reschedulings_are_audited(connection: Connection, evidence: Evidence) -> Iterator[str]:
    """Each version that was answered is an event."""
    moved = dict(
        connection.execute(
            "SELECT resource_id, count(*) FROM audit_event WHERE action = 'followup.rescheduled'"
            " AND result = 'success' GROUP BY 1"
        ).fetchall()
    )
    versions: dict[str, set[int]] = defaultdict(set)
    for answer in evidence.of("reschedule"):
        if answer.done:
            versions[answer.facts["id"]].add(answer.document["version"])
    for id, seen in versions.items():
        if len(seen) > moved.get(id, 0):
            yield f"{id} was rescheduled {len(seen)} times, and the audit has {moved.get(id, 0)}"


def repeats_answer_the_first(_connection: Connection, evidence: Evidence) -> Iterator[str]:
    """One key, or one id, is one thing."""
    # The id of a re-arming is the record's that was re-armed: it may come again once the new one has ended.
    for name, kinds in (("key", ("book", "rearm", "reschedule")), ("id", ("book", "reschedule"))):
        firsts: dict[tuple[str, str], set[str]] = defaultdict(set)
        for answer in evidence.of(*kinds):
            given = answer.facts.get(name)
            if answer.done and given is not None:
                firsts[answer.kind, given].add(answer.document["id"])
        for (kind, given), ids in firsts.items():
            if len(ids) > 1:
                yield f"{kind} with one {name} {given} gave {sorted(ids)}"
    once = Counter((a.kind, a.facts["key"]) for a in evidence.answers if _is_first(a))
    for (kind, key), times in once.items():
        if times > 1:
            yield f"{kind} with the key {key} had its effect {times} times"


def _is_first(answer: Answer) -> bool:
    """Whether it is the answer of an effect, not one given again."""
    return answer.done and answer.facts.get("key") is not None and not answer.replayed


def claims_are_answered_once(_connection: Connection, evidence: Evidence) -> Iterator[str]:
    for id, times in Counter(a.facts["id"] for a in evidence.of("claim") if a.done).items():
        if times > 1:
            yield f"the task {id} was given to {times} claimants"


def refusals_are_audited(connection: Connection, evidence: Evidence) -> Iterator[str]:
    """Each 409 of an operator's act left an event."""
    kept = Counter(
        dict(
            connection.execute(
                "SELECT resource_id, count(*) FROM audit_event WHERE result = 'refused' GROUP BY 1"
            ).fetchall()
        )
    )
    told = Counter(
        answer.facts["id"]
        for answer in evidence.of("cancel", "reschedule", "rearm", "claim")
        if answer.status == 409
    )
    for id, times in told.items():
        if kept[id] < times:
            yield f"{times} refusals about {id} were answered, and the audit has {kept[id]}"


def webhooks_tell_each_event_once(connection: Connection, evidence: Evidence) -> Iterator[str]:
    """One id an event, one body, signed, and of an event that is there."""
    events = {row[0] for row in connection.execute("SELECT id FROM outbox_event")}
    for seen in evidence.received:
        if not seen.verified:
            yield f"a webhook was not signed by its secret: {seen.webhook_id} to {seen.path}"
        if seen.event_id not in events:
            yield f"a webhook tells of an event that is not there: {seen.event_id}"
    for (path, event), requests in _sent(evidence).items():
        if len({seen.webhook_id for seen in requests}) > 1 or len({seen.body for seen in requests}) > 1:
            yield f"the event {event} went to {path} under two ids, or with two bodies"
    to_all = [seen for seen in evidence.received if seen.path == ALL]
    if len({seen.webhook_id for seen in to_all}) != len({seen.event_id for seen in to_all}):
        yield "one webhook-id stands for two events"


def deliveries_agree_with_what_arrived(connection: Connection, evidence: Evidence) -> Iterator[str]:
    """Delivered is what was accepted, and no more was sent than counted."""
    sent = _sent(evidence)
    query = "SELECT d.*, e.url FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id"
    for row in _rows(connection, query):
        requests = sent.get((f"/{row['url'].rpartition('/')[2]}", row["event_id"]), [])
        if row["state"] == "delivered" and not any(seen.accepted for seen in requests):
            yield f"the delivery {row['id']} counts as delivered, and nobody accepted it"
        if len(requests) > row["attempts"]:
            yield f"the delivery {row['id']} was sent {len(requests)} times in {row['attempts']} attempts"


def _sent(evidence: Evidence) -> dict[tuple[str, int], list[Seen]]:
    """The requests by path and event."""
    sent: dict[tuple[str, int], list[Seen]] = defaultdict(list)
    for seen in evidence.received:
        sent[seen.path, seen.event_id].append(seen)
    return sent


def audit_chain_is_whole(connection: Connection, evidence: Evidence) -> Iterator[str]:
    """The digests, computed here from the rows: SHA-256 over the seal before and each row's JSON."""
    digest, last = "0" * 64, 0
    for seal in _rows(connection, "SELECT * FROM audit_seal ORDER BY id"):
        state = hashlib.sha256(digest.encode())
        query = "SELECT * FROM audit_event WHERE position BETWEEN %s AND %s ORDER BY position"
        rows = _rows(connection, query, (seal["first_position"], seal["last_position"]))
        for row in rows:
            row["at"] = (
                row["at"].astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
            )
            state.update(b"\n" + json.dumps(row, sort_keys=True, separators=(",", ":")).encode())
        if (
            state.hexdigest() != seal["digest"]
            or seal["first_position"] != last + 1
            or len(rows) != seal["count"]
        ):
            yield f"the audit chain is broken from position {seal['first_position']} on"
            return
        digest, last = seal["digest"], seal["last_position"]
    if evidence.verify_fault:
        yield f"the audit chain does not verify: {evidence.verify_fault}"


def everything_came_to_rest(_connection: Connection, evidence: Evidence) -> Iterator[str]:
    yield from evidence.unsettled
    yield from evidence.deaths


def _rows(connection: Connection, query: str, given: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, given).fetchall()


CHECKS: tuple[Check, ...] = (
    answers_are_expected,
    promises_exist,
    acts_took_effect,
    reschedulings_are_audited,
    repeats_answer_the_first,
    claims_are_answered_once,
    refusals_are_audited,
    webhooks_tell_each_event_once,
    deliveries_agree_with_what_arrived,
    audit_chain_is_whole,
    everything_came_to_rest,
)
