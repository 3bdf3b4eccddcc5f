"""What has waited for too long is announced once an episode, and a task that nobody took is shown."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from models import tenants
from models.followups import stranded
from models.followups.firing import fire_due
from models.followups.records import FollowUp
from models.outbox import OutboxEvent
from models.transactions import commit
from tests.support.create import API, create_followup, create_tenant
from tests.support.declare import declared

AFTER = timedelta(minutes=15)
HOUR = timedelta(hours=1)


def announced(session: Session) -> list[tuple[str, str]]:
    events = session.scalars(select(OutboxEvent).where(OutboxEvent.event_type == "attention.needed"))
    return [(event.payload["reason"], event.aggregate_id) for event in events]


def test_announce_tells_once_when_a_due_record_is_not_taken(session: Session, now: datetime) -> None:
    tenant = create_tenant(session, now=now)
    followup = create_followup(session, tenant, now=now)
    late = now + HOUR + AFTER

    assert stranded.announce(session, after=AFTER, now=late - timedelta(seconds=1)) == []
    [found] = stranded.announce(session, after=AFTER, now=late)
    assert (found.reason, found.resource) == ("followups_overdue", ("followup", str(followup.id)))
    assert stranded.announce(session, after=AFTER, now=late + HOUR) == []
    assert announced(session) == [("followups_overdue", str(followup.id))]


def test_announce_tells_again_when_a_new_episode_begins(session: Session, now: datetime) -> None:
    tenant = create_tenant(session, now=now)
    first = create_followup(session, tenant, now=now)
    stranded.announce(session, after=AFTER, now=now + 2 * HOUR)
    fire_due(session, declared=declared(), now=now + 2 * HOUR, limit=10)
    stranded.announce(session, after=AFTER, now=now + 2 * HOUR)
    second = create_followup(session, tenant, now=now, reason="another", at=now + 3 * HOUR)
    stranded.announce(session, after=AFTER, now=now + 4 * HOUR)

    overdue = [id for reason, id in announced(session) if reason == "followups_overdue"]
    assert overdue == [str(first.id), str(second.id)]


@pytest.mark.parametrize("how", ["held", "switched off"])
def test_announce_says_nothing_when_the_work_is_paused(session: Session, now: datetime, how: str) -> None:
    tenant = create_tenant(session, now=now)
    create_followup(session, tenant, now=now)
    if how == "held":
        tenants.hold(session, tenant, "store-support", held=True, reason=None, actor=API, now=now)
    else:
        tenants.set_features(session, tenant, {"followups": False}, actor=API, now=now)
    commit(session, "tests.create")

    assert stranded.announce(session, after=AFTER, now=now + 2 * HOUR) == []


def test_announce_names_a_record_that_fails_when_it_waits_for_its_next_attempt(
    session: Session, now: datetime
) -> None:
    tenant = create_tenant(session, now=now)
    followup = create_followup(session, tenant, now=now)
    followup.attempts, followup.next_attempt_at = 3, now + 3 * HOUR
    commit(session, "tests.create")

    [found] = stranded.announce(session, after=AFTER, now=now + 2 * HOUR)
    assert (found.reason, found.since) == ("followups_failing", followup.at)


def test_announce_names_a_task_when_nobody_took_it(session: Session, now: datetime) -> None:
    tenant = create_tenant(session, now=now)
    create_followup(session, tenant, now=now)
    fire_due(session, declared=declared(), now=now + HOUR, limit=10)
    fired = session.scalars(select(FollowUp).execution_options(populate_existing=True)).one()

    assert stranded.announce(session, after=AFTER, now=now + HOUR + AFTER / 2) == []
    [found] = stranded.announce(session, after=AFTER, now=now + HOUR + AFTER)
    assert (found.reason, found.resource) == ("tasks_waiting", ("task", str(fired.task_id)))
    [task] = stranded.waiting_tasks(session, tenant.id, before=now + HOUR, limit=5)
    assert (task.followup_id, task.status) == (fired.id, "queued")
