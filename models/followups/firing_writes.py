"""What a judged chunk writes, set-wise: states, tasks, contacts, audit events and outbox events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from models import audit, bulk, outbox
from models.actors import Actor
from models.followups.records import AgentTask, Contact, ContactState, FollowUp, Status, TaskStatus
from models.followups.tasks import command

if TYPE_CHECKING:
    from models.followups.firing_batch import ContactCell, Due


def write(
    session: Session,
    tenant_id: int,
    due: Sequence[Due],
    cells: Sequence[ContactCell],
    *,
    actor: Actor,
    now: datetime,
) -> None:
    """Write the verdicts of locked records and what they did to their contacts."""
    told = _Told([], [])
    _block(session, tenant_id, [r for r in due if r.verdict.block], now, told)
    _defer(session, tenant_id, [r for r in due if r.verdict.defer_until], now)
    _fire(session, tenant_id, [r for r in due if r.verdict.fires], now, told)
    _bump(session, tenant_id, [cell for cell in cells if cell.fired_now], now, told)
    audit.append_many(session, told.audit, tenant_id=tenant_id, actor=actor, now=now)
    outbox.enqueue_many(session, told.outbox, tenant_id=tenant_id, now=now)


@dataclass(frozen=True, slots=True)
class _Told:
    """The audit and outbox events of a chunk, gathered to be written in one statement each."""

    audit: list[dict[str, Any]]
    outbox: list[dict[str, Any]]

    def moved(self, id: str, to: Status, purpose: str | None, detail: dict[str, Any]) -> None:
        """A follow-up left pending: its audit event and its outbox event."""
        action = f"followup.{to.value}"
        self.audit.append(
            {
                "action": action,
                "resource_type": "followup",
                "resource_id": id,
                "purpose": purpose,
                "detail": {"from": Status.PENDING.value, "to": to.value, **detail},
            }
        )
        self.send(action, "followup", id, {"followup_id": id, **detail})

    def send(self, event_type: str, kind: str, id: str, payload: dict[str, Any]) -> None:
        self.outbox.append(
            {"event_type": event_type, "aggregate_type": kind, "aggregate_id": id, "payload": payload}
        )


def _fire(session: Session, tenant_id: int, due: Sequence[Due], now: datetime, told: _Told) -> None:
    if not due:
        return
    tasks = [(record, uuid4()) for record in due]
    rows = [{"id": record.id, "task_id": task_id} for record, task_id in tasks]
    _move(session, tenant_id, due, rows, status=Status.FIRED.value, fired_at=now, updated_at=now)
    bulk.insert_rows(
        session,
        AgentTask,
        [_task(record, task_id, now) for record, task_id in tasks],
        common={
            "tenant_id": tenant_id,
            "status": TaskStatus.QUEUED.value,
            "created_at": now,
            "updated_at": now,
            "version": 1,
        },
    )
    for record, task_id in tasks:
        id, task = str(record.id), str(task_id)
        detail = {"agent": record.agent, "arm": record.arm, "task_id": task}
        told.moved(id, Status.FIRED, None, detail)
        told.send("task.created", "task", task, {"followup_id": id, **detail})


def _task(record: Due, task_id: UUID, now: datetime) -> dict[str, Any]:
    return {
        "id": task_id,
        "followup_id": record.id,
        "agent": record.agent,
        "customer": record.customer,
        "session_id": record.session_id,
        "command": command(
            session_id=record.session_id,
            agent=record.agent,
            customer=record.customer,
            reason=record.reason,
            transport=record.transport,
            now=now,
        ),
    }


def _block(session: Session, tenant_id: int, due: Sequence[Due], now: datetime, told: _Told) -> None:
    if not due:
        return
    reasons = [(record, record.verdict.block.value) for record in due if record.verdict.block]
    rows = [{"id": record.id, "blocked_reason": reason} for record, reason in reasons]
    _move(session, tenant_id, due, rows, status=Status.BLOCKED.value, updated_at=now)
    for record, reason in reasons:
        detail = {"agent": record.agent, "arm": record.arm, "reason": reason}
        told.moved(str(record.id), Status.BLOCKED, reason, detail)


def _defer(session: Session, tenant_id: int, due: Sequence[Due], now: datetime) -> None:
    """A deferral is no change of state: the record stays pending, with the time that it waits for.

    It stands elsewhere in the lists from then on, so that it counts as changed since they were read.
    """
    if not due:
        return
    rows = [{"id": record.id, "deferred_until": record.verdict.defer_until} for record in due]
    mine = [FollowUp.tenant_id == tenant_id]
    bulk.update_rows(session, FollowUp, rows, where=mine, common={"updated_at": now})


def _bump(session: Session, tenant_id: int, cells: Sequence[ContactCell], now: datetime, told: _Told) -> None:
    """Count the fires on their contacts; those that reached the ceiling of silence become unavailable."""
    if not cells:
        return
    rows = [
        {"id": cell.id, "state": cell.state, "sends_without_reply": cell.sends_without_reply}
        for cell in cells
    ]
    common = {"last_outbound_at": now, "updated_at": now, "version": Contact.version + 1}
    bulk.update_rows(session, Contact, rows, where=[], common=common)
    exhausted = [str(cell.id) for cell in cells if cell.exhausted]
    bulk.note_changed(session, (("contact", tenant_id, id) for id in exhausted))
    for id in exhausted:
        told.audit.append(
            {
                "action": "contact.unavailable",
                "resource_type": "contact",
                "resource_id": id,
                "purpose": "silence_after_sends",
                "detail": {"from": ContactState.GRANTED.value, "to": ContactState.UNAVAILABLE.value},
            }
        )
    for cell in cells:
        cell.fired_now, cell.exhausted = 0, False


def _move(session: Session, tenant_id: int, due: Sequence[Due], rows: bulk.Rows, **common: Any) -> None:
    """Take locked records out of pending; that they still were is proven by the number of rows hit."""
    bulk.update_rows(
        session,
        FollowUp,
        rows,
        where=[FollowUp.tenant_id == tenant_id, FollowUp.status == Status.PENDING],
        common={**common, "version": FollowUp.version + 1},
        changed=[("followup", tenant_id, str(record.id)) for record in due],
    )
