"""Reading query plans: a statement that goes through a large table row by row fails the test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Select, event
from sqlalchemy.orm import Session

Verbs = tuple[str, ...]
READS: Verbs = ("SELECT", "WITH")


def analyze(session: Session) -> None:
    """Let the planner know what the tables hold. Their rows must be committed."""
    session.rollback()
    with session.get_bind().connect() as connection:
        connection.exec_driver_sql("ANALYZE")
        connection.commit()


def plan_of(session: Session, statement: Select[Any]) -> list[str]:
    """The plan of `statement`, one step a line, as the database tells it."""
    dialect = session.get_bind().dialect
    # With the values in its text, so that the planner judges by them as for a prepared one at first.
    compiled = statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    prefix = "EXPLAIN QUERY PLAN" if dialect.name == "sqlite" else "EXPLAIN"
    rows = session.connection().exec_driver_sql(f"{prefix} {compiled}").all()
    return [str(row[-1]).strip() for row in rows]


def assert_uses_index(
    session: Session, statement: Select[Any], *, table: str, index: str | None = None, is_sorted: bool = False
) -> None:
    """Fail where `statement` walks through `table`, or goes by another index than `index` if one is named.

    `is_sorted` asks for rows that come in the index's order, with no sort after it: for a statement that
    finds more rows than it takes.
    """
    plan = plan_of(session, statement)
    shown = "\n".join(plan)
    sort = "USE TEMP B-TREE" if session.get_bind().dialect.name == "sqlite" else "Sort"
    for line in plan:
        step = line.removeprefix("->").strip()
        assert not step.startswith((f"SCAN {table}", f"Seq Scan on {table}")), shown
        assert not (is_sorted and step.startswith(sort)), shown
    assert index is None or any(f" {index} " in f"{line} " for line in plan), shown


def plans_of(session: Session, work: Callable[[], object], *tables: str, verbs: Verbs = READS) -> list[str]:
    """The plan of each statement of `work` that begins with one of `verbs` and names one of `tables`."""
    seen = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        if statement.startswith(verbs) and any(table in statement for table in tables):
            seen.append((statement, parameters))

    engine = session.get_bind()
    event.listen(engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert seen, f"nothing was asked of {tables}"
    explain = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN"
    connection = session.connection()
    return [
        "\n".join(str(line[-1]) for line in connection.exec_driver_sql(f"{explain} {statement}", parameters))
        for statement, parameters in seen
    ]


def scanned(plan: str, *tables: str) -> list[str]:
    """Those of `tables` that a plan reads from end to end, be it in the order of an index."""
    return [table for table in tables if f"Seq Scan on {table}" in plan or f"SCAN {table}" in plan]


@contextmanager
def without(session: Session, index: str) -> Iterator[None]:
    """Inside, there is no such index; afterwards there is, since the drop is rolled back."""
    session.rollback()
    session.connection().exec_driver_sql(f"DROP INDEX {index}")
    try:
        yield
    finally:
        session.rollback()
