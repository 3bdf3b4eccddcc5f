"""Why an act on an execution is not allowed, for the button and the route alike; None where it is."""

from collections.abc import Sequence
from datetime import datetime

from models.automations import ledger
from models.automations.claiming import STALE_LOCK
from models.automations.records import ActionRun, ActionState, Execution, Skip, Status


def refusal_to_cancel(execution: Execution, runs: Sequence[ActionRun], now: datetime) -> str | None:
    if execution.status == Status.PENDING:
        return _if_begun(execution, runs)
    if execution.status == Status.PROCESSING:
        if not _is_stale(execution, now):
            return "A worker holds it at this moment, so it can't be cancelled."
        return _if_begun(execution, runs)
    return f"This execution {_stands(execution)}, so it can't be cancelled."


def _if_begun(execution: Execution, runs: Sequence[ActionRun]) -> str | None:
    """What is left of a run that a person let go on is not cancelled as if it had never begun."""
    if execution.resumed and any(run.state != ActionState.WAITING for run in runs):
        return "Some of its actions were done already, so it can't be cancelled. Let the rest of it run."
    return None


def refusal_to_reclaim(execution: Execution, now: datetime) -> str | None:
    if execution.status != Status.PROCESSING:
        return f"This execution {_stands(execution)}, so there is nothing to reclaim."
    if not _is_stale(execution, now):
        return "Its worker said something within the last 15 minutes, so it can't be reclaimed yet."
    return None


def refusal_to_drop(execution: Execution, now: datetime) -> str | None:
    if is_abandoned(execution, now):
        return None
    return f"This execution {_stands(execution)}, so it can't be dropped. Only an abandoned run can."


def refusal_to_settle(execution: Execution, now: datetime) -> str | None:
    if _waits_for_a_person(execution, now):
        return None
    return f"This execution {_stands(execution)}, so there is nothing to settle."


def refusal_to_rearm_rest(execution: Execution, runs: Sequence[ActionRun], now: datetime) -> str | None:
    if execution.status in (Status.PENDING, Status.PROCESSING):
        return "This execution waits already."
    if not _waits_for_a_person(execution, now):
        return f"This execution {_stands(execution)}, so it can't be re-armed."
    if all(run.state == ActionState.DONE for run in runs):
        return "All of its actions are done, so nothing is left to re-arm. Settle it."
    return None


def refusal_to_rearm(execution: Execution, runs: Sequence[ActionRun]) -> str | None:
    """Of a skipped one. What ran in part before it was dropped may have gone out.

    Any other never began, or waited for quiet again after a run that came to its end.
    """
    if execution.status != Status.SKIPPED:
        return f"This execution {_stands(execution)}, so it can't be re-armed."
    dropped = execution.skip_reason == Skip.DROPPED
    if dropped and any(run.state != ActionState.WAITING for run in runs):
        return "Some of its actions were begun before it was dropped, so it is never re-armed."
    return None


def is_abandoned(execution: Execution, now: datetime) -> bool:
    """Whether the worker died, or is taken to be dead, after its first action may have begun."""
    return ledger.is_abandoned(execution, now, STALE_LOCK)


def _waits_for_a_person(execution: Execution, now: datetime) -> bool:
    """By the lock of one that is executing: its mark may be older than what its worker said last."""
    return is_abandoned(execution, now) or (execution.status == Status.EXECUTED and execution.needs_review)


def _is_stale(execution: Execution, now: datetime) -> bool:
    return execution.locked_at is None or execution.locked_at < now - STALE_LOCK


def _stands(execution: Execution) -> str:
    return {
        Status.PENDING: "is waiting",
        Status.PROCESSING: "is held by a worker",
        Status.EXECUTING: "is running",
        Status.EXECUTED: "was executed",
        Status.SKIPPED: "was skipped",
    }[Status(execution.status)]
