"""The verbs that can be done in bulk, and how the edges do an operation."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from jobs import wake
from models import bulk_running, clock, declarations, delivery_bulk
from models.automations import in_bulk as executions
from models.bulk_running import Ran, Verb
from models.followups import in_bulk

_OF_EXECUTIONS = (executions.CANCEL, executions.RECLAIM, executions.REARM)
VERBS: dict[str, Verb] = {
    verb.name: verb for verb in (in_bulk.CANCEL, in_bulk.REARM, *_OF_EXECUTIONS, delivery_bulk.REARM)
}


def go_on(session: Session, operation_id: UUID, *, most: int, until: datetime | None = None) -> Ran:
    """Do up to `most` items of an operation that wait, or as many as begin before `until`."""
    ran = bulk_running.run(
        session,
        operation_id,
        verbs=VERBS,
        declared=declarations.current(session),
        clock=clock.now,
        most=most,
        until=until,
    )
    if ran.done:
        # What was re-armed writes no event that would wake the delivery.
        wake.wake_delivery()
    return ran
