"""What a judged chunk writes, set-wise: states, tasks, contacts, audit events and outbox events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from sqlalchemy import Integer, String, Uuid, update
from sqlalchemy.orm import Session

from models import audit, bulk, outbox
from models.actors import Actor
from models.base import UtcDateTime
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
    events: list[dict[str, Any]] = []
    outgoing: list[dict[str, Any]] = []
    _block(session, tenant_id, [r for r in due if r.verdict.block], actor, now, events, outgoing)
    _defer(session, tenant_id, [r for r in due if r.verdict.defer_until])
    _fire(session, tenant_id, [r for r in due if r.verdict.fires], actor, now, events, outgoing)
    _bump(session, tenant_id, [cell for cell in cells if cell.fired_now], actor, now, events)
    audit.append_many(session, events)
    outbox.enqueue_many(session, outgoing)


def _fire(
    session: Session,
    tenant_id: int,
    due: Sequence[Due],
    actor: Actor,
    now: datetime,
    events: list[dict[str, Any]],
    outgoing: list[dict[str, Any]],
) -> None:
    if not due:
        return
    tasks = [(record, uuid4()) for record in due]
    given = bulk.rows_as_table(
        session, "fired", {"id": Uuid(), "task_id": Uuid()}, [{"id": r.id, "task_id": t} for r, t in tasks]
    )
    bulk.execute_audited(
        session,
        _moved(given, tenant_id, now).values(
            status=Status.FIRED.value, fired_at=now, task_id=given.c.task_id
        ),
        changed=_rows(tenant_id, due),
    )
    bulk.insert_rows(
        session,
        AgentTask,
        [_task(tenant_id, r, t, now) for r, t in tasks],
    )
    for record, task_id in tasks:
        detail = {"agent": record.agent, "arm": record.arm, "task_id": str(task_id)}
        events.append(_event(tenant_id, record, Status.FIRED, actor, now, None, detail))
        payload = {"followup_id": str(record.id), **detail}
        outgoing.append(_outgoing(tenant_id, "followup.fired", ("followup", record.id), payload, now))
        outgoing.append(_outgoing(tenant_id, "task.created", ("task", task_id), payload, now))


def _block(
    session: Session,
    tenant_id: int,
    due: Sequence[Due],
    actor: Actor,
    now: datetime,
    events: list[dict[str, Any]],
    outgoing: list[dict[str, Any]],
) -> None:
    if not due:
        return
    reasons = [(record, record.verdict.block.value) for record in due if record.verdict.block]
    rows = [{"id": record.id, "reason": reason} for record, reason in reasons]
    given = bulk.rows_as_table(session, "blocked", {"id": Uuid(), "reason": String()}, rows)
    bulk.execute_audited(
        session,
        _moved(given, tenant_id, now).values(status=Status.BLOCKED.value, blocked_reason=given.c.reason),
        changed=_rows(tenant_id, due),
    )
    for record, reason in reasons:
        detail = {"agent": record.agent, "arm": record.arm, "reason": reason}
        events.append(_event(tenant_id, record, Status.BLOCKED, actor, now, reason, detail))
        payload = {"followup_id": str(record.id), **detail}
        outgoing.append(_outgoing(tenant_id, "followup.blocked", ("followup", record.id), payload, now))


def _defer(session: Session, tenant_id: int, due: Sequence[Due]) -> None:
    """A deferral is no change of state: the record stays pending, with the time that it waits for."""
    if not due:
        return
    rows = [{"id": record.id, "until": record.verdict.defer_until} for record in due]
    given = bulk.rows_as_table(session, "deferred", {"id": Uuid(), "until": UtcDateTime()}, rows)
    bulk.execute_unaudited(
        session,
        update(FollowUp)
        .where(FollowUp.tenant_id == tenant_id, FollowUp.id == given.c.id)
        .values(deferred_until=given.c.until)
        .execution_options(synchronize_session=False),
    )


def _bump(
    session: Session,
    tenant_id: int,
    cells: Sequence[ContactCell],
    actor: Actor,
    now: datetime,
    events: list[dict[str, Any]],
) -> None:
    if not cells:
        return
    given = bulk.rows_as_table(
        session,
        "bumped",
        {"id": Uuid(), "state": String(), "sends": Integer()},
        [{"id": c.id, "state": c.state, "sends": c.sends_without_reply} for c in cells],
    )
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
    exhausted = [cell for cell in cells if cell.exhausted]
    bulk.note_changed(session, (("contact", tenant_id, str(cell.id)) for cell in exhausted))
    for cell in exhausted:
        events.append(
            audit.row(
                tenant_id=tenant_id,
                actor=actor,
                action="contact.unavailable",
                resource=("contact", str(cell.id)),
                now=now,
                purpose="silence_after_sends",
                detail={"from": ContactState.GRANTED.value, "to": ContactState.UNAVAILABLE.value},
            )
        )
    for cell in cells:
        cell.fired_now, cell.exhausted = 0, False


def _moved(given: Any, tenant_id: int, now: datetime) -> Any:
    """The update of the records in `given`; only those that are pending still, which the row count proves."""
    return (
        update(FollowUp)
        .where(
            FollowUp.tenant_id == tenant_id,
            FollowUp.id == given.c.id,
            FollowUp.status == Status.PENDING,
        )
        .values(updated_at=now, version=FollowUp.version + 1)
        .execution_options(synchronize_session=False)
    )


def _rows(tenant_id: int, due: Sequence[Due]) -> list[tuple[str, int, str]]:
    return [("followup", tenant_id, str(record.id)) for record in due]


def _task(tenant_id: int, record: Due, task_id: UUID, now: datetime) -> dict[str, Any]:
    return {
        "id": task_id,
        "tenant_id": tenant_id,
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
        "status": TaskStatus.QUEUED.value,
        "created_at": now,
        "updated_at": now,
        "version": 1,
    }


def _event(
    tenant_id: int,
    record: Due,
    to: Status,
    actor: Actor,
    now: datetime,
    purpose: str | None,
    detail: dict[str, Any],
) -> dict[str, Any]:
    return audit.row(
        tenant_id=tenant_id,
        actor=actor,
        action=f"followup.{to.value}",
        resource=("followup", str(record.id)),
        now=now,
        purpose=purpose,
        detail={"from": Status.PENDING.value, "to": to.value, **detail},
    )


def _outgoing(
    tenant_id: int, event_type: str, aggregate: tuple[str, UUID], payload: dict[str, Any], now: datetime
) -> dict[str, Any]:
    return {
        "tenant_id": tenant_id,
        "aggregate_type": aggregate[0],
        "aggregate_id": str(aggregate[1]),
        "event_type": event_type,
        "payload": payload,
        "created_at": now,
    }
