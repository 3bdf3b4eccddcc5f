"""Demo automations: a shop's rules, and an execution of them in every state, told through the domain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import conversations, declarations, intake
from models.actors import Actor
from models.automations import batch, claiming, judging, ledger, operating, rules, settling, together, upkeep
from models.automations.judging import Facts
from models.automations.outside import Came
from models.automations.records import ActionRun, ActionState, Execution, Status
from models.conversations import NATIVE
from models.demo_rules import ANSWER, QUESTIONS, RULES, SENT_CODE, Inbox
from models.demo_telling import Step, Telling
from models.tenants import Tenant

LEAD = Actor.operator("demo-lead", "lead@demo.test")
CHATWOOT = "chatwoot"
FIRST_CUSTOMER = 2_000
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
SECOND = timedelta(seconds=1)
# Named so that what is shown is found again.
ABANDONED = "talk-7001"


def fill(session: Session, tenant: Tenant, *, now: datetime, times: int = 1) -> None:
    """Give `tenant` rules, and conversations on which they wait, run, ran and broke off.

    `times` multiplies what is ordinary. The caller commits.
    """
    story = _Story(session, tenant, now)
    for name, given in RULES.items():
        rules.create(session, tenant, {"name": name, **given}, actor=LEAD, now=now - 9 * DAY)
    story.ordinary(times)
    story.at_work()
    story.for_a_person((times + 1) // 2)
    story.decided()
    story.tell()


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation of the story; its rule's clock counts from `began`."""

    called: str
    source: str
    customer: str
    began: datetime


class _Story(Telling):
    def __init__(self, session: Session, tenant: Tenant, now: datetime) -> None:
        super().__init__(session, tenant, now)
        self.declared = declarations.current(session)
        self.customers = 0

    def ordinary(self, times: int) -> None:
        """What was run, what had lost its reason, and what waits for its time."""
        for number in range(6 * times):
            ago = 3 * HOUR + number * 7 * HOUR / times
            self.run(self.unanswered(ago), 2 * HOUR)
            if number % 3 == 0:
                answered = self.unanswered(ago + HOUR)
                self.plan(self.now - ago - 20 * MINUTE, self.say(answered, "outgoing", ANSWER))
                self.run(answered, 2 * HOUR)
        for number in range(4 * times):
            self.unanswered(6 * MINUTE + number * 100 * MINUTE / (4 * times))
            self.quiet(DAY + number * 40 * HOUR / (4 * times))
        for number in range(2 * times):
            self.chased(5 * HOUR + number * 15 * HOUR / (2 * times))
            self.run(self.quiet(80 * HOUR + number * HOUR), 72 * HOUR)
        for inbox in (Inbox.DAY, Inbox.NIGHT):  # the window of one of the two is closed at any time
            self.run(self.opened(inbox, 2 * HOUR, status="pending"), 115 * MINUTE)
        resolved = self.chased(30 * HOUR)
        self.plan(self.now - 20 * HOUR, self.put(resolved, Inbox.CHASED, status="resolved"))
        self.run(resolved, DAY)
        self.run(self.opened(Inbox.TOLD, 4 * DAY), 4 * DAY - HOUR)

    def at_work(self) -> None:
        """One that is due, one that a worker has, one that it fell silent on, and one in its actions."""
        self.unanswered(2 * HOUR + MINUTE)
        self.plan(self.now - 30 * SECOND, self.take(self.unanswered(2 * HOUR + 2 * MINUTE)))
        self.plan(self.now - 22 * MINUTE, self.take(self.unanswered(2 * HOUR + 22 * MINUTE)))
        running = self.unanswered(2 * HOUR + MINUTE, source=CHATWOOT)
        self.plan(self.now - 20 * SECOND, lambda at: self.work(running, at, {}, dies_at=1))

    def for_a_person(self, times: int) -> None:
        """A run that broke off, and runs of which something failed or is not known."""
        abandoned = self.unanswered(170 * MINUTE, source=CHATWOOT, called=ABANDONED)
        self.plan(self.now - 50 * MINUTE, lambda at: self.work(abandoned, at, {}, dies_at=1))
        self.plan(self.now - 34 * MINUTE, lambda at: self.find_abandoned(abandoned, at))
        for number in range(times):
            unknown = self.chased(27 * HOUR + number * HOUR, source=CHATWOOT)
            self.run(unknown, DAY, {0: Came.unknown("No answer within 30 s.")})
            failed = self.chased(25 * HOUR + number * HOUR, source=CHATWOOT)
            self.run(failed, DAY, {0: Came.failed("Answered 422.")})
            self.run(self.opened(Inbox.TOLD, 3 * HOUR), 10 * MINUTE, {0: Came.failed("Answered 404.")})

    def decided(self) -> None:
        """What a support lead cancelled, settled and dropped."""
        cancelled = self.unanswered(5 * HOUR)
        self.plan(self.now - 4 * HOUR, lambda at: self.cancel(cancelled, at))
        settled = self.chased(31 * HOUR, source=CHATWOOT)
        self.run(settled, DAY, {0: Came.unknown("No answer within 30 s.")})
        self.plan(self.now - 5 * HOUR, lambda at: self.settle(settled, at))
        dropped = self.unanswered(9 * HOUR, source=CHATWOOT)
        self.plan(self.now - 7 * HOUR, lambda at: self.work(dropped, at, {}, dies_at=1))
        self.plan(self.now - 6 * HOUR, lambda at: self.drop(dropped, at))

    # The conversations.

    def talk(self, source: str, ago: timedelta, called: str | None = None) -> Talk:
        self.customers += 1
        customer = f"c-{FIRST_CUSTOMER + self.customers}"
        return Talk(called or f"talk-{self.customers + 40}", source, customer, self.now - ago)

    def unanswered(self, ago: timedelta, *, source: str = NATIVE, called: str | None = None) -> Talk:
        """The customer wrote `ago`, and nobody has answered."""
        talk = self.talk(source, ago, called)
        self.plan(talk.began - SECOND, self.put(talk, Inbox.UNANSWERED))
        self.plan(talk.began, self.asks(talk))
        return talk

    def chased(self, ago: timedelta, *, source: str = NATIVE) -> Talk:
        """An agent asked `ago`, and the customer has not replied."""
        talk = self.talk(source, ago)
        self.plan(talk.began - HOUR, self.put(talk, Inbox.CHASED))
        self.plan(talk.began - HOUR + SECOND, self.asks(talk))
        self.plan(talk.began, self.say(talk, "outgoing", SENT_CODE))
        return talk

    def quiet(self, ago: timedelta) -> Talk:
        """The last that was said was said `ago`."""
        return self.opened(Inbox.QUIET, ago)

    def opened(self, inbox: Inbox, ago: timedelta, *, status: str = "open") -> Talk:
        talk = self.talk(NATIVE, ago)
        self.plan(talk.began - SECOND, self.put(talk, inbox, status=status))
        self.plan(talk.began, self.asks(talk))
        return talk

    def asks(self, talk: Talk) -> Step:
        return self.say(talk, "incoming", QUESTIONS[self.customers % len(QUESTIONS)])

    def put(self, talk: Talk, inbox: Inbox, *, status: str = "open") -> Step:
        def step(at: datetime) -> None:
            given = {"customer": talk.customer, "inbox_id": inbox.value, "status": status, "updated_at": at}
            heard = intake.receive_conversation(
                self.session, self.tenant, talk.called, given, now=at, source=talk.source
            )
            intake.arm(self.session, self.tenant, heard.happening, now=at)

        return step

    def say(self, talk: Talk, direction: str, text: str) -> Step:
        sender = {"type": "agent", "name": "Support"}
        if direction == "incoming":
            sender = {"type": "customer", "key": talk.customer}

        def step(at: datetime) -> None:
            message = intake.IncomingMessage(
                id=f"{talk.called}-{next(self.numbers)}",
                conversation_id=talk.called,
                direction=direction,
                created_at=at,
                text=text,
                sender=sender,
                customer=talk.customer,
                source=talk.source,
            )
            heard = intake.receive_message(self.session, self.tenant, message, declared=self.declared, now=at)
            intake.arm(self.session, self.tenant, heard.happening, now=at)

        return step

    # The runs.

    def run(self, talk: Talk, delay: timedelta, came: Mapping[int, Came] | None = None) -> None:
        """Let a worker take what waits on `talk` a little after `delay` is over."""
        self.plan(talk.began + delay + 12 * SECOND, lambda at: self.work(talk, at, came or {}))

    def take(self, talk: Talk) -> Step:
        def step(at: datetime) -> None:
            self.claim(talk, at)

        return step

    def claim(self, talk: Talk, at: datetime) -> tuple[Sequence[UUID], UUID]:
        token = uuid4()
        self.session.flush()
        return claiming.claim(self.session, self.on(talk), token=token, now=at), token

    def on(self, talk: Talk) -> Sequence[UUID]:
        """The executions on a conversation."""
        known = conversations.get(self.session, self.tenant.id, talk.called)
        return self.session.scalars(select(Execution.id).where(Execution.conversation_id == known.id)).all()

    def work(self, talk: Talk, at: datetime, came: Mapping[int, Came], dies_at: int | None = None) -> None:
        """What a worker does; one that dies begins the action at `dies_at` and says nothing more."""
        ids, token = self.claim(talk, at)
        for facts in batch.lock(self.session, ids, token=token, status=Status.PROCESSING):
            decision = judging.decide(self.session, facts, declared=self.declared, now=at)
            if settling.carry_out(self.session, facts, decision, now=at) is Status.EXECUTING:
                self.act(facts, at, came, dies_at)
        self.session.flush()

    def act(self, facts: Facts, at: datetime, came: Mapping[int, Came], dies_at: int | None) -> None:
        self.session.flush()
        runs = ledger.of(self.session, facts.execution)
        for action in runs:
            began = at + action.position * SECOND
            if action.position == dies_at:
                ledger.start(action, began)
                settling.go_on(self.session, facts.execution, now=began)
                return
            if action.native:
                together.do_native(self.session, facts, action, began)
            else:
                _record(action, came.get(action.position, Came.done("200")), began)
        settling.finish(self.session, facts, runs, now=at + len(runs) * SECOND)

    def find_abandoned(self, talk: Talk, at: datetime) -> None:
        for execution in self.locked(talk):
            known = conversations.get(self.session, self.tenant.id, talk.called)
            upkeep.mark(self.session, execution, known, at)

    def locked(self, talk: Talk) -> Sequence[Execution]:
        self.session.flush()
        return [operating.get(self.session, self.tenant.id, id) for id in self.on(talk)]

    def cancel(self, talk: Talk, at: datetime) -> None:
        for id in self.on(talk):
            operating.cancel(
                self.session, self.tenant.id, id, actor=LEAD, now=at, reason="the customer called meanwhile"
            )

    def settle(self, talk: Talk, at: datetime) -> None:
        for id in self.on(talk):
            operating.settle(
                self.session,
                self.tenant.id,
                id,
                {0: ActionState.DONE.value},
                actor=LEAD,
                now=at,
                note="seen in the conversation",
            )

    def drop(self, talk: Talk, at: datetime) -> None:
        for id in self.on(talk):
            operating.drop(
                self.session, self.tenant.id, id, actor=LEAD, now=at, reason="answered on the telephone"
            )


def _record(action: ActionRun, came: Came, at: datetime) -> None:
    """What came of an action outside, which the story never calls."""
    ledger.start(action, at)
    ledger.end(action, came.state, at + SECOND, receipt=came.receipt, error=came.error)
