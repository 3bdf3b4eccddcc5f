"""How a person likes the console, apart from their time zone: how often its lists are read again."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import locks, operators
from models.actors import Actor
from models.errors import Invalid
from models.operators import Operator

# In seconds; 0 is never.
REFRESHES = (5, 10, 30, 60, 0)
USUAL = 10


def as_refresh(given: str) -> int:
    """One of `REFRESHES`. Raises `Invalid` on `refresh`."""
    if given not in {str(one) for one in REFRESHES}:
        known = ", ".join(str(one) for one in REFRESHES)
        raise Invalid("refresh", f"must be one of {known} (seconds; 0 is off)")
    return int(given)


def refresh_of(operator: Operator) -> int:
    """After how many seconds the lists of `operator` are read again; 0 for never."""
    return USUAL if operator.refresh_seconds is None else operator.refresh_seconds


def set_refresh(session: Session, operator: Operator, seconds: int, *, actor: Actor, now: datetime) -> bool:
    """Let lists be read again every `seconds`, one of `REFRESHES`; whether that changed anything."""
    # Whoever presses twice at once changed it once.
    locks.one(session, select(Operator).where(Operator.id == operator.id))
    before = refresh_of(operator)
    if before == seconds:
        return False
    operator.refresh_seconds = seconds
    detail: dict[str, object] = {"before": before, "after": seconds}
    where = operators.home(session, operator)
    operators.record(session, operator, where, "operator.refresh_set", actor, now, detail)
    return True
