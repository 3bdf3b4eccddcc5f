"""Whether one follow-up moved while its page was open, and what it became."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from flask import g
from sqlalchemy import select
from sqlalchemy.orm import Session

from desk_ui import declared, refreshing, words
from desk_ui.followups import customers
from desk_ui.handling import marks
from desk_ui.handling.marks import On
from desk_ui.refreshing import Watch
from desk_ui.sweeps import lines
from desk_ui.translating import gettext as _
from models.declarations import Declared
from models.followups.policy import policy_of
from models.followups.records import AgentTask, Contact, FollowUp, Status
from models.tenants import AgentHold, Feature, Tenant

if TYPE_CHECKING:
    from desk_ui.followups.detail import DetailView


def read(session: Session, tenant: Tenant, followup: FollowUp) -> str:
    """The sign of how it stands: changes with it, its task, and when it is booked again or taken on.

    In parts, with those of what it shows beside: its customer's contact, what rests, the policy, who looks.
    """
    task_at = None
    if followup.task_id is not None:
        query = select(AgentTask.updated_at).where(
            AgentTask.tenant_id == tenant.id, AgentTask.id == followup.task_id
        )
        task_at = session.scalars(query).one_or_none()
    again = customers.rearmed_as(session, tenant, followup.id)
    on = marks.one_on(session, "followup", followup.id)
    rests: Sequence[object] = ()
    if followup.status == Status.PENDING:
        hold = session.get(AgentHold, (tenant.id, followup.agent))
        rests = _rests(tenant, hold if hold and hold.held else None, lines.firing_paused_since(g.now))
    return refreshing.in_parts(
        _itself(followup, task_at, again.id if again else None, on),
        _of_contact(customers.contact(session, tenant, followup.customer)),
        rests,
        _of_policy(declared.at_hand()[0], followup.agent),
        *marks.of_person(),
    )


def watch(view: "DetailView") -> Watch:
    """The same of a page that was read, with what happened last."""
    row, scene, task, again = view.row, view.scene, view.task, view.again
    waits = row.status == Status.PENDING
    sign = refreshing.in_parts(
        _itself(row, task.updated_at if task else None, again.id if again else None, view.on),
        _of_contact(view.contact),
        _rests(scene.tenant, view.hold, scene.halted) if waits else (),
        _of_policy(scene.declared, row.agent),
        *marks.of_person(),
    )
    beside = _("the customer's contact"), _("whether it waits"), _("the policy of its agent")
    if found := Watch.beside(sign, *beside, *marks.names_of_person()):
        return found
    if not view.timeline:
        return Watch.of(sign, view.mark.word, row.updated_at)
    last = view.timeline[-1]
    if last.action in marks.HANDLED and not last.refused:
        return marks.watch(sign, view.on, last)
    return Watch.of(sign, words.action(last.action, last.refused), last.at)


def _itself(
    followup: FollowUp, task_at: datetime | None, again: UUID | None, on: On | None
) -> Sequence[object]:
    return followup.version, task_at, again, on and (on.id, on.at)


def _of_contact(contact: Contact | None) -> Sequence[object]:
    if contact is None:
        return ()
    return contact.state, contact.version, contact.sends_without_reply, contact.updated_at


def _rests(tenant: Tenant, hold: AgentHold | None, halted: datetime | None) -> Sequence[object]:
    """What keeps one that is pending from firing, whoever did it."""
    return tenant.has(Feature.FOLLOWUPS), hold and hold.version, halted


def _of_policy(declared: Declared, agent: str) -> Sequence[object]:
    """Not its version, which changes with each other line of the file too."""
    parsed = policy_of(declared, agent)
    return parsed.policy, parsed.faults
