"""The sweep over due follow-ups."""

from datetime import datetime

from sqlalchemy.orm import Session

from models import declarations
from models.followups import firing
from models.sweeping import Counts


def fire_followups(session: Session, *, now: datetime, limit: int) -> Counts:
    """Fire, defer or block what is due, by the declarations in force."""
    return firing.fire_due(session, declared=declarations.current(session), now=now, limit=limit)
