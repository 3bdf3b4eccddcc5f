"""Rows for the benchmarks, made by PostgreSQL itself."""

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


def fill(session: Session, *, rows: int, due: int, contacts: int, now: datetime) -> None:
    """`rows` follow-ups of one tenant, `due` of them due, half of the others fired long ago."""
    connection = session.connection()
    for statement in SEED:
        connection.execute(text(statement), {"rows": rows, "due": due, "contacts": contacts, "now": now})
    commit(session, "bench.fill")
    with session.get_bind().connect() as own:  # type: ignore[union-attr]
        own = own.execution_options(isolation_level="AUTOCOMMIT")
        own.execute(text("VACUUM ANALYZE"))
        # Or what was filled in is still being written out while something else is measured.
        own.execute(text("CHECKPOINT"))
