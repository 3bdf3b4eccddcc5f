"""What the other queues run: a job for each execution, with the same writes in a transaction of its own.

It is leaner than ours: one statement, which judges nothing, tells of no start before it acts, and writes the
execution and its action once each.
"""

# Committed by itself, so that each job is one exchange with the database.
STATEMENT = """
WITH executed AS (
    UPDATE execution SET status = 'executed', run = 1, began_at = now(), updated_at = now(),
                         version = version + 2
    WHERE id = %(id)s AND status = 'pending'
    RETURNING id, tenant_id, rule_id, conversation_id
), labelled AS (
    UPDATE conversation c SET labels = c.labels || '["stale"]', updated_at = now()
    FROM executed e WHERE c.id = e.conversation_id
    RETURNING c.external_id
), acted AS (
    INSERT INTO action_run (tenant_id, execution_id, run, position, name, params, native, state,
                            idempotency_key, started_at, finished_at)
    SELECT tenant_id, id, 1, 0, 'add_label', '["stale"]', true, 'done', id || ':0', now(), now() FROM executed
), audited AS (
    INSERT INTO audit_event (tenant_id, at, actor_type, actor_id, actor_label, action, resource_type,
                             resource_id, purpose, result, detail)
    SELECT tenant_id, now(), 'system', 'run_executions', 'run_executions', action, 'execution', id::text,
           purpose, 'success', detail
    FROM executed, (VALUES
        ('execution.started', 'due', '{"from": "processing", "to": "executing", "run": 1}'::jsonb),
        ('execution.executed', 'done',
         '{"from": "executing", "to": "executed", "run": 1, "actions": {"0": "done"}}'::jsonb)
    ) AS told (action, purpose, detail)
)
INSERT INTO outbox_event (tenant_id, aggregate_type, aggregate_id, event_type, payload, created_at)
SELECT tenant_id, 'execution', id::text, 'execution.executed', jsonb_build_object(
           'id', id, 'rule_id', rule_id, 'conversation_id', external_id, 'status', 'executed', 'run', 1,
           'needs_review', false),
       now()
FROM executed, labelled
"""
