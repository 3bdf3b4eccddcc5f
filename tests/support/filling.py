"""Filling tables for the tests of plans: the database makes the rows from their numbers, set by set.

    with db.engine.begin() as connection, bare(connection, "contact"):
        fill(connection, "contact", 100_000, lambda n: {"id": uuid_of(n), "customer": numbered("c-", n), ...})

A row is told once for both databases, as columns or plain values by name.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, String, Uuid, cast, func, insert, literal, select
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from models.base import UtcDateTime, db

Number = ColumnElement[int]
Row = Callable[[Number], Mapping[str, Any]]


def fill(connection: Connection, table: str, count: int, row: Row, *, first: int = 0) -> None:
    """Insert `count` rows into `table`: for each number from `first` on what `row` makes of it, in order."""
    into = db.metadata.tables[table]
    counted = select(literal(first, BigInteger).label("n")).cte("numbers", recursive=True)
    numbers = counted.union_all(select(counted.c.n + 1).where(counted.c.n < first + count - 1))
    given = {
        name: value if isinstance(value, ColumnElement) else literal(value, into.c[name].type)
        for name, value in row(numbers.c.n).items()
    }
    rows = select(*given.values()).select_from(numbers)
    connection.execute(insert(into).from_select(list(given), rows, include_defaults=False))
    if "id" in given and connection.dialect.name == "postgresql" and into.autoincrement_column is not None:
        serial = func.pg_get_serial_sequence(table, "id")
        connection.execute(select(func.setval(serial, select(func.max(into.c.id)).scalar_subquery())))


@contextmanager
def bare(connection: Connection, *tables: str) -> Iterator[None]:
    """Inside, `tables` have no indexes but those of their keys, and no triggers; after it they do again.

    To make an index of all rows at once takes half as long as to keep it up, row by row. Without triggers,
    rows may stand where they would come to in time, as those that were published. PostgreSQL does not look
    whether what a row refers to is there, either; SQLite does, and gets the same rows.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
    indexes = {one.name: one for table in tables for one in db.metadata.tables[table].indexes}
    left_out = [one for table in tables for one in _left_out(connection, table)]
    for kind, name, _made_by in left_out:
        connection.exec_driver_sql(f"DROP {kind} {name}")
    yield
    for kind, name, made_by in left_out:
        # PostgreSQL tells of an index in other words than it was told.
        if kind == "index":
            indexes[name].create(connection)
        else:
            connection.exec_driver_sql(made_by)
    assert [one for table in tables for one in _left_out(connection, table)] == left_out
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL session_replication_role = origin")


def _left_out(connection: Connection, table: str) -> list[tuple[str, str, str]]:
    """What to drop of `table`, by kind and name, and what made it in the database's own words.

    In the order in which it was made, since where two indexes do as well the planner goes by that.
    """
    found = connection.exec_driver_sql(LEFT_OUT[connection.dialect.name].format(table=table))
    return [(kind, name, made_by) for kind, name, made_by in found]


LEFT_OUT = {
    "sqlite": """
        SELECT type, name, sql FROM sqlite_master
        WHERE tbl_name = '{table}' AND type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY rowid
    """,
    "postgresql": """
        SELECT 'index', indexrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index
        WHERE indrelid = '{table}'::regclass
        AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid) ORDER BY indexrelid
    """,
}


def numbered(prefix: str, number: Number) -> ColumnElement[str]:
    """`prefix` and the number."""
    return literal(prefix) + cast(number, String)


class moment(FunctionElement[datetime]):
    """So many seconds after the whole second of `start`, as a column of times holds it."""

    inherit_cache = True
    type = UtcDateTime()

    def __init__(self, start: datetime, seconds: Number) -> None:
        super().__init__(literal(start.replace(microsecond=0), UtcDateTime()), seconds)


@compiles(moment, "postgresql")
def _added(element: moment, compiler: Any, **given: Any) -> str:
    start, seconds = (compiler.process(one, **given) for one in element.clauses)
    return f"({start} + {seconds} * interval '1 second')"


@compiles(moment, "sqlite")
def _added_as_text(element: moment, compiler: Any, **given: Any) -> str:
    start, seconds = (compiler.process(one, **given) for one in element.clauses)
    return f"strftime('%Y-%m-%d %H:%M:%S.000000', {start}, ({seconds}) || ' seconds')"


class uuid_of(FunctionElement[Any]):
    """The UUID of a number of up to 63 bits, and of another one for its upper half."""

    inherit_cache = True
    type = Uuid()

    def __init__(self, number: Number, upper: Number | int = 0) -> None:
        super().__init__(literal(upper, BigInteger) if isinstance(upper, int) else upper, number)


@compiles(uuid_of, "postgresql")
def _padded(element: uuid_of, compiler: Any, **given: Any) -> str:
    upper, number = (compiler.process(one, **given) for one in element.clauses)
    return f"(lpad(to_hex({upper}), 16, '0') || lpad(to_hex({number}), 16, '0'))::uuid"


@compiles(uuid_of, "sqlite")
def _formatted(element: uuid_of, compiler: Any, **given: Any) -> str:
    upper, number = (compiler.process(one, **given) for one in element.clauses)
    return f"printf('%016x%016x', {upper}, {number})"


class any_uuid(FunctionElement[Any]):
    """Another UUID in each row, by chance."""

    inherit_cache = True
    type = Uuid()


@compiles(any_uuid, "postgresql")
def _generated(_element: any_uuid, _compiler: Any, **_given: Any) -> str:
    return "gen_random_uuid()"


@compiles(any_uuid, "sqlite")
def _random(_element: any_uuid, _compiler: Any, **_given: Any) -> str:
    return "lower(hex(randomblob(16)))"
