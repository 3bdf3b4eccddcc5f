"""Demo data: a week of a shop in every state, told through the domain as if it had happened."""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import declarations, demo_automations, intake
from models.actors import Actor
from models.conversations import Conversation
from models.demo_telling import Step, Telling
from models.demo_words import AGENTS, REASONS, REPLIES, STOP
from models.errors import Conflict
from models.followups import booking, contacts, outcomes, tasks, transitions
from models.followups.firing_batch import Batch
from models.followups.importing import import_records
from models.followups.records import AgentTask, Contact, FollowUp, Status, TaskStatus
from models.tenants import Tenant

RUNTIME = Actor.api("demo-runtime", "shop runtime")
LEAD = Actor.operator("demo-lead", "lead@demo.test")
IMPORTER = Actor.operator("demo-import", "lead@demo.test")

FIRST_CUSTOMER = 1_000
UNDECLARED = "returns-desk"
# Who never writes back, whatever comes of chance.
SILENT = "c-1908"
MOST_FIRED = 100_000
LARGE_TIMES = 20
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


def fill(session: Session, tenant: Tenant, *, now: datetime, size: Size = Size.SMALL) -> dict[str, int]:
    """Give `tenant` about 150 follow-ups, or 10,000 with `Size.LARGE`, and rules with what they did.

    Returns how many follow-ups there are of each status.

    The caller commits. Raises `Conflict` where the tenant has data.
    """
    for table in (FollowUp, Contact, Conversation):
        if session.scalars(select(table.id).where(table.tenant_id == tenant.id).limit(1)).first() is not None:
            raise Conflict(f"Tenant {tenant.key} has data already. Demo data goes only into an empty tenant.")
    story = _Story(session, tenant, now)
    story.ordinary_week(promises=150, customers=70)
    story.each_state()
    if size is Size.LARGE:
        story.moved_here(promises=9_850, customers=1_200)
    story.tell()
    demo_automations.fill(session, tenant, now=now, times=LARGE_TIMES if size is Size.LARGE else 1)
    rows = session.execute(
        select(FollowUp.status, func.count()).where(FollowUp.tenant_id == tenant.id).group_by(FollowUp.status)
    )
    return {status: number for status, number in rows}  # noqa: C416  mypy knows the pair


class _Story(Telling):
    """The follow-ups' part of the story."""

    def __init__(self, session: Session, tenant: Tenant, now: datetime) -> None:
        super().__init__(session, tenant, now)
        self.declared = declarations.current(session)
        self.random = Random(tenant.key)

    def ordinary_week(self, *, promises: int, customers: int) -> None:
        """Bookings over the last eight days, for later that day up to five days on."""
        for _ in range(promises):
            agent = self.random.choice(AGENTS)
            customer = self.customer(customers)
            made = self.now - self.random.random() * 8 * DAY - 10 * MINUTE
            ahead = self.random.choice((2 * HOUR, 5 * HOUR, DAY, 2 * DAY, 5 * DAY))
            self.plan(made - 3 * MINUTE, self.hear(customer, self.random.choice(REPLIES)))
            self.plan(made, self.book(agent, customer, self.random.choice(REASONS[agent]), ahead))

    def each_state(self) -> None:
        """One of each that the week may have left out: every block, deferrals, opt-outs, cancellations."""
        day, hour = self.now - DAY, self.now - HOUR
        self.plan(day, self.take([self.record("store-support", "c-1901", "warranty form half filled", hour)]))
        self.plan(day, self.take([self.record(UNDECLARED, "c-1902", "return label expires", hour)]))
        twins = [self.record("billing", "c-1903", "invoice 2207 is open", day - n * HOUR) for n in (1, 2)]
        self.plan(day - MINUTE, self.hear("c-1903", "I will pay it this week."))
        self.plan(day, self.take(twins))
        for ago in (8, 4, 0):  # two sends without a word back: the third is held back
            at = self.now - ago * DAY - 2 * HOUR
            self.plan(at - 5 * HOUR, self.book("billing", SILENT, f"instalment of day {30 - ago}", 5 * HOUR))
        self.plan(day - MINUTE, self.hear("c-1904", "Please remind me."))
        self.plan(
            day, self.take([self.record("billing", "c-1904", text, hour) for text in REASONS["billing"]])
        )
        for agent in ("store-support", "night-dispatch"):  # one of the two is in its quiet hours at any time
            self.plan(self.now - 5 * HOUR, self.book(agent, "c-1905", REASONS[agent][0], 4.6 * HOUR))
        self.opt_outs(day)
        self.by_hand(day)

    def opt_outs(self, day: datetime) -> None:
        self.plan(day, self.book("billing", "c-1906", "invoice 2231 is open", 3 * DAY))
        self.plan(day + 2 * HOUR, self.hear("c-1906", STOP))
        self.plan(day + 3 * HOUR, self.take([self.record("billing", "c-1906", "invoice 2231 is late", day)]))
        self.plan(day, self.book("billing", "c-1907", "card expires this month", 2 * DAY))
        self.plan(day + 5 * HOUR, self.revoke("c-1907"))

    def by_hand(self, day: datetime) -> None:
        """What a support lead did: cancelled two, moved one, armed the first again."""
        known = [UUID(int=self.random.getrandbits(128), version=4) for _ in range(3)]
        for number, id in enumerate(known):
            customer = f"c-{1910 + number}"
            self.plan(day, self.book("billing", customer, "direct debit came back", 2 * DAY, id=id))
        for id in known[:2]:
            self.plan(day + 4 * HOUR, lambda at, id=id: self.cancel(id, at))  # type: ignore[misc]
        self.plan(day + 5 * HOUR, lambda at: self.rearm(known[0], at))
        self.plan(day + 6 * HOUR, lambda at: self.reschedule(known[2], at))

    def moved_here(self, *, promises: int, customers: int) -> None:
        """Another scheduler's records, taken over six days ago in batches, their customers known."""
        moved = self.now - 6 * DAY
        self.plan(moved - HOUR, lambda at: self.meet(range(customers), at))
        records = []
        for number in range(promises):
            agent = self.random.choice((*AGENTS, AGENTS[0]))
            reason = f"{self.random.choice(REASONS[agent])}, order {40_000 + number}"
            at = moved + self.random.random() * 11 * DAY
            records.append(self.record(agent, self.customer(customers), reason, at))
        for start in range(0, promises, 1_000):
            self.plan(moved, self.take(records[start : start + 1_000], every=6 * HOUR))

    # The steps.

    def customer(self, customers: int) -> str:
        return f"c-{FIRST_CUSTOMER + self.random.randrange(customers)}"

    def record(self, agent: str, customer: str, reason: str, at: datetime) -> dict[str, str]:
        """A record as another scheduler would give it."""
        id = UUID(int=self.random.getrandbits(128), version=4)
        fields = {"id": str(id), "agent": agent, "customer": customer, "at": at.isoformat(), "reason": reason}
        return {**fields, "arm": self.random.choice(("schedule", "polite", "short"))}

    def book(
        self, agent: str, customer: str, reason: str, ahead: timedelta, *, id: UUID | None = None
    ) -> Step:
        def step(at: datetime) -> None:
            try:
                made, _new = booking.book(
                    self.session,
                    self.tenant,
                    agent=agent,
                    customer=customer,
                    reason=reason,
                    at=at + ahead,
                    id=id,
                    transport=self.random.choice(("whatsapp", "email")),
                    declared=self.declared,
                    actor=RUNTIME,
                    now=at,
                )
            except Conflict:  # the customer opted out, or it is pending already: then nothing was promised
                return
            self.plan(made.at + 12 * timedelta(seconds=1), self.fire)

        return step

    def take(self, records: list[dict[str, str]], *, every: timedelta = MINUTE) -> Step:
        """Import `records`; the sweep then comes by in steps of `every`."""

        def step(at: datetime) -> None:
            lines = [json.dumps(record) for record in records]
            import_records(self.session, self.tenant, lines, actor=IMPORTER, now=at)
            dues = (max(at, datetime.fromisoformat(record["at"])) for record in records)
            for due in {_round_up(due, every) for due in dues}:
                self.plan(due, self.fire)

        return step

    def hear(self, customer: str, words: str) -> Step:
        return lambda at: self.receive(customer, words, at)

    def receive(self, customer: str, words: str, at: datetime) -> None:
        message = intake.IncomingMessage(
            id=f"m-{next(self.numbers)}",
            conversation_id=f"conversation-{customer}",
            direction="incoming",
            created_at=at,
            text=words,
            sender={"type": "customer", "key": customer},
        )
        intake.receive_message(self.session, self.tenant, message, declared=self.declared, now=at)

    def meet(self, numbers: Iterable[int], at: datetime) -> None:
        for number in numbers:
            customer = f"c-{FIRST_CUSTOMER + number}"
            contacts.consent(self.session, self.tenant, customer, actor=RUNTIME, now=at)

    def revoke(self, customer: str) -> Step:
        def step(at: datetime) -> None:
            contacts.revoke(self.session, self.tenant, customer, by="operator", actor=LEAD, now=at)

        return step

    def cancel(self, id: UUID, at: datetime) -> None:
        transitions.cancel(self.session, self.tenant.id, id, actor=LEAD, now=at)

    def reschedule(self, id: UUID, at: datetime) -> None:
        transitions.reschedule(self.session, self.tenant.id, id, at + 3 * DAY, actor=LEAD, now=at)

    def rearm(self, id: UUID, at: datetime) -> None:
        transitions.rearm(
            self.session, self.tenant, id, at + 2 * DAY, declared=self.declared, actor=LEAD, now=at
        )

    def fire(self, at: datetime) -> None:
        """What the sweep does, for this tenant alone; then what the agents' runtime makes of it."""
        self.session.flush()
        waiting = select(FollowUp.customer, FollowUp.agent).where(
            FollowUp.tenant_id == self.tenant.id, FollowUp.status == Status.PENDING, FollowUp.due_at <= at
        )
        pairs = self.session.execute(waiting.distinct().order_by(FollowUp.customer)).all()
        if not pairs:
            return
        batch = Batch(self.session, self.tenant.id, self.declared, at)
        customers = list(dict.fromkeys(pair.customer for pair in pairs))
        due = batch.lock(customers, list({pair.agent for pair in pairs}), MOST_FIRED)
        batch.fire(due)
        for until in {record.verdict.defer_until for record in due}:
            if until is not None:
                self.plan(until, self.fire)
        self.work_off([record.id for record in due if record.verdict.fires], at)

    def work_off(self, fired: list[UUID], at: datetime) -> None:
        """The runtime claims most tasks and reports; a few are left lying, some customers answer."""
        query = select(AgentTask).where(
            AgentTask.tenant_id == self.tenant.id, AgentTask.followup_id.in_(fired)
        )
        for task in self.session.scalars(query.order_by(AgentTask.customer, AgentTask.id)).all():
            luck = self.random.random()
            if luck < 0.06:
                continue
            self.move(task, TaskStatus.DISPATCHED, at + 20 * timedelta(seconds=1))
            if luck > 0.12:
                failed = luck > 0.96
                self.move(task, TaskStatus.FAILED if failed else TaskStatus.DONE, at + 2 * MINUTE)
            if 0.3 < luck < 0.55 and task.customer != SILENT:
                self.plan(at + luck * 3 * HOUR, self.answer(task.customer, task.agent, luck))

    def move(self, task: AgentTask, to: TaskStatus, at: datetime) -> None:
        if at < self.now and to in tasks.MOVES.get(TaskStatus(task.status), frozenset()):
            reason = "the channel was closed" if to is TaskStatus.FAILED else None
            tasks.move_task(self.session, task, to, actor=RUNTIME, reason=reason, now=at)

    def answer(self, customer: str, agent: str, luck: float) -> Step:
        """The customer writes back; some of them buy."""

        def step(at: datetime) -> None:
            self.receive(customer, self.random.choice(REPLIES), at)
            if luck < 0.4:
                outcomes.record(
                    self.session,
                    self.tenant,
                    id=f"o-{next(self.numbers)}",
                    agent=agent,
                    customer=customer,
                    kind="sale",
                    value=round(10 + luck * 100, 2),
                    occurred_at=at + 20 * MINUTE,
                    now=at,
                )

        return step


def _round_up(at: datetime, step: timedelta) -> datetime:
    return at + (datetime.min.replace(tzinfo=at.tzinfo) - at) % step
