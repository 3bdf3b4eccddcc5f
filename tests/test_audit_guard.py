"""The guard that refuses a commit in which a status changed without exactly one audit event."""

from datetime import timedelta

import pytest
from sqlalchemy import insert, select, text, update

from models import audit, bulk
from models.audit import AuditEvent, Result
from models.audit_guard import AuditMismatch, UnauditedWrite
from models.base import table_of
from models.followups import firing_batch
from models.followups.firing import fire_due
from models.followups.records import FollowUp, Status
from models.followups.transitions import cancel
from models.transactions import commit, rollback, savepoint
from tests.support.create import API, create_followup, create_tenant
from tests.support.declare import declared


@pytest.fixture
def followup(session, now):
    return create_followup(session, create_tenant(session, now=now), now=now)


def tell(session, followup, now, *, to="cancelled", result=Result.SUCCESS, detail=None):
    audit.append(
        session,
        tenant_id=followup.tenant_id,
        actor=API,
        action="followup.cancelled",
        resource=("followup", str(followup.id)),
        now=now,
        detail={"from": "pending", "to": to} if detail is None else detail,
        result=result,
    )


def by_bulk(session, followup, *, changed=True):
    statement = (
        update(FollowUp)
        .where(FollowUp.tenant_id == followup.tenant_id, FollowUp.id == followup.id)
        .values(status=Status.CANCELLED.value)
        .execution_options(synchronize_session=False)
    )
    row = ("followup", followup.tenant_id, str(followup.id))
    bulk.execute_audited(session, statement, changed=[row] if changed else [])


def status_of(session, followup):
    rollback(session)
    found = session.scalars(select(FollowUp.status).where(FollowUp.id == followup.id)).one()
    rollback(session)
    return found


def test_commit_is_refused_when_a_status_changed_without_an_event(session, followup):
    followup.status = Status.CANCELLED.value
    with pytest.raises(AuditMismatch, match="1 changes, 0 events"):
        commit(session, "tests.guard")
    assert status_of(session, followup) == "pending"


def test_commit_is_refused_when_a_change_has_two_events(session, followup, now):
    followup.status = Status.CANCELLED.value
    tell(session, followup, now)
    tell(session, followup, now)
    with pytest.raises(AuditMismatch, match="1 changes, 2 events"):
        commit(session, "tests.guard")


def test_commit_is_refused_when_an_event_tells_of_no_change(session, followup, now):
    tell(session, followup, now)
    with pytest.raises(AuditMismatch, match="0 changes, 1 events"):
        commit(session, "tests.guard")


def test_commit_is_refused_when_the_event_tells_of_another_row(session, followup, now):
    other = create_followup(
        session, create_tenant(session, "other", now=now), now=now, reason="another", customer="c-9"
    )
    followup.status = Status.CANCELLED.value
    tell(session, other, now)
    with pytest.raises(AuditMismatch):
        commit(session, "tests.guard")


def test_commit_is_refused_when_a_row_was_made_without_an_event(session, followup, now):
    tenant_id = followup.tenant_id
    session.add(
        FollowUp(
            tenant_id=tenant_id,
            agent="a",
            customer="c",
            at=now,
            reason="r",
            arm="schedule",
            status=Status.PENDING.value,
            created_at=now,
            updated_at=now,
        )
    )
    with pytest.raises(AuditMismatch):
        commit(session, "tests.guard")


def test_commit_passes_when_a_refusal_is_told_without_a_change(session, followup, now):
    tell(session, followup, now, result=Result.REFUSED)
    tell(session, followup, now, detail={"note": "no change"})
    commit(session, "tests.guard")


def test_guard_demands_an_event_through_the_bulk_helper_when_rows_change(session, followup, now):
    by_bulk(session, followup)
    with pytest.raises(AuditMismatch, match="1 changes, 0 events"):
        commit(session, "tests.guard")
    assert status_of(session, followup) == "pending"
    by_bulk(session, followup)
    tell(session, followup, now)
    commit(session, "tests.guard")
    assert status_of(session, followup) == "cancelled"


def test_bulk_helper_refuses_when_another_number_of_rows_changed(session, followup):
    with pytest.raises(RuntimeError, match="1 rows changed where 0 were expected"):
        by_bulk(session, followup, changed=False)


def test_guard_forgets_a_change_when_its_savepoint_is_rolled_back(session, followup, now):
    with pytest.raises(ZeroDivisionError), savepoint(session):
        by_bulk(session, followup)
        1 / 0
    commit(session, "tests.guard")
    assert status_of(session, followup) == "pending"


def test_guard_forgets_an_event_when_its_savepoint_is_rolled_back(session, followup, now):
    with pytest.raises(ZeroDivisionError), savepoint(session):
        tell(session, followup, now)
        1 / 0
    by_bulk(session, followup)
    with pytest.raises(AuditMismatch, match="1 changes, 0 events"):
        commit(session, "tests.guard")


def test_guard_keeps_a_change_when_only_an_inner_savepoint_is_rolled_back(session, followup, now):
    with savepoint(session):
        by_bulk(session, followup)
        with pytest.raises(ZeroDivisionError), savepoint(session):
            tell(session, followup, now)
            1 / 0
    with pytest.raises(AuditMismatch, match="1 changes, 0 events"):
        commit(session, "tests.guard")


def test_guard_adds_up_when_change_and_event_are_in_two_savepoints(session, followup, now):
    with savepoint(session):
        by_bulk(session, followup)
    with savepoint(session):
        tell(session, followup, now)
    commit(session, "tests.guard")
    assert status_of(session, followup) == "cancelled"


def test_guard_forgets_everything_when_the_transaction_is_rolled_back(session, followup):
    by_bulk(session, followup)
    rollback(session)
    commit(session, "tests.guard")


def test_guard_holds_through_the_set_based_firing_when_an_event_is_lost(session, now, monkeypatch):
    """Each of twenty records fired in one statement: with their events it commits, less one it does not."""
    tenant = create_tenant(session, now=now)
    for n in range(20):
        create_followup(session, tenant, now=now, customer=f"c-{n}")
    append_many = audit.append_many
    monkeypatch.setattr(
        audit, "append_many", lambda session, rows, **given: append_many(session, rows[1:], **given)
    )
    with pytest.raises(AuditMismatch):
        fire_due(session, declared=declared(), now=now + timedelta(hours=2), limit=100)
    rollback(session)
    assert set(session.scalars(select(FollowUp.status))) == {"pending"}
    rollback(session)
    monkeypatch.setattr(audit, "append_many", append_many)
    counts = fire_due(session, declared=declared(), now=now + timedelta(hours=2), limit=100)
    assert counts.own["fired"] == 20
    fired = select(AuditEvent.resource_id).where(AuditEvent.action == "followup.fired")
    ids = session.scalars(fired).all()
    assert len(set(ids)) == len(ids) == 20


def test_guard_holds_through_the_set_based_firing_when_a_chunk_falls_back(session, now, monkeypatch):
    """The set fails and its savepoint goes; the records are fired one by one, each with its one event."""
    tenant = create_tenant(session, now=now)
    for n in range(5):
        create_followup(session, tenant, now=now, customer=f"c-{n}")
    fire = firing_batch.Batch.fire

    def fire_and_fail(self, due, **given):
        fire(self, due, **given)
        if len(due) > 1:
            raise RuntimeError("after all was written")

    monkeypatch.setattr(firing_batch.Batch, "fire", fire_and_fail)
    counts = fire_due(session, declared=declared(), now=now + timedelta(hours=2), limit=100)
    assert (counts.own["fired"], counts.errors) == (5, 0)
    ids = session.scalars(select(AuditEvent.resource_id).where(AuditEvent.action == "followup.fired")).all()
    assert len(set(ids)) == len(ids) == 5


def test_session_refuses_a_bulk_write_when_it_goes_round_the_helper(session, followup, now):
    with pytest.raises(UnauditedWrite):
        session.execute(update(FollowUp).values(status="fired"))
    with pytest.raises(UnauditedWrite):
        session.execute(insert(table_of(FollowUp)).values(reason="x"))
    with pytest.raises(UnauditedWrite):
        session.execute(text("UPDATE follow_up SET status = 'fired'"))


def test_cancel_writes_one_event_when_the_transition_moves(session, followup, now):
    cancel(session, followup.tenant_id, followup.id, actor=API, now=now)
    commit(session, "tests.guard")
    told = select(AuditEvent.detail).where(AuditEvent.action == "followup.cancelled")
    [detail] = session.scalars(told).all()
    assert (detail["from"], detail["to"]) == ("pending", "cancelled")
