"""Doing the actions of one execution that calls the outside: no transaction is open while it calls.

`started` is committed before the effect and what came of it after, each on the token. Whoever finds the token
gone stops there: somebody decided meanwhile, by what they saw.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import faults, teams
from models.automations import batch, ledger, settling, together
from models.automations.actions import ActionName
from models.automations.judging import Facts
from models.automations.outside import Came, Errand, Perform, Said
from models.automations.records import ActionRun, ActionState, OnFailure, Status
from models.declarations import Declared
from models.messages import Direction, Message
from models.transactions import assert_none_open, commit, rollback

# How much of a conversation goes into a mail.
MOST_SAID = 500


@dataclass(slots=True)
class Alone:
    """One execution at work, held by `token`."""

    session: Session
    execution_id: UUID
    token: UUID
    declared: Declared
    clock: Callable[[], datetime]
    perform: Perform

    def run(self) -> Status:
        """Do what waits, action by action, and end the run; the execution's status then.

        `executing` where the token was lost: the run is not ours any more.
        """
        tried: set[int] = set()
        while True:
            facts = self._held()
            if facts is None:
                return self._lost()
            action = self._next(facts, tried)
            if action is None:
                return self._finish(facts)
            tried.add(action.position)
            if action.native:
                together.try_native(self.session, facts, action, self.clock())
                settling.go_on(self.session, facts.execution, now=self.clock())
                commit(self.session, "executions.act_alone")
            elif not self._call(facts, action):
                return self._lost()

    def _held(self) -> Facts | None:
        """The execution and what it acts on, locked, if the token still holds."""
        held = batch.lock(self.session, [self.execution_id], token=self.token, status=Status.EXECUTING)
        return held[0] if held else None

    def _lost(self) -> Status:
        rollback(self.session)
        return Status.EXECUTING

    def _next(self, facts: Facts, tried: set[int]) -> ActionRun | None:
        """The next action that waits; none behind one that went wrong where the rule says to stop."""
        runs = ledger.of(self.session, facts.execution)
        wrong = any(run.position in tried and run.state != ActionState.DONE for run in runs)
        if wrong and facts.execution.on_failure == OnFailure.STOP:
            return None
        return next((run for run in runs if run.state == ActionState.WAITING), None)

    def _finish(self, facts: Facts) -> Status:
        runs = ledger.of(self.session, facts.execution)
        ended = settling.finish(self.session, facts, runs, now=self.clock())
        commit(self.session, "executions.finish")
        return ended

    def _call(self, facts: Facts, action: ActionRun) -> bool:
        """One action outside; whether the run is still ours after it."""
        if facts.conversation is None:
            ledger.end(action, ActionState.FAILED, self.clock(), error=together.GONE)
            commit(self.session, "executions.nothing_to_call")
            return True
        errand = self._errand(facts, action)
        now = self.clock()
        ledger.start(action, now)
        settling.go_on(self.session, facts.execution, now=now)
        action_id = action.id
        commit(self.session, "executions.start")
        assert_none_open(self.session)
        faults.reach("executions.call:before")
        came = self.perform(errand)
        faults.reach("executions.call:after")
        return self._record(action_id, came)

    def _record(self, action_id: int, came: Came) -> bool:
        now = self.clock()
        facts = self._held()
        if facts is None:
            self._note_late(action_id, came, now)
            return False
        action = self.session.get_one(ActionRun, action_id)
        ledger.end(action, came.state, now, receipt=came.receipt, error=came.error)
        settling.go_on(self.session, facts.execution, now=now)
        commit(self.session, "executions.record")
        return True

    def _note_late(self, action_id: int, came: Came, now: datetime) -> None:
        """Somebody decided on this run while the call lasted: keep what it came to, for them to read.

        By its id, since there may have been another run since, and its row may be purged.
        """
        action = self.session.get(ActionRun, action_id, populate_existing=True)
        if action is not None:
            said = came.receipt or came.error or ""
            ledger.note_late(self.session, action, came.state, said, now)
        commit(self.session, "executions.record_late")

    def _errand(self, facts: Facts, action: ActionRun) -> Errand:
        conversation, rule = facts.conversation, facts.rule
        assert conversation is not None
        return Errand(
            tenant_id=facts.tenant.id,
            tenant=facts.tenant.key,
            source=conversation.source,
            name=action.name,
            params=tuple(action.params),
            idempotency_key=action.idempotency_key,
            execution_id=str(facts.execution.id),
            rule_id=str(facts.execution.rule_id),
            rule=rule.name if rule is not None else "",
            conversation={
                "id": conversation.external_id,
                "source": conversation.source,
                "status": conversation.status,
                "inbox_id": conversation.inbox_id,
                "customer": conversation.customer,
                "priority": conversation.priority,
                "assignee_id": conversation.assignee_id,
                "team_id": conversation.team_id,
                "labels": list(conversation.labels),
            },
            teams=teams.addresses(self.declared),
            transcript=self._transcript(conversation.id, action),
            again=action.started_at is not None,
        )

    def _transcript(self, conversation_id: int, action: ActionRun) -> tuple[Said, ...]:
        """What was said in public, oldest first; of a long conversation its end."""
        if action.name != ActionName.SEND_EMAIL_TRANSCRIPT:
            return ()
        query = (
            select(Message)
            .where(
                Message.conversation_id == conversation_id,
                Message.private.is_(False),
                Message.direction != Direction.ACTIVITY.value,
            )
            .order_by(Message.seq.desc())
            .limit(MOST_SAID)
        )
        found = reversed(list(self.session.scalars(query)))
        return tuple(
            Said(one.created_at, str(one.sender.get("name") or one.sender.get("type")), one.text)
            for one in found
        )
