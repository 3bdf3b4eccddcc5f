"""The checker's own SQL: each statement finds what must not be, and names it; none asks our models."""

from tests.torture.world import FIRES, SILENCE, WINDOW_S

# Each change of state as the audit tells it, in the order in which the contact's lock let them happen: the
# ids of audit events are given while it is held.
MOVES = """
    moves AS (
        SELECT id, tenant_id, resource_type AS kind, resource_id::uuid AS row_id, action, at,
            detail->>'from' AS f, detail->>'to' AS t,
            lag(detail->>'to') OVER w AS before, lead(id) OVER w IS NULL AS is_last, count(*) OVER (
                PARTITION BY tenant_id, resource_type, resource_id) AS total
        FROM audit_event
        WHERE result = 'success' AND detail ? 'to' AND resource_type IN ('followup', 'contact')
        WINDOW w AS (PARTITION BY tenant_id, resource_type, resource_id ORDER BY id)
    )
"""
# Each follow-up's end, with what the contact's state was then and how often the customer had been fired at.
ENDS = f"""
    WITH {MOVES}, ends AS (
        SELECT m.id AS event_id, m.at AS judged_at, r.*, (
            SELECT c.detail->>'to' FROM contact k JOIN audit_event c ON c.tenant_id = k.tenant_id
            AND c.resource_type = 'contact' AND c.resource_id = k.id::text AND c.result = 'success'
            WHERE k.tenant_id = r.tenant_id AND k.customer = r.customer AND c.id < m.id
            ORDER BY c.id DESC LIMIT 1
        ) AS contact_was
        FROM moves m JOIN follow_up r ON r.tenant_id = m.tenant_id AND r.id = m.row_id
        WHERE m.kind = 'followup' AND m.t IN ('fired', 'blocked')
    )
"""

STATEMENTS: dict[str, str] = {
    "a follow-up has two tasks": """
        SELECT followup_id, count(*) FROM agent_task GROUP BY tenant_id, followup_id HAVING count(*) > 1
    """,
    "a fired follow-up has no task": """
        SELECT r.id FROM follow_up r LEFT JOIN agent_task t ON t.id = r.task_id AND t.followup_id = r.id
        WHERE r.status = 'fired' AND (t.id IS NULL OR r.fired_at IS NULL)
    """,
    "a task belongs to a follow-up that did not fire": """
        SELECT t.id FROM agent_task t LEFT JOIN follow_up r ON r.task_id = t.id AND r.status = 'fired'
        WHERE r.id IS NULL
    """,
    "a task was taken twice": """
        SELECT task_id, count(*) FROM task_event WHERE to_status = 'dispatched'
        GROUP BY task_id HAVING count(*) > 1
    """,
    "a task's history does not lead to its state": """
        WITH history AS (
            SELECT task_id, from_status, to_status, lead(id) OVER w IS NULL AS is_last,
                coalesce(lag(to_status) OVER w, 'queued') AS before
            FROM task_event WINDOW w AS (PARTITION BY task_id ORDER BY id)
        )
        SELECT t.id, t.status FROM agent_task t LEFT JOIN history h ON h.task_id = t.id AND h.is_last
        WHERE coalesce(h.to_status, 'queued') <> t.status
        UNION ALL SELECT task_id, to_status FROM history WHERE from_status <> before
    """,
    "a state has no audit event, or the events do not lead to it": f"""
        WITH {MOVES}, states AS (
            SELECT tenant_id, 'followup' AS kind, id, status AS state FROM follow_up
            UNION ALL SELECT tenant_id, 'contact', id, state FROM contact
        )
        SELECT s.kind, s.id, s.state, m.t FROM states s LEFT JOIN moves m
        ON m.tenant_id = s.tenant_id AND m.kind = s.kind AND m.row_id = s.id AND m.is_last
        WHERE m.t IS DISTINCT FROM s.state
    """,
    "an audit event does not follow from the one before": f"""
        WITH {MOVES} SELECT kind, row_id, before, f, t FROM moves
        WHERE f IS DISTINCT FROM before OR f IS NOT DISTINCT FROM t
    """,
    "a follow-up has more audit events than changes of state": f"""
        WITH {MOVES} SELECT r.id, r.status, m.total FROM follow_up r
        JOIN moves m ON m.kind = 'followup' AND m.row_id = r.id AND m.tenant_id = r.tenant_id AND m.is_last
        WHERE m.total <> CASE r.status WHEN 'pending' THEN 1 ELSE 2 END
    """,
    "the audit tells of a row that is not there": f"""
        WITH {MOVES} SELECT kind, row_id FROM moves WHERE is_last AND row_id NOT IN (
            SELECT id FROM follow_up UNION ALL SELECT id FROM contact)
    """,
    "the outbox tells a change not at all, or twice": """
        WITH told AS (
            SELECT aggregate_id, event_type, count(*) AS times FROM outbox_event GROUP BY 1, 2
        ), expected AS (
            SELECT id::text AS id, 'followup.scheduled' AS type FROM follow_up
            UNION ALL SELECT id::text, 'followup.' || status FROM follow_up WHERE status <> 'pending'
            UNION ALL SELECT id::text, 'task.created' FROM agent_task
        )
        SELECT coalesce(e.id, t.aggregate_id), coalesce(e.type, t.event_type), t.times
        FROM expected e FULL JOIN told t ON t.aggregate_id = e.id AND t.event_type = e.type
        WHERE (t.times IS DISTINCT FROM 1 OR e.id IS NULL)
        AND coalesce(e.type, t.event_type) NOT IN ('contact.revoked', 'attention.needed')
    """,
    "an opt-out was not told once": """
        SELECT coalesce(a.resource_id, o.aggregate_id), a.times, o.times FROM (
            SELECT resource_id, count(*) AS times FROM audit_event
            WHERE action = 'contact.revoked' AND result = 'success' GROUP BY 1
        ) a FULL JOIN (
            SELECT aggregate_id, count(*) AS times FROM outbox_event
            WHERE event_type = 'contact.revoked' GROUP BY 1
        ) o ON o.aggregate_id = a.resource_id WHERE a.times IS DISTINCT FROM o.times
    """,
    "an event was not published": "SELECT id, event_type FROM outbox_event WHERE position IS NULL",
    "the positions of the events have gaps": """
        SELECT count(*), max(position) FROM outbox_event HAVING count(*) <> max(position)
    """,
    "an event has no delivery to an endpoint that wants it, or two": """
        SELECT o.id, e.id, count(d.id) FROM outbox_event o
        JOIN webhook_endpoint e ON e.tenant_id = o.tenant_id
        AND (e.event_types ? '*' OR e.event_types ? o.event_type)
        LEFT JOIN delivery d ON d.event_id = o.id AND d.endpoint_id = e.id
        GROUP BY o.id, e.id HAVING count(d.id) <> 1
    """,
    "a delivery did not come to an end, or is dead without a reason": """
        SELECT id, state, attempts FROM delivery
        WHERE state NOT IN ('delivered', 'dead') OR (state = 'dead' AND last_error IS NULL)
    """,
    "a delivery was made twice by its own history": """
        SELECT delivery_id, count(*) FROM delivery_event WHERE to_state = 'delivered'
        GROUP BY delivery_id HAVING count(*) > 1
    """,
    "a follow-up fired although its contact was not open": f"""
        {ENDS} SELECT id, customer, contact_was FROM ends
        WHERE status = 'fired' AND contact_was IS DISTINCT FROM 'granted'
    """,
    "a follow-up was blocked for a reason that did not hold": f"""
        {ENDS} SELECT e.id, e.blocked_reason, e.contact_was FROM ends e WHERE e.status = 'blocked' AND NOT (
            CASE e.blocked_reason
                WHEN 'consent' THEN e.contact_was IS NULL
                WHEN 'revoked' THEN e.contact_was = 'revoked'
                WHEN 'unavailable' THEN e.contact_was = 'unavailable' OR EXISTS (
                    SELECT 1 FROM contact k JOIN audit_event c ON c.tenant_id = k.tenant_id
                    AND c.resource_type = 'contact' AND c.resource_id = k.id::text
                    WHERE k.tenant_id = e.tenant_id AND k.customer = e.customer
                    AND c.action = 'contact.unavailable' AND c.at = e.judged_at)
                WHEN 'policy_invalid' THEN e.agent IN ('faulty', 'unknown')
                WHEN 'dedup' THEN EXISTS (
                    SELECT 1 FROM follow_up o WHERE o.tenant_id = e.tenant_id AND o.customer = e.customer
                    AND o.agent = e.agent AND o.reason = e.reason AND (o.at, o.id) < (e.at, e.id)
                    AND o.updated_at = e.judged_at AND o.status IN ('fired', 'blocked'))
                WHEN 'frequency' THEN (
                    SELECT count(*) FROM follow_up o WHERE o.tenant_id = e.tenant_id
                    AND o.customer = e.customer AND o.status = 'fired'
                    AND o.fired_at >= e.judged_at - interval '{WINDOW_S} s') >= {FIRES}
                ELSE false
            END)
    """,
    "a customer was fired at more often than the ceiling lets": f"""
        SELECT a.customer, a.fired_at, count(*) FROM follow_up a JOIN follow_up b
        ON b.tenant_id = a.tenant_id AND b.customer = a.customer AND b.status = 'fired'
        AND b.fired_at BETWEEN a.fired_at - interval '{WINDOW_S} s' AND a.fired_at
        WHERE a.status = 'fired' GROUP BY a.tenant_id, a.id, a.customer, a.fired_at HAVING count(*) > {FIRES}
    """,
    "a follow-up is due and nothing came of it": """
        SELECT id, agent, due_at, attempts FROM follow_up WHERE status = 'pending' AND due_at <= now()
    """,
    "a follow-up waits without a reason": """
        SELECT id, agent, at, deferred_until FROM follow_up WHERE status = 'pending'
        AND at <= now() AND NOT (agent = 'night' AND deferred_until > now())
    """,
    "a cancelled follow-up does not say by whom": """
        SELECT id FROM follow_up WHERE status = 'cancelled' AND cancelled_by IS NULL
    """,
    "one of a customer who opted out still waits": """
        SELECT r.id FROM follow_up r JOIN contact c USING (tenant_id, customer)
        WHERE c.state = 'revoked' AND r.status = 'pending' AND r.arm <> 'imported'
        UNION ALL SELECT t.id FROM agent_task t JOIN contact c USING (tenant_id, customer)
        WHERE c.state = 'revoked' AND t.status = 'queued'
    """,
    "a silent customer's counter is not the number of fires": """
        SELECT c.customer, c.sends_without_reply, count(r.id) FROM contact c LEFT JOIN follow_up r
        ON r.tenant_id = c.tenant_id AND r.customer = c.customer AND r.status = 'fired'
        WHERE NOT EXISTS (SELECT 1 FROM message m WHERE m.tenant_id = c.tenant_id AND m.customer = c.customer)
        GROUP BY c.id HAVING c.sends_without_reply <> count(r.id)
    """,
    # A message is stored under the time at which its call began, so that it may count for fires since.
    "a counter is not between the fires since the last message and all of them": """
        SELECT c.customer, c.sends_without_reply FROM contact c WHERE c.sends_without_reply NOT BETWEEN (
            SELECT count(*) FROM follow_up r WHERE r.tenant_id = c.tenant_id AND r.customer = c.customer
            AND r.fired_at > interval '60 s' + coalesce((
                SELECT max(m.stored_at) FROM message m
                WHERE m.tenant_id = c.tenant_id AND m.customer = c.customer), '-infinity')
        ) AND (
            SELECT count(*) FROM follow_up r WHERE r.tenant_id = c.tenant_id AND r.customer = c.customer
            AND r.status = 'fired')
    """,
    "a contact is open although it was silent for too long, or the other way round": f"""
        SELECT customer, state, sends_without_reply FROM contact
        WHERE (state = 'granted' AND sends_without_reply >= {SILENCE})
        OR (state = 'unavailable' AND sends_without_reply < {SILENCE}) OR sends_without_reply > {SILENCE}
    """,
    "a contact's last fire is not one of its follow-ups": """
        SELECT c.customer, c.last_outbound_at FROM contact c WHERE c.last_outbound_at IS DISTINCT FROM (
            SELECT r.fired_at FROM audit_event a JOIN follow_up r ON r.id = a.resource_id::uuid
            WHERE a.action = 'followup.fired' AND r.tenant_id = c.tenant_id AND r.customer = c.customer
            ORDER BY a.id DESC LIMIT 1)
    """,
    "a message with an opt-out did not act once": """
        SELECT m.customer, m.times, r.times FROM (
            SELECT customer, count(*) AS times FROM message
            WHERE direction = 'incoming' AND text ILIKE '%stop writing to me%' GROUP BY 1
        ) m FULL JOIN (
            SELECT customer, count(*) AS times FROM revoke_event WHERE source = 'keyword' GROUP BY 1
        ) r ON r.customer = m.customer WHERE m.times IS DISTINCT FROM r.times
    """,
    "an answer was kept without its content": "SELECT call FROM kept_answer WHERE status = 0",
    "a slot of the schedule ran twice": """
        SELECT slot_id, count(*) FROM sweep_run WHERE slot_id IS NOT NULL GROUP BY 1 HAVING count(*) > 1
    """,
}
