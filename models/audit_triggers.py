"""The triggers that keep audit and outbox append-only, as SQL for both databases.

The one change that passes is the first giving of a position. Deleting audit rows is for the retention: up to
the mark that it sets in its own transaction, and only what is sealed.
"""

from collections.abc import Iterator

AUDIT_COLUMNS = ["id", "tenant_id", "at", "actor_type", "actor_id", "actor_label", "action", "resource_type", "resource_id", "purpose", "result", "detail", "request_id"]

MAY_DELETE = (
    "{old}.position IS NOT NULL"
    " AND {old}.position <= (SELECT upto_position FROM audit_purge_mark WHERE id = 1)"
    " AND {old}.position <= (SELECT coalesce(max(last_position), 0) FROM audit_seal)"
)


def create(dialect: str) -> Iterator[str]:
    """The statements that make the triggers."""
    return _postgresql() if dialect == "postgresql" else _sqlite()


def _sqlite() -> Iterator[str]:
    same = " AND ".join(f"NEW.{name} IS OLD.{name}" for name in AUDIT_COLUMNS)
    yield (
        "CREATE TRIGGER audit_event_no_update BEFORE UPDATE ON audit_event "
        f"WHEN NOT (OLD.position IS NULL AND NEW.position IS NOT NULL AND {same}) "
        "BEGIN SELECT RAISE(ABORT, 'audit_event is append-only'); END"
    )
    yield (
        "CREATE TRIGGER audit_event_no_delete BEFORE DELETE ON audit_event "
        f"WHEN NOT coalesce({MAY_DELETE.format(old='OLD')}, 0) "
        "BEGIN SELECT RAISE(ABORT, 'audit_event is append-only'); END"
    )
    for event in ("UPDATE", "DELETE"):
        yield (
            f"CREATE TRIGGER audit_seal_no_{event.lower()} BEFORE {event} ON audit_seal "
            "BEGIN SELECT RAISE(ABORT, 'audit_seal is append-only'); END"
        )


def _postgresql() -> Iterator[str]:
    yield (
        "CREATE FUNCTION audit_event_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF TG_OP = 'UPDATE' AND OLD.position IS NULL AND NEW.position IS NOT NULL "
        "AND to_jsonb(NEW) - 'position' = to_jsonb(OLD) - 'position' THEN RETURN NEW; END IF; "
        f"IF TG_OP = 'DELETE' THEN IF {MAY_DELETE.format(old='OLD')} THEN RETURN OLD; END IF; END IF; "
        "RAISE EXCEPTION 'audit_event is append-only'; END $$"
    )
    yield (
        "CREATE TRIGGER audit_event_guard BEFORE UPDATE OR DELETE ON audit_event "
        "FOR EACH ROW EXECUTE FUNCTION audit_event_guard()"
    )
    yield (
        "CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$"
    )
    yield (
        "CREATE TRIGGER audit_event_no_truncate BEFORE TRUNCATE ON audit_event "
        "FOR EACH STATEMENT EXECUTE FUNCTION append_only()"
    )
    yield (
        "CREATE TRIGGER audit_seal_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seal "
        "FOR EACH STATEMENT EXECUTE FUNCTION append_only()"
    )
