"""A short torture finds nothing, and the checker finds each thing that is broken behind its back."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from tests.torture.checker import Connection, check
from tests.torture.evidence import LOST, Answer, Evidence
from tests.torture.report import lines
from tests.torture.run import Run, torture

pytestmark = pytest.mark.slow

SEED = 7
SECONDS = 25
ONE_FIRED = "(SELECT id FROM follow_up WHERE status = 'fired' ORDER BY id LIMIT 1)"
# What is done to the database, and what the checker must say of it.
BROKEN = {
    "a follow-up has two tasks": """
        INSERT INTO agent_task SELECT gen_random_uuid(), tenant_id, followup_id, agent, customer, session_id,
        command, status, created_at, updated_at, version FROM agent_task LIMIT 1
    """,
    "a fired follow-up has no task": f"DELETE FROM agent_task WHERE followup_id = {ONE_FIRED}",
    "a task was taken twice": """
        INSERT INTO task_event (tenant_id, task_id, from_status, to_status, actor, at)
        SELECT tenant_id, task_id, from_status, to_status, actor, at FROM task_event
        WHERE to_status = 'dispatched' LIMIT 1
    """,
    "a state has no audit event": f"""
        DELETE FROM audit_event WHERE action = 'followup.fired' AND resource_id = {ONE_FIRED}::text
    """,
    "a follow-up has more audit events": """
        INSERT INTO audit_event (tenant_id, at, actor_type, actor_id, actor_label, action, resource_type,
            resource_id, result, detail)
        SELECT tenant_id, at, actor_type, actor_id, actor_label, action, resource_type, resource_id, result,
            detail FROM audit_event WHERE action = 'followup.fired' LIMIT 1
    """,
    "the audit chain is broken": "UPDATE audit_event SET actor_label = 'somebody' WHERE position = 3",
    "a promise was lost": "DELETE FROM follow_up",
    "a follow-up is due and nothing came of it": f"""
        UPDATE follow_up SET status = 'pending', at = now() - interval '1 h' WHERE id = {ONE_FIRED}
    """,
    "a customer was fired at more often": """
        UPDATE follow_up SET customer = 'c-0', fired_at = now()
        WHERE id IN (SELECT id FROM follow_up WHERE status = 'fired' LIMIT 3)
    """,
    "a silent customer's counter": """
        UPDATE contact SET sends_without_reply = sends_without_reply + 1 WHERE customer LIKE 's-%'
    """,
    "a follow-up fired although": """
        UPDATE audit_event SET detail = jsonb_set(detail, '{to}', '"revoked"')
        WHERE action = 'contact.granted'
    """,
    "a follow-up was blocked for a reason that did not hold": """
        UPDATE follow_up SET blocked_reason = 'holdout' WHERE status = 'blocked'
    """,
    "the outbox tells a change not at all": "DELETE FROM outbox_event WHERE event_type = 'task.created'",
    "an event has no delivery": "DELETE FROM delivery WHERE id = (SELECT min(id) FROM delivery)",
    "counts as delivered, and nobody accepted it": "UPDATE delivery SET event_id = -event_id",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder: Path = tmp_path_factory.mktemp("torture")
    with torture(folder, seed=SEED, seconds=SECONDS) as found:
        yield found


@pytest.fixture
def connection(run: Run) -> Iterator[Connection]:
    """Without triggers and foreign keys, and rolled back."""
    with psycopg.connect(run.world.database) as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection
        connection.rollback()


def test_checker_finds_nothing_when_all_was_killed_and_came_to_rest(run, connection):
    found = check(connection, run.world.evidence)
    assert found == [], "\n".join(lines(run, found))
    report = "\n".join(lines(run, found))
    assert f"seed {SEED}" in report
    assert run.chaos.done.total() >= len(run.chaos.done) >= 5
    assert "nothing found" in report


def test_checker_tells_it_when_the_database_is_broken(run, connection):
    # All in one test: those of a module may run in several processes, each with a torture of its own.
    untold = []
    for told, statement in BROKEN.items():
        with connection.transaction(force_rollback=True):
            changed = connection.execute(statement).rowcount
            found = check(connection, run.world.evidence)
        if not changed or not any(told in line for line in found):
            untold.append(told)
    assert untold == []


def answer(evidence: Evidence, kind: str) -> Answer:
    return next(one for one in evidence.of(kind) if one.done)


def test_checker_tells_it_when_answers_contradict_the_promises(run, connection):
    evidence = run.world.evidence
    booked, claimed = answer(evidence, "book"), answer(evidence, "claim")
    keyed = replace(booked, facts={**booked.facts, "key": "k"})
    other = replace(keyed, document={**booked.document, "id": "another"})
    failed = replace(booked, status=500)
    away = replace(booked, status=503, began=LOST, ended=LOST)
    given = [*evidence.answers, keyed, other, claimed, failed, away]
    found = "\n".join(check(connection, replace(evidence, answers=given)))
    for told in (
        "was given to 2 claimants",
        "book with one key k gave",
        "book with the key k had its effect 2 times",
        "a promise was lost: book answered another",
        "book answered 500",
        "book answered 503",
    ):
        assert told in found


def test_checker_tells_it_when_a_webhook_came_under_two_ids_or_too_often(run, connection):
    evidence = run.world.evidence
    seen = evidence.received[0]
    more = [replace(seen, webhook_id="evt_0"), replace(seen, verified=False), replace(seen, event_id=-1)]
    found = "\n".join(check(connection, replace(evidence, received=[*evidence.received, *more])))
    for told in (
        "under two ids",
        "not signed by its secret",
        "an event that is not there: -1",
        "attempts",
    ):
        assert told in found
