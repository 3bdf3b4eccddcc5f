"""The yardstick: the leanest set-based SQL by hand that makes the same rows as the sweep.

It knows one tenant, one agent and one policy (at most two fires in 24 hours, silence after three), and none
of the other gates: no more than the rows at hand need. One statement does 2,000 rows.
"""

from datetime import datetime, timedelta

import psycopg

CHUNK = 2_000

STATEMENT = """
WITH picked AS MATERIALIZED (
    SELECT id, customer FROM follow_up
    WHERE tenant_id = 2 AND agent = 'store-support' AND status = 'pending' AND due_at <= %(now)s
    ORDER BY due_at, at, id LIMIT %(chunk)s
), cell AS MATERIALIZED (
    SELECT id, customer FROM contact
    WHERE tenant_id = 2 AND customer = ANY (ARRAY (SELECT customer FROM picked)) AND state = 'granted'
    ORDER BY id FOR UPDATE SKIP LOCKED
), used AS MATERIALIZED (
    SELECT customer, count(*) AS fires FROM follow_up
    WHERE tenant_id = 2 AND customer = ANY (ARRAY (SELECT customer FROM cell)) AND status = 'fired'
      AND fired_at >= %(since)s
    GROUP BY customer
), verdict AS MATERIALIZED (
    SELECT p.id, gen_random_uuid() AS task_id
    FROM picked p JOIN cell USING (customer) LEFT JOIN used USING (customer)
    WHERE coalesce(fires, 0) < 2
), fired AS (
    UPDATE follow_up f SET status = 'fired', fired_at = %(now)s, updated_at = %(now)s, version = version + 1,
           task_id = v.task_id
    FROM verdict v
    WHERE f.tenant_id = 2 AND f.id = v.id AND f.status = 'pending'
      AND f.id = ANY (ARRAY (SELECT id FROM verdict))
    RETURNING f.id, f.task_id, f.agent, f.customer, f.session_id, f.reason, f.arm, f.transport
), task AS (
    INSERT INTO agent_task (id, tenant_id, followup_id, agent, customer, session_id, command, status,
                            created_at, updated_at, version)
    SELECT task_id, 2, id, agent, customer, session_id, jsonb_build_object(
               'name', 'scheduled_followup', 'session_id', session_id, 'agent', agent, 'customer', customer,
               'message', %(before)s || reason || %(after)s, 'origin', 'scheduled', 'transport', transport),
           'queued', %(now)s, %(now)s, 1
    FROM fired
), bumped AS (
    UPDATE contact c SET sends_without_reply = sends_without_reply + n, last_outbound_at = %(now)s,
           updated_at = %(now)s, version = version + 1
    FROM (SELECT customer, count(*) AS n FROM fired GROUP BY customer) f
    WHERE c.tenant_id = 2 AND c.customer = f.customer
), audited AS (
    INSERT INTO audit_event (tenant_id, at, actor_type, actor_id, actor_label, action, resource_type,
                             resource_id, result, detail)
    SELECT 2, %(now)s, 'system', 'fire_followups', 'fire_followups', 'followup.fired', 'followup',
           id::text, 'success', jsonb_build_object('from', 'pending', 'to', 'fired', 'agent', agent,
                                         'arm', arm, 'task_id', task_id)
    FROM fired
), told AS (
    INSERT INTO outbox_event (tenant_id, aggregate_type, aggregate_id, event_type, payload, created_at)
    SELECT 2, kind, CASE kind WHEN 'task' THEN task_id ELSE id END,
           CASE kind WHEN 'task' THEN 'task.created' ELSE 'followup.fired' END,
           jsonb_build_object('followup_id', id, 'agent', agent, 'arm', arm, 'task_id', task_id), %(now)s
    FROM fired, (VALUES ('followup'), ('task')) AS kinds (kind)
)
SELECT count(*) FROM fired
"""


def fire(connection: psycopg.Connection, *, prompt: tuple[str, str], now: datetime) -> int:
    """Fire all that is due, one transaction a chunk; how many. `prompt` is what stands round the reason."""
    values = {
        "now": now,
        "since": now - timedelta(hours=24),
        "chunk": CHUNK,
        "before": prompt[0],
        "after": prompt[1],
    }
    fired = 0
    while True:
        row = connection.execute(STATEMENT, values).fetchone()
        connection.commit()
        if row is None or row[0] == 0:
            return fired
        fired += row[0]
