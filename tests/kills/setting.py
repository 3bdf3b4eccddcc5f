"""What the scenarios of the fault points are prepared on."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from flask import Flask
from sqlalchemy import update
from sqlalchemy.orm import Session

from models import accounts, bulk_operations, endpoints, operators, tokens
from models.actors import Actor
from models.automations import rules
from models.base import db
from models.deliveries import State
from models.followups import in_bulk, tasks, transitions
from models.followups.firing import fire_due
from models.operators import Operator, SignInLink
from models.settings import Settings
from models.tenants import Tenant
from models.transactions import commit
from tests.bulk.working import rows_of
from tests.support.create import API, create_followup
from tests.support.declare import declared
from tests.support.deliver import create_delivery, create_endpoint
from tests.support.executions import create_execution
from tests.support.executions import create_rule as create_delayed_rule

HOUR = timedelta(hours=1)
PASSWORD = "a long password for a test"
SCOPES = ("read", "ingest", "operate")


@dataclass
class Setting:
    """What a scenario is prepared on."""

    app: Flask
    session: Session
    tenant: Tenant
    settings: Settings
    now: datetime
    env: dict[str, str] = field(default_factory=dict)

    def commit(self) -> None:
        commit(self.session, "tests.kills")

    def token(self, tenant: Tenant) -> None:
        _token, secret = tokens.add(
            self.session, tenant, name="kills", scopes=SCOPES, actor=API, now=self.now
        )
        self.commit()
        self.env["DESK_TEST_TOKEN"] = secret

    def booked(self, **given: Any) -> str:
        return str(create_followup(self.session, self.tenant, now=self.now, **given).id)

    def cancelled(self) -> str:
        id = self.booked()
        transitions.cancel(self.session, self.tenant.id, UUID(id), actor=API, now=self.now)
        self.commit()
        return id

    def cancelled_by_hand(self) -> str:
        """By a person, so late that it can be taken back for as long as the test takes."""
        id, hand = self.booked(), Actor.operator("99", "other@acme.test")
        at = self.now + HOUR / 60
        transitions.cancel(self.session, self.tenant.id, UUID(id), actor=hand, now=at)
        self.commit()
        return id

    def overdue(self) -> str:
        ago = self.now - HOUR
        return str(create_followup(self.session, self.tenant, now=ago, at=ago + HOUR / 2).id)

    def fired(self) -> tuple[str, str]:
        """The ids of a fired follow-up and of its task."""
        before = self.now - 3 * HOUR
        made = create_followup(self.session, self.tenant, now=before, reason="fired")
        fire_due(self.session, declared=declared(), now=self.now - HOUR, limit=10)
        self.session.refresh(made)
        ids = str(made.id), str(made.task_id)
        self.session.rollback()
        return ids

    def claimed(self) -> str:
        _followup, task = self.fired()
        tasks.claim(self.session, self.tenant.id, UUID(task), actor=API, now=self.now)
        self.commit()
        return task

    def rule(self) -> str:
        given = {"name": "n", "event": "message_created", "actions": [{"name": "mute_conversation"}]}
        made = rules.create(self.session, self.tenant, given, actor=API, now=self.now)
        self.commit()
        return str(made.id)

    def execution(self, state: str) -> str:
        return str(create_execution(self.session, self.tenant, state, now=self.now))

    def rule_with_one_waiting(self, **given: Any) -> str:
        rule = create_delayed_rule(self.session, self.tenant, now=self.now, **given)
        create_execution(self.session, self.tenant, "waiting", now=self.now, rule=rule)
        return str(rule.id)

    def rule_on_updates(self) -> str:
        """It waits for two hours on each conversation whose status changes."""
        given = {"event": "conversation_updated", "conditions": []}
        return str(create_delayed_rule(self.session, self.tenant, now=self.now, **given).id)

    def endpoint(self) -> str:
        made, _secret = endpoints.add(
            self.session,
            self.tenant,
            url="https://hooks.example/x",
            event_types=["*"],
            settings=self.settings,
            actor=API,
            now=self.now,
        )
        self.commit()
        return str(made.id)

    def delivery(self, state: State) -> str:
        """A delivery in `state`, to an endpoint of its own."""
        made, _secret = create_endpoint(self.session, self.tenant, self.settings, now=self.now)
        return str(create_delivery(self.session, self.tenant, made, now=self.now, state=state).id)

    def in_bulk(self) -> str:
        """An operation that is to cancel three, and that nobody began to do."""
        for number in range(3):
            self.booked(customer=f"c-{number}")
        made = bulk_operations.begin(
            self.session,
            self.tenant.id,
            in_bulk.CANCEL.name,
            rows_of(self.tenant),
            confirmed=3,
            reason="r",
            actor=API,
            now=self.now,
        )
        self.commit()
        return str(made.id)

    def paused(self) -> str:
        made, _secret = create_endpoint(self.session, self.tenant, self.settings, now=self.now, active=False)
        return str(made.id)

    def person(self, *, password: bool = False, role: str = "lead") -> Operator:
        """Somebody with `role` in the tenant, whose address is lead@acme.test."""
        from flask_security import hash_password

        from desk_ui import create_app

        lead, _made = operators.add(
            self.session, "lead@acme.test", tenant=self.tenant, role=role, actor=API, now=self.now
        )
        if password:
            with create_app(self.settings).app_context():
                hashed = hash_password(PASSWORD)
                db.engine.dispose()
            accounts.set_password(self.session, lead, hashed, actor=API, now=self.now)
        self.commit()
        return lead

    def links(self, lead: Operator) -> dict[str, str]:
        """Two paths that sign a person in, each once: as if the second had not made the first void."""
        secrets = [operators.make_link(self.session, lead, actor=API, now=self.now) for _ in range(2)]
        self.session.execute(update(SignInLink).values(used_at=None))
        self.commit()
        return {"link": f"/sign-in/{secrets[0]}", "again": f"/sign-in/{secrets[1]}"}
