"""`desk demo`: data in every state, as if the domain had lived through it."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from models import audit, clock, declarations
from models.automations.records import ActionRun, ActionState, Execution, Skip
from models.automations.records import Status as Executing
from models.deliveries import Delivery
from models.demo import Size, fill
from models.endpoints import WebhookEndpoint
from models.followups.records import AgentTask, Block, Contact, ContactState, FollowUp, Status, TaskStatus
from models.sending import due_endpoints
from models.tenants import Tenant
from tests.cli.test_import_export import two_records
from tests.support.api import on_sqlite
from tests.support.create import create_tenant


def states_of(session, column):
    return set(session.scalars(select(column).distinct()))


@pytest.mark.slow
def test_demo_shows_every_state_with_its_events_when_the_tenant_is_empty(desk, session):
    ran = desk.ok("demo", "--json")
    assert ran.json["tenant"] == "demo"
    assert ran.json["sample_declarations"] is True
    assert states_of(session, FollowUp.status) == set(Status)
    # A holdout needs an experiment, and those come later.
    assert states_of(session, FollowUp.blocked_reason) - {None} == set(Block) - {Block.HOLDOUT}
    assert states_of(session, Contact.state) == set(ContactState)
    assert states_of(session, AgentTask.status) >= set(TaskStatus) - {TaskStatus.CANCELLED}
    assert session.scalars(select(func.count()).where(FollowUp.deferred_until.is_not(None))).one() > 0
    assert session.scalars(select(func.count()).where(FollowUp.rearmed_from.is_not(None))).one() > 0
    told = select(func.count()).where(
        audit.AuditEvent.resource_type == "followup",
        audit.AuditEvent.action.in_(("followup.fired", "followup.blocked", "followup.cancelled")),
    )
    over = select(func.count()).where(FollowUp.status != Status.PENDING)
    assert session.scalars(told).one() == session.scalars(over).one()


@pytest.mark.slow
def test_demo_shows_deliveries_in_every_state_and_sends_none(desk, session):
    desk.ok("demo")
    states = set(session.scalars(select(Delivery.state)))
    assert states == {"pending", "failed", "dead", "delivered"}
    assert set(session.scalars(select(WebhookEndpoint.state))) == {"paused"}
    assert due_endpoints(session, clock.now() + timedelta(days=1)) == []


def test_demo_is_refused_when_the_tenant_has_data(desk, session):
    desk.ok("import", "followups", "-", "--tenant", "platform", input=two_records())
    ran = desk("demo", "--tenant", "platform", "--json")
    assert (ran.code, ran.error["code"]) == (1, "conflict")
    assert session.scalars(select(func.count()).select_from(FollowUp)).one() == 2


@on_sqlite
@pytest.mark.slow
def test_demo_keeps_the_declarations_when_there_is_a_file(desk, session):
    desk.config.write_text('[agents.mine.followup]\narm = "a"\n')
    assert desk.ok("demo", "--tenant", "other", "--json").json["sample_declarations"] is False
    assert set(declarations.current(session).table("agents")) == {"mine"}
    assert session.scalars(select(Tenant.key).where(Tenant.key == "other")).one() == "other"


@on_sqlite
@pytest.mark.slow
def test_demo_makes_ten_thousand_rows_when_large(session, now):
    tenant = create_tenant(session, now=now)
    counts = fill(session, tenant, now=now, size=Size.LARGE)
    assert sum(counts.values()) >= 10_000


@pytest.mark.slow
def test_demo_shows_executions_in_every_state_with_their_events(desk, session):
    desk.ok("demo")
    assert states_of(session, Execution.status) == set(Executing)
    assert states_of(session, Execution.skip_reason) >= {
        Skip.EXPIRED,
        Skip.EPISODE_MOVED,
        Skip.CONDITIONS_CHANGED,
        Skip.CANCELLED,
        Skip.DROPPED,
    }
    assert states_of(session, ActionRun.state) == set(ActionState)
    review = select(Execution.status).where(Execution.needs_review.is_(True))
    assert set(session.scalars(review)) == {"executing", "executed"}
    over = select(func.count()).where(Execution.status.in_(("executed", "skipped")))
    told = select(func.count(func.distinct(audit.AuditEvent.resource_id))).where(
        audit.AuditEvent.resource_type == "execution",
        audit.AuditEvent.action.in_(
            ("execution.executed", "execution.skipped", "execution.cancelled", "execution.dropped")
        ),
    )
    assert session.scalars(told).one() == session.scalars(over).one()
