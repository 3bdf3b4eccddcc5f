"""Rows for the benchmarks, made by PostgreSQL itself."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.orm import Session

from models.transactions import commit

SEED = (
    """
    INSERT INTO tenant (key, name, timezone, features, created_at)
    VALUES ('acme', 'acme', 'UTC', '{"followups": true}', :now)
    """,
    """
    INSERT INTO contact (id, tenant_id, customer, state, sends_without_reply, created_at, updated_at, version)
    SELECT md5('contact' || n)::uuid, 2, 'c-' || n, 'granted', 0, :now, :now, 1
    FROM generate_series(1, CAST(:contacts AS int)) n
    """,
    """
    INSERT INTO follow_up (tenant_id, id, agent, customer, at, reason, arm, status, attempts, created_at,
                           updated_at, version, fired_at)
    SELECT 2, md5('followup' || n)::uuid, 'store-support',
           'c-' || (CAST(n AS bigint) * 7919 % CAST(:contacts AS int) + 1),
           CASE WHEN n <= CAST(:due AS int) THEN CAST(:now AS timestamptz) - make_interval(secs => n)
                ELSE CAST(:now AS timestamptz) + make_interval(secs => n) END,
           'reason ' || n % 50, 'schedule',
           CASE WHEN n <= CAST(:due AS int) OR n % 2 = 0 THEN 'pending' ELSE 'fired' END,
           0, CAST(:now AS timestamptz) - interval '100 days',
           CAST(:now AS timestamptz) - interval '100 days', 1,
           CASE WHEN n <= CAST(:due AS int) OR n % 2 = 0 THEN NULL
                ELSE CAST(:now AS timestamptz) - interval '100 days' END
    FROM generate_series(1, CAST(:rows AS int)) n
    """,
)

# Of one tenant: a rule that sets a label, and conversations with executions due, the first of each current.
EXECUTIONS = (
    """
    INSERT INTO tenant (key, name, timezone, features, created_at)
    VALUES (:tenant, :tenant, 'UTC', CAST(:features AS jsonb), :now)
    """,
    """
    INSERT INTO automation_rule (id, tenant_id, name, description, event, conditions, actions, active,
                                 execution_delay, on_failure, created_at, updated_at, armed_version, version)
    SELECT md5('rule' || key)::uuid, id, 'label what is stale', '', 'conversation_updated', '[]',
           '[{"name": "add_label", "params": ["stale"]}]', true, 60, 'continue', created_at, created_at, 1, 1
    FROM tenant WHERE key = :tenant
    """,
    """
    INSERT INTO conversation (tenant_id, source, external_id, customer, status, status_changed_at, labels,
                              attributes, auto_reply, replied_seq, created_at, updated_at)
    SELECT t.id, 'native', 'v-' || n, 'c-' || n, 'open', CAST(:now AS timestamptz) - interval '2 hours', '[]',
           '{}', false, 0, CAST(:now AS timestamptz) - interval '2 hours',
           CAST(:now AS timestamptz) - interval '2 hours'
    FROM tenant t, generate_series(1, CAST(:conversations AS int)) n WHERE t.key = :tenant
    """,
    """
    INSERT INTO execution (id, tenant_id, rule_id, conversation_id, episode_key, at_once, armed_version,
                           status, due_at, lapses_from, attempts, run, resumed, on_failure, needs_review,
                           created_at, updated_at, version)
    SELECT md5('execution' || c.id || '-' || n)::uuid, c.tenant_id, md5('rule' || t.key)::uuid, c.id,
           'status:' || CAST(extract(epoch FROM c.status_changed_at) * 1000000 AS bigint) - n, false, 1,
           'pending', c.status_changed_at + interval '1 hour', c.status_changed_at + interval '1 hour', 0, 0,
           false, 'continue', false, c.created_at, c.created_at, 1
    FROM conversation c JOIN tenant t ON t.id = c.tenant_id, generate_series(0, CAST(:more AS int)) n
    WHERE t.key = :tenant
    """,
)


def fill_executions(
    session: Session, tenant: str, *, conversations: int, each: int = 1, enabled: bool, now: datetime
) -> None:
    """A tenant, paused unless `enabled`, with `each` executions due for an hour in each conversation."""
    features = json.dumps({"delayed_automations": enabled})
    values = {
        "tenant": tenant,
        "conversations": conversations,
        "more": each - 1,
        "features": features,
        "now": now,
    }
    with _without_indexes(session):
        _make(session, EXECUTIONS, values)
    _settle(session)


@contextmanager
def _without_indexes(session: Session) -> Iterator[None]:
    """The indexes of executions are made anew at the end: far sooner done than a million rows into each."""
    connection = session.connection()
    query = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'execution'"
    dropped = connection.execute(text(f"{query} AND indexname NOT LIKE 'pk%'")).all()
    for index in dropped:
        connection.execute(text(f"DROP INDEX {index.indexname}"))
    yield
    for index in dropped:
        connection.execute(text(index.indexdef))


def fill(session: Session, *, rows: int, due: int, contacts: int, now: datetime) -> None:
    """`rows` follow-ups of one tenant, `due` of them due, half of the others fired long ago."""
    _make(session, SEED, {"rows": rows, "due": due, "contacts": contacts, "now": now})
    _settle(session)


def _make(session: Session, statements: Sequence[str], values: Mapping[str, object]) -> None:
    connection = session.connection()
    for statement in statements:
        named = {name: value for name, value in values.items() if f":{name}" in statement}
        connection.execute(text(statement), named)


def _settle(session: Session) -> None:
    commit(session, "bench.fill")
    with session.get_bind().connect() as own:  # type: ignore[union-attr]
        own = own.execution_options(isolation_level="AUTOCOMMIT")
        own.execute(text("VACUUM ANALYZE"))
        # Or what was filled in is still being written out while something else is measured.
        own.execute(text("CHECKPOINT"))
