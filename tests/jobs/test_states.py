from datetime import timedelta

import pytest
from sqlalchemy import select, text, update

from models import sweep_runs, sweep_slots, sweep_states
from models.actors import Actor
from models.audit import AuditEvent
from models.errors import Conflict, Invalid, NotFound
from models.outbox import OutboxEvent
from models.sweeping import Counts
from models.sweeps import Cadence, RunStatus, SlotKind, SweepLease, SweepRun, SweepSlot
from models.tenants import Tenant
from models.transactions import commit

NAME = "fire_followups"
EVERY = timedelta(seconds=30)
CADENCES = [Cadence(NAME, EVERY)]
ADMIN = Actor.operator("1", "admin@acme.test")
S = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def _installed(session, now):
    session.execute(update(Tenant).values(created_at=now))
    commit(session, "tests.states")


def state(session, now):
    return sweep_states.states(session, CADENCES, now=now)[0]


def begun(session, now, kind=SlotKind.CLOCK, name=NAME):
    sweep_slots.add(session, name, now, kind, now=now)
    slot = session.scalars(select(SweepSlot).order_by(SweepSlot.id.desc())).first()
    return sweep_runs.begin_slot(session, slot.id, holder="a", now=now)


def ran_ok(session, now, kind=SlotKind.CLOCK, name=NAME):
    sweep_runs.finish(session, begun(session, now, kind, name), Counts(), now=now)


def pause(session, now, **given):
    row = sweep_states.pause(
        session, NAME, known=[NAME], actor=ADMIN, now=now, **{"reason": "moving house", **given}
    )
    commit(session, "tests.states")
    return row


def resume(session, now):
    row = sweep_states.resume(session, NAME, known=[NAME], actor=ADMIN, now=now)
    commit(session, "tests.states")
    return row


def events(session):
    return session.scalars(select(AuditEvent).order_by(AuditEvent.id)).all()


def test_sweep_is_late_only_when_three_intervals_passed_since_its_last_good_run(session, now):
    ran_ok(session, now)
    assert state(session, now + 90 * S).late_since is None
    assert state(session, now + 91 * S).late_since == now + 90 * S
    ran_ok(session, now + 91 * S)
    assert state(session, now + 92 * S).late_since is None


def test_sweep_is_late_when_it_never_ran_since_the_installation(session, now):
    assert state(session, now + 90 * S).late_since is None
    assert state(session, now + 91 * S).late_since == now + 90 * S


def test_run_by_hand_does_not_count_when_lateness_is_judged(session, now):
    ran_ok(session, now)
    ran_ok(session, now + 60 * S, kind=SlotKind.HAND)
    sweep_states.record_inline(session, NAME, {}, actor=ADMIN, started_at=now + 80 * S, now=now + 80 * S)
    assert state(session, now + 91 * S).late_since == now + 90 * S


def test_long_run_is_not_late_when_its_lease_is_renewed(session, now):
    ran_ok(session, now)
    sweep_slots.claim(session, NAME, EVERY, now=now + 30 * S)
    slot = session.scalars(select(SweepSlot).order_by(SweepSlot.id.desc())).first()
    started = sweep_runs.begin_slot(session, slot.id, holder="a", now=now + 30 * S)
    sweep_runs.renew(session, started, now=now + 115 * S)
    assert state(session, now + 120 * S).late_since is None
    assert state(session, now + 120 * S).running
    assert state(session, now + 140 * S).late_since == now + 90 * S


def test_state_is_told_of_its_own_sweep_when_another_ran(session, now):
    other = "seal_audit"
    ran_ok(session, now + 60 * S, name=other)
    ran_ok(session, now + 10 * S)
    ran_ok(session, now + 20 * S)
    shown = state(session, now + 65 * S)
    assert (shown.name, shown.every, shown.running, shown.paused) == (NAME, EVERY, False, None)
    assert (shown.last_ok_at, shown.last_run.started_at) == (now + 20 * S, now + 20 * S)
    assert shown.next_due_at == now + 90 * S
    assert state(session, now + 110 * S).late_since is None
    assert state(session, now + 111 * S).late_since == now + 110 * S


def test_state_shows_the_run_that_began_last_when_an_earlier_one_was_recorded_later(session, now):
    ran_ok(session, now + 20 * S)
    sweep_states.record_inline(session, NAME, {}, actor=ADMIN, started_at=now + 10 * S, now=now + 30 * S)
    assert state(session, now + 40 * S).last_run.started_at == now + 20 * S
    sweep_states.record_inline(session, NAME, {}, actor=ADMIN, started_at=now + 20 * S, now=now + 40 * S)
    assert state(session, now + 50 * S).last_run.by_hand


def test_failed_run_does_not_count_when_lateness_is_judged(session, now):
    started = begun(session, now + 30 * S)
    sweep_runs.fail(session, started, "broken", every=EVERY, now=now + 31 * S)
    assert state(session, now + 91 * S).late_since == now + 90 * S


@pytest.mark.parametrize(
    ("given", "running"),
    [({}, True), ({"name": "seal_audit"}, False), ({"kind": SlotKind.HAND}, False)],
)
def test_run_is_running_when_it_is_of_this_sweep_and_by_the_clock(session, now, given, running):
    begun(session, now, **given)
    assert state(session, now + S).running == running


def test_run_is_running_no_more_when_its_lease_is_over(session, now):
    begun(session, now)
    expires = session.scalars(select(SweepLease.expires_at)).one()
    assert state(session, expires - S).running
    assert not state(session, expires).running


def test_inline_run_keeps_what_it_did_when_it_is_recorded(session, now):
    counts = {"examined": 3, "capped": True}
    sweep_states.record_inline(session, NAME, counts, actor=ADMIN, started_at=now, now=now + S)
    [run] = session.scalars(select(SweepRun))
    assert (run.name, run.by_hand, run.holder, run.status) == (NAME, True, ADMIN.label, RunStatus.OK)
    assert (run.started_at, run.finished_at, run.counts, run.capped) == (now, now + S, counts, True)
    [event] = events(session)
    assert (event.action, event.resource_type, event.resource_id) == ("sweep.run_by_hand", "sweep", NAME)
    sweep_states.record_inline(session, NAME, {}, actor=ADMIN, started_at=now, now=now + 2 * S)
    assert not session.scalars(select(SweepRun).order_by(SweepRun.id.desc())).first().capped


def test_pause_leaves_one_event_when_given_twice(session, now):
    assert pause(session, now).paused
    pause(session, now + S)
    assert [(e.action, e.resource_id, e.actor_label) for e in events(session)] == [
        ("sweep.paused", NAME, "admin@acme.test")
    ]
    shown = state(session, now + 1_000 * S)
    assert (shown.paused.reason, shown.late_since) == ("moving house", None)


def test_resume_starts_the_judgement_anew_when_the_sweep_was_paused_for_long(session, now):
    ran_ok(session, now)
    pause(session, now + S)
    resume(session, now + 1_000 * S)
    resume(session, now + 1_001 * S)
    assert [e.action for e in events(session)] == ["sweep.paused", "sweep.resumed"]
    assert state(session, now + 1_090 * S).late_since is None
    assert state(session, now + 1_091 * S).late_since == now + 1_090 * S


def test_resume_changes_nothing_when_the_sweep_was_never_paused(session, now):
    ran_ok(session, now)
    row = resume(session, now + 60 * S)
    assert (row.name, row.paused) == (NAME, False)
    assert events(session) == []
    assert state(session, now + 91 * S).late_since == now + 90 * S


def test_verbs_go_by_the_row_as_it_stands_when_the_session_saw_it_before(session, now):
    seen = pause(session, now)
    assert seen.paused
    session.connection().execute(text("UPDATE sweep_pause SET paused = false"))
    sweep_states.run_by_hand(session, NAME, known=[NAME], actor=ADMIN, now=now)
    session.connection().execute(text("UPDATE sweep_pause SET paused = true"))
    pause(session, now + S)
    assert [e.action for e in events(session)] == ["sweep.paused", "sweep.run_by_hand"]
    assert state(session, now + S).paused.at == now


def test_slot_of_a_paused_sweep_leaves_a_skipped_run_with_the_reason(session, now):
    sweep_slots.claim(session, NAME, EVERY, now=now)
    pause(session, now)
    slot = session.scalars(select(SweepSlot)).one()
    assert sweep_runs.begin_slot(session, slot.id, holder="a", now=now) is None
    [run] = session.scalars(select(SweepRun))
    assert (run.status, run.error) == (RunStatus.SKIPPED, "paused by admin@acme.test: moving house")


def test_run_by_hand_makes_a_slot_and_one_event(session, now):
    slot = sweep_states.run_by_hand(session, NAME, known=[NAME], actor=ADMIN, now=now)
    commit(session, "tests.states")
    assert (slot.kind, slot.slot_at) == (SlotKind.HAND, now)
    assert [e.action for e in events(session)] == ["sweep.run_by_hand"]


def test_run_by_hand_is_refused_when_the_sweep_is_paused(session, now):
    pause(session, now)
    with pytest.raises(Conflict) as raised:
        sweep_states.run_by_hand(session, NAME, known=[NAME], actor=ADMIN, now=now)
    assert raised.value.detail == f"{NAME} is paused. Resume it first, then run it."
    assert raised.value.current.name == NAME
    resume(session, now)
    sweep_slots.add(session, "seal_audit", now, SlotKind.HAND, now=now)
    sweep_slots.add(session, NAME, now - S, SlotKind.HAND, now=now)
    slot = sweep_states.run_by_hand(session, NAME, known=[NAME], actor=ADMIN, now=now)
    assert (slot.name, slot.slot_at) == (NAME, now)


@pytest.mark.parametrize("verb", ["pause", "resume", "run_by_hand"])
def test_verb_raises_not_found_when_there_is_no_such_sweep(session, now, verb):
    given = {"reason": None} if verb == "pause" else {}
    with pytest.raises(NotFound, match=r"^There is no such sweep\.$"):
        getattr(sweep_states, verb)(session, "polish", known=[NAME], actor=ADMIN, now=now, **given)


def test_pause_is_refused_when_its_reason_is_too_long(session, now):
    with pytest.raises(Invalid) as raised:
        pause(session, now, reason="x" * 201)
    assert raised.value.field == "reason"


def test_lateness_is_announced_once_for_each_episode(session, now):
    ran_ok(session, now)
    first = sweep_states.announce_late(session, CADENCES, now=now + 100 * S)
    assert [found.name for found in first] == [NAME]
    assert not sweep_states.announce_late(session, CADENCES, now=now + 200 * S)
    ran_ok(session, now + 210 * S)
    assert not sweep_states.announce_late(session, CADENCES, now=now + 220 * S)
    assert sweep_states.announce_late(session, CADENCES, now=now + 400 * S)
    written = session.scalars(select(OutboxEvent).order_by(OutboxEvent.id)).all()
    assert [event.event_type for event in written] == ["attention.needed"] * 2
    assert (written[0].aggregate_type, written[0].aggregate_id) == ("sweep", NAME)
    assert written[0].payload == {
        "reason": "sweep_late",
        "sweep": NAME,
        "late_since": "2031-08-14T12:01:30.000000Z",
        "last_ok_at": "2031-08-14T12:00:00.000000Z",
    }
