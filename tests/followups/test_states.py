from datetime import timedelta
from uuid import uuid4

import pytest

from models.errors import AlreadyPending, Conflict, Invalid, NotFound, OptedOut
from models.followups import booking, transitions
from models.followups.records import REARMABLE, TERMINAL, Contact, ContactState, FollowUp, Status, TaskStatus
from models.followups.tasks import MOVES, claim, report
from models.transitions import move
from tests.followups.world import HOUR, World
from tests.support.create import API, create_tenant

LATER = timedelta(minutes=7)


def cancel(world: World, id, *, now=None, **given):
    followup = transitions.cancel(
        world.session, world.tenant.id, id, actor=API, now=now or world.now, **given
    )
    world.commit()
    return followup


def rearm(world: World, id, at, **given):
    made = transitions.rearm(
        world.session, world.tenant, id, at, declared=world.declared, actor=API, now=world.now, **given
    )
    world.commit()
    return made


def in_state(world: World, status: str, **given) -> FollowUp:
    """A follow-up in `status`, by the way that leads there."""
    followup = world.book(**given)
    if status == Status.CANCELLED:
        cancel(world, followup.id)
    elif status in (Status.FIRED, Status.BLOCKED):
        before = world.declared
        if status == Status.BLOCKED:
            world.declare(max_frequency="2/3w")
        world.fire(world.now + 2 * HOUR)
        world.declared = before
    assert world.outcome_of(followup)[0] == status
    return followup


def test_cancel_changes_nothing_when_it_is_cancelled_already(world):
    """Case 9."""
    followup = world.book()
    first = cancel(world, followup.id)
    stamp, version = first.updated_at, first.version
    again = cancel(world, followup.id, now=world.now + LATER)
    assert (again.status, again.updated_at, again.version) == ("cancelled", stamp, version)
    assert world.actions("followup") == ["followup.scheduled", "followup.cancelled"]
    assert world.told() == ["followup.scheduled", "followup.cancelled"]


@pytest.mark.parametrize("status", ["fired", "blocked"])
def test_cancel_is_a_conflict_with_the_state_when_it_fired_or_was_blocked(world, status):
    """Case 9."""
    followup = in_state(world, status)
    with pytest.raises(Conflict) as raised:
        cancel(world, followup.id)
    assert raised.value.current.status == status
    assert status in raised.value.detail


def test_cancel_is_a_conflict_when_the_row_moved_since_it_was_seen(world):
    followup = world.book()
    seen = followup.version
    transitions.reschedule(
        world.session, world.tenant.id, followup.id, world.now + 3 * HOUR, actor=API, now=world.now
    )
    world.commit()
    with pytest.raises(Conflict) as raised:
        cancel(world, followup.id, expected_version=seen)
    assert raised.value.current.version == seen + 1
    assert cancel(world, followup.id, expected_version=seen + 1).status == "cancelled"


@pytest.mark.parametrize("verb", ["get", "cancel", "reschedule", "rearm"])
def test_every_verb_answers_alike_when_the_id_is_unknown_or_of_another_tenant(world, verb):
    """Case 10."""
    other = create_tenant(world.session, "globex", now=world.now)
    theirs = world.book(tenant=other)
    answers = []
    for id in (uuid4(), theirs.id):
        with pytest.raises(NotFound) as raised:
            if verb == "get":
                booking.get(world.session, world.tenant.id, id)
            elif verb == "cancel":
                cancel(world, id)
            elif verb == "reschedule":
                at = world.now + HOUR
                transitions.reschedule(world.session, world.tenant.id, id, at, actor=API, now=world.now)
            else:
                rearm(world, id, world.now + HOUR)
        world.session.rollback()
        answers.append((type(raised.value), raised.value.code, raised.value.detail))
    assert answers[0] == answers[1]


def test_fire_has_no_effect_when_it_fired_already(world):
    """Case 11."""
    followup = in_state(world, "fired")
    task_id = booking.get(world.session, world.tenant.id, followup.id).task_id
    counts = world.fire(world.now + 3 * HOUR)
    assert (counts.examined, counts.changed) == (0, 0)
    assert [task.id for task in world.tasks()] == [task_id]
    assert world.state() == ("granted", 1)


@pytest.mark.parametrize("status", sorted(REARMABLE))
def test_rearm_makes_a_new_record_when_the_first_is_over(world, status):
    """Case 12."""
    first = in_state(world, status, session_id="s-1", transport="whatsapp", arm="soft")
    made = rearm(world, first.id, world.now + 4 * HOUR, reason="they asked again")
    assert (made.status, made.rearmed_from, made.at) == ("pending", first.id, world.now + 4 * HOUR)
    assert made.id != first.id
    assert (made.session_id, made.transport, made.arm) == ("s-1", "whatsapp", "soft")
    assert world.outcome_of(first)[0] == status
    assert world.actions("followup")[-1] == "followup.rearmed"


@pytest.mark.parametrize("status", ["fired", "pending"])
def test_rearm_is_a_conflict_when_the_first_fired_or_is_pending(world, status):
    """Case 12."""
    followup = in_state(world, status)
    with pytest.raises(Conflict) as raised:
        rearm(world, followup.id, world.now + 4 * HOUR)
    assert raised.value.current.status == status
    world.session.rollback()
    assert world.count(FollowUp) == 1


def test_rearm_is_refused_when_the_customer_opted_out(world):
    """Case 12."""
    followup = in_state(world, "cancelled")
    world.revoke()
    with pytest.raises(OptedOut):
        rearm(world, followup.id, world.now + 4 * HOUR)


def test_rearm_follows_the_rules_of_a_booking(world):
    followup = in_state(world, "cancelled")
    with pytest.raises(Invalid) as raised:
        rearm(world, followup.id, world.now + timedelta(minutes=4))
    assert raised.value.field == "at"
    world.session.rollback()
    twin = world.book()
    with pytest.raises(AlreadyPending) as pending:
        rearm(world, followup.id, world.now + HOUR)
    assert pending.value.prior_id == str(twin.id)


def test_cancel_all_leaves_what_is_over_when_some_are_pending(world):
    """Case 13."""
    fired = in_state(world, "fired", reason="one")
    blocked = in_state(world, "blocked", reason="two")
    pending = [world.book(reason="three"), world.book(reason="four", agent="another")]
    other = world.book(customer="c-2")
    count = transitions.cancel_all_of(world.session, world.tenant, "c-1", actor=API, now=world.now)
    world.commit()
    assert count == 2
    assert [world.outcome_of(row)[0] for row in pending] == ["cancelled", "cancelled"]
    assert world.outcome_of(fired) == ("fired", None)
    assert world.outcome_of(blocked) == ("blocked", "policy_invalid")
    assert world.outcome_of(other)[0] == "pending"
    assert transitions.cancel_all_of(world.session, world.tenant, "nobody", actor=API, now=world.now) == 0


def test_reschedule_moves_the_time_when_it_is_pending(world):
    followup = world.book()
    at = world.now + 5 * HOUR
    moved = transitions.reschedule(world.session, world.tenant.id, followup.id, at, actor=API, now=world.now)
    world.commit()
    assert (moved.at, moved.version, moved.status) == (at, 2, "pending")
    assert world.fire(world.now + 2 * HOUR).examined == 0
    assert world.fire(at).own["fired"] == 1


def test_reschedule_is_refused_when_the_time_is_not_ahead(world):
    followup = world.book()
    for at in (world.now, world.now - HOUR):
        with pytest.raises(Invalid) as raised:
            transitions.reschedule(world.session, world.tenant.id, followup.id, at, actor=API, now=world.now)
        assert raised.value.field == "at"


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_reschedule_is_a_conflict_when_it_is_over(world, status):
    followup = in_state(world, status)
    with pytest.raises(Conflict) as raised:
        transitions.reschedule(
            world.session, world.tenant.id, followup.id, world.now + 9 * HOUR, actor=API, now=world.now
        )
    assert raised.value.current.status == status


MOVES_OF_FOLLOWUPS = {
    ("pending", "fired"),
    ("pending", "cancelled"),
    ("pending", "blocked"),
}
MOVES_OF_CONTACTS = {
    ("granted", "revoked"),
    ("granted", "unavailable"),
    ("revoked", "granted"),
    ("unavailable", "granted"),
    ("unavailable", "revoked"),
}
MOVES_OF_TASKS = {
    ("queued", "dispatched"),
    ("queued", "cancelled"),
    ("dispatched", "done"),
    ("dispatched", "failed"),
}


@pytest.mark.parametrize("before", list(Status))
@pytest.mark.parametrize("after", list(Status))
def test_move_of_a_followup_is_legal_only_when_the_table_holds_it(world, before, after):
    followup = in_state(world, before)
    version = booking.get(world.session, world.tenant.id, followup.id).version
    if (before, after) in MOVES_OF_FOLLOWUPS:
        move(world.session, followup, after, actor=API, now=world.now, action="followup.moved")
        assert (followup.status, followup.version) == (after, version + 1)
    else:
        with pytest.raises(ValueError, match="may not move"):
            move(world.session, followup, after, actor=API, now=world.now, action="followup.moved")
        assert (followup.status, followup.version) == (before, version)
    world.session.rollback()


@pytest.mark.parametrize("before", list(ContactState))
@pytest.mark.parametrize("after", list(ContactState))
def test_move_of_a_contact_is_legal_only_when_the_table_holds_it(before, after):
    assert (after in Contact.moves.get(before, frozenset())) == ((before, after) in MOVES_OF_CONTACTS)


@pytest.mark.parametrize("before", list(TaskStatus))
@pytest.mark.parametrize("after", list(TaskStatus))
def test_move_of_a_task_is_legal_only_when_the_table_holds_it(before, after):
    assert (after in MOVES.get(before, frozenset())) == ((before, after) in MOVES_OF_TASKS)


@pytest.mark.parametrize("outcome", [TaskStatus.DONE, TaskStatus.FAILED])
def test_report_moves_a_task_only_when_it_was_claimed(world, outcome):
    in_state(world, "fired")
    [task] = world.tasks()
    with pytest.raises(Conflict) as raised:
        report(world.session, world.tenant.id, task.id, outcome, actor=API, now=world.now)
    assert raised.value.current.status == "queued"
    claim(world.session, world.tenant.id, task.id, actor=API, now=world.now)
    report(world.session, world.tenant.id, task.id, outcome, reason="ok", actor=API, now=world.now)
    world.commit()
    again = report(world.session, world.tenant.id, task.id, outcome, actor=API, now=world.now + HOUR)
    assert (again.status, again.version) == (outcome, 3)
    other = TaskStatus.FAILED if outcome is TaskStatus.DONE else TaskStatus.DONE
    with pytest.raises(Conflict):
        report(world.session, world.tenant.id, task.id, other, actor=API, now=world.now)
