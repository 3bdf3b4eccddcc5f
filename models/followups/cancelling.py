"""Cancelling all that waits for one customer, in the transaction that closes their contact."""

from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import outbox
from models.actors import Actor
from models.followups.records import AgentTask, FollowUp, Status, TaskStatus
from models.followups.tasks import move_task
from models.transitions import move


def cancel_all(
    session: Session, tenant_id: int, customer: str, *, by: str, purpose: str, actor: Actor, now: datetime
) -> int:
    """Cancel every pending follow-up and queued task of `customer`; how many follow-ups there were.

    The caller holds the contact's lock. Fired and blocked ones stay as they are.
    """
    pending = session.scalars(
        select(FollowUp)
        .where(
            FollowUp.tenant_id == tenant_id, FollowUp.customer == customer, FollowUp.status == Status.PENDING
        )
        .order_by(FollowUp.at, FollowUp.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).all()
    for followup in pending:
        set_cancelled(session, followup, by=by, purpose=purpose, actor=actor, now=now)
    queued = session.scalars(
        select(AgentTask)
        .where(
            AgentTask.tenant_id == tenant_id,
            AgentTask.customer == customer,
            AgentTask.status == TaskStatus.QUEUED,
        )
        .order_by(AgentTask.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    for task in queued:
        move_task(session, task, TaskStatus.CANCELLED, actor=actor, reason=purpose, now=now)
    return len(pending)


def set_cancelled(
    session: Session,
    followup: FollowUp,
    *,
    by: str,
    purpose: str | None,
    actor: Actor,
    now: datetime,
    detail: dict[str, Any] | None = None,
) -> None:
    """Move a pending follow-up, locked by the caller, to cancelled."""
    followup.cancelled_by = by
    move(
        session,
        followup,
        Status.CANCELLED,
        actor=actor,
        now=now,
        action="followup.cancelled",
        purpose=purpose,
        detail=detail,
    )
    outbox.enqueue(
        session,
        tenant_id=followup.tenant_id,
        event_type="followup.cancelled",
        aggregate=("followup", str(followup.id)),
        payload={
            "followup_id": str(followup.id),
            "agent": followup.agent,
            "arm": followup.arm,
            "by": actor.type.value,
        },
        now=now,
    )
