"""A worker's run of some executions: claim, judge, and do the actions, each step on the token claimed with.

What acts on our own data alone is judged and done many at a time; what calls the outside is done alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from uuid import UUID, uuid4

from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from models import bulk
from models.automations import actions, batch, claiming, judging, settling, together
from models.automations.alone import Alone
from models.automations.judging import Facts
from models.automations.outside import Perform
from models.automations.records import ActionRun, AutomationRule, Execution, Status
from models.base import is_sqlite
from models.conversations import Conversation
from models.declarations import Declared
from models.sweeping import Counts, backoff
from models.transactions import commit, is_lost_race, rollback, savepoint

CHUNK = 250
# On SQLite a chunk keeps every other writer waiting.
SQLITE_CHUNK = 50
ATTEMPTS = 3
OWN = ("executed", "skipped", "waiting", "freed", "lost")
# What a row's status at the end counts as; one that still runs is another's by now.
NAMES = {
    Status.EXECUTED: "executed",
    Status.SKIPPED: "skipped",
    Status.PENDING: "waiting",
    Status.EXECUTING: "lost",
    None: "freed",
}

T = TypeVar("T")
Became = list[tuple[UUID, Status | None]]


@dataclass(slots=True)
class Worker:
    """One worker at work. `clock` gives the time of each step, `perform` does what is outside.

    After `until` it begins none that calls the outside, so that its job ends before it is ended.
    """

    session: Session
    declared: Declared
    clock: Callable[[], datetime]
    perform: Perform
    until: datetime | None = None
    counts: Counts = field(default_factory=lambda: Counts(own=dict.fromkeys(OWN, 0)))

    def work(self, ids: Sequence[UUID]) -> Counts:
        """Run those of `ids` that are still due, and none that another took.

        One that raises before its first action stays processing and is taken again when its lock is stale.
        """
        native, outside = divided(self.session, ids)
        rollback(self.session)
        size = SQLITE_CHUNK if is_sqlite(self.session) else CHUNK
        for start in range(0, len(native), size):
            token = uuid4()
            running = self._begun(native[start : start + size], token)
            ended = _again(self.session, lambda: self._done_together(running, token))  # noqa: B023
            self._count(status for _id, status in ended)
        for id in outside:
            if self.until is not None and self.clock() >= self.until:
                break
            token = uuid4()
            for running_id in self._begun([id], token):
                self._do_alone(running_id, token)
        return self.counts

    def _begun(self, ids: Sequence[UUID], token: UUID) -> list[UUID]:
        """Claim and judge `ids`; those that are to run, committed as executing."""
        held = claiming.claim(self.session, ids, token=token, now=self.clock())
        commit(self.session, "executions.claim")
        self.counts.examined += len(held)
        if not held:
            return []
        became = _again(self.session, lambda: self._judged(held, token))
        self._count(status for _id, status in became if status is not Status.EXECUTING)
        return [id for id, status in became if status is Status.EXECUTING]

    def _judged(self, ids: Sequence[UUID], token: UUID) -> Became:
        now = self.clock()
        try:
            with savepoint(self.session):
                held = batch.lock(self.session, ids, token=token, status=Status.PROCESSING)
                # What is read for one does not wait for what was decided on another.
                with self.session.no_autoflush, batch.writing(self.session):
                    became = [self._became(facts, now) for facts in held]
        except Exception as error:
            if isinstance(error, DBAPIError) and is_lost_race(error):
                raise
            became = self._judged_one_by_one(ids, token, now)
        commit(self.session, "executions.judge")
        return became

    def _judged_one_by_one(self, ids: Sequence[UUID], token: UUID, now: datetime) -> Became:
        became: Became = []
        for id in ids:
            try:
                with savepoint(self.session):
                    for facts in batch.lock(self.session, [id], token=token, status=Status.PROCESSING):
                        became.append(self._became(facts, now))
                    self.session.flush()
            except Exception as error:  # noqa: BLE001  the others go on; the row keeps its place for later
                self._put_off(id, token, error, now)
        return became

    def _became(self, facts: Facts, now: datetime) -> tuple[UUID, Status | None]:
        id = facts.execution.id
        decision = judging.decide(self.session, facts, declared=self.declared, now=now)
        return id, settling.carry_out(self.session, facts, decision, now=now)

    def _put_off(self, id: UUID, token: UUID, error: Exception, now: datetime) -> None:
        """Push a row that raised forward, so that bad rows never fill every batch."""
        query = select(Execution.tenant_id, Execution.attempts).where(Execution.id == id)
        row = self.session.execute(query).one_or_none()
        if row is None:
            return
        self.counts.failed(row.tenant_id, str(id), error)
        later = {"attempts": row.attempts + 1, "next_attempt_at": now + backoff(row.attempts + 1)}
        later["updated_at"] = now
        put_off = update(Execution).where(Execution.id == id, Execution.lock_token == token).values(later)
        bulk.execute_unaudited(self.session, put_off.execution_options(synchronize_session=False))

    def _done_together(self, ids: Sequence[UUID], token: UUID) -> Became:
        if not ids:
            return []
        return [*together.act(self.session, ids, token=token, now=self.clock())]

    def _do_alone(self, id: UUID, token: UUID) -> None:
        """What raises in the midst of its actions is left to a person, as if its worker had died; the others
        go on."""
        try:
            one = Alone(self.session, id, token, self.declared, self.clock, self.perform)
            self._count([one.run()])
        except Exception as error:  # noqa: BLE001
            rollback(self.session)
            tenant_id = self.session.scalar(select(Execution.tenant_id).where(Execution.id == id))
            rollback(self.session)
            if tenant_id is not None:
                self.counts.failed(tenant_id, str(id), error)

    def _count(self, statuses: Iterable[Status | None]) -> None:
        for status in statuses:
            self.counts.changed += status in (Status.EXECUTED, Status.SKIPPED)
            self.counts.add(NAMES[status])


def _again(session: Session, step: Callable[[], T]) -> T:
    """Do a step, begun again where its transaction lost a deadlock."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return step()
        except DBAPIError as error:
            rollback(session)
            if attempt == ATTEMPTS or not is_lost_race(error):
                raise
    raise AssertionError("unreachable")


def divided(session: Session, ids: Sequence[UUID]) -> tuple[list[UUID], list[UUID]]:
    """`ids` by whether all that they do is on our own data; what is left of a run goes by its ledger.

    The first of the two lists are those.
    """
    query = (
        select(Execution.id, Execution.resumed, AutomationRule.actions, Conversation.source)
        .outerjoin(AutomationRule, AutomationRule.id == Execution.rule_id)
        .outerjoin(Conversation, Conversation.id == Execution.conversation_id)
        .where(bulk.is_among(session, Execution.id, ids))
    )
    found = {row.id: row for row in session.execute(query)}
    resumed = [id for id, row in found.items() if row.resumed]
    calls = set(
        session.scalars(
            select(ActionRun.execution_id).where(
                ActionRun.execution_id.in_(resumed), ActionRun.native.is_(False)
            )
        )
        if resumed
        else ()
    )
    native: list[UUID] = []
    outside: list[UUID] = []
    for id in ids:
        row = found.get(id)
        if row is None:
            continue
        own = id not in calls if row.resumed else _all_native(row.actions, row.source)
        (native if own else outside).append(id)
    return native, outside


def _all_native(given: Sequence[dict[str, object]] | None, source: str | None) -> bool:
    """What has no rule or no conversation any more does nothing at all."""
    if given is None or source is None:
        return True
    return all(actions.is_native(str(action["name"]), source) for action in given)
