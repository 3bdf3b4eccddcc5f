"""Whether one follow-up moved while its page was open, and what it became."""

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from desk_ui import refreshing, words
from desk_ui.followups import customers
from desk_ui.handling import marks
from desk_ui.handling.marks import On
from desk_ui.refreshing import Watch
from models.followups.records import AgentTask, FollowUp
from models.tenants import Tenant

if TYPE_CHECKING:
    from desk_ui.followups.detail import DetailView


def _sign(followup: FollowUp, task_at: datetime | None, again: UUID | None, on: On | None) -> str:
    return refreshing.sign(followup.version, task_at, again, on and (on.id, on.at))


def read(session: Session, tenant: Tenant, followup: FollowUp) -> str:
    """The sign of how it stands: changes with it, its task, and when it is booked again or taken on."""
    task_at = None
    if followup.task_id is not None:
        query = select(AgentTask.updated_at).where(
            AgentTask.tenant_id == tenant.id, AgentTask.id == followup.task_id
        )
        task_at = session.scalars(query).one_or_none()
    again = customers.rearmed_as(session, tenant, followup.id)
    on = marks.one_on(session, "followup", followup.id)
    return _sign(followup, task_at, again.id if again else None, on)


def watch(view: "DetailView") -> Watch:
    """The same of a page that was read, with what happened last."""
    task, again = view.task, view.again
    sign = _sign(view.row, task.updated_at if task else None, again.id if again else None, view.on)
    if not view.timeline:
        return Watch.of(sign, view.mark.word, view.row.updated_at)
    last = view.timeline[-1]
    if last.action in marks.HANDLED and not last.refused:
        return marks.watch(sign, view.on, last)
    return Watch.of(sign, words.action(last.action, last.refused), last.at)
