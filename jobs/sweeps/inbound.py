"""Apply what connectors stored, and read again the conversations in which something is about to run."""

from datetime import datetime

from flask import current_app
from sqlalchemy.orm import Session

from jobs import reconcile, wake
from models import declarations, inbound
from models.automations import echoes
from models.settings import Settings
from models.sweeping import Counts
from models.transactions import rollback


def process_inbound(session: Session, *, now: datetime, limit: int) -> Counts:
    """Apply what connectors stored, by the declarations in force."""
    declared = declarations.current(session)
    rollback(session)
    return inbound.process(
        session, declared=declared, now=now, limit=limit, at_once=wake.wake_executions, ours=echoes.is_ours
    )


def reconcile_chatwoot(session: Session, *, now: datetime, limit: int) -> Counts:
    """Read again from Chatwoot the conversations in which something runs within two minutes."""
    settings: Settings = current_app.extensions["desk_settings"]
    declared = declarations.current(session)
    rollback(session)
    return reconcile.reconcile(
        session,
        settings=settings,
        declared=declared,
        now=now,
        limit=limit,
        at_once=wake.wake_executions,
    )
