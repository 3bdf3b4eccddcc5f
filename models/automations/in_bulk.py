"""What is done with many executions at once: the verbs of a bulk operation, one row at a time."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, and_, or_, select

from models.automations import operating
from models.automations.claiming import STALE_LOCK
from models.automations.records import ActionRun, ActionState, Execution, Status
from models.bulk_running import Verb, Work


def cancellable(now: datetime) -> ColumnElement[bool]:
    """The rows that a cancel of many takes: none that a worker holds or a person let go on."""
    waits = Execution.status == Status.PENDING.value
    return and_(or_(waits, reclaimable(now)), Execution.resumed.is_(False))


def reclaimable(now: datetime) -> ColumnElement[bool]:
    """The rows that a reclaim of many takes: those whose worker said nothing for too long."""
    silent = or_(Execution.locked_at.is_(None), Execution.locked_at < now - STALE_LOCK)
    return and_(Execution.status == Status.PROCESSING.value, silent)


def rearmable() -> ColumnElement[bool]:
    """The rows that a re-arming of many takes: skipped before their first action."""
    begun = (
        select(ActionRun.id)
        .where(
            ActionRun.execution_id == Execution.id,
            ActionRun.run == Execution.run,
            ActionRun.state != ActionState.WAITING.value,
        )
        # Looked up row by row: without a limit, the planner may rather read every action there is.
        .limit(1)
        .correlate(Execution)
        .scalar_subquery()
    )
    never_begun = or_(Execution.run == 0, begun.is_(None))
    return and_(Execution.status == Status.SKIPPED.value, never_begun)


def _each(act: Callable[..., Execution]) -> Callable[[Work], None]:
    """Do `act`, one of `operating`, on each row as it was shown."""

    def apply(work: Work) -> None:
        act(
            work.session,
            work.tenant.id,
            UUID(work.row_id),
            actor=work.actor,
            now=work.now,
            reason=work.reason,
            expected_version=work.version,
            detail=work.detail,
        )

    return apply


CANCEL = Verb("execution.cancel", "execution", UUID, _each(operating.cancel))
RECLAIM = Verb("execution.reclaim", "execution", UUID, _each(operating.reclaim))
# Only skipped ones are taken down for it: what is left of a run is for a person to look at, one by one.
REARM = Verb("execution.rearm", "execution", UUID, _each(operating.rearm))
