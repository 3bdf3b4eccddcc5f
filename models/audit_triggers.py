"""The triggers that keep audit and outbox append-only, as SQL for both databases.

The one change that passes is the first giving of a position. Deleting is for the retention: up to the mark
that it sets and takes back in its own transaction (purge_marks), and of the audit only what is sealed.
"""

from collections.abc import Iterator

AUDIT_COLUMNS = [
    "id",
    "tenant_id",
    "at",
    "actor_type",
    "actor_id",
    "actor_label",
    "action",
    "resource_type",
    "resource_id",
    "purpose",
    "result",
    "detail",
    "request_id",
]
OUTBOX_COLUMNS = [
    "id",
    "tenant_id",
    "aggregate_type",
    "aggregate_id",
    "event_type",
    "deduplication_key",
    "payload",
    "created_at",
]
COLUMNS = {"audit_event": AUDIT_COLUMNS, "outbox_event": OUTBOX_COLUMNS}
MARKED = "EXISTS (SELECT 1 FROM purge_mark WHERE stream = '{table}' AND OLD.position <= upto_position)"
SEALED = "OLD.position <= (SELECT coalesce(max(last_position), 0) FROM audit_seal)"
MAY_DELETE = {
    "audit_event": f"{MARKED.format(table='audit_event')} AND {SEALED}",
    "outbox_event": MARKED.format(table="outbox_event"),
}
# No row of these is ever changed. `purge_mark_kept` stays empty, so that no mark outlives its transaction.
FIXED = ("audit_seal", "purge_mark_kept")


def create(dialect: str) -> Iterator[str]:
    """The statements that make the triggers."""
    return _postgresql() if dialect == "postgresql" else _sqlite()


def drop(dialect: str) -> Iterator[str]:
    """The statements that remove what is left once the tables are dropped: PostgreSQL's functions."""
    if dialect == "postgresql":
        for name in ("append_only", *(f"{table}_may_go" for table in COLUMNS)):
            yield f"DROP FUNCTION IF EXISTS {name}"


def _sqlite() -> Iterator[str]:
    for table, columns in COLUMNS.items():
        same = " AND ".join(f"NEW.{name} IS OLD.{name}" for name in columns)
        taken = f"EXISTS (SELECT 1 FROM {table} WHERE position = NEW.position)"
        first = f"OLD.position IS NULL AND NEW.position IS NOT NULL AND NOT {taken} AND {same}"
        # INSERT OR REPLACE goes round the delete trigger where a connection left recursive_triggers off.
        known = f"EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)"
        yield _refusal(table, "INSERT", f"NEW.position IS NOT NULL OR {known}")
        yield _refusal(table, "UPDATE", f"NOT ({first})")
        yield _refusal(table, "DELETE", f"NOT coalesce({MAY_DELETE[table]}, 0)")
    yield _refusal("audit_seal", "INSERT", "EXISTS (SELECT 1 FROM audit_seal WHERE id = NEW.id)")
    yield _refusal("purge_mark_kept", "INSERT", "1")
    for table in FIXED:
        yield _refusal(table, "UPDATE", "1")
        yield _refusal(table, "DELETE", "1")


def _refusal(table: str, event: str, condition: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} WHEN {condition} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    )


def _postgresql() -> Iterator[str]:
    yield (
        "CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$"
    )
    for table, columns in COLUMNS.items():
        yield from _postgresql_append_only(table, columns)
    for table in FIXED:
        events = "UPDATE OR DELETE OR TRUNCATE" + (" OR INSERT" if table == "purge_mark_kept" else "")
        yield (
            f"CREATE TRIGGER {table}_no_change BEFORE {events} ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION append_only()"
        )


def _postgresql_append_only(table: str, columns: list[str]) -> Iterator[str]:
    new, old = (", ".join(f"{row}.{name}" for name in columns) for row in ("NEW", "OLD"))
    first = (
        f"OLD.position IS NULL AND NEW.position IS NOT NULL AND ROW({new}) IS NOT DISTINCT FROM ROW({old})"
    )
    for event, condition in (("INSERT", "NEW.position IS NOT NULL"), ("UPDATE", f"NOT ({first})")):
        yield (
            f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
            f"FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION append_only()"
        )
    yield (
        f"CREATE FUNCTION {table}_may_go() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF {MAY_DELETE[table]} THEN RETURN OLD; END IF; "
        "RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$"
    )
    yield (
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_may_go()"
    )
    yield (
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION append_only()"
    )
