"""The action ledger: what a run is to do, how far each action came, and how a state of it reads."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import bulk, set_wise
from models.automations import actions
from models.automations.records import (
    UNSETTLED,
    ActionEvent,
    ActionRun,
    ActionState,
    AutomationRule,
    Execution,
    Status,
)

LENGTH = 500


def begin(session: Session, execution: Execution, rule: AutomationRule, source: str) -> None:
    """The ledger of a new run, one row for each action of `rule`, all waiting."""
    execution.run += 1
    execution.on_failure = rule.on_failure
    for position, action in enumerate(rule.actions):
        row = {
            "tenant_id": execution.tenant_id,
            "execution_id": execution.id,
            "run": execution.run,
            "position": position,
            "name": action["name"],
            "params": action["params"],
            "native": actions.is_native(action["name"], source),
            "state": ActionState.WAITING.value,
            "idempotency_key": _key(execution, position),
        }
        set_wise.add(session, ActionRun, row)


def _key(execution: Execution, position: int) -> str:
    """The same however often the action is tried; of a later run it names the run."""
    if execution.run == 1:
        return f"{execution.id}:{position}"
    return f"{execution.id}:{execution.run}:{position}"


def of(session: Session, execution: Execution) -> list[ActionRun]:
    """The actions of the present run, in their order."""
    query = select(ActionRun).where(ActionRun.execution_id == execution.id, ActionRun.run == execution.run)
    return list(session.scalars(query.order_by(ActionRun.position)))


def of_many(session: Session, executions: Sequence[Execution]) -> Mapping[UUID, list[ActionRun]]:
    """The actions of the present runs, by execution."""
    runs = {one.id: one.run for one in executions}
    query = select(ActionRun).where(bulk.is_among(session, ActionRun.execution_id, list(runs)))
    found: dict[UUID, list[ActionRun]] = {id: [] for id in runs}
    for action in session.scalars(query.order_by(ActionRun.execution_id, ActionRun.position)):
        if action.run == runs[action.execution_id]:
            found[action.execution_id].append(action)
    return found


def reads_as(action: ActionRun, *, abandoned: bool) -> ActionState:
    """The state as a person reads it: on an abandoned run, one that was left `started` may have had its
    effect, unless that was our own data, whose transaction did not commit."""
    if not abandoned or action.state != ActionState.STARTED:
        return ActionState(action.state)
    return ActionState.WAITING if action.native else ActionState.UNKNOWN


def is_abandoned(execution: Execution, now: datetime, stale: timedelta) -> bool:
    """Whether a run began its actions and nobody said anything of it for longer than `stale`."""
    locked_at = execution.locked_at
    return execution.status == Status.EXECUTING and locked_at is not None and locked_at < now - stale


def has_unsettled(runs: Sequence[ActionRun]) -> bool:
    """Whether an action failed, or its end is unknown."""
    return any(action.state in UNSETTLED for action in runs)


def decide(
    session: Session, action: ActionRun, to: ActionState, *, actor: str, detail: str | None, now: datetime
) -> None:
    """Set the state of an action by somebody's decision, and write that down in its history."""
    session.add(
        ActionEvent(
            tenant_id=action.tenant_id,
            action_run_id=action.id,
            from_state=action.state,
            to_state=to.value,
            actor=actor,
            detail=detail,
            at=now,
        )
    )
    _set(action, to, action.finished_at)


def note_late(session: Session, action: ActionRun, to: ActionState, detail: str, now: datetime) -> None:
    """Keep what came in for an action after somebody had decided on it: evidence, and no change."""
    session.add(
        ActionEvent(
            tenant_id=action.tenant_id,
            action_run_id=action.id,
            from_state=action.state,
            to_state=action.state,
            actor="late answer",
            detail=f"{to.value}: {detail}"[:LENGTH],
            at=now,
        )
    )


def start(action: ActionRun, now: datetime) -> None:
    """The action is about to be asked of the outside."""
    action.error = action.receipt = None
    action.started_at = now
    _set(action, ActionState.STARTED, None)


def end(
    action: ActionRun, to: ActionState, now: datetime, *, receipt: str | None = None, error: str | None = None
) -> None:
    """What came of an action. One on our own data starts and ends at once, in the transaction at hand."""
    action.started_at = action.started_at or now
    action.receipt = receipt[:LENGTH] if receipt else None
    action.error = error[:LENGTH] if error else None
    _set(action, to, now)


def _set(action: ActionRun, to: ActionState, finished_at: datetime | None) -> None:
    action.state, action.finished_at = to.value, finished_at
