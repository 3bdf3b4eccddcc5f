"""Purge what the retention rules no longer keep."""

from datetime import datetime

from sqlalchemy.orm import Session

from models.sweeping import Counts


def retention(session: Session, *, now: datetime, limit: int) -> Counts:
    """Purge what the retention rules no longer keep."""
    return Counts()
