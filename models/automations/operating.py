"""What a person does with one execution: cancel, reclaim, re-arm, settle, drop, and re-arm what is left.

Each is judged under the locks by the same refusal that disables its button, and each takes the row from
whoever holds it, so that a worker that was only slow stops at its next write.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from models import text
from models.actors import Actor
from models.automations import decisions, ledger, settling
from models.automations.decisions import get as get
from models.automations.rearming import rearm as rearm
from models.automations.records import ActionRun, ActionState, Execution, Skip, Status
from models.automations.refusals import (
    refusal_to_cancel,
    refusal_to_drop,
    refusal_to_reclaim,
    refusal_to_settle,
)
from models.errors import Invalid


def cancel(
    session: Session,
    tenant_id: int,
    execution_id: UUID,
    *,
    actor: Actor,
    now: datetime,
    reason: str | None = None,
    expected_version: int | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Execution:
    """Skip one that waits; one that was cancelled is returned unchanged.

    Raises `NotFound`, and `Conflict` where it runs, is over, or moved.
    """
    facts, runs = decisions.locked(session, tenant_id, execution_id)
    execution = facts.execution
    if execution.status == Status.SKIPPED and execution.skip_reason == Skip.CANCELLED:
        return execution
    decisions.allow(execution, refusal_to_cancel(execution, runs, now), expected_version)
    settling.let_go(execution)
    # What was let go on is over: should it be re-armed, it is judged like any other.
    execution.resumed = False
    execution.skip_reason = Skip.CANCELLED.value
    decisions.moved(session, execution, Status.SKIPPED, "cancelled", reason, actor, now, detail)
    return execution


def reclaim(
    session: Session,
    tenant_id: int,
    execution_id: UUID,
    *,
    actor: Actor,
    now: datetime,
    reason: str | None = None,
    expected_version: int | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Execution:
    """Take one from a worker that said nothing for too long, before its first action: pending and due now."""
    facts, _runs = decisions.locked(session, tenant_id, execution_id)
    execution = facts.execution
    decisions.allow(execution, refusal_to_reclaim(execution, now), expected_version)
    settling.let_go(execution)
    execution.due_at = execution.lapses_from = now
    execution.not_before = None
    decisions.moved(session, execution, Status.PENDING, "reclaimed", reason, actor, now, detail)
    return execution


def drop(
    session: Session,
    tenant_id: int,
    execution_id: UUID,
    *,
    actor: Actor,
    now: datetime,
    reason: str | None = None,
    expected_version: int | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Execution:
    """Give an abandoned run up as it is: nothing more of it is done."""
    facts, runs = decisions.locked(session, tenant_id, execution_id)
    execution = facts.execution
    decisions.allow(execution, refusal_to_drop(execution, now), expected_version)
    decisions.read_as_a_person_does(session, runs, actor, now)
    decisions.reviewed(execution, actor, now, reason)
    execution.skip_reason = Skip.DROPPED.value
    decisions.moved(session, execution, Status.SKIPPED, "dropped", reason, actor, now, detail)
    return execution


def settle(
    session: Session,
    tenant_id: int,
    execution_id: UUID,
    unknown: Mapping[int, str],
    *,
    actor: Actor,
    now: datetime,
    note: str | None = None,
    expected_version: int | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Execution:
    """Say what became of each action whose end is unknown, by position `done` or `failed`, and close the run.

    Raises `Invalid` on `unknown` where one is left out or is not unknown, `NotFound`, `Conflict`.
    """
    facts, runs = decisions.locked(session, tenant_id, execution_id)
    execution = facts.execution
    decisions.allow(execution, refusal_to_settle(execution, now), expected_version)
    said = text.optional(note, "note", longest=ledger.LENGTH)
    _check_unknown(runs, unknown, now, abandoned=execution.status == Status.EXECUTING)
    decisions.read_as_a_person_does(session, runs, actor, now)
    for action in runs:
        if action.position in unknown:
            to = ActionState(unknown[action.position])
            ledger.decide(session, action, to, actor=actor.label, detail=said, now=now)
    decisions.reviewed(execution, actor, now, said)
    given = {**(detail or {}), "unknown": {str(key): value for key, value in sorted(unknown.items())}}
    if execution.status == Status.EXECUTED:
        decisions.noted(session, execution, "settled", said, actor, now, given)
    else:
        decisions.moved(session, execution, Status.EXECUTED, "settled", said, actor, now, given)
        settling.tell(session, execution, facts.conversation, "execution.executed", now)
    return execution


def _check_unknown(
    runs: list[ActionRun], given: Mapping[int, str], now: datetime, *, abandoned: bool
) -> None:
    open_ones = {
        run.position for run in runs if ledger.reads_as(run, abandoned=abandoned) is ActionState.UNKNOWN
    }
    for position, said in given.items():
        if position not in open_ones:
            raise Invalid(f"unknown.{position}", "is no action whose end is unknown")
        if said not in (ActionState.DONE, ActionState.FAILED):
            raise Invalid(f"unknown.{position}", "must be done or failed")
    missing = sorted(open_ones - set(given))
    if missing:
        raise Invalid(
            f"unknown.{missing[0]}", "is missing: say of each action whose end is unknown, done or failed"
        )
