"""What a person does with one execution: cancel, reclaim, re-arm, settle, drop, and re-arm what is left.

Each is judged under the locks by the same refusal that disables its button, and each takes the row from
whoever holds it, so that a worker that was only slow stops at its next write.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import audit, conversations, locks, text
from models.actors import Actor
from models.automations import judging, ledger, settling
from models.automations.judging import Facts
from models.automations.records import (
    ActionRun,
    ActionState,
    AutomationRule,
    Execution,
    Skip,
    Status,
)
from models.automations.refusals import (
    refusal_to_cancel,
    refusal_to_drop,
    refusal_to_rearm,
    refusal_to_rearm_rest,
    refusal_to_reclaim,
    refusal_to_settle,
)
from models.errors import Conflict, Invalid, NotFound
from models.tenants import Tenant
from models.transitions import check_version, move


def get(session: Session, tenant_id: int, execution_id: UUID) -> Execution:
    """The tenant's execution. Raises `NotFound`."""
    query = select(Execution).where(Execution.tenant_id == tenant_id, Execution.id == execution_id)
    found = session.scalars(query).one_or_none()
    if found is None:
        raise NotFound("execution")
    return found


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
    facts, runs = _locked(session, tenant_id, execution_id)
    execution = facts.execution
    if execution.status == Status.SKIPPED and execution.skip_reason == Skip.CANCELLED:
        return execution
    _allow(execution, refusal_to_cancel(execution, runs, now), expected_version)
    settling.let_go(execution)
    execution.skip_reason = Skip.CANCELLED.value
    _move(session, execution, Status.SKIPPED, "cancelled", reason, actor, now, detail)
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
    facts, _runs = _locked(session, tenant_id, execution_id)
    execution = facts.execution
    _allow(execution, refusal_to_reclaim(execution, now), expected_version)
    settling.let_go(execution)
    execution.due_at = execution.lapses_from = now
    execution.not_before = None
    _move(session, execution, Status.PENDING, "reclaimed", reason, actor, now, detail)
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
    facts, runs = _locked(session, tenant_id, execution_id)
    execution = facts.execution
    _allow(execution, refusal_to_drop(execution, now), expected_version)
    _read_as_a_person_does(session, runs, actor, now)
    _reviewed(execution, actor, now, reason)
    execution.skip_reason = Skip.DROPPED.value
    _move(session, execution, Status.SKIPPED, "dropped", reason, actor, now, detail)
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
    facts, runs = _locked(session, tenant_id, execution_id)
    execution = facts.execution
    _allow(execution, refusal_to_settle(execution, now), expected_version)
    said = text.optional(note, "note", longest=ledger.LENGTH)
    _check_unknown(runs, unknown, now, abandoned=execution.status == Status.EXECUTING)
    _read_as_a_person_does(session, runs, actor, now)
    for action in runs:
        if action.position in unknown:
            to = ActionState(unknown[action.position])
            ledger.decide(session, action, to, actor=actor.label, detail=said, now=now)
    _reviewed(execution, actor, now, said)
    given = {**(detail or {}), "unknown": {str(key): value for key, value in sorted(unknown.items())}}
    if execution.status == Status.EXECUTED:
        _note(session, execution, "settled", said, actor, now, given)
    else:
        _move(session, execution, Status.EXECUTED, "settled", said, actor, now, given)
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


def rearm(
    session: Session,
    tenant_id: int,
    execution_id: UUID,
    *,
    include_unknown: frozenset[int] = frozenset(),
    reason: str | None = None,
    actor: Actor,
    now: datetime,
    expected_version: int | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Execution:
    """Let a skipped one wait again, or what is left of a run that needs review go on.

    Of such a run the waiting and the failed actions are done, and of the unknown ones those in
    `include_unknown`, which may be had twice. Raises `Invalid` on `include_unknown` or `reason`, `NotFound`,
    and `Conflict` where the reason for it does not stand any more, or the row moved.
    """
    facts, runs = _locked(session, tenant_id, execution_id)
    execution = facts.execution
    if execution.status == Status.SKIPPED:
        return _rearm_skipped(session, facts, runs, reason, actor, now, expected_version, detail)
    _allow(execution, refusal_to_rearm_rest(execution, runs, now), expected_version)
    abandoned = execution.status == Status.EXECUTING
    chosen = _chosen(runs, include_unknown, abandoned=abandoned)
    against = judging.standing(session, facts, now=now)
    said = text.optional(reason, "reason", longest=ledger.LENGTH)
    if against is not None and not (said or "").strip():
        raise Invalid("reason", f"must be given: going on goes against {against.value}")
    _read_as_a_person_does(session, runs, actor, now)
    for action in chosen:
        if action.state != ActionState.WAITING:
            ledger.decide(
                session, action, ActionState.WAITING, actor=actor.label, detail=said or "re-armed", now=now
            )
    _reviewed(execution, actor, now, said)
    execution.settled_at = execution.settled_by = None
    # Under a new token that nobody holds yet: the next run takes it at once.
    execution.resumed, execution.lock_token, execution.locked_at = True, uuid4(), None
    given = {
        **(detail or {}),
        "positions": [action.position for action in chosen],
        "may_be_twice": sorted(include_unknown),
        **({"against": against.value} if against else {}),
    }
    _move(session, execution, Status.PROCESSING, "rearmed", said, actor, now, given)
    return execution


def _chosen(runs: list[ActionRun], include: frozenset[int], *, abandoned: bool) -> list[ActionRun]:
    """The actions that are to be done. Raises `Invalid`."""
    states = {run.position: ledger.reads_as(run, abandoned=abandoned) for run in runs}
    for position in sorted(include):
        if states.get(position) is not ActionState.UNKNOWN:
            raise Invalid("include_unknown", f"holds {position}, which is no action whose end is unknown")
    left = (ActionState.WAITING, ActionState.FAILED)
    chosen = [run for run in runs if states[run.position] in left or run.position in include]
    if not chosen:
        raise Invalid("include_unknown", "must name an action: nothing else is left to do")
    return chosen


def _rearm_skipped(
    session: Session,
    facts: Facts,
    runs: list[ActionRun],
    reason: str | None,
    actor: Actor,
    now: datetime,
    expected_version: int | None,
    detail: Mapping[str, Any] | None,
) -> Execution:
    execution = facts.execution
    _allow(execution, refusal_to_rearm(execution, runs), expected_version)
    against = judging.standing(session, facts, now=now)
    if against is not None:
        raise Conflict(MOVED_ON[against], current=execution)
    assert facts.rule is not None
    execution.armed_version = facts.rule.armed_version
    execution.skip_reason = None
    execution.due_at = execution.lapses_from = now
    execution.not_before = None
    said = text.optional(reason, "reason", longest=ledger.LENGTH)
    _move(session, execution, Status.PENDING, "rearmed", said, actor, now, detail)
    return execution


MOVED_ON = {
    Skip.RULE_INACTIVE: "Its rule is switched off or gone, so it can't be re-armed.",
    Skip.CONVERSATION_GONE: "Its conversation is gone, so it can't be re-armed.",
    Skip.EPISODE_MOVED: "The conversation moved on since, so it can't be re-armed.",
    Skip.CONDITIONS_CHANGED: "The rule's conditions don't hold any more, so it can't be re-armed.",
}


def _locked(session: Session, tenant_id: int, execution_id: UUID) -> tuple[Facts, list[ActionRun]]:
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


def _allow(execution: Execution, refusal: str | None, expected_version: int | None) -> None:
    if refusal is not None:
        raise Conflict(refusal, current=execution)
    check_version(execution, expected_version, "execution")


def _read_as_a_person_does(session: Session, runs: list[ActionRun], actor: Actor, now: datetime) -> None:
    """Write down how an action that was left started reads, before anything is decided on it."""
    for action in runs:
        reads = ledger.reads_as(action, abandoned=True)
        if action.state != reads:
            ledger.decide(session, action, reads, actor=actor.label, detail="its worker ended", now=now)


def _reviewed(execution: Execution, actor: Actor, now: datetime, note: str | None) -> None:
    settling.let_go(execution)
    execution.needs_review = False
    execution.settled_by, execution.settled_at, execution.note = actor.label, now, note


def _move(
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


def _note(
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
