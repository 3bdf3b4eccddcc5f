"""What each act says: to whoever is refused, in the audit, and to the outbox."""

from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from models.audit import AuditEvent
from models.errors import Conflict, Invalid, NotFound
from models.followups import booking, contacts, tasks, transitions
from models.followups.records import TaskEvent, TaskStatus
from models.outbox import OutboxEvent
from tests.followups.test_states import cancel, in_state, rearm
from tests.followups.world import HOUR, World
from tests.support.create import API, create_tenant


def reschedule(world: World, id, at, **given):
    return transitions.reschedule(world.session, world.tenant.id, id, at, actor=API, now=world.now, **given)


def audited(world: World, action: str) -> AuditEvent:
    return world.session.scalars(select(AuditEvent).where(AuditEvent.action == action)).one()


def told(world: World, event_type: str) -> OutboxEvent:
    return world.session.scalars(select(OutboxEvent).where(OutboxEvent.event_type == event_type)).one()


def queued(world: World):
    in_state(world, "fired")
    return world.tasks()[0]


def claimed(world: World):
    task = queued(world)
    return tasks.claim(world.session, world.tenant.id, task.id, actor=API, now=world.now)


def report(world: World, id, outcome=TaskStatus.DONE, **given):
    return tasks.report(world.session, world.tenant.id, id, outcome, actor=API, now=world.now, **given)


STALE = "so nothing was done."
REFUSALS = [
    (lambda w: cancel(w, uuid4()), NotFound, "There is no such follow-up."),
    (lambda w: booking.get(w.session, w.tenant.id, uuid4()), NotFound, "There is no such follow-up."),
    (lambda w: tasks.get(w.session, w.tenant.id, uuid4()), NotFound, "There is no such task."),
    (lambda w: report(w, uuid4()), NotFound, "There is no such task."),
    (lambda w: contacts.get(w.session, w.tenant.id, "c-9"), NotFound, "There is no such contact."),
    (
        lambda w: cancel(w, in_state(w, "fired").id),
        Conflict,
        "This follow-up has fired, so it can't be cancelled.",
    ),
    (
        lambda w: reschedule(w, in_state(w, "cancelled").id, w.now + HOUR),
        Conflict,
        "This follow-up is cancelled, so it can't be rescheduled.",
    ),
    (
        lambda w: rearm(w, in_state(w, "fired").id, w.now + HOUR),
        Conflict,
        "This follow-up has fired: its message may have gone out, so it is never re-armed. Book a new one.",
    ),
    (
        lambda w: rearm(w, w.book().id, w.now + HOUR),
        Conflict,
        "This follow-up is pending already. Reschedule it instead.",
    ),
    (lambda w: reschedule(w, w.book().id, w.now), Invalid, "at must be ahead of now."),
    (
        lambda w: reschedule(w, w.book().id, w.now.replace(tzinfo=None)),
        Invalid,
        "at needs an offset from UTC, such as 2031-08-14T12:00:00Z.",
    ),
    (
        lambda w: w.book(at=w.now),
        Invalid,
        "at would already be due; it must be at least 5 minutes ahead.",
    ),
    (lambda w: booking.parse_at("+3661d", w.now), Invalid, "at is more than ten years ahead."),
    (
        lambda w: w.book(id=w.book().id, reason="another"),
        Conflict,
        "This id was given to another follow-up.",
    ),
    (
        lambda w: cancel(w, w.book().id, expected_version=9),
        Conflict,
        f"This follow-up changed since you saw it, {STALE}",
    ),
    (
        lambda w: reschedule(w, w.book().id, w.now + HOUR, expected_version=9),
        Conflict,
        f"This follow-up changed since you saw it, {STALE}",
    ),
    (
        lambda w: rearm(w, in_state(w, "cancelled").id, w.now + HOUR, expected_version=1),
        Conflict,
        f"This follow-up changed since you saw it, {STALE}",
    ),
    (
        lambda w: report(w, queued(w).id, expected_version=9),
        Conflict,
        f"This task changed since you saw it, {STALE}",
    ),
    (
        lambda w: tasks.claim(w.session, w.tenant.id, queued(w).id, actor=API, now=w.now, expected_version=9),
        Conflict,
        f"This task changed since you saw it, {STALE}",
    ),
    (
        lambda w: tasks.claim(w.session, w.tenant.id, claimed(w).id, actor=API, now=w.now),
        Conflict,
        "This task is dispatched already, so it can't be claimed.",
    ),
    (lambda w: report(w, queued(w).id), Conflict, "This task is queued, so it can't become done."),
    (
        lambda w: report(w, claimed(w).id, reason="x" * 201),
        Invalid,
        "reason has 201 characters; 200 is the most.",
    ),
    (
        lambda w: rearm(w, in_state(w, "cancelled").id, w.now + HOUR, reason="x" * 201),
        Invalid,
        "reason has 201 characters; 200 is the most.",
    ),
    (lambda w: w.revoke(by=" "), Invalid, "by must not be blank."),
    (lambda w: w.book(agent=" "), Invalid, "agent must not be blank."),
]


@pytest.mark.parametrize(("act", "error", "words"), REFUSALS)
def test_refusal_says_what_stands_in_the_way_when_an_act_is_refused(world, act, error, words):
    with pytest.raises(error) as raised:
        act(world)
    assert raised.value.detail == words


def test_cancel_says_who_did_it_when_it_is_done(world):
    followup = cancel(world, world.book(arm="soft").id)
    event, message = audited(world, "followup.cancelled"), told(world, "followup.cancelled")
    assert followup.cancelled_by == API.label
    assert (event.resource_type, event.resource_id, event.purpose) == ("followup", str(followup.id), None)
    assert (message.aggregate_type, message.aggregate_id) == ("followup", str(followup.id))
    assert message.payload == {
        "followup_id": str(followup.id),
        "agent": "store-support",
        "arm": "soft",
        "by": API.type.value,
    }


def test_cancel_all_says_that_it_was_all_when_it_is_done(world):
    followup = world.book()
    transitions.cancel_all_of(world.session, world.tenant, "c-1", actor=API, now=world.now)
    world.commit()
    assert booking.get(world.session, world.tenant.id, followup.id).cancelled_by == API.label
    assert audited(world, "followup.cancelled").purpose == "cancel_all"


def test_opt_out_says_how_it_came_when_it_cancels(world):
    followup = world.book()
    world.revoke(by="channel")
    assert booking.get(world.session, world.tenant.id, followup.id).cancelled_by == "opt-out (channel)"
    assert audited(world, "followup.cancelled").purpose == "opted_out"
    event = audited(world, "contact.revoked")
    assert (event.purpose, event.detail) == ("channel", {"from": "granted", "to": "revoked"})
    message = told(world, "contact.revoked")
    assert (message.aggregate_type, message.aggregate_id) == ("contact", str(world.contact().id))


def test_reschedule_says_both_times_when_it_is_done(world):
    followup = world.book()
    before, after = followup.at, world.now + 5 * HOUR
    reschedule(world, followup.id, after, expected_version=1)
    world.commit()
    event = audited(world, "followup.rescheduled")
    assert (event.resource_type, event.resource_id) == ("followup", str(followup.id))
    assert event.detail == {"at_before": before.isoformat(), "at_after": after.isoformat()}


def test_rearm_says_why_and_from_what_when_it_is_done(world):
    first = in_state(world, "cancelled")
    made = rearm(world, first.id, world.now + HOUR, reason="they asked again", expected_version=2)
    event = audited(world, "followup.rearmed")
    assert (event.resource_type, event.resource_id) == ("followup", str(made.id))
    assert event.purpose == "they asked again"
    assert event.detail == {
        "from": None,
        "to": "pending",
        "agent": "store-support",
        "arm": "schedule",
        "rearmed_from": str(first.id),
    }


def test_report_keeps_the_reason_when_it_is_given_one(world):
    task = claimed(world)
    report(world, task.id, TaskStatus.FAILED, reason="number is not in use", expected_version=2)
    world.commit()
    told_of = (TaskEvent.from_status, TaskEvent.to_status, TaskEvent.reason, TaskEvent.actor)
    assert [tuple(row) for row in world.session.execute(select(*told_of).order_by(TaskEvent.id))] == [
        ("queued", "dispatched", None, API.label),
        ("dispatched", "failed", "number is not in use", API.label),
    ]
    with pytest.raises(ValueError, match=r"^a task may not move from failed to done$"):
        tasks.move_task(world.session, task, TaskStatus.DONE, actor=API, reason=None, now=world.now)


def test_verbs_touch_the_one_they_are_given_when_there_are_others(world):
    first, second, third = (world.book(reason=reason) for reason in ("one", "two", "three"))
    cancel(world, second.id)
    reschedule(world, third.id, world.now + 9 * HOUR)
    world.commit()
    assert [world.outcome_of(row)[0] for row in (first, second, third)] == ["pending", "cancelled", "pending"]
    assert booking.get(world.session, world.tenant.id, first.id).at == world.now + HOUR
    assert contacts.get(world.session, world.tenant.id, "c-1").id == world.contact().id


def test_command_says_all_that_the_runtime_needs_when_it_is_claimed(world):
    assert tasks.command(
        session_id="s-1", agent="a", customer="c-1", reason="pix", transport="whatsapp", now=world.now
    ) == {
        "name": "scheduled_followup",
        "session_id": "s-1",
        "agent": "a",
        "customer": "c-1",
        "message": "You agreed to follow up with this customer, and the time has come. "
        "The reason that was noted: pix\n"
        "It is now 2031-08-14 12:00 UTC. Write one short message to the customer, as agreed.",
        "origin": "scheduled",
        "transport": "whatsapp",
    }


@pytest.mark.parametrize("verb", ["get", "claim", "report"])
def test_every_verb_of_tasks_is_not_found_when_the_task_is_another_tenants(world, verb):
    task = queued(world)
    other = create_tenant(world.session, "globex", now=world.now)
    given = {} if verb == "get" else {"actor": API, "now": world.now}
    outcome = [TaskStatus.DONE] if verb == "report" else []
    with pytest.raises(NotFound):
        getattr(tasks, verb)(world.session, other.id, task.id, *outcome, **given)


def test_cancel_all_tells_of_each_in_the_order_they_were_due(world):
    ids = [UUID(int=number) for number in (4, 3, 1, 2)]
    hours = dict(zip(ids, (1, 3, 2, 2), strict=True))
    for id in (ids[1], ids[3], ids[2], ids[0]):
        world.book(id=id, reason=str(id), at=world.now + hours[id] * HOUR)
    transitions.cancel_all_of(world.session, world.tenant, "c-1", actor=API, now=world.now)
    world.commit()
    told_of = select(AuditEvent.resource_id).where(AuditEvent.action == "followup.cancelled")
    order = [UUID(id) for id in world.session.scalars(told_of.order_by(AuditEvent.id))]
    assert order == [ids[0], ids[2], ids[3], ids[1]]
