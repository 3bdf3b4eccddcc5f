"""Recounts, in SQL of its own, that each change of state has left exactly one audit event."""

import json
from collections import defaultdict
from itertools import pairwise
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.orm import Session

EVENTS = """
    SELECT tenant_id, resource_type, resource_id, action, detail FROM audit_event
    WHERE resource_type IN ('followup', 'contact') AND result = 'success' ORDER BY id
"""
STATES = {
    "followup": "SELECT tenant_id, id, status FROM follow_up",
    "contact": "SELECT tenant_id, id, state FROM contact",
}


def assert_audit_matches(session: Session) -> None:
    """Each row's events lead, one by one, from nothing to the state it has now."""
    chains: dict[tuple[str, int, str], list[tuple[Any, Any]]] = defaultdict(list)
    for tenant_id, kind, id, _action, detail in session.execute(text(EVENTS)):
        told = json.loads(detail) if isinstance(detail, str) else detail
        if "to" in told:
            chains[kind, tenant_id, str(UUID(id))].append((told["from"], told["to"]))
    for kind, query in STATES.items():
        for tenant_id, id, state in session.execute(text(query)):
            chain = chains[kind, tenant_id, str(UUID(str(id)))]
            assert chain, f"{kind} {id} is {state} without an event"
            assert chain[0][0] is None, f"{kind} {id} begins with {chain[0]}"
            assert all(
                before[1] == after[0] and after[0] != after[1]
                for before, after in pairwise(chain)
            ), f"{kind} {id} has a broken chain: {chain}"
            assert chain[-1][1] == state, f"{kind} {id} is {state}, but its events end at {chain[-1]}"


def assert_each_fired_has_one_task(session: Session) -> None:
    """A fired follow-up and its task name each other, and no task stands alone but a cancelled one."""
    pairs = """
        SELECT f.id, count(t.id) FROM follow_up f LEFT JOIN agent_task t
        ON t.tenant_id = f.tenant_id AND t.followup_id = f.id AND t.id = f.task_id
        WHERE f.status = 'fired' GROUP BY f.tenant_id, f.id HAVING count(t.id) <> 1
    """
    assert session.execute(text(pairs)).all() == []
    alone = """
        SELECT t.id FROM agent_task t LEFT JOIN follow_up f
        ON t.tenant_id = f.tenant_id AND t.followup_id = f.id AND t.id = f.task_id AND f.status = 'fired'
        WHERE f.id IS NULL AND t.status <> 'cancelled'
    """
    assert session.execute(text(alone)).all() == []
    double = "SELECT followup_id FROM agent_task GROUP BY tenant_id, followup_id HAVING count(*) > 1"
    assert session.execute(text(double)).all() == []
