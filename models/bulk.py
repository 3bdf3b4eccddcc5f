"""Set-wise writes: many rows in one statement, with their audit events counted by the guard."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Delete,
    FromClause,
    Insert,
    Update,
    bindparam,
    column,
    func,
    insert,
    select,
    type_coerce,
)
from sqlalchemy.engine import CursorResult
from sqlalchemy.orm import Session

from models import audit_guard
from models.base import Base, StoredJson, is_sqlite, table_of

Rows = Sequence[Mapping[str, Any]]


def rows_as_table(session: Session, name: str, columns: Mapping[str, Any], rows: Rows) -> FromClause:
    """`rows` as a table `name` that a statement can select from, sent as one JSON parameter.

    `columns` gives each column's SQLAlchemy type. One parameter keeps the statement's text the same for
    any number of rows, so that it is compiled and planned once.
    """
    sqlite = is_sqlite(session)
    encoded = [{key: _encode(row[key], sqlite) for key in columns} for row in rows]
    document = bindparam(f"{name}_rows", encoded, type_=StoredJson())
    if not sqlite:
        table = func.jsonb_to_recordset(document).table_valued(*(column(k, t) for k, t in columns.items()))
        return table.render_derived(name=name, with_types=True)
    each = func.json_each(document).table_valued("value")
    return (
        select(
            *(type_coerce(func.json_extract(each.c.value, f"$.{k}"), t).label(k) for k, t in columns.items())
        )
        .select_from(each)
        .subquery(name)
    )


def _encode(value: Any, sqlite: bool) -> Any:
    if isinstance(value, datetime):
        at = value.astimezone(UTC)
        return at.strftime("%Y-%m-%d %H:%M:%S.%f") if sqlite else at.isoformat()
    if isinstance(value, UUID):
        return value.hex if sqlite else str(value)
    return value


def insert_rows(session: Session, model: type[Base], rows: Rows) -> None:
    """Insert `rows`, all with the same keys, into a table that is not audited."""
    if rows:
        session.execute(_insert(session, model, rows))


def insert_audited(session: Session, model: type[Base], rows: Rows, *, resource_type: str) -> None:
    """Insert `rows` into an audited table; the caller appends one event for each."""
    if rows:
        session.execute(_insert(session, model, rows), execution_options={"audited": True})
        audit_guard.note_changes(session, ((resource_type, row["tenant_id"], str(row["id"])) for row in rows))


def _insert(session: Session, model: type[Base], rows: Rows) -> Insert:
    table = table_of(model)
    names = list(rows[0])
    source = rows_as_table(session, "given", {name: table.c[name].type for name in names}, rows)
    return insert(table).from_select(
        names, select(*(source.c[name] for name in names)), include_defaults=False
    )


def insert_if_absent(session: Session, statement: Insert, row: audit_guard.Row) -> bool:
    """Run an `ON CONFLICT DO NOTHING` for one audited row; whether it was inserted, which needs an event."""
    result: CursorResult[Any] = session.execute(statement, execution_options={"audited": True})  # type: ignore[assignment]
    if result.rowcount == 1:
        audit_guard.note_changes(session, [row])
    return result.rowcount == 1


def execute_audited(
    session: Session, statement: Update | Insert | Delete, *, changed: Iterable[audit_guard.Row]
) -> CursorResult[Any]:
    """Run a write on an audited table that changes the status of exactly the rows `changed`.

    The statement's row count must be the number of rows in `changed`, or `RuntimeError` is raised: a row
    that moved between the lock and the write is a fault that must not pass.
    """
    expected = list(changed)
    result: CursorResult[Any] = session.execute(statement, execution_options={"audited": True})  # type: ignore[assignment]
    if result.rowcount != len(expected):
        raise RuntimeError(f"{result.rowcount} rows changed where {len(expected)} were expected")
    audit_guard.note_changes(session, expected)
    return result


def execute_unaudited(session: Session, statement: Update | Delete) -> int:
    """Run a write on an audited table that changes no status (a counter, a deferral, a purge); rows hit."""
    result: CursorResult[Any] = session.execute(statement, execution_options={"audited": True})  # type: ignore[assignment]
    return result.rowcount


def note_changed(session: Session, rows: Iterable[audit_guard.Row]) -> None:
    """Tell the guard of rows whose status a set-wise statement changed among others that kept theirs."""
    audit_guard.note_changes(session, rows)
