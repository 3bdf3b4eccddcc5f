"""What every act of a person on an execution shares: the locks, the refusal, and what it leaves behind."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import audit, conversations, locks, text
from models.actors import Actor
from models.automations import ledger, settling
from models.automations.judging import Facts
from models.automations.records import ActionRun, AutomationRule, Execution, Status
from models.errors import Conflict, NotFound
from models.tenants import Tenant
from models.transitions import check_version, move


def get(session: Session, tenant_id: int, execution_id: UUID) -> Execution:
    """The tenant's execution. Raises `NotFound`."""
    query = select(Execution).where(Execution.tenant_id == tenant_id, Execution.id == execution_id)
    found = session.scalars(query).one_or_none()
    if found is None:
        raise NotFound("execution")
    return found


def locked(session: Session, tenant_id: int, execution_id: UUID) -> tuple[Facts, list[ActionRun]]:
    """The execution with what it is judged by, its conversation locked first; and its actions."""
    seen = get(session, tenant_id, execution_id)
    conversation = conversations.lock(session, seen.conversation_id)
    execution = locks.one(
        session, select(Execution).where(Execution.tenant_id == tenant_id, Execution.id == execution_id)
    )
    if execution is None:
        raise NotFound("execution")
    facts = Facts(
        tenant=session.get_one(Tenant, tenant_id),
        execution=execution,
        rule=session.get(AutomationRule, execution.rule_id, populate_existing=True),
        conversation=conversation,
    )
    return facts, ledger.of(session, execution)


def allow(execution: Execution, refusal: str | None, expected_version: int | None) -> None:
    if refusal is not None:
        raise Conflict(refusal, current=execution)
    check_version(execution, expected_version, "execution")


def read_as_a_person_does(session: Session, runs: list[ActionRun], actor: Actor, now: datetime) -> None:
    """Write down how an action that was left started reads, before anything is decided on it."""
    for action in runs:
        reads = ledger.reads_as(action, abandoned=True)
        if action.state != reads:
            ledger.decide(session, action, reads, actor=actor.label, detail="its worker ended", now=now)


def reviewed(execution: Execution, actor: Actor, now: datetime, note: str | None) -> None:
    settling.let_go(execution)
    execution.needs_review = False
    execution.settled_by, execution.settled_at, execution.note = actor.label, now, note


def moved(
    session: Session,
    execution: Execution,
    to: Status,
    verb: str,
    reason: str | None,
    actor: Actor,
    now: datetime,
    detail: Mapping[str, Any] | None,
) -> None:
    move(
        session,
        execution,
        to,
        actor=actor,
        now=now,
        action=f"execution.{verb}",
        purpose=text.optional(reason, "reason", longest=ledger.LENGTH),
        detail=dict(detail or {}),
    )
    session.flush()


def noted(
    session: Session,
    execution: Execution,
    verb: str,
    reason: str | None,
    actor: Actor,
    now: datetime,
    detail: Mapping[str, Any],
) -> None:
    """An event of something that is no change of state."""
    execution.version += 1
    execution.updated_at = now
    audit.append(
        session,
        tenant_id=execution.tenant_id,
        actor=actor,
        action=f"execution.{verb}",
        resource=("execution", str(execution.id)),
        now=now,
        purpose=reason,
        detail=dict(detail),
    )
    session.flush()
