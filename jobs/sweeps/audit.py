"""Seal finished ranges of the audit."""

from datetime import datetime

from sqlalchemy.orm import Session

from models import audit_seals
from models.sweeping import Counts


def seal_audit(session: Session, *, now: datetime, limit: int) -> Counts:
    """Seal finished ranges of the audit."""
    return audit_seals.seal(session, now=now, limit=limit)
