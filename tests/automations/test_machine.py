"""A state machine that arms, runs, crashes, decides and edits at random, and counts what reached anybody."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import event, select, text
from sqlalchemy.orm import Session

from models.automations import claiming, ledger, refusals, resuming, rules, upkeep
from models.automations.outside import Came, Errand
from models.automations.records import ActionRun, ActionState, AutomationRule, Execution, Skip, Status
from models.automations.running import Worker
from models.declarations import Declared
from models.errors import DeskError
from models.messages import Message
from models.transactions import rollback
from tests.automations.test_episodes import AWAITING, CHASE
from tests.automations.world import MINUTE, T0, World
from tests.support.create import create_tenant
from tests.support.recount import assert_executions_match

pytestmark = pytest.mark.slow

HOOK = {"name": "send_webhook_event", "params": ["https://example.com/hook"]}
SEND = {"name": "send_message", "params": ["Are you still there?"]}
LABEL = {"name": "add_label", "params": ["stale"]}
NOBODY = {"name": "assign_agent", "params": ["last_responding_agent"]}
OPEN = {"attribute": "status", "operator": "equal_to", "values": ["open"]}
RULES = (
    {"actions": [SEND, LABEL], "conditions": [OPEN]},
    {"actions": [HOOK, SEND, HOOK], "on_failure": "stop"},
    {**AWAITING, "actions": [SEND, HOOK, NOBODY, SEND]},
    {**CHASE, "actions": [HOOK, HOOK]},
    {"trigger": "inactivity", "actions": [HOOK, SEND]},
    {**CHASE, "actions": [SEND, HOOK], "execution_delay": None},
)
CHANGES = ("name", "actions", "conditions", "active", "off", "on", "on")
# Shorter than the time for which a row may be late.
DECLARED = Declared(1, {"retention": {"executions": "1d"}})
EPISODES = ("inactivity", "event")

conversations = st.sampled_from(["v-1", "v-2"])
picks = st.integers(0, 20)
leaps = st.sampled_from([0, 1, 16, 61, 61, 61, 2 * 24 * 60])
fuses = st.one_of(st.none(), st.integers(1, 30))
answers = st.lists(st.sampled_from(["done", "failed", "lost", "had, and lost"]), min_size=1, max_size=4)
RESTS = ("rearm the rest", "rearm the rest", "rearm the rest and tick")
verbs = st.sampled_from([*RESTS, "settle", "drop", "cancel", "reclaim", "rearm"])
meanwhile = st.one_of(
    st.just(()),
    st.tuples(st.sampled_from([0, 1, 16, 20]), st.lists(st.tuples(verbs, picks), max_size=2), st.booleans()),
)
names = (f"machine-{number}" for number in count())


class Died(BaseException):
    """The process ended here: what was not committed is gone, and nobody is told."""


class AutomationsMachine(RuleBasedStateMachine):
    """Each rule is one call of the domain in its own transaction, or one run of the sweep."""

    session: Session
    steps = 0
    told: Counter[str] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.now = T0
        # Of so many places the last ends the process; from when the worker begins.
        self.wick: int | None = None
        self.fuse: int | None = None
        self.answers: list[str] = []
        self.meanwhile: Callable[[], None] | None = None
        self.got: Counter[str] = Counter()
        self.ticked: Counter[str] = Counter()
        self.acted = False
        self.began: dict[Any, set[Any]] = defaultdict(set)
        self.cancelled: set[Any] = set()
        event.listen(self.session, "before_commit", self._burn)

    @initialize(chosen=st.lists(st.sampled_from(RULES), min_size=2, max_size=3, unique_by=id))
    def make(self, chosen: list[dict[str, Any]]) -> None:
        self.world = World(self.session, create_tenant(self.session, next(names), now=T0))
        self.world.declared = DECLARED
        self.rules = [self.world.rule(**given) for given in chosen]
        for called in ("v-1", "v-2"):
            self.put(called, "open")
            self.say(called, "in")
            self.say(called, "out")

    def teardown(self) -> None:
        event.remove(self.session, "before_commit", self._burn)
        self.session.rollback()
        told = "SELECT action, count(*) FROM audit_event WHERE tenant_id = :tenant GROUP BY action"
        self.told.update(dict(self.session.execute(text(told), {"tenant": self.world.tenant.id}).all()))
        for table in ("action_event", "action_run", "execution", "automation_rule"):
            self.session.execute(text(f"DELETE FROM {table}"), execution_options={"audited": True})
        self.session.commit()

    # What the process and the outside do.

    def _burn(self, *_session: Any) -> None:
        """A place at which the process may end: a look at the clock, a commit, before and after a call."""
        if self.fuse is None:
            return
        self.fuse -= 1
        if self.fuse == 0:
            raise Died

    def _clock(self) -> datetime:
        self._burn()
        return self.now

    def _perform(self, errand: Errand) -> Came:
        assert not self.session.in_transaction()
        self._burn()
        answer = self.answers.pop(0) if self.answers else "done"
        if answer in ("done", "had, and lost"):
            self.got[errand.idempotency_key] += 1
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            happens()
        self._burn()
        if answer == "failed":
            return Came.failed("It was refused: 404.")
        return Came.done("200") if answer == "done" else Came.unknown("No answer.")

    def _until_it_dies(self, act: Callable[[], Any], fuse: int | None) -> None:
        self.wick = fuse
        try:
            act()
        except Died:
            self.session.rollback()
            self.session.expire_all()
        finally:
            self.fuse = self.wick = self.meanwhile = None
            rollback(self.session)

    def _sweep(self) -> None:
        """As the sweep does inline. What was executing when it began is a person's when it ends."""
        upkeep.purge(self.session, declared=DECLARED, now=self.now, limit=100)
        rules.free_outdated(self.session, limit=100)
        self.world.commit()
        upkeep.mark_abandoned(self.session, now=self.now, limit=100)
        ids = claiming.pick(self.session, now=self.now, limit=100).ids
        rollback(self.session)
        if self.wick is not None:
            self.fuse, self.wick = self.wick, None
        Worker(self.session, DECLARED, self._clock, self._perform).work(ids)

    def _statuses(self) -> dict[Any, str]:
        own = select(Execution.id, Execution.status).where(Execution.tenant_id == self.world.tenant.id)
        found = dict(self.session.execute(own).all())
        rollback(self.session)
        return found

    # The rules.

    @rule(called=conversations, status=st.sampled_from(["open", "pending", "resolved"]))
    def put(self, called: str, status: str) -> None:
        self._machine(lambda: self.world.put(self.now, called, status=status))

    @rule(called=conversations, direction=st.sampled_from(["in", "out"]))
    def say(self, called: str, direction: str) -> None:
        minutes = (self.now - T0) / MINUTE
        self._machine(lambda: self.world.say(direction, minutes=minutes, now=self.now, called=called))

    @rule(by=leaps, fuse=fuses, answers=answers, meanwhile=meanwhile)
    def sweep(self, by: int, fuse: int | None, answers: list[str], meanwhile: tuple[Any, ...]) -> None:
        self.now += timedelta(minutes=by)
        self.answers = list(answers)
        self.meanwhile = self._happens(*meanwhile) if meanwhile else None
        self._machine(lambda: self._until_it_dies(self._sweep, fuse))

    @rule(called=conversations, direction=st.sampled_from(["in", "out"]), fuse=fuses, answers=answers)
    def hour(self, called: str, direction: str, fuse: int | None, answers: list[str]) -> None:
        """A message, and what comes of it an hour later."""
        self.say(called, direction)
        self.sweep(61, fuse, answers, ())

    def _happens(self, minutes: int, acts: list[tuple[str, int]], swept: bool) -> Callable[[], None]:
        """What goes on while a call lasts: time, what people do, and another run of the sweep."""

        def happens() -> None:
            self.now += timedelta(minutes=minutes)
            for verb, pick in acts:
                self._act(verb, pick)
            if swept:
                self._sweep()

        return happens

    def _machine(self, act: Callable[[], Any]) -> None:
        """Do what no person does: nothing that began, or is over, waits again by it."""
        before, self.acted = self._statuses(), False
        act()
        after = self._statuses()
        if self.acted:
            return
        quiet = self._quiet()
        for id, status in before.items():
            if status == Status.EXECUTING:
                assert after[id] == status
            if status == Status.EXECUTED and id not in quiet:
                assert after.get(id, status) == status
        self.now += timedelta(microseconds=1)

    def _quiet(self) -> set[Any]:
        found = set(self.session.scalars(select(Execution.id).where(Execution.episode_key == "inactivity")))
        rollback(self.session)
        return found

    @rule(verb=verbs, pick=picks)
    def act_later(self, verb: str, pick: int) -> None:
        """When what a dead worker left can be decided on, and the sweep right after."""
        self.now += timedelta(minutes=16)
        self._act(verb, pick)
        self._machine(lambda: self._until_it_dies(self._sweep, None))

    @rule(pick=picks, change=st.sampled_from(CHANGES))
    def change(self, pick: int, change: str) -> None:
        """The tenant's switch, or a rule."""
        if change in ("on", "off"):
            self._machine(lambda: self.world.switch(change == "on", self.now))
            return
        found = self.session.get_one(AutomationRule, self.rules[pick % len(self.rules)].id)
        given = {
            "name": f"called {pick}",
            "active": not found.active,
            "actions": list(reversed(found.actions)),
            "conditions": found.conditions if found.event == "message_created" else [],
        }
        self._machine(lambda: self.world.change(found, self.now, **{change: given[change]}))

    @rule(verb=verbs, pick=picks)
    def act(self, verb: str, pick: int) -> None:
        self._act(verb, pick)

    def _act(self, verb: str, pick: int) -> None:
        """What a person does with some row that it is offered for: refused all the same, or done."""
        self.session.expire_all()
        mine = select(Execution).where(Execution.tenant_id == self.world.tenant.id)
        rows = self.session.scalars(mine.order_by(Execution.created_at, Execution.id))
        found = [row for row in rows if self._allowed(verb, row)]
        if not found:
            rollback(self.session)
            return
        row = found[pick % len(found)]
        runs = {run.position: run for run in ledger.of(self.session, row)}
        abandoned = row.status == Status.EXECUTING
        unknown = [
            at for at, run in runs.items() if ledger.reads_as(run, abandoned=abandoned) is ActionState.UNKNOWN
        ]
        keys = {at: run.idempotency_key for at, run in runs.items()}
        episode = (row.rule_id, row.conversation_id, row.episode_key)
        given: dict[str, Any] = {"now": self.now}
        if verb.startswith("rearm"):
            given |= {"reason": "asked to", "include_unknown": frozenset()}
        if verb.endswith("tick"):
            given["include_unknown"] = frozenset(unknown[pick % 2 :])
        args = [{at: ("done", "failed")[(pick + at) % 2] for at in unknown}] if verb == "settle" else []
        name = verb.partition(" ")[0]
        rollback(self.session)
        try:
            self.world.act(name, row, *args, **given)
        except DeskError:
            rollback(self.session)
            return
        self.acted = True
        self.ticked.update(keys[at] for at in given.get("include_unknown", ()))
        if name == "rearm":
            self.cancelled.discard(episode)

    def _allowed(self, verb: str, row: Execution) -> bool:
        runs = ledger.of(self.session, row)
        if verb in RESTS:
            return refusals.refusal_to_rearm_rest(row, runs, self.now) is None
        if verb == "rearm":
            return refusals.refusal_to_rearm(row, runs) is None
        if verb == "cancel":
            return refusals.refusal_to_cancel(row, runs, self.now) is None
        return getattr(refusals, f"refusal_to_{verb}")(row, self.now) is None

    # What must hold, whatever happened.

    @invariant()
    def each_change_has_its_event(self) -> None:
        type(self).steps += 1
        self.session.rollback()
        assert_executions_match(self.session, self.world.tenant.id)

    @invariant()
    def nothing_is_sent_twice_unless_a_person_ticked_it(self) -> None:
        for key, number in self.got.items():
            assert number <= 1 + self.ticked[key], key
        sent = Counter(self.session.scalars(select(Message.external_id)))
        for run in self._runs():
            if run.name == "send_message":
                assert sent[run.idempotency_key] == (run.state == ActionState.DONE)
            elif run.state == ActionState.WAITING and run.started_at is None:
                assert self.got[run.idempotency_key] == 0

    @invariant()
    def the_row_agrees_with_its_ledger_and_its_lock(self) -> None:
        runs = defaultdict(list)
        for run in self._runs():
            runs[run.execution_id, run.run].append(run.state)
        for row in self._rows():
            states = runs[row.id, row.run]
            unsettled = bool({ActionState.FAILED, ActionState.UNKNOWN} & set(states))
            if row.status == Status.EXECUTED:
                assert row.needs_review == (unsettled and row.settled_at is None)
                assert ActionState.STARTED not in states
            elif row.status != Status.EXECUTING:
                assert not row.needs_review
            if row.status not in (Status.PROCESSING, Status.EXECUTING):
                assert (row.lock_token, row.locked_at) == (None, None)
            if row.status == Status.EXECUTING:
                assert row.lock_token is not None
                assert row.locked_at is not None
            if row.status not in (Status.PENDING, Status.PROCESSING):
                assert not row.resumed
            assert (row.skip_reason is not None) == (row.status == Status.SKIPPED)

    @invariant()
    def each_episode_has_one_run_and_none_after_a_person_ended_it(self) -> None:
        begun = {run.execution_id for run in self._runs() if run.state != ActionState.WAITING}
        self._forget_chases()
        for row in self._rows():
            episode = (row.rule_id, row.conversation_id, row.episode_key)
            if row.episode_key.startswith(EPISODES):
                continue
            if row.id in begun:
                self.began[episode].add(row.id)
                assert len(self.began[episode]) == 1
                assert episode not in self.cancelled
            if row.skip_reason == Skip.CANCELLED:
                self.cancelled.add(episode)
        later = Counter(
            (run.execution_id, run.position) for run in self._runs() if run.state != ActionState.WAITING
        )
        kinds = {row.id: row.episode_key for row in self._rows()}
        assert all(n == 1 for (id, _at), n in later.items() if kinds[id] != "inactivity")

    def _forget_chases(self) -> None:
        """Of a chase that was purged, a new message begins another, due anew."""
        known = {(row.rule_id, row.conversation_id, row.episode_key) for row in self._rows()}
        for gone in [one for one in self.began.keys() | self.cancelled if one not in known]:
            if gone[2].startswith("reply_chase"):
                self.began.pop(gone, None)
                self.cancelled.discard(gone)

    @invariant()
    def and_the_transaction_ends(self) -> None:
        self.session.rollback()
        self.session.expire_all()

    def _rows(self) -> list[Execution]:
        mine = select(Execution).where(Execution.tenant_id == self.world.tenant.id)
        return list(self.session.scalars(mine))

    def _runs(self) -> list[ActionRun]:
        mine = select(ActionRun).where(ActionRun.tenant_id == self.world.tenant.id)
        return list(self.session.scalars(mine))


def test_automations_keep_their_promises_whatever_happens(session, database):
    resuming.register()
    AutomationsMachine.session, AutomationsMachine.steps = session, 0
    AutomationsMachine.told.clear()
    try:
        run_state_machine_as_test(
            AutomationsMachine,
            settings=settings(
                max_examples=10,
                stateful_step_count=40,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        told = ", ".join(f"{n} {action.partition('.')[2]}" for action, n in AutomationsMachine.told.items())
        print(f"\n{database.dialect}: {AutomationsMachine.steps} steps; {told}", end="")  # noqa: T201
