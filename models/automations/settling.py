"""What a decision, or the end of a run, makes of an execution: the moves that a worker makes."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from models import audit, bulk, outbox
from models.actors import Actor
from models.automations import inactivity, ledger
from models.automations.judging import Decision, Facts, Step
from models.automations.records import ActionRun, AutomationRule, Execution, Status, Trigger
from models.conversations import Conversation
from models.transitions import move

WORKER = Actor.system("run_executions")


def carry_out(session: Session, facts: Facts, decision: Decision, *, now: datetime) -> Status | None:
    """Let `decision` act on a processing execution under the locks; its status then, None if it is gone."""
    execution = facts.execution
    if decision.step is Step.RUN:
        start(session, facts, now=now)
        return Status.EXECUTING
    if decision.step is Step.SKIP:
        return _skip(session, facts, decision, now)
    if decision.step is Step.FREE:
        _free(session, execution, now)
        return None
    _wait(session, execution, decision, now)
    return Status.PENDING


def start(session: Session, facts: Facts, *, now: datetime) -> None:
    """From processing to executing, with the ledger of the run; committed before the first action."""
    execution = facts.execution
    if not execution.resumed:
        assert facts.rule is not None
        assert facts.conversation is not None
        ledger.begin(session, execution, facts.rule, facts.conversation.source)
        # Of an earlier run of the same row.
        execution.settled_by = execution.settled_at = execution.note = None
    execution.began_at = execution.locked_at = now
    purpose = "resumed" if execution.resumed else "due"
    execution.resumed = False
    move(
        session,
        execution,
        Status.EXECUTING,
        actor=WORKER,
        now=now,
        action="execution.started",
        purpose=purpose,
        detail={"run": execution.run},
    )


def _skip(session: Session, facts: Facts, decision: Decision, now: datetime) -> Status:
    execution = facts.execution
    assert decision.reason is not None
    active_at = _activity_since(facts.rule, execution, facts.conversation, execution.locked_at)
    let_go(execution)
    if active_at is not None and facts.rule is not None:
        _wait_anew(session, facts.rule, execution, active_at, decision.reason.value, now)
        return Status.PENDING
    execution.skip_reason = decision.reason.value
    move(
        session,
        execution,
        Status.SKIPPED,
        actor=WORKER,
        now=now,
        action="execution.skipped",
        purpose=decision.reason.value,
    )
    return Status.SKIPPED


def _wait_anew(
    session: Session,
    rule: AutomationRule,
    execution: Execution,
    active_at: datetime,
    purpose: str,
    now: datetime,
) -> None:
    """Somebody did something meanwhile: the same execution waits for the next quiet stretch."""
    execution.due_at = execution.lapses_from = inactivity.due_after(rule, active_at)
    execution.not_before = None
    move(
        session,
        execution,
        Status.PENDING,
        actor=WORKER,
        now=now,
        action="execution.rearmed",
        purpose=purpose,
        detail={"activity": True},
    )


def _activity_since(
    rule: AutomationRule | None,
    execution: Execution,
    conversation: Conversation | None,
    began: datetime | None,
) -> datetime | None:
    if rule is None or conversation is None or began is None or rule.trigger != Trigger.INACTIVITY:
        return None
    return inactivity.since(execution, conversation, began)


def _free(session: Session, execution: Execution, now: datetime) -> None:
    """Delete what was armed under another version of the rule, which frees its key."""
    audit.append(
        session,
        tenant_id=execution.tenant_id,
        actor=WORKER,
        action="execution.freed",
        resource=("execution", str(execution.id)),
        now=now,
        purpose="rule_changed",
    )
    gone = delete(Execution).where(Execution.id == execution.id)
    session.expunge(execution)
    bulk.execute_unaudited(session, gone.execution_options(synchronize_session=False))


def _wait(session: Session, execution: Execution, decision: Decision, now: datetime) -> None:
    """Back to pending, which the audit does not tell of. Waiting for a window is no lateness.

    It stands elsewhere in the lists from then on, so that it counts as changed since they were read.
    """
    values: dict[str, object] = {"status": Status.PENDING.value, "lock_token": None, "locked_at": None}
    if decision.due_at is not None or decision.not_before is not None:
        values["updated_at"] = now
    if decision.due_at is not None:
        values |= {"due_at": decision.due_at, "lapses_from": decision.due_at}
    if decision.not_before is not None:
        waited = decision.not_before - max(now, execution.lapses_from)
        values |= {"not_before": decision.not_before, "lapses_from": execution.lapses_from + waited}
    session.expunge(execution)
    unlocked = update(Execution).where(Execution.id == execution.id).values(values)
    bulk.execute_unaudited(session, unlocked.execution_options(synchronize_session=False))


def finish(session: Session, facts: Facts, runs: Sequence[ActionRun], *, now: datetime) -> Status:
    """The end of a run whose actions were done, or stopped at one that failed; its status then."""
    execution, conversation = facts.execution, facts.conversation
    unsettled = ledger.has_unsettled(runs)
    active_at = _activity_since(facts.rule, execution, conversation, execution.began_at)
    let_go(execution)
    execution.needs_review = unsettled
    detail = {"run": execution.run, "actions": {str(run.position): run.state for run in runs}}
    again = active_at is not None and not unsettled and facts.rule is not None
    to = Status.PENDING if again else Status.EXECUTED
    if again and active_at is not None and facts.rule is not None:
        execution.due_at = execution.lapses_from = inactivity.due_after(facts.rule, active_at)
        execution.not_before = None
        detail["activity"] = True
    move(
        session,
        execution,
        to,
        actor=WORKER,
        now=now,
        action="execution.executed",
        purpose="needs_review" if unsettled else "done",
        detail=detail,
    )
    tell(session, execution, conversation, "execution.executed", now)
    if unsettled:
        tell(session, execution, conversation, "execution.needs_review", now)
    return to


def go_on(session: Session, execution: Execution, *, now: datetime) -> None:
    """Its worker says that it lives. Was the run taken for abandoned, it is not any more, and nobody may
    decide on it by what they saw."""
    execution.locked_at = now
    if not execution.needs_review:
        return
    execution.needs_review = False
    execution.version += 1
    execution.updated_at = now
    audit.append(
        session,
        tenant_id=execution.tenant_id,
        actor=WORKER,
        action="execution.went_on",
        resource=("execution", str(execution.id)),
        now=now,
        detail={"run": execution.run},
    )


def let_go(execution: Execution) -> None:
    """Nobody holds the row any more: a worker that was only slow stops at its next write."""
    execution.lock_token = execution.locked_at = None
    execution.attempts, execution.next_attempt_at = 0, None


def tell(
    session: Session,
    execution: Execution,
    conversation: Conversation | None,
    event_type: str,
    now: datetime,
) -> None:
    """Write an event of the execution to the outbox: ids, states and codes."""
    outbox.add(
        session,
        tenant_id=execution.tenant_id,
        event_type=event_type,
        aggregate=("execution", str(execution.id)),
        payload={
            "id": str(execution.id),
            "rule_id": str(execution.rule_id),
            "conversation_id": conversation.external_id if conversation else None,
            "status": execution.status,
            "run": execution.run,
            "needs_review": execution.needs_review,
        },
        now=now,
    )
