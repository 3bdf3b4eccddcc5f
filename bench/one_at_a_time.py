"""The other yardstick: one record a transaction, each with its own queries, as a plain job per row works."""

import json
from datetime import datetime, timedelta
from uuid import uuid4

import psycopg

PICK = """
SELECT id, agent, customer, session_id, reason, arm, transport FROM follow_up
WHERE tenant_id = 2 AND agent = 'store-support' AND status = 'pending' AND due_at <= %s
ORDER BY due_at, at, id LIMIT 1
"""
LOCK_CONTACT = "SELECT id, state FROM contact WHERE tenant_id = 2 AND customer = %s FOR UPDATE"
LOCK_RECORD = "SELECT status FROM follow_up WHERE tenant_id = 2 AND id = %s FOR UPDATE"
COUNT = """
SELECT count(*) FROM follow_up
WHERE tenant_id = 2 AND customer = %s AND status = 'fired' AND fired_at >= %s
"""
TASK = """
INSERT INTO agent_task (id, tenant_id, followup_id, agent, customer, session_id, command, status, created_at,
                        updated_at, version)
VALUES (%s, 2, %s, %s, %s, %s, %s, 'queued', %s, %s, 1)
"""
FIRE = """
UPDATE follow_up SET status = 'fired', fired_at = %s, updated_at = %s, version = version + 1, task_id = %s
WHERE tenant_id = 2 AND id = %s
"""
BUMP = """
UPDATE contact SET sends_without_reply = sends_without_reply + 1, last_outbound_at = %s, updated_at = %s,
       version = version + 1
WHERE id = %s
"""
AUDIT = """
INSERT INTO audit_event (tenant_id, at, actor_type, actor_id, actor_label, action, resource_type, resource_id,
                         result, detail)
VALUES (2, %s, 'system', 'fire_followups', 'fire_followups', 'followup.fired', 'followup', %s, 'success', %s)
"""
TELL = """
INSERT INTO outbox_event (tenant_id, aggregate_type, aggregate_id, event_type, payload, created_at)
VALUES (2, %s, %s, %s, %s, %s)
"""


def fire(connection: psycopg.Connection, *, prompt: tuple[str, str], now: datetime, records: int) -> int:
    """Fire `records` due records, one transaction each; how many were fired."""
    for fired in range(records):
        if not _fire_one(connection, prompt, now):
            return fired
    return records


def _fire_one(connection: psycopg.Connection, prompt: tuple[str, str], now: datetime) -> bool:
    with connection.transaction():
        row = connection.execute(PICK, (now,)).fetchone()
        if row is None:
            return False
        id, agent, customer, session_id, reason, arm, transport = row
        contact = connection.execute(LOCK_CONTACT, (customer,)).fetchone()
        connection.execute(LOCK_RECORD, (id,))
        used = connection.execute(COUNT, (customer, now - timedelta(hours=24))).fetchone()
        if contact is None or contact[1] != "granted" or used is None or used[0] >= 2:
            return False
        task_id = uuid4()
        command = {
            "name": "scheduled_followup",
            "session_id": session_id,
            "agent": agent,
            "customer": customer,
            "message": f"{prompt[0]}{reason}{prompt[1]}",
            "origin": "scheduled",
            "transport": transport,
        }
        detail = {"agent": agent, "arm": arm, "task_id": str(task_id)}
        payload = json.dumps({"followup_id": str(id), **detail})
        audit = json.dumps({"from": "pending", "to": "fired", **detail})
        connection.execute(TASK, (task_id, id, agent, customer, session_id, json.dumps(command), now, now))
        connection.execute(FIRE, (now, now, task_id, id))
        connection.execute(BUMP, (now, now, contact[0]))
        connection.execute(AUDIT, (now, str(id), audit))
        connection.execute(TELL, ("followup", str(id), "followup.fired", payload, now))
        connection.execute(TELL, ("task", str(task_id), "task.created", payload, now))
    return True
