from datetime import timedelta

from sqlalchemy import select

from models.audit import AuditEvent
from models.followups.firing import fire_due
from models.followups.records import AgentTask
from models.outbox import OutboxEvent
from tests.support.create import create_followup, create_tenant
from tests.support.declare import declared


def test_fire_makes_one_task_when_contact_is_granted(session, now):
    tenant = create_tenant(session, now=now)
    followup = create_followup(session, tenant, now=now)
    later = now + timedelta(hours=2)
    counts = fire_due(session, declared=declared(), now=later, limit=1000)
    assert counts.own == {"fired": 1, "blocked": 0, "deferred": 0}
    session.refresh(followup)
    assert followup.status == "fired"
    assert followup.fired_at == later
    [task] = session.scalars(select(AgentTask))
    assert task.id == followup.task_id
    assert "pix pending" in task.command["message"]
    events = session.scalars(select(AuditEvent).where(AuditEvent.resource_type == "followup")).all()
    assert [event.action for event in events] == ["followup.scheduled", "followup.fired"]
    assert events[1].detail["to"] == "fired"
    kinds = session.scalars(select(OutboxEvent.event_type).order_by(OutboxEvent.id)).all()
    assert kinds == ["followup.scheduled", "followup.fired", "task.created"]
