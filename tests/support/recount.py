"""Recounts, in SQL of its own, that each change of state has left exactly one audit event."""

import json
from collections import defaultdict
from itertools import pairwise
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.orm import Session

EVENTS = """
    SELECT tenant_id, resource_type, resource_id, detail FROM audit_event
    WHERE resource_type IN ('followup', 'contact') AND result = 'success'
    AND (:tenant_id = 0 OR tenant_id = :tenant_id) ORDER BY id
"""
STATES = {
    "followup": "SELECT tenant_id, id, status FROM follow_up WHERE :tenant_id = 0 OR tenant_id = :tenant_id",
    "contact": "SELECT tenant_id, id, state FROM contact WHERE :tenant_id = 0 OR tenant_id = :tenant_id",
}


def assert_audit_matches(session: Session, tenant_id: int = 0) -> None:
    """Each row's events lead, one by one, from nothing to the state it has now; of one tenant or of all."""
    of = {"tenant_id": tenant_id}
    chains: dict[tuple[str, int, str], list[tuple[Any, Any]]] = defaultdict(list)
    for owner, kind, id, detail in session.execute(text(EVENTS), of):
        told = json.loads(detail) if isinstance(detail, str) else detail
        if "to" in told:
            chains[kind, owner, str(UUID(id))].append((told["from"], told["to"]))
    for kind, query in STATES.items():
        for owner, id, state in session.execute(text(query), of):
            chain = chains[kind, owner, str(UUID(str(id)))]
            assert chain, f"{kind} {id} is {state} without an event"
            assert chain[0][0] is None, f"{kind} {id} begins with {chain[0]}"
            assert all(before[1] == after[0] and after[0] != after[1] for before, after in pairwise(chain)), (
                f"{kind} {id} has a broken chain: {chain}"
            )
            assert chain[-1][1] == state, f"{kind} {id} is {state}, but its events end at {chain[-1]}"


EXECUTION_EVENTS = """
    SELECT tenant_id, resource_id, detail FROM audit_event
    WHERE resource_type = 'execution' AND result = 'success'
    AND (:tenant_id = 0 OR tenant_id = :tenant_id) ORDER BY id
"""
EXECUTIONS = "SELECT id, status FROM execution WHERE :tenant_id = 0 OR tenant_id = :tenant_id"
# A worker takes one and lets it go again without an event, so that the two count as one state here.
ARMED = {"pending": "armed", "processing": "armed"}


def assert_executions_match(session: Session, tenant_id: int = 0) -> None:
    """Each execution's events lead from nothing to the state it has now; one that was freed has none."""
    chains: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    of = {"tenant_id": tenant_id}
    for _tenant, id, detail in session.execute(text(EXECUTION_EVENTS), of):
        told = json.loads(detail) if isinstance(detail, str) else detail
        if "to" in told:
            chains[str(UUID(id))].append(tuple(ARMED.get(told[end], told[end]) for end in ("from", "to")))
    for id, status in session.execute(text(EXECUTIONS), of):
        chain = chains[str(UUID(str(id)))]
        state = ARMED.get(status, status)
        assert chain and chain[0][0] is None, f"execution {id} is {state} and begins with {chain[:1]}"
        assert all(before[1] == after[0] for before, after in pairwise(chain)), f"{id}: {chain}"
        assert chain[-1][1] == state, f"execution {id} is {state}, but its events end at {chain[-1]}"


UNPAIRED = """
    SELECT f.id, count(t.id) FROM follow_up f LEFT JOIN agent_task t
    ON t.tenant_id = f.tenant_id AND t.followup_id = f.id AND t.id = f.task_id
    WHERE f.status = 'fired' AND (:tenant_id = 0 OR f.tenant_id = :tenant_id)
    GROUP BY f.tenant_id, f.id HAVING count(t.id) <> 1
"""
ALONE = """
    SELECT t.id FROM agent_task t LEFT JOIN follow_up f
    ON t.tenant_id = f.tenant_id AND t.followup_id = f.id AND t.id = f.task_id AND f.status = 'fired'
    WHERE f.id IS NULL AND t.status <> 'cancelled' AND (:tenant_id = 0 OR t.tenant_id = :tenant_id)
"""
DOUBLE = """
    SELECT followup_id FROM agent_task WHERE :tenant_id = 0 OR tenant_id = :tenant_id
    GROUP BY tenant_id, followup_id HAVING count(*) > 1
"""
UNTOLD = """
    SELECT f.id FROM follow_up f WHERE f.status = 'fired' AND (:tenant_id = 0 OR f.tenant_id = :tenant_id)
    AND 1 <> (SELECT count(*) FROM outbox_event o WHERE o.tenant_id = f.tenant_id
        AND o.event_type = 'followup.fired' AND o.aggregate_type = 'followup'
        AND replace(o.aggregate_id, '-', '') = replace(CAST(f.id AS VARCHAR(36)), '-', ''))
"""


def assert_each_fired_has_one_task(session: Session, tenant_id: int = 0) -> None:
    """A fired follow-up has one task and told the outbox once; no task stands alone but a cancelled one."""
    for query in (UNPAIRED, ALONE, DOUBLE, UNTOLD):
        assert session.execute(text(query), {"tenant_id": tenant_id}).all() == [], query
