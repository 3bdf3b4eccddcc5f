"""Doing the actions of many executions at once, where all of them are on our own data: one transaction.

Effect, ledger and the end of the run commit together, so that a kill leaves either all of it or nothing, and
then a person finds every action still waiting.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from models.automations import batch, effects, ledger, settling
from models.automations.effects import Act
from models.automations.judging import Facts
from models.automations.records import ActionRun, ActionState, OnFailure, Status
from models.errors import DeskError
from models.transactions import commit, is_lost_race, savepoint

GONE = "The conversation is gone."


def act(session: Session, ids: Sequence[UUID], *, token: UUID, now: datetime) -> list[tuple[UUID, Status]]:
    """Do what waits of each of `ids` that `token` still holds, and end its run; what each became."""
    try:
        with savepoint(session), batch.writing(session):
            ended = _all(session, ids, token, now, guarded=False)
    except Exception as error:
        if isinstance(error, DBAPIError) and is_lost_race(error):
            raise
        # Each action in a savepoint of its own, so that what can't be done is on its own row.
        ended = _all(session, ids, token, now, guarded=True)
    commit(session, "executions.act")
    return ended


def _all(
    session: Session, ids: Sequence[UUID], token: UUID, now: datetime, *, guarded: bool
) -> list[tuple[UUID, Status]]:
    held = batch.lock(session, ids, token=token, status=Status.EXECUTING)
    runs = ledger.of_many(session, [facts.execution for facts in held])
    return [_one(session, facts, runs[facts.execution.id], now, guarded=guarded) for facts in held]


def _one(
    session: Session, facts: Facts, runs: Sequence[ActionRun], now: datetime, *, guarded: bool
) -> tuple[UUID, Status]:
    for action in runs:
        if action.state != ActionState.WAITING:
            continue
        if guarded:
            try_native(session, facts, action, now)
        else:
            do_native(session, facts, action, now)
        if action.state != ActionState.DONE and facts.execution.on_failure == OnFailure.STOP:
            break
    return facts.execution.id, settling.finish(session, facts, runs, now=now)


def try_native(session: Session, facts: Facts, action: ActionRun, now: datetime) -> None:
    """As `do_native`; what it raises is the action's failure, and nothing of its effect is left."""
    try:
        with savepoint(session):
            do_native(session, facts, action, now)
            session.flush()
    except DBAPIError as error:
        if is_lost_race(error):
            raise
        _failed(action, "The database refused it; the desk's log says why.", now)
    except DeskError as error:
        _failed(action, error.detail, now)
    except Exception as error:  # noqa: BLE001  one action that can't be done does not undo the others
        _failed(action, f"It could not be done: {type(error).__name__}.", now)


def do_native(session: Session, facts: Facts, action: ActionRun, now: datetime) -> None:
    """Have one action's effect on our own data, and write it down, in the transaction at hand."""
    if facts.conversation is None:
        _failed(action, GONE, now)
        return
    receipt = effects.apply(Act(session, facts.conversation, action, facts.rule, now))
    ledger.end(action, ActionState.DONE, now, receipt=receipt)


def _failed(action: ActionRun, error: str, now: datetime) -> None:
    ledger.end(action, ActionState.FAILED, now, error=error)
