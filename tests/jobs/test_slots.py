from datetime import timedelta

import pytest
from sqlalchemy import select

from models import sweep_runs, sweep_slots
from models.sweeping import Counts
from models.sweeps import RunStatus, SlotKind, SlotState, SweepFault, SweepLease, SweepRun, SweepSlot
from models.tenants import get as get_tenant
from models.transactions import commit

EVERY = timedelta(seconds=30)
NAME = "fire_followups"


def slots(session):
    return session.scalars(
        select(SweepSlot).order_by(SweepSlot.slot_at).execution_options(populate_existing=True)
    ).all()


def runs(session):
    return session.scalars(
        select(SweepRun).order_by(SweepRun.id).execution_options(populate_existing=True)
    ).all()


def claim_and_begin(session, now, holder="a"):
    sweep_slots.claim(session, NAME, EVERY, now=now)
    slot = slots(session)[-1]
    return sweep_runs.begin_slot(session, slot.id, holder=holder, now=now)


def test_claim_makes_one_slot_when_two_schedulers_claim_it(session, now):
    assert sweep_slots.claim(session, NAME, EVERY, now=now)
    assert not sweep_slots.claim(session, NAME, EVERY, now=now + timedelta(seconds=29))
    assert [slot.slot_at for slot in slots(session)] == [now]


def test_claim_counts_missed_slots_when_nothing_claimed_for_a_while(session, now):
    sweep_slots.claim(session, NAME, EVERY, now=now)
    sweep_slots.claim(session, NAME, EVERY, now=now + 5 * EVERY + timedelta(seconds=3))
    newest = slots(session)[-1]
    assert newest.slot_at == now + 5 * EVERY
    assert (newest.missed, newest.missed_from) == (4, now + EVERY)
    assert newest.reason == "4 slots before it passed unclaimed"


def test_claim_drops_waiting_slots_with_the_reason_when_a_newer_is_due(session, now):
    sweep_slots.claim(session, NAME, EVERY, now=now)
    sweep_slots.add(session, NAME, now + timedelta(seconds=1), SlotKind.HAND, now=now)
    commit(session, "tests.slots")
    sweep_slots.claim(session, NAME, EVERY, now=now + EVERY)
    old, by_hand, new = slots(session)
    assert old.state == SlotState.DROPPED
    assert old.reason == "not started in time; coalesced into the slot of 2031-08-14T12:00:30.000000Z"
    assert (by_hand.state, new.state) == (SlotState.WAITING, SlotState.WAITING)


def test_slot_is_enqueued_again_when_not_started_within_a_minute(session, now):
    sweep_slots.claim(session, NAME, EVERY, now=now)
    [slot] = sweep_slots.to_enqueue(session, now=now)
    assert sweep_slots.take_to_enqueue(session, slot.id, now=now)
    assert not sweep_slots.take_to_enqueue(session, slot.id, now=now)
    assert not sweep_slots.to_enqueue(session, now=now + timedelta(seconds=59))
    assert [s.id for s in sweep_slots.to_enqueue(session, now=now + timedelta(seconds=60))] == [slot.id]
    assert sweep_slots.take_to_enqueue(session, slot.id, now=now + timedelta(seconds=60))


def test_slot_is_enqueued_by_the_next_tick_when_the_queue_was_away(session, now):
    sweep_slots.claim(session, NAME, EVERY, now=now)
    [slot] = sweep_slots.to_enqueue(session, now=now)
    sweep_slots.take_to_enqueue(session, slot.id, now=now)
    sweep_slots.give_back(session, slot.id, taken_at=now)
    assert [s.id for s in sweep_slots.to_enqueue(session, now=now)] == [slot.id]


def test_run_begins_once_when_its_slot_was_enqueued_twice(session, now):
    started = claim_and_begin(session, now)
    assert started is not None
    assert sweep_runs.begin_slot(session, started.slot_id, holder="b", now=now) is None
    assert len(runs(session)) == 1


def test_run_is_skipped_with_the_reason_when_another_holds_the_lease(session, now):
    first = claim_and_begin(session, now)
    assert claim_and_begin(session, now + EVERY, holder="b") is not None  # the first one's lease ran out
    sweep_slots.claim(session, NAME, EVERY, now=now + 2 * EVERY)
    last = slots(session)[-1]
    second = runs(session)[-1]
    soon = now + EVERY + timedelta(seconds=5)
    assert sweep_runs.begin_slot(session, last.id, holder="c", now=soon) is None
    skipped = runs(session)[-1]
    assert (skipped.status, skipped.error) == (
        RunStatus.SKIPPED,
        f"run {second.id} of b was still going on",
    )
    assert slots(session)[-1].state == SlotState.DONE
    assert first.run_id != second.id


def test_run_of_a_killed_holder_is_closed_when_the_next_begins(session, now):
    first = claim_and_begin(session, now)
    claim_and_begin(session, now + EVERY)
    closed = runs(session)[0]
    assert closed.id == first.run_id
    assert closed.status == RunStatus.ERROR
    assert closed.error == (
        "its process ended without saying so; the lease ran out at 2031-08-14T12:00:20.000000Z"
    )


def test_renewed_lease_keeps_others_out_when_its_first_term_is_over(session, now):
    started = claim_and_begin(session, now)
    assert sweep_runs.renew(session, started, now=now + timedelta(seconds=15))
    assert claim_and_begin(session, now + EVERY, holder="b") is None


def test_renew_says_so_when_the_lease_is_another_run_s(session, now):
    first = claim_and_begin(session, now)
    claim_and_begin(session, now + EVERY, holder="b")
    assert not sweep_runs.renew(session, first, now=now + EVERY)


def test_finish_records_counts_and_gives_up_the_lease(session, now):
    started = claim_and_begin(session, now)
    counts = Counts(examined=3, changed=2, errors=1, own={"fired": 2})
    tenant = get_tenant(session, None)
    counts.faults.append({"tenant_id": tenant.id, "row": "r-1", "error": "Traceback ..."})
    assert not sweep_runs.finish(session, started, counts, now=now + timedelta(seconds=1))
    [run] = runs(session)
    assert (run.status, run.finished_at) == (RunStatus.OK, now + timedelta(seconds=1))
    assert run.counts == {"examined": 3, "changed": 2, "errors": 1, "capped": False, "fired": 2}
    [fault] = session.scalars(select(SweepFault))
    assert (fault.tenant_id, fault.row, fault.run_id) == (tenant.id, "r-1", run.id)
    [lease] = session.scalars(select(SweepLease).execution_options(populate_existing=True))
    assert lease.expires_at == now + timedelta(seconds=1)


@pytest.mark.parametrize(("changed", "again"), [(1, True), (0, False)])
def test_capped_run_is_followed_at_once_only_when_it_made_progress(session, now, changed, again):
    started = claim_and_begin(session, now)
    counts = Counts(examined=9, changed=changed, capped=True)
    assert sweep_runs.finish(session, started, counts, now=now + timedelta(seconds=1)) is again
    extra = [slot for slot in slots(session) if slot.kind == SlotKind.CAPPED]
    assert [slot.slot_at for slot in extra] == ([now + timedelta(seconds=1)] if again else [])


def test_failed_run_is_tried_again_later_each_time_when_that_is_before_the_next_slot(session, now):
    day = timedelta(days=1)
    sweep_slots.claim(session, "retention", day, now=now)
    waits = []
    at = now
    for _ in range(3):
        slot = slots(session)[-1]
        started = sweep_runs.begin_slot(session, slot.id, holder="a", now=at)
        sweep_runs.fail(session, started, "Traceback ...", every=day, now=at)
        retry = slots(session)[-1]
        assert retry.kind == SlotKind.RETRY
        waits.append((retry.slot_at - at).total_seconds())
        at = retry.slot_at
    assert waits == [30, 60, 120]
    assert [run.status for run in runs(session)] == [RunStatus.ERROR] * 3


def test_failed_run_waits_for_the_clock_when_its_next_slot_is_sooner(session, now):
    started = claim_and_begin(session, now)
    sweep_runs.fail(session, started, "Traceback ...", every=EVERY, now=now + timedelta(seconds=5))
    assert [slot.kind for slot in slots(session)] == [SlotKind.CLOCK]


def test_dead_run_is_closed_when_its_lease_ran_out_and_nobody_else_began(session, now):
    started = claim_and_begin(session, now)
    assert sweep_runs.close_dead(session, {NAME: EVERY}, now=now + timedelta(seconds=19)) == 0
    assert sweep_runs.close_dead(session, {NAME: EVERY}, now=now + timedelta(seconds=21)) == 1
    [run] = runs(session)
    assert (run.id, run.status) == (started.run_id, RunStatus.ERROR)
    assert slots(session)[0].reason == "its run ended in an error"
    assert sweep_runs.close_dead(session, {NAME: EVERY}, now=now + timedelta(seconds=22)) == 0


def test_killed_run_is_closed_and_its_lease_given_up_when_the_worker_tells(session, now):
    started = claim_and_begin(session, now)
    sweep_runs.close_killed(session, started.slot_id, "its process was killed (signal 9)", now=now)
    assert runs(session)[0].error == "its process was killed (signal 9)"
    sweep_runs.close_killed(session, started.slot_id, "again", now=now)
    assert runs(session)[0].error == "its process was killed (signal 9)"


def test_woken_run_leaves_no_record_when_it_found_nothing(session, now):
    started = sweep_runs.begin_woken(session, "deliver", holder="a", now=now)
    sweep_runs.finish(session, started, Counts(), now=now)
    assert not runs(session)
    again = sweep_runs.begin_woken(session, "deliver", holder="a", now=now + timedelta(seconds=1))
    sweep_runs.finish(session, again, Counts(examined=1, changed=1), now=now + timedelta(seconds=2))
    assert [run.status for run in runs(session)] == [RunStatus.OK]


def test_woken_run_does_not_begin_when_the_sweep_runs_already(session, now):
    assert sweep_runs.begin_woken(session, "deliver", holder="a", now=now)
    assert sweep_runs.begin_woken(session, "deliver", holder="b", now=now) is None
