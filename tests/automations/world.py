"""One tenant with its conversations and rules, as a test sees and moves them. Times are minutes from T0."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from models import conversations, declarations, intake, tenants
from models.audit import AuditEvent
from models.automations import claiming, ledger, operating, rules, upkeep
from models.automations.outside import Came, Errand
from models.automations.records import ActionRun, AutomationRule, Execution
from models.automations.running import Worker
from models.conversations import Conversation
from models.intake import IncomingMessage, Received
from models.messages import Message
from models.outbox import OutboxEvent
from models.sweeping import Counts
from models.tenants import Tenant
from models.transactions import commit, rollback
from tests.support.create import API

T0 = datetime(2031, 3, 4, 10, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LABEL = [{"name": "add_label", "params": ["stale"]}]


def at(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


@dataclass
class Outside:
    """The outside, as a receiver would see it: every errand that reached it, and what it answers."""

    answers: list[Came] = field(default_factory=list)
    got: list[Errand] = field(default_factory=list)

    def __call__(self, errand: Errand) -> Came:
        self.got.append(errand)
        return self.answers.pop(0) if self.answers else Came.done("200")


class World:
    """Writes through the domain and commits; reads what stands in the database."""

    def __init__(self, session: Session, tenant: Tenant) -> None:
        self.session = session
        self.tenant = tenant
        self.declared = declarations.Declared()
        self.outside = Outside()
        self.numbers = count(1)

    def commit(self) -> None:
        commit(self.session, "tests.world")

    def rule(self, **given: Any) -> AutomationRule:
        """A rule that waits an hour on a status, and sets a label."""
        number = next(self.numbers)
        values = {
            "name": f"rule {number}",
            "event": "conversation_updated",
            "execution_delay": 60,
            "conditions": [],
            "actions": LABEL,
        }
        made = rules.create(self.session, self.tenant, {**values, **given}, actor=API, now=at(-600))
        self.commit()
        return made

    def change(self, rule: AutomationRule, now: datetime = T0, **given: Any) -> AutomationRule:
        changed = rules.change(self.session, self.tenant, rule.id, given, actor=API, now=now)
        self.commit()
        return changed

    def put(self, now: datetime = T0, called: str = "v-1", **given: Any) -> Received:
        """What the source says of a conversation; the rules hear of it."""
        received = intake.receive_conversation(self.session, self.tenant, called, given, now=now)
        intake.arm(self.session, self.tenant, received.happening, now=now)
        self.commit()
        return received

    def say(
        self,
        direction: str,
        seq: int | None = None,
        minutes: float = 0,
        *,
        now: datetime | None = None,
        called: str = "v-1",
        **given: Any,
    ) -> Received:
        """A message of the customer (`in`) or of an agent (`out`), `minutes` from T0."""
        incoming = direction == "in"
        values = {
            "id": f"{called}-m{seq if seq is not None else next(self.numbers)}",
            "sender": {"type": "customer", "key": "c-1"} if incoming else {"type": "agent", "key": "a-1"},
            "customer": "c-1",
            "seq": seq,
        }
        message = IncomingMessage(
            conversation_id=called,
            direction={"in": "incoming", "out": "outgoing"}.get(direction, direction),
            created_at=at(minutes),
            **{**values, **given},
        )
        now = now or at(minutes)
        received = intake.receive_message(self.session, self.tenant, message, declared=self.declared, now=now)
        self.arm(received, now)
        return received

    def arm(self, received: Received, now: datetime) -> list[UUID]:
        """Let the rules hear, again, of what came in."""
        armed = intake.arm(self.session, self.tenant, received.happening, now=now)
        self.commit()
        return armed

    def switch(self, on: bool, now: datetime) -> None:
        tenants.set_features(self.session, self.tenant, {"delayed_automations": on}, actor=API, now=now)
        self.commit()

    def worker(self, now: datetime) -> Worker:
        return Worker(self.session, self.declared, lambda: now, self.outside)

    def sweep(self, now: datetime, limit: int = 1_000) -> Counts:
        """As the sweep does inline: purge, mark what was abandoned, and run what is due."""
        upkeep.purge(self.session, declared=self.declared, now=now, limit=limit)
        upkeep.mark_abandoned(self.session, now=now, limit=limit)
        picked = claiming.pick(self.session, now=now, limit=limit)
        rollback(self.session)
        counts = self.worker(now).work(picked.ids)
        counts.capped = picked.capped
        self.session.expire_all()
        return counts

    def due(self, now: datetime, limit: int = 1_000) -> list[UUID]:
        picked = claiming.pick(self.session, now=now, limit=limit).ids
        rollback(self.session)
        return picked

    def set(self, execution: Execution, **values: Any) -> None:
        """Put a row where the engine would have left it: what is under test begins there."""

        statement = update(Execution).where(Execution.id == execution.id).values(values)
        self.session.execute(statement, execution_options={"audited": True})
        self.commit()
        self.session.expire_all()

    def rows(self) -> list[Execution]:
        query = select(Execution).order_by(Execution.due_at, Execution.created_at, Execution.id)
        found = list(self.session.scalars(query.execution_options(populate_existing=True)))
        rollback(self.session)
        return found

    def row(self) -> Execution:
        [found] = self.rows()
        return found

    def actions(self, execution: Execution) -> list[ActionRun]:
        found = ledger.of(self.session, execution)
        self.session.expire_all()
        return found

    def states(self, execution: Execution) -> list[str]:
        query = (
            select(ActionRun.state)
            .where(ActionRun.execution_id == execution.id)
            .order_by(ActionRun.run, ActionRun.position)
        )
        return list(self.session.scalars(query))

    def conversation(self, called: str = "v-1") -> Conversation:
        self.session.expire_all()
        return conversations.get(self.session, self.tenant.id, called)

    def sent(self) -> list[str]:
        """The texts of the rules' public messages in our own data."""
        found = self.session.scalars(select(Message).order_by(Message.id))
        return [one.text for one in found if one.sender.get("type") == "rule" and not one.private]

    def labels(self, called: str = "v-1") -> Sequence[str]:
        return self.conversation(called).labels

    def audited(self, execution: Execution | None = None) -> list[tuple[str, str | None]]:
        query = select(AuditEvent).where(AuditEvent.resource_type == "execution").order_by(AuditEvent.id)
        if execution is not None:
            query = query.where(AuditEvent.resource_id == str(execution.id))
        return [(one.action, one.purpose) for one in self.session.scalars(query)]

    def told(self) -> list[str]:
        return list(self.session.scalars(select(OutboxEvent.event_type).order_by(OutboxEvent.id)))

    def count(self, model: Any) -> int:
        return self.session.scalar(select(func.count()).select_from(model)) or 0

    def act(self, verb: str, execution: Execution, *args: Any, now: datetime, **given: Any) -> Execution:
        """What a person does."""
        done: Execution = getattr(operating, verb)(
            self.session, self.tenant.id, execution.id, *args, actor=API, now=now, **given
        )
        self.commit()
        return done
