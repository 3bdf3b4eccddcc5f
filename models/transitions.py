"""The one place that assigns a status: a legal move, a new version, and its audit event."""

from datetime import datetime
from typing import Any, Protocol

from sqlalchemy.orm import Session

from models import audit, audit_guard
from models.actors import Actor
from models.errors import Conflict


class Movable(Protocol):
    """A row with a state machine. `moves` is its table of legal moves."""

    moves: Any
    tenant_id: Any
    id: Any
    version: Any
    updated_at: Any


def move(
    session: Session,
    row: Movable,
    to: str,
    *,
    actor: Actor,
    now: datetime,
    action: str,
    purpose: str | None = None,
    detail: dict[str, Any] | None = None,
    attribute: str = "status",
) -> None:
    """Move `row` to `to` and append its one audit event.

    Raises `ValueError` for a move that the table does not hold: a verb must have refused it before.
    """
    before = getattr(row, attribute)
    if to not in row.moves.get(before, frozenset()):
        raise ValueError(f"{type(row).__name__} may not move from {before} to {to}")
    setattr(row, attribute, to)
    row.version += 1
    row.updated_at = now
    resource_type, _tenant, resource_id = audit_guard.row_of(row)
    audit.append(
        session,
        tenant_id=row.tenant_id,
        actor=actor,
        action=action,
        resource=(resource_type, resource_id),
        now=now,
        purpose=purpose,
        detail={"from": before, "to": to, **(detail or {})},
    )


def check_version(row: Any, expected: int | None, what: str) -> None:
    """Raise `Conflict` with the row as it is now if it moved since `expected` was seen."""
    if expected is not None and row.version != expected:
        raise Conflict(f"This {what} changed since you saw it, so nothing was done.", current=row)
