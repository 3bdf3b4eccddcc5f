"""Letting a skipped execution wait again, or what is left of a run that needs review go on."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from models import text
from models.actors import Actor
from models.automations import decisions, judging, ledger
from models.automations.judging import Facts
from models.automations.records import ActionRun, ActionState, Execution, Skip, Status
from models.automations.refusals import refusal_to_rearm, refusal_to_rearm_rest
from models.errors import Conflict, Invalid


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
    facts, runs = decisions.locked(session, tenant_id, execution_id)
    execution = facts.execution
    if execution.status == Status.SKIPPED:
        return _rearm_skipped(session, facts, runs, reason, actor, now, expected_version, detail)
    decisions.allow(execution, refusal_to_rearm_rest(execution, runs, now), expected_version)
    abandoned = execution.status == Status.EXECUTING
    chosen = _chosen(runs, include_unknown, abandoned=abandoned)
    against = judging.standing(session, facts, now=now)
    said = text.optional(reason, "reason", longest=ledger.LENGTH)
    if against is not None and not (said or "").strip():
        raise Invalid("reason", f"must be given: going on goes against {against.value}")
    decisions.read_as_a_person_does(session, runs, actor, now)
    for action in chosen:
        if action.state != ActionState.WAITING:
            ledger.decide(
                session, action, ActionState.WAITING, actor=actor.label, detail=said or "re-armed", now=now
            )
    decisions.reviewed(execution, actor, now, said)
    execution.settled_at = execution.settled_by = None
    # Under a new token that nobody holds yet: the next run takes it at once.
    execution.resumed, execution.lock_token, execution.locked_at = True, uuid4(), None
    given = {
        **(detail or {}),
        "positions": [action.position for action in chosen],
        "may_be_twice": sorted(include_unknown),
        **({"against": against.value} if against else {}),
    }
    decisions.moved(session, execution, Status.PROCESSING, "rearmed", said, actor, now, given)
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
    decisions.allow(execution, refusal_to_rearm(execution, runs), expected_version)
    against = judging.standing(session, facts, now=now)
    if against is not None:
        raise Conflict(MOVED_ON[against], current=execution)
    assert facts.rule is not None
    execution.armed_version = facts.rule.armed_version
    execution.skip_reason = None
    execution.due_at = execution.lapses_from = now
    execution.not_before = None
    said = text.optional(reason, "reason", longest=ledger.LENGTH)
    decisions.moved(session, execution, Status.PENDING, "rearmed", said, actor, now, detail)
    return execution


MOVED_ON = {
    Skip.RULE_INACTIVE: "Its rule is switched off or gone, so it can't be re-armed.",
    Skip.CONVERSATION_GONE: "Its conversation is gone, so it can't be re-armed.",
    Skip.EPISODE_MOVED: "The conversation moved on since, so it can't be re-armed.",
    Skip.CONDITIONS_CHANGED: "The rule's conditions don't hold any more, so it can't be re-armed.",
}
