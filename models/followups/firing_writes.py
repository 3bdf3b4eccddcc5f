"""What a judged chunk writes, set-wise: states, tasks, contacts, audit events and outbox events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    String,
    Update,
    Uuid,
    and_,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.orm import Session

from models import audit, bulk, outbox
from models.actors import Actor
from models.base import UtcDateTime, is_sqlite
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
    _defer(session, tenant_id, [r for r in due if r.verdict.defer_until])
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
    given = bulk.rows_as_table(session, "fired", {"id": Uuid(), "task_id": Uuid()}, rows)
    bulk.execute_audited(
        session,
        _moved(session, given, tenant_id, now).values(
            status=Status.FIRED.value, fired_at=now, task_id=given.c.task_id
        ),
        changed=_rows(tenant_id, due),
    )
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
    rows = [{"id": record.id, "reason": reason} for record, reason in reasons]
    given = bulk.rows_as_table(session, "blocked", {"id": Uuid(), "reason": String()}, rows)
    bulk.execute_audited(
        session,
        _moved(session, given, tenant_id, now).values(
            status=Status.BLOCKED.value, blocked_reason=given.c.reason
        ),
        changed=_rows(tenant_id, due),
    )
    for record, reason in reasons:
        detail = {"agent": record.agent, "arm": record.arm, "reason": reason}
        told.moved(str(record.id), Status.BLOCKED, reason, detail)


def _defer(session: Session, tenant_id: int, due: Sequence[Due]) -> None:
    """A deferral is no change of state: the record stays pending, with the time that it waits for."""
    if not due:
        return
    rows = [{"id": record.id, "until": record.verdict.defer_until} for record in due]
    given = bulk.rows_as_table(session, "deferred", {"id": Uuid(), "until": UtcDateTime()}, rows)
    bulk.execute_unaudited(
        session,
        update(FollowUp)
        .where(_is_given(session, tenant_id, given))
        .values(deferred_until=given.c.until)
        .execution_options(synchronize_session=False),
    )


def _bump(session: Session, tenant_id: int, cells: Sequence[ContactCell], now: datetime, told: _Told) -> None:
    """Count the fires on their contacts; those that reached the ceiling of silence become unavailable."""
    if not cells:
        return
    rows = [{"id": cell.id, "state": cell.state, "sends": cell.sends_without_reply} for cell in cells]
    given = bulk.rows_as_table(session, "bumped", {"id": Uuid(), "state": String(), "sends": Integer()}, rows)
    bulk.execute_unaudited(
        session,
        update(Contact)
        .where(Contact.id == given.c.id)
        .values(
            state=given.c.state,
            sends_without_reply=given.c.sends,
            last_outbound_at=now,
            updated_at=now,
            version=Contact.version + 1,
        )
        .execution_options(synchronize_session=False),
    )
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


def _moved(session: Session, given: FromClause, tenant_id: int, now: datetime) -> Update:
    """The update of the records in `given`; only those still pending, which the row count proves."""
    return (
        update(FollowUp)
        .where(_is_given(session, tenant_id, given), FollowUp.status == Status.PENDING)
        .values(updated_at=now, version=FollowUp.version + 1)
        .execution_options(synchronize_session=False)
    )


def _is_given(session: Session, tenant_id: int, given: FromClause) -> ColumnElement[bool]:
    """Whether a record is one of `given`."""
    if not is_sqlite(session):
        return and_(FollowUp.tenant_id == tenant_id, FollowUp.id == given.c.id)
    # Without statistics SQLite reads all that is pending for the tenant; by pairs it goes along the key.
    keys = select(literal(tenant_id), given.c.id).correlate(None)
    return and_(tuple_(FollowUp.tenant_id, FollowUp.id).in_(keys), FollowUp.id == given.c.id)


def _rows(tenant_id: int, due: Sequence[Due]) -> list[tuple[str, int, str]]:
    return [("followup", tenant_id, str(record.id)) for record in due]
