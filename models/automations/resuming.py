"""What the switch does when it is turned on again: what came due meanwhile is due now, not expired."""

from datetime import datetime

from sqlalchemy import and_, or_, update
from sqlalchemy.orm import Session

from models import bulk
from models.automations.claiming import is_stale
from models.automations.judging import LATENESS_CAP
from models.automations.records import Execution, Status
from models.tenants import Feature, Tenant, when_on_again


def resume(session: Session, tenant: Tenant, now: datetime) -> None:
    """Let the tenant's executions that would be too late by now be due now, in the switch's transaction.

    What a worker holds at this moment is left to it. The switch's own event tells of it.
    """
    late = and_(Execution.tenant_id == tenant.id, Execution.lapses_from < now - LATENESS_CAP)
    waiting = or_(Execution.status == Status.PENDING.value, is_stale(now))
    due_now = {
        "status": Status.PENDING.value,
        "lock_token": None,
        "locked_at": None,
        "due_at": now,
        "lapses_from": now,
        "not_before": None,
        "next_attempt_at": None,
        "updated_at": now,
        "version": Execution.version + 1,
    }
    statement = update(Execution).where(late, waiting, Execution.resumed.is_(False)).values(due_now)
    bulk.execute_unaudited(session, statement.execution_options(synchronize_session=False))


def register() -> None:
    """From now on turning the switch on again resumes."""
    when_on_again(Feature.DELAYED_AUTOMATIONS, resume)
