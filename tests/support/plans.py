"""Reading query plans: a statement that goes through a large table row by row fails the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Select
from sqlalchemy.orm import Session


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


@contextmanager
def without(session: Session, index: str) -> Iterator[None]:
    """Inside, there is no such index; afterwards there is, since the drop is rolled back."""
    session.rollback()
    session.connection().exec_driver_sql(f"DROP INDEX {index}")
    try:
        yield
    finally:
        session.rollback()
