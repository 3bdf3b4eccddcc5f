"""Refuses a commit in which a status changed without exactly one audit event, savepoints included."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Delete, Insert, TextClause, Update, event, inspect
from sqlalchemy.orm import ORMExecuteState, Session, SessionTransaction, object_session

from models.base import DeskSession

Row = tuple[str, int, str]  # resource type, tenant id, resource id

T = TypeVar("T", bound=type[Any])

_FRAMES = "audit_frames"
_tables: set[str] = set()
_audited: dict[type[Any], tuple[str, str]] = {}


class AuditMismatch(RuntimeError):
    """A transition wrote no audit event, or more than one; this is a fault in the code."""


class UnauditedWrite(RuntimeError):
    """A bulk write on an audited table that does not come from models/bulk.py."""


@dataclass
class Frame:
    """What happened within one transaction or savepoint."""

    transaction: SessionTransaction
    changes: Counter[Row] = field(default_factory=Counter)
    events: Counter[Row] = field(default_factory=Counter)
    committed: bool = False


def audited(resource_type: str, *, status: str = "status") -> Callable[[T], T]:
    """Class decorator: from now on each change of `status`, creation included, needs one audit event."""

    def register(cls: T) -> T:
        _audited[cls] = (resource_type, status)
        _tables.add(cls.__tablename__)
        event.listen(getattr(cls, status), "set", _on_set, active_history=True)
        return cls

    return register


def row_of(target: Any) -> Row:
    """The name under which changes and events of `target` are counted."""
    resource_type, _status = _audited[type(target)]
    return (resource_type, target.tenant_id, str(target.id))


def note_changes(session: Session, rows: Iterable[Row]) -> None:
    """Count statuses that a set-wise statement changed."""
    _frame(session).changes.update(rows)


def note_events(session: Session, rows: Iterable[Row]) -> None:
    """Count audit events that tell of a change of state."""
    _frame(session).events.update(rows)


def _frame(session: Session) -> Frame:
    if not session.in_transaction():
        session.begin()
    frames: list[Frame] = session.info[_FRAMES]
    return frames[-1]


def _on_set(target: Any, value: Any, old: Any, _initiator: Any) -> None:
    session = object_session(target)
    if session is not None and inspect(target).persistent and value != old:
        _frame(session).changes[row_of(target)] += 1


@event.listens_for(DeskSession, "pending_to_persistent")
def _on_created(session: Session, target: Any) -> None:
    if type(target) in _audited:
        _frame(session).changes[row_of(target)] += 1


@event.listens_for(DeskSession, "after_transaction_create")
def _on_begin(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:
        session.info[_FRAMES] = [Frame(transaction)]
    elif transaction.nested:
        session.info[_FRAMES].append(Frame(transaction))


@event.listens_for(DeskSession, "after_commit")
def _on_committed(session: Session) -> None:
    # Also called when a savepoint is released, before it ends. Whatever else ends it was a rollback, of which
    # the session tells only after the end, when it is too late to drop what the savepoint counted.
    session.info[_FRAMES][-1].committed = True


@event.listens_for(DeskSession, "after_transaction_end")
def _on_end(session: Session, transaction: SessionTransaction) -> None:
    frames: list[Frame] = session.info.get(_FRAMES, [])
    if not frames or frames[-1].transaction is not transaction:
        return
    ended = frames.pop()
    if frames and ended.committed:
        frames[-1].changes.update(ended.changes)
        frames[-1].events.update(ended.events)


@event.listens_for(DeskSession, "before_commit")
def _on_commit(session: Session) -> None:
    # Also called when a savepoint is released; only the outermost commit is judged.
    if session.in_nested_transaction():
        return
    session.flush()
    frame = _frame(session)
    if frame.changes != frame.events:
        wrong = {row for row in frame.changes | frame.events if frame.changes[row] != frame.events[row]}
        named = ", ".join(
            f"{kind} {id}: {frame.changes[kind, tenant, id]} changes, {frame.events[kind, tenant, id]} events"
            for kind, tenant, id in sorted(wrong)[:5]
        )
        raise AuditMismatch(f"each change of state needs exactly one audit event; {named}")


@event.listens_for(DeskSession, "do_orm_execute")
def _on_execute(state: ORMExecuteState) -> None:
    if state.execution_options.get("audited"):
        return
    statement = state.statement
    if isinstance(statement, Insert | Update | Delete) and getattr(statement.table, "name", None) in _tables:
        raise UnauditedWrite(f"{statement.table} is audited; write it through models/bulk.py")
    if isinstance(statement, TextClause) and not statement.text.lstrip().lower().startswith("select"):
        raise UnauditedWrite("only reads may be given as text")
