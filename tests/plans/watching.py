"""Work over large tables with the plan of each of its statements, and the same with an index dropped."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from models.base import DeskSession, db
from models.tenants import Tenant

Work = Callable[[Session, Tenant], None]

# Indexes that hold no more than what runs or waits at the moment: going through them is no walk.
SMALL = frozenset({"ix_sweep_run_running", "ix_sweep_slot_waiting"})


class BoundSession(DeskSession):
    """On the connection that it is given, where the application's would choose its engine."""

    def get_bind(self, *_args: Any, **_given: Any) -> Any:
        return self.bind


class Enough(Exception):
    """What is asked was seen, and the work need not go on."""


@dataclass
class Large:
    """A database with 100,000 rows of each kind in its large tables, and the tenant that has them."""

    connection: Connection
    tenant_id: int
    tables: frozenset[str]

    def session(self) -> Session:
        """A session whose commits stay within the connection's transaction, so that all is rolled back."""
        return BoundSession(
            db, bind=self.connection, join_transaction_mode="create_savepoint", expire_on_commit=False
        )

    @property
    def dialect(self) -> str:
        return self.connection.dialect.name


@dataclass
class Seen:
    """The plans of what a session ran, and which tables are large: each statement, and its steps."""

    tables: frozenset[str]
    plans: list[tuple[str, list[str]]] = field(default_factory=list)

    def scans(self) -> list[str]:
        """Steps that walk through a large table row by row."""
        return [
            f"{step}\n    in {statement}"
            for statement, steps in self.plans
            for step in steps
            if walks(step, self.tables) and not takes_the_first(statement, steps, self.tables)
        ]

    def saw(self, upto: frozenset[str]) -> bool:
        return bool(self.plans) and self.plans[-1][0] in upto

    def using(self, index: str) -> frozenset[str]:
        """The statements that go by `index`."""
        return frozenset(one for one, steps in self.plans if any(index in step.split() for step in steps))


def walks(step: str, tables: frozenset[str]) -> bool:
    words = step.replace("->", "").split()
    if words[:1] == ["SCAN"]:
        return words[1] in tables and not SMALL.intersection(words)
    return words[:2] == ["Seq", "Scan"] and words[3] in tables


def takes_the_first(statement: str, steps: list[str], tables: frozenset[str]) -> bool:
    """Whether the rows come in an index's order and the statement ends after a few: then it is no walk."""
    in_order = all("USING" in step and "INDEX" in step for step in steps if walks(step, tables))
    return " LIMIT " in statement and in_order and not any("TEMP B-TREE" in step for step in steps)


def watched(
    large: Large, work: Work, *, dropped: str | None = None, upto: frozenset[str] = frozenset()
) -> Seen:
    """Do `work`, explaining each statement before it runs, with its very parameters; then roll all back.

    The plan of one of `upto` is the last that is looked at, and the end of the work.
    """
    seen = Seen(large.tables)

    def explain(
        _connection: Any, cursor: Any, statement: str, parameters: Any, _context: Any, many: bool
    ) -> None:
        if not statement.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")):
            return
        if seen.saw(upto):
            # Sweeps go on with other rows after what one row raises.
            raise Enough
        prefix = "EXPLAIN QUERY PLAN " if large.dialect == "sqlite" else "EXPLAIN "
        probe = cursor.connection.cursor()
        probe.execute(
            prefix + statement, parameters[0] if many and isinstance(parameters, list) else parameters
        )
        seen.plans.append((" ".join(statement.split()), [str(row[-1]) for row in probe.fetchall()]))
        probe.close()
        if seen.saw(upto):
            raise Enough

    transaction = large.connection.begin()
    if dropped:
        large.connection.exec_driver_sql(f"DROP INDEX {dropped}")
    event.listen(large.connection, "before_cursor_execute", explain)
    try:
        with large.session() as session:
            work(session, session.get_one(Tenant, large.tenant_id))
    except Exception:
        # Once it was stopped, it does not matter what the work made of that.
        if not seen.saw(upto):
            raise
    finally:
        event.remove(large.connection, "before_cursor_execute", explain)
        transaction.rollback()
    return seen


def fault(seen: Seen, index: str | None) -> str | None:
    """What is wrong with the plans: a walk through a large table, or that `index` is not gone by."""
    scans = seen.scans()
    if scans:
        return "\n".join(scans)
    if index is not None and not seen.using(index):
        return f"{index} is not used:\n" + "\n".join(str(plan) for plan in seen.plans)
    return None


def misses(large: Large, work: Work, index: str, upto: frozenset[str]) -> bool:
    """Whether the test sees it when `index` is gone; without a unique one the work itself may fail."""
    try:
        return fault(watched(large, work, dropped=index, upto=upto), index) is not None
    except SQLAlchemyError:
        return index.startswith("uq_")


def assert_goes_by(large: Large, work: Work, indexes: list[str]) -> None:
    """Fail where `work` walks through a large table, or is not seen to without one of `indexes`."""
    seen = watched(large, work)
    for index in (None, *indexes):
        wrong = fault(seen, index)
        assert wrong is None, wrong
    for index in indexes:
        # As far as the first statement that went by it: that is where another way is taken.
        assert misses(large, work, index, seen.using(index)), f"{index} is not missed when it is dropped"
