"""One chunk of due follow-ups of one tenant: locked, judged in order, and written set-wise."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Select, String, and_, or_, select, tuple_
from sqlalchemy.orm import Session

from models import bulk
from models.actors import Actor
from models.declarations import Declared
from models.followups import firing_writes
from models.followups.policy import Case, Policy, Verdict, judge, policies
from models.followups.records import Contact, ContactState, FollowUp, Status
from models.sweeping import Counts
from models.transactions import savepoint

ACTOR = Actor.system("fire_followups")

# What one record is judged by: thin, so that a chunk of them is read and held cheaply.
THIN = (
    FollowUp.id,
    FollowUp.agent,
    FollowUp.customer,
    FollowUp.session_id,
    FollowUp.reason,
    FollowUp.arm,
    FollowUp.transport,
    FollowUp.at,
    FollowUp.attempts,
)


@dataclass(slots=True)
class Due:
    """One due record, and what the gates said."""

    id: UUID
    agent: str
    customer: str
    session_id: str | None
    reason: str
    arm: str
    transport: str | None
    at: datetime
    attempts: int
    verdict: Verdict = field(default_factory=Verdict)

    @property
    def pair(self) -> tuple[str, str, str]:
        return (self.agent, self.customer, self.reason)


@dataclass(slots=True)
class ContactCell:
    """A locked contact as this transaction sees and changes it."""

    id: UUID
    customer: str
    state: str
    sends_without_reply: int
    fires: list[datetime] = field(default_factory=list)
    fired_now: int = 0
    exhausted: bool = False


class Batch:
    """The locked records of some customers of one tenant, judged in order and written set-wise."""

    def __init__(self, session: Session, tenant_id: int, declared: Declared, now: datetime) -> None:
        self.session = session
        self.tenant_id = tenant_id
        self.now = now
        self.policies = policies(declared)
        self.cells: dict[str, ContactCell] = {}

    def lock(self, customers: Sequence[str], agents: Sequence[str], size: int) -> list[Due]:
        """Lock the contacts that nobody else holds, then their first due records, oldest first.

        Those are twice `size` at most, and all that are due beyond them of the same agent, customer and
        reason: the oldest of a pair decides over the younger ones in this transaction.
        """
        self.load_contacts(customers, lock=True)
        absent = set(customers) - self.cells.keys()
        held_elsewhere = self._existing(absent) if absent else set()
        mine = [customer for customer in customers if customer not in held_elsewhere]
        query = (
            select(*THIN)
            .where(
                FollowUp.tenant_id == self.tenant_id,
                bulk.one_of(self.session, FollowUp.customer, mine),
                FollowUp.status == Status.PENDING,
                FollowUp.agent.in_(agents),
                FollowUp.due_at <= self.now,
            )
            .order_by(FollowUp.at, FollowUp.id)
            .with_for_update()
        )
        most = 2 * size
        due = [Due(*row) for row in self.session.execute(query.limit(most))]
        if len(due) == most:
            due += self._younger_twins(query, due)
        self.load_fires(due)
        return due

    def _younger_twins(self, query: Select[*tuple[Any, ...]], due: Sequence[Due]) -> list[Due]:
        """What is due beyond the last of `due` and shares its agent, customer and reason with one of them."""
        kinds = {"agent": String(), "customer": String(), "reason": String()}
        pairs = [dict(zip(kinds, pair, strict=True)) for pair in dict.fromkeys(one.pair for one in due)]
        twins = bulk.rows_as_table(self.session, "pairs", kinds, pairs)
        last = due[-1]
        later = query.where(
            tuple_(FollowUp.agent, FollowUp.customer, FollowUp.reason).in_(
                select(twins.c.agent, twins.c.customer, twins.c.reason)
            ),
            or_(FollowUp.at > last.at, and_(FollowUp.at == last.at, FollowUp.id > last.id)),
        )
        return [Due(*row) for row in self.session.execute(later)]

    def load(self, due: Sequence[Due]) -> None:
        """Read again what was rolled back; the locks are held still."""
        self.load_contacts(list(dict.fromkeys(record.customer for record in due)), lock=False)
        self.load_fires(due)

    def load_contacts(self, customers: Sequence[str], *, lock: bool) -> None:
        query = (
            select(Contact.id, Contact.customer, Contact.state, Contact.sends_without_reply)
            .where(
                Contact.tenant_id == self.tenant_id, bulk.one_of(self.session, Contact.customer, customers)
            )
            .order_by(Contact.id)
        )
        if lock:
            query = query.with_for_update(skip_locked=True)
        self.cells = {row.customer: ContactCell(*row) for row in self.session.execute(query)}

    def _existing(self, customers: set[str]) -> set[str]:
        query = select(Contact.customer).where(
            Contact.tenant_id == self.tenant_id, bulk.one_of(self.session, Contact.customer, list(customers))
        )
        return set(self.session.scalars(query))

    def load_fires(self, due: Sequence[Due]) -> None:
        """When the customers under a ceiling were fired at, as far back as the longest window goes."""
        windows: dict[str, timedelta] = {}
        for record in due:
            policy = self.policy(record)
            if policy and policy.ceiling and record.customer in self.cells:
                window = policy.ceiling.window
                windows[record.customer] = max(window, windows.get(record.customer, window))
        if not windows:
            return
        fires = self.session.execute(
            select(FollowUp.customer, FollowUp.fired_at).where(
                FollowUp.tenant_id == self.tenant_id,
                bulk.one_of(self.session, FollowUp.customer, list(windows)),
                FollowUp.status == Status.FIRED,
                FollowUp.fired_at >= self.now - max(windows.values()),
            )
        )
        for customer, fired_at in fires:
            if fired_at is not None:
                self.cells[customer].fires.append(fired_at)

    def policy(self, record: Due) -> Policy | None:
        parsed = self.policies.get(record.agent)
        return parsed.policy if parsed else None

    def oldest_of_pairs(self, due: Sequence[Due]) -> set[UUID]:
        """The first of each (agent, customer, reason); `due` is in order."""
        first: dict[tuple[str, str, str], UUID] = {}
        for record in due:
            first.setdefault(record.pair, record.id)
        return set(first.values())

    def fire(self, due: Sequence[Due], *, oldest: set[UUID] | None = None) -> None:
        """Judge each record in order, then write all that follows in a few statements."""
        oldest = self.oldest_of_pairs(due) if oldest is None else oldest
        for record in due:
            self._judge(record, record.id in oldest)
        firing_writes.write(
            self.session, self.tenant_id, due, list(self.cells.values()), actor=ACTOR, now=self.now
        )

    def _judge(self, record: Due, is_oldest: bool) -> None:
        cell = self.cells.get(record.customer)
        policy = self.policy(record)
        record.verdict = judge(
            Case(
                policy=policy,
                contact_state=cell.state if cell else None,
                oldest_of_pair=is_oldest,
                fires=cell.fires if cell else (),
            ),
            self.now,
        )
        if record.verdict.fires and cell and policy:
            cell.fires.append(self.now)
            cell.fired_now += 1
            cell.sends_without_reply += 1
            if cell.sends_without_reply >= policy.silence_after_sends:
                cell.state = ContactState.UNAVAILABLE
                cell.exhausted = True

    def count(self, due: Sequence[Due], counts: Counts) -> None:
        for record in due:
            name = (
                "blocked" if record.verdict.block else "deferred" if record.verdict.defer_until else "fired"
            )
            counts.add(name)
            counts.changed += name != "deferred"

    def fire_alone(self, record: Due, oldest: set[UUID]) -> None:
        """Fire one record; if that raises, its contact is as it was before."""
        cell = self.cells.get(record.customer)
        before = replace(cell, fires=list(cell.fires)) if cell else None
        try:
            with savepoint(self.session):
                self.fire([record], oldest=oldest)
        except Exception:
            if before:
                self.cells[record.customer] = before
            raise
