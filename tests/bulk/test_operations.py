"""A bulk operation on both databases: what it takes, what it does, what it leaves, and what it says of it."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select

from jobs.sweeps.bulk import run_bulk
from models import bulk_operations, clock, delivery_bulk, endpoints, erasure
from models.bulk_operations import KEPT_FOR, BulkItem, BulkOperation
from models.clock import iso
from models.deliveries import Delivery, history
from models.errors import Conflict, Invalid, NotFound
from models.followups import in_bulk, transitions
from models.followups.records import FollowUp
from models.transactions import commit
from tests.bulk.working import HOUR, LEAD, WHY, assert_accounted, rows_of, verb_that
from tests.conftest import settings_for
from tests.support.create import API, create_tenant
from tests.support.deliver import create_delivery, create_endpoint


def book(world, number, **given):
    return [world.book(f"c-{n}", **given) for n in range(number)]


def reasons(bulk, id):
    return [(item.state, item.code, item.reason) for item in bulk.items(id)]


def test_run_cancels_each_row_once_with_an_event_of_its_own(world, bulk):
    followups = book(world, 3)
    id = bulk.begin()
    ran = bulk.run(id)
    assert (ran.done, ran.not_done, ran.over) == (3, 0, True)
    assert [world.outcome_of(one)[0] for one in followups] == ["cancelled"] * 3
    events = bulk.events("followup.cancelled")
    assert {(e.actor_type, e.actor_label, e.purpose) for e in events} == {("operator", LEAD.label, WHY)}
    assert [e.detail["bulk"] for e in events] == [str(id)] * 3
    operation = bulk.get(id)
    assert (operation.state, operation.requested, operation.done) == ("finished", 3, 3)
    [finished] = bulk.events("bulk.finished")
    assert finished.detail["counts"] == {"requested": 3, "done": 3, "not_done": 0, "left_out": 0}
    assert_accounted(bulk.session, id)
    assert bulk.run(id).examined == 0


def test_begin_takes_the_rows_in_their_order_and_no_more_than_the_most(world, bulk, monkeypatch):
    followups = [world.book(f"c-{n}", at=world.now + timedelta(hours=9 - n)) for n in range(4)]
    monkeypatch.setattr(bulk_operations, "MOST", 3)
    rows = rows_of(world.tenant, in_bulk.cancellable())
    assert bulk_operations.count(bulk.session, rows) == 3
    id = bulk.begin(confirmed=3)
    wanted = [one.id for one in reversed(followups)][:3]
    assert [item.row_id.replace("-", "") for item in bulk.items(id)] == [one.hex for one in wanted]
    bulk.run(id)
    assert world.outcome_of(followups[0])[0] == "pending"


def test_begin_is_refused_when_there_are_more_than_were_confirmed(world, bulk):
    book(world, 3)
    with pytest.raises(Conflict, match="more of them now"):
        bulk.begin(confirmed=2)
    bulk.session.rollback()
    assert world.count(BulkOperation) == world.count(BulkItem) == 0


def test_begin_is_refused_when_nothing_is_left_or_no_reason_is_given(world, bulk):
    with pytest.raises(Conflict, match="None of them"):
        bulk.begin()
    bulk.session.rollback()
    book(world, 1)
    with pytest.raises(Invalid):
        bulk.begin(reason=" ")
    bulk.session.rollback()


def test_begin_takes_nothing_of_another_tenant(world, bulk):
    other = create_tenant(bulk.session, "other", now=world.now)
    theirs = world.book("c-1", tenant=other)
    mine = world.book("c-1")
    rows = rows_of(world.tenant, FollowUp.id.in_([theirs.id, mine.id]))
    id = bulk.begin(rows=rows)
    assert len(bulk.items(id)) == 1
    with pytest.raises(NotFound):
        bulk_operations.get(bulk.session, other.id, id)
    with pytest.raises(NotFound):
        bulk_operations.stop(bulk.session, other.id, id, actor=LEAD, now=world.now)


def test_row_is_not_done_and_says_why_when_it_moved_meanwhile(world, bulk):
    fired, cancelled, moved, gone, left = book(world, 5)
    id = bulk.begin()
    transitions.cancel(bulk.session, world.tenant.id, cancelled.id, actor=API, now=world.now)
    at = world.now + timedelta(days=3)
    transitions.reschedule(bulk.session, world.tenant.id, moved.id, at, actor=API, now=world.now)
    world.commit()
    erasure.erase_customer(bulk.session, world.tenant, gone.customer, actor=API, now=world.now)
    world.commit()
    bulk.now = world.now + HOUR
    world.fire(bulk.now - timedelta(seconds=3), limit=1)
    [took] = [one for one in (fired, left) if world.outcome_of(one)[0] == "fired"] or [None]
    ran = bulk.run(id)
    said = {reason for state, _code, reason in reasons(bulk, id) if state == "not_done"}
    assert "Cancelled 1 h before its turn came." in said
    assert "This follow-up changed since you saw it, so nothing was done." in said
    assert "There is no such follow-up." in said
    assert (took is not None) == ("Fired 3 s before its turn came." in said)
    assert ran.done == (1 if took else 2)
    assert_accounted(bulk.session, id)


def test_row_that_fails_is_told_of_and_the_rest_goes_on(world, bulk):
    book(world, 3)
    id = bulk.begin()
    poison = bulk.items(id)[1].row_id

    def apply(work):
        in_bulk.CANCEL.apply(work)
        if work.row_id == poison:
            raise ZeroDivisionError

    ran = bulk.run(id, verbs=verb_that("followup.cancel", apply))
    assert (ran.done, ran.not_done) == (2, 1)
    assert [state for state, _code, _reason in reasons(bulk, id)] == ["done", "not_done", "done"]
    [failed] = [item for item in bulk.items(id) if item.state == "not_done"]
    assert failed.code == "failed" and "left as it was" in failed.reason
    assert sorted(bulk.session.scalars(select(FollowUp.status))) == ["cancelled", "cancelled", "pending"]
    assert_accounted(bulk.session, id)


def test_stop_leaves_out_what_waits_and_says_so_once(world, bulk):
    book(world, 5)
    id = bulk.begin()
    assert bulk.run(id, most=2).over is False
    stopped = bulk.stop(id)
    assert (stopped.state, stopped.done, stopped.left_out) == ("stopped", 2, 3)
    assert stopped.stopped_by == LEAD.label
    told = {reason for state, _code, reason in reasons(bulk, id) if state == "left_out"}
    assert told == {"Stopped by lead@acme.test before its turn came."}
    assert bulk.run(id).examined == 0
    bulk.stop(id)
    assert [event.actor_label for event in bulk.events("bulk.stopped")] == [LEAD.label]
    assert sorted(bulk.session.scalars(select(FollowUp.status))) == ["cancelled"] * 2 + ["pending"] * 3
    assert_accounted(bulk.session, id)


def test_stop_changes_nothing_when_it_had_finished(world, bulk):
    book(world, 1)
    id = bulk.begin()
    bulk.run(id)
    assert bulk.stop(id).state == "finished"
    assert bulk.events("bulk.stopped") == []


def test_rearm_books_each_again_once_under_the_rules_of_a_booking(world, bulk):
    first, second, third, opted_out = book(world, 4)
    for one in (first, second, third, opted_out):
        transitions.cancel(bulk.session, world.tenant.id, one.id, actor=API, now=world.now)
    world.commit()
    world.revoke(opted_out.customer)
    transitions.rearm(
        bulk.session,
        world.tenant,
        third.id,
        world.now + HOUR,
        declared=world.declared,
        actor=API,
        now=world.now,
    )
    world.commit()
    rows = rows_of(world.tenant, in_bulk.rearmable())
    assert bulk_operations.count(bulk.session, rows) == 3
    id = bulk.begin("followup.rearm", rows)
    world.book(second.customer)
    ran = bulk.run(id)
    assert (ran.done, ran.not_done) == (1, 2)
    codes = {item.code for item in bulk.items(id)}
    assert codes == {None, "already-pending", "opted-out"}
    made = bulk.session.scalars(select(FollowUp).where(FollowUp.rearmed_from == first.id)).one()
    assert made.at == world.now + HOUR
    [event] = [e for e in bulk.events("followup.rearmed") if e.resource_id == str(made.id)]
    assert (event.purpose, event.detail["bulk"], event.actor_label) == (WHY, str(id), LEAD.label)
    assert_accounted(bulk.session, id)


def test_rearm_is_not_done_twice_when_another_operation_did_it(world, bulk):
    [one] = book(world, 1)
    transitions.cancel(bulk.session, world.tenant.id, one.id, actor=API, now=world.now)
    world.commit()
    rows = rows_of(world.tenant, in_bulk.rearmable())
    first, second = bulk.begin("followup.rearm", rows), bulk.begin("followup.rearm", rows)
    bulk.run(first)
    bulk.run(second)
    assert reasons(bulk, second) == [("not_done", "conflict", "It was booked again already.")]
    assert_accounted(bulk.session, second)


def test_rearm_is_not_done_when_its_time_has_come_too_near(world, bulk):
    [one] = book(world, 1)
    transitions.cancel(bulk.session, world.tenant.id, one.id, actor=API, now=world.now)
    world.commit()
    id = bulk.begin(
        "followup.rearm", rows_of(world.tenant, in_bulk.rearmable()), options={"at": iso(world.now + HOUR)}
    )
    bulk.now = world.now + HOUR
    bulk.run(id)
    [(state, code, reason)] = reasons(bulk, id)
    assert (state, code) == ("not_done", "invalid") and "at least 5 minutes ahead" in reason


def test_deliveries_are_sent_again_with_the_reason_in_their_history(world, bulk, database, worker_folder):
    settings = settings_for(database.url, worker_folder)
    endpoint, _secret = create_endpoint(bulk.session, world.tenant, settings, now=world.now)
    made = [create_delivery(bulk.session, world.tenant, endpoint, now=world.now) for _ in range(2)]
    query = select(Delivery.id, Delivery.version).where(
        Delivery.tenant_id == world.tenant.id, delivery_bulk.rearmable()
    )
    id = bulk.begin("delivery.rearm", bulk_operations.Rows(query, (Delivery.id,)))
    assert bulk.run(id).done == 2
    for one in made:
        bulk.session.refresh(one)
        assert (one.state, one.attempts) == ("pending", 0)
        last = history(bulk.session, one)[-1]
        assert (last.actor, last.error) == (LEAD.label, WHY)
    assert_accounted(bulk.session, id)


def test_delivery_is_not_done_when_its_endpoint_moved_before_its_turn_came(
    world, bulk, database, worker_folder
):
    settings = settings_for(database.url, worker_folder)
    endpoint, _secret = create_endpoint(bulk.session, world.tenant, settings, now=world.now)
    made = [create_delivery(bulk.session, world.tenant, endpoint, now=world.now) for _ in range(3)]
    seen = delivery_bulk.address_versions(bulk.session, world.tenant.id)
    assert seen == {str(endpoint.id): 1}
    query = select(Delivery.id, Delivery.version).where(Delivery.id.in_([one.id for one in made]))
    rows = bulk_operations.Rows(query, (Delivery.id,))
    id = bulk.begin("delivery.rearm", rows, options={"addresses": seen})
    bulk.run(id, most=1)
    change = {"settings": settings, "actor": API, "now": world.now}
    # What goes to the same address goes on.
    endpoints.update(bulk.session, world.tenant.id, endpoint.id, active=False, **change)
    world.commit()
    bulk.run(id, most=1)
    endpoints.update(bulk.session, world.tenant.id, endpoint.id, url="https://elsewhere.example/", **change)
    world.commit()
    bulk.run(id)
    why = "The address of its endpoint changed since you saw it, so nothing was done."
    assert reasons(bulk, id) == [("done", None, None)] * 2 + [("not_done", "conflict", why)]
    assert_accounted(bulk.session, id)


def test_sweep_goes_on_with_what_nobody_was_heard_of_for_a_while(world, bulk):
    book(world, 4)
    id = bulk.begin()
    bulk.run(id, most=1)
    assert run_bulk(bulk.session, now=world.now + timedelta(seconds=20), limit=100).examined == 0
    later = world.now + timedelta(seconds=31)
    counts = run_bulk(bulk.session, now=later, limit=2)
    assert (counts.examined, counts.capped) == (2, True)
    # The runner of the sweep says that it lives by the clock, which is not where these tests are.
    counts = run_bulk(bulk.session, now=clock.now() + timedelta(days=36_500), limit=100)
    assert (counts.changed, counts.capped) == (1, False)
    assert bulk.get(id).state == "finished"
    assert_accounted(bulk.session, id)


def test_sweep_goes_on_with_the_others_when_one_can_not_be_done(world, bulk):
    book(world, 2)
    rows = [rows_of(world.tenant, FollowUp.customer == f"c-{n}") for n in range(2)]
    bad, good = bulk.begin(rows=rows[0]), bulk.begin(rows=rows[1])
    bulk.session.get_one(BulkOperation, bad).verb = "followup.unknown"
    world.commit()
    counts = run_bulk(bulk.session, now=world.now + timedelta(minutes=1), limit=100)
    assert (counts.changed, counts.errors) == (1, 1)
    assert counts.faults[0]["tenant_id"] == world.tenant.id
    assert bulk.get(good).state == "finished" and bulk.get(bad).state == "running"


def test_purge_takes_what_ended_90_days_ago_and_leaves_the_rest(world, bulk):
    book(world, 3)
    old = bulk.begin()
    bulk.run(old)
    bulk.session.rollback()
    book(world, 2)
    running = bulk.begin()
    later = world.now + KEPT_FOR + HOUR
    assert bulk_operations.purge(bulk.session, now=world.now + KEPT_FOR - HOUR, limit=100) == 0
    assert bulk_operations.purge(bulk.session, now=later, limit=2) == 2
    commit(bulk.session, "tests.purge")
    assert bulk_operations.purge(bulk.session, now=later, limit=100) == 2
    commit(bulk.session, "tests.purge")
    assert bulk.session.scalars(select(BulkOperation.id)).all() == [running]
    assert world.count(BulkItem) == 2


def test_erasing_takes_the_reason_that_an_operation_was_narrowed_to(world, bulk):
    secret = "biopsy result of Maria Silva"
    world.book("maria", reason=secret)
    world.book("maria", reason="another")
    world.book("c-0")
    by_reason = bulk.begin(filters={"tab": "pending", "reason": secret})
    by_both = bulk.begin(filters={"reason": "another", "customer": "maria", "agent": "store-support"})
    of_a_row_that_is_gone = bulk.begin(filters={"reason": "and so on", "customer": "maria"})
    shared = bulk.begin(filters={"reason": "another", "customer": "c-0"})
    other = bulk.begin(filters={"reason": "pix pending", "customer": "c-0"})
    bulk.run(by_reason)
    erasure.erase_customer(bulk.session, world.tenant, "maria", actor=API, now=world.now)
    world.commit()
    assert bulk.get(by_reason).filters == {"tab": "pending", "reason": ""}
    assert bulk.get(by_both).filters == {"reason": "", "customer": "", "agent": "store-support"}
    assert bulk.get(of_a_row_that_is_gone).filters == {"reason": "", "customer": ""}
    assert bulk.get(shared).filters == {"reason": "", "customer": "c-0"}
    assert bulk.get(other).filters == {"reason": "pix pending", "customer": "c-0"}


def test_erasing_leaves_the_reason_of_another_tenants_operation(world, bulk):
    world.book("c-1", reason="pix pending")
    other = bulk.begin(filters={"reason": "pix pending"})
    elsewhere = create_tenant(bulk.session, "elsewhere", now=world.now)
    world.commit()
    erasure.erase_customer(bulk.session, elsewhere, "c-1", actor=API, now=world.now)
    world.commit()
    assert bulk.get(other).filters == {"reason": "pix pending"}


def test_erasing_takes_a_tenants_operations_and_a_customers_name(world, bulk):
    book(world, 2)
    named = bulk.begin(filters={"tab": "pending", "customer": "c-1"})
    other = bulk.begin(filters={"customer": "c-0"})
    erasure.erase_customer(bulk.session, world.tenant, "c-1", actor=API, now=world.now)
    world.commit()
    assert bulk.get(named).filters == {"tab": "pending", "customer": ""}
    assert bulk.get(other).filters == {"customer": "c-0"}
    counts = erasure.erase_tenant(bulk.session, world.tenant, actor=API, now=world.now)
    world.commit()
    assert counts["bulk_operations"] == 2
    assert world.count(BulkOperation) == world.count(BulkItem) == 0
    assert bulk.run(named).over
    assert bulk.run(uuid4()).over
