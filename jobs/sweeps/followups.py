"""The sweep over due follow-ups."""

from datetime import datetime

from flask import current_app
from sqlalchemy.orm import Session

from jobs import mail
from models import clock, declarations
from models.followups import firing, stranded
from models.settings import Settings
from models.sweeping import Counts


def fire_followups(session: Session, *, now: datetime, limit: int) -> Counts:
    """Fire, defer or block what is due, by the declarations in force; then say what is stranded."""
    settings: Settings = current_app.extensions["desk_settings"]
    began = clock.now()
    counts = firing.fire_due(
        session,
        declared=declarations.current(session),
        now=now,
        limit=limit,
        # By another time than now, too, it goes on from there.
        clock=lambda: now + (clock.now() - began),
    )
    for found in stranded.announce(session, after=settings.attention_after, now=now):
        mail.send_stranded(settings, session, found)
    return counts
