"""Set-wise writes: many rows in one statement, with their audit events counted by the guard."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Delete,
    FromClause,
    Insert,
    String,
    Update,
    Uuid,
    any_,
    bindparam,
    column,
    func,
    insert,
    select,
    type_coerce,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import CursorResult
from sqlalchemy.orm import Session

from models import audit_guard
from models.base import Base, StoredJson, UtcDateTime, is_sqlite, table_of

Rows = Sequence[Mapping[str, Any]]


def rows_as_table(session: Session, name: str, columns: Mapping[str, Any], rows: Rows) -> FromClause:
    """`rows` as a table `name` that a statement can select from, sent as one JSON parameter.

    `columns` gives each column's SQLAlchemy type. One parameter keeps the statement's text the same for
    any number of rows, so that it is compiled and planned once.
    """
    document = bindparam(f"{name}_rows", _encoded(session, columns, rows), type_=StoredJson())
    if not is_sqlite(session):
        table = func.jsonb_to_recordset(document).table_valued(*(column(k, t) for k, t in columns.items()))
        return table.render_derived(name=name, with_types=True)
    each = func.json_each(document).table_valued("value")
    extracted = (
        type_coerce(func.json_extract(each.c.value, f"$.{k}"), t).label(k) for k, t in columns.items()
    )
    return select(*extracted).select_from(each).subquery(name)


def is_among(session: Session, attribute: Any, values: Sequence[Any]) -> ColumnElement[bool]:
    """Whether the key column `attribute` is one of `values`; on PostgreSQL they go over as one parameter.

    So the statement's text is the same for any number of them, and is compiled and planned once.
    """
    if is_sqlite(session):
        return cast(ColumnElement[bool], attribute.in_(values))
    return cast(ColumnElement[bool], attribute == any_(bindparam(None, list(values), ARRAY(attribute.type))))


def one_of(session: Session, attribute: Any, values: Sequence[str]) -> ColumnElement[bool]:
    """Whether the text column `attribute` is one of `values`, which go over as one parameter."""
    if not is_sqlite(session):
        return cast(ColumnElement[bool], attribute == any_(bindparam(None, list(values), ARRAY(String()))))
    each = func.json_each(bindparam(None, list(values), StoredJson())).table_valued("value")
    return cast(ColumnElement[bool], attribute.in_(select(each.c.value)))


def _encoded(session: Session, columns: Mapping[str, Any], rows: Rows) -> Rows:
    """`rows` as JSON holds them: times and UUIDs as each database writes them."""
    sqlite = is_sqlite(session)
    encoders = {
        name: (_sqlite_time if sqlite else _time)
        if isinstance(kind, UtcDateTime)
        else _hex
        if sqlite
        else str
        for name, kind in columns.items()
        if isinstance(kind, UtcDateTime | Uuid)
    }
    if not encoders:
        return rows
    return [
        {**row, **{name: encode(row[name]) for name, encode in encoders.items() if row[name] is not None}}
        for row in rows
    ]


def _time(value: datetime) -> str:
    return value.isoformat()


def _sqlite_time(value: datetime) -> str:
    # Not by strftime, which does not pad years before 1000.
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def _hex(value: UUID) -> str:
    return value.hex


def insert_rows(
    session: Session, model: type[Base], rows: Rows, *, common: Mapping[str, Any] | None = None
) -> None:
    """Insert `rows`, all with the same keys, into a table that is not audited.

    `common` holds the values that are the same in every row, so that they go over once.
    """
    if rows:
        session.execute(_insert(session, model, rows, common or {}))


def _insert(session: Session, model: type[Base], rows: Rows, common: Mapping[str, Any]) -> Insert:
    table = table_of(model)
    names = list(rows[0])
    source = rows_as_table(session, "given", {name: table.c[name].type for name in names}, rows)
    constants = (bindparam(None, value, type_=table.c[name].type) for name, value in common.items())
    chosen = select(*(source.c[name] for name in names), *constants)
    return insert(table).from_select([*names, *common], chosen, include_defaults=False)


def insert_absent(session: Session, model: type[Base], rows: Rows, *, resource_type: str) -> set[UUID]:
    """Insert those of `rows` whose key is free into an audited table; their ids, one event due for each."""
    if not rows:
        return set()
    table, names = table_of(model), list(rows[0])
    source = rows_as_table(session, "given", {name: table.c[name].type for name in names}, rows)
    # SQLite needs a WHERE here, or takes ON CONFLICT for a join's ON.
    chosen = select(*(source.c[name] for name in names)).where(source.c[names[0]].is_not(None))
    dialect = sqlite if is_sqlite(session) else postgresql
    statement = dialect.insert(table).from_select(names, chosen, include_defaults=False)
    statement = statement.on_conflict_do_nothing().returning(table.c.id)
    made = set(session.scalars(statement, execution_options={"audited": True}))
    changed = ((resource_type, row["tenant_id"], str(row["id"])) for row in rows if row["id"] in made)
    audit_guard.note_changes(session, changed)
    return made


def update_rows(
    session: Session,
    model: type[Base],
    rows: Rows,
    *,
    where: Sequence[ColumnElement[bool]],
    common: Mapping[str, Any],
    changed: Iterable[audit_guard.Row] = (),
) -> None:
    """Set what each of `rows` gives for the row with its `id`, and `common` in all, where `where` holds.

    `changed` names those whose status this changes. Raises `RuntimeError` unless each row is hit: one that
    moved between the lock and the write is a fault that must not pass.
    """
    table = table_of(model)
    own = [name for name in rows[0] if name != "id"]
    if is_sqlite(session):
        # Row by row along the key: SQLite would join its JSON to the table by going through all of it.
        statement = update(table).where(table.c.id == bindparam("given_id"), *where)
        statement = statement.values({**common, **{name: bindparam(f"given_{name}") for name in own}})
        given = [{f"given_{name}": value for name, value in row.items()} for row in rows]
        hit = session.connection().execute(statement, given).rowcount
    else:
        source = rows_as_table(session, "given", {name: table.c[name].type for name in rows[0]}, rows)
        statement = update(table).where(table.c.id == source.c.id, *where)
        hit = execute_unaudited(session, statement.values({**common, **{n: source.c[n] for n in own}}))
    if hit != len(rows):
        raise RuntimeError(f"{hit} rows changed where {len(rows)} were expected")
    audit_guard.note_changes(session, changed)


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
