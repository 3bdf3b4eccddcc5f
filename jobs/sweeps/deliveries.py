"""Publish and send what the outbox holds."""

from datetime import datetime

from sqlalchemy.orm import Session

from jobs.delivery import webhook
from models.sweeping import Counts


def deliver(session: Session, *, now: datetime, limit: int) -> Counts:
    """Publish and send what the outbox holds."""
    return webhook.deliver_due(session, now=now, limit=limit)
