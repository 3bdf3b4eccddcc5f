from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import event, select

from models import tenants
from models.audit import AuditEvent
from models.base import db, is_sqlite
from models.declarations import Declared
from models.errors import Conflict
from models.followups import booking, firing, outcomes, tasks
from models.followups.policy import policies
from models.followups.records import AgentTask, FollowUp, TaskEvent
from models.outbox import OutboxEvent
from models.tenants import Feature
from models.transactions import commit
from tests.conftest import Database
from tests.followups.world import DAY, HOUR, World
from tests.support.create import API, create_tenant

MICROSECOND = timedelta(microseconds=1)


def claim(world: World, task: AgentTask, now):
    return tasks.claim(world.session, world.tenant.id, task.id, actor=API, now=now)


def fired_at(world: World, at, reason: str) -> FollowUp:
    """A follow-up that fired at exactly `at`."""
    followup = world.book(now=at - HOUR, at=at, reason=reason)
    world.fire(at)
    assert world.outcome_of(followup) == ("fired", None)
    return followup


def test_fire_makes_one_task_when_contact_is_granted(world):
    """Case 14."""
    followup = world.book(session_id="s-1", transport="whatsapp")
    later = world.now + 2 * HOUR
    counts = world.fire(later)
    assert counts.own == {"fired": 1, "blocked": 0, "deferred": 0}
    assert (counts.examined, counts.changed, counts.errors, counts.capped) == (1, 1, 0, False)
    row = booking.get(world.session, world.tenant.id, followup.id)
    assert (row.status, row.fired_at, row.version) == ("fired", later, 2)
    [task] = world.tasks()
    assert task.id == row.task_id
    assert (task.followup_id, task.agent, task.customer) == (row.id, "store-support", "c-1")
    assert (task.status, task.session_id) == ("queued", "s-1")
    assert task.command["name"] == "scheduled_followup"
    assert task.command["origin"] == "scheduled"
    assert task.command["transport"] == "whatsapp"
    prompt = claim(world, task, later).command["message"]
    assert "pix pending" in prompt
    assert "2031-08-14 14:00 UTC" in prompt
    assert world.state() == ("granted", 1)
    assert world.contact().last_outbound_at == later


def test_fire_tells_neither_reason_nor_prompt_when_it_tells_the_outbox(world):
    """Case 14."""
    # No part of a UUID reads like this one.
    world.book("lead@acme.test")
    world.fire(world.now + 2 * HOUR)
    assert world.told() == ["followup.scheduled", "followup.fired", "task.created"]
    told = [str(event.payload) for event in world.session.scalars(select(OutboxEvent))]
    audited = [str(event.detail) + str(event.purpose) for event in world.session.scalars(select(AuditEvent))]
    for words in told + audited:
        assert "pix" not in words
        assert "You agreed" not in words
        assert "lead@acme.test" not in words
    [fired] = world.session.scalars(select(AuditEvent).where(AuditEvent.action == "followup.fired"))
    assert (fired.detail["from"], fired.detail["to"]) == ("pending", "fired")
    assert (fired.actor_type, fired.actor_id) == ("system", "fire_followups")


def test_claim_is_a_conflict_when_the_task_was_taken(world):
    """Case 14."""
    world.book()
    later = world.now + 2 * HOUR
    world.fire(later)
    [task] = world.tasks()
    claim(world, task, later)
    world.commit()
    with pytest.raises(Conflict) as raised:
        claim(world, task, later)
    assert raised.value.current.status == "dispatched"
    world.session.rollback()
    assert [event.to_status for event in world.session.scalars(select(TaskEvent))] == ["dispatched"]


def test_claim_is_refused_as_opted_out_when_the_opt_out_cancelled_the_task(world):
    """Case 14."""
    world.book()
    later = world.now + 2 * HOUR
    world.fire(later)
    [task] = world.tasks()
    world.revoke(now=later)
    assert [task.status for task in world.tasks()] == ["cancelled"]
    with pytest.raises(tasks.ClaimRefused) as raised:
        claim(world, task, later)
    assert raised.value.code == "opted-out"
    world.commit()
    assert [event.to_status for event in world.session.scalars(select(TaskEvent))] == ["cancelled"]
    # Once they write again the contact is open, but what was cancelled stays so.
    world.say("hello", later + HOUR)
    with pytest.raises(Conflict) as conflict:
        claim(world, task, later + HOUR)
    assert conflict.value.code == "conflict"


def test_claim_cancels_the_task_when_the_contact_is_gone(world):
    """Case 14."""
    world.book()
    later = world.now + 2 * HOUR
    world.fire(later)
    [task] = world.tasks()
    world.commit()
    with db.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM contact")
    with pytest.raises(tasks.ClaimRefused) as raised:
        claim(world, task, later)
    assert raised.value.code == "opted-out"
    world.commit()
    assert [task.status for task in world.tasks()] == ["cancelled"]
    assert world.session.scalars(select(TaskEvent.reason)).one() == "opted_out"


def test_fire_blocks_with_consent_when_there_is_no_contact(world):
    """Case 15."""
    world.take({"id": "00000000-0000-0000-0000-000000000001"})
    counts = world.fire(world.now + HOUR)
    assert counts.own["blocked"] == 1
    assert world.outcome_of("00000000-0000-0000-0000-000000000001") == ("blocked", "consent")
    assert world.contact() is None


@pytest.mark.parametrize("state", ["revoked", "unavailable"])
def test_fire_blocks_with_the_state_when_the_contact_is_closed(world, state):
    """Case 15."""
    world.declare(silence_after_sends=1)
    if state == "revoked":
        world.revoke()
    else:
        fired_at(world, world.now, "first")
    assert world.state()[0] == state
    world.take({"id": "00000000-0000-0000-0000-000000000001"})
    world.fire(world.now + HOUR)
    assert world.outcome_of("00000000-0000-0000-0000-000000000001") == ("blocked", state)
    [event] = world.session.scalars(select(AuditEvent).where(AuditEvent.action == "followup.blocked"))
    assert (event.purpose, event.detail["reason"]) == (state, state)


def test_fire_blocks_with_policy_invalid_when_the_agent_has_no_valid_policy(world):
    """Case 15."""
    undeclared = world.book(agent="nobody")
    faulty = world.book()
    world.declare(max_frequency="2/3w")
    counts = world.fire(world.now + 2 * HOUR)
    assert (counts.own["blocked"], counts.errors) == (2, 0)
    assert world.outcome_of(undeclared) == ("blocked", "policy_invalid")
    assert world.outcome_of(faulty) == ("blocked", "policy_invalid")


def test_fire_waits_when_quiet_hours_hold(world):
    """Case 16."""
    world.declare(quiet_hours={"timezone": "UTC", "start": "13:00", "end": "13:30"})
    followup = world.book()
    quiet = world.now + HOUR + timedelta(minutes=10)
    counts = world.fire(quiet)
    assert counts.own == {"fired": 0, "blocked": 0, "deferred": 1}
    row = booking.get(world.session, world.tenant.id, followup.id)
    assert (row.status, row.deferred_until, row.version) == ("pending", world.now + 1.5 * HOUR, 1)
    assert world.fire(quiet + timedelta(minutes=1)).examined == 0
    assert world.actions("followup") == ["followup.scheduled"]
    assert world.fire(world.now + DAY).own["fired"] == 1


def test_fire_picks_a_deferred_one_at_the_very_end_of_the_quiet_hours(world):
    world.declare(quiet_hours={"timezone": "UTC", "start": "13:00", "end": "13:30"})
    world.book()
    world.fire(world.now + HOUR)
    assert world.fire(world.now + 1.5 * HOUR - MICROSECOND).examined == 0
    assert world.fire(world.now + 1.5 * HOUR).own["fired"] == 1


def test_fire_judges_again_when_the_policy_changed_since_it_deferred(world):
    world.declare(quiet_hours={"timezone": "UTC", "start": "13:00", "end": "23:30"})
    followup = world.book()
    assert world.fire(world.now + 2 * HOUR).own["deferred"] == 1
    world.declare(max_frequency="9/24h")
    assert world.fire(world.now + 2 * HOUR).own["fired"] == 1
    assert world.outcome_of(followup) == ("fired", None)


def test_fire_keeps_the_deferral_when_another_agents_policy_changed(world):
    world.declare(quiet_hours={"timezone": "UTC", "start": "13:00", "end": "23:30"})
    world.book()
    assert world.fire(world.now + 2 * HOUR).own["deferred"] == 1
    agents = {**world.declared.tables["agents"], "another": {"followup": {"arm": "x"}}}
    world.declared = type(world.declared)(99, {"agents": agents})
    assert world.fire(world.now + 2 * HOUR).examined == 0


def test_fire_blocks_the_second_when_the_ceiling_was_reached_an_hour_ago(world):
    """Case 17."""
    world.declare(max_frequency="1/24h")
    fired_at(world, world.now, "first")
    second = world.book(reason="second")
    world.fire(world.now + HOUR)
    assert world.outcome_of(second) == ("blocked", "frequency")


def test_fire_fires_only_the_oldest_when_a_backlog_meets_a_ceiling_of_one(world):
    """Case 18."""
    world.declare(max_frequency="1/24h")
    world.consent("c-1")
    ids = [f"00000000-0000-0000-0000-00000000000{n}" for n in (3, 2, 1)]
    ages = (2 * DAY, DAY, timedelta(minutes=1))
    world.take(*({"id": i, "at": world.now - age, "reason": i} for i, age in zip(ids, ages, strict=True)))
    counts = world.fire(world.now)
    assert counts.own == {"fired": 1, "blocked": 2, "deferred": 0}
    frequency = ("blocked", "frequency")
    assert [world.outcome_of(id) for id in ids] == [("fired", None), frequency, frequency]


def test_fire_counts_only_what_fired_within_the_window(world):
    """Case 19."""
    fired_at(world, world.now - DAY - timedelta(minutes=1), "first")
    fired_at(world, world.now - DAY + timedelta(minutes=1), "second")
    third = world.book(now=world.now - HOUR, at=world.now, reason="third")
    world.fire(world.now)
    assert world.outcome_of(third) == ("fired", None)


@pytest.mark.parametrize(
    ("age", "outcome"),
    [
        (DAY, ("blocked", "frequency")),
        (DAY + MICROSECOND, ("fired", None)),
        (DAY - MICROSECOND, ("blocked", "frequency")),
    ],
)
def test_fire_counts_a_fire_to_the_microsecond_of_the_window(world, age, outcome):
    world.declare(max_frequency="1/24h")
    fired_at(world, world.now - age, "first")
    second = world.book(now=world.now - HOUR, at=world.now, reason="second")
    world.fire(world.now)
    assert world.outcome_of(second) == outcome


def test_fire_counts_the_fires_of_all_agents_of_the_tenant_together(world):
    policies = {"max_frequency": "1/24h"}
    both = {"store-support": {"followup": policies}, "sales": {"followup": policies}}
    world.declared = type(world.declared)(50, {"agents": both})
    first, second = world.book(), world.book(agent="sales")
    other = world.book(tenant=create_tenant(world.session, "globex", now=world.now))
    world.fire(world.now + 2 * HOUR)
    found = sorted([world.outcome_of(first), world.outcome_of(second)], key=str)
    assert found == [("blocked", "frequency"), ("fired", None)]
    assert booking.get(world.session, other.tenant_id, other.id).status == "fired"


def test_fire_has_no_ceiling_when_none_is_declared(world):
    world.declare(max_frequency=None, silence_after_sends=100)
    world.consent("c-1")
    world.take(*({"reason": str(n)} for n in range(20)))
    assert world.fire(world.now).own["fired"] == 20


def test_fire_blocks_the_younger_when_two_of_a_pair_are_due(world):
    """Case 20."""
    world.consent("c-1")
    older, younger, same = (f"00000000-0000-0000-0000-00000000000{n}" for n in (3, 2, 4))
    world.take(
        {"id": older, "at": world.now - HOUR},
        {"id": younger, "at": world.now},
        {"id": same, "at": world.now - HOUR},
    )
    counts = world.fire(world.now)
    assert counts.own == {"fired": 1, "blocked": 2, "deferred": 0}
    assert world.outcome_of(older) == ("fired", None)
    assert world.outcome_of(younger) == world.outcome_of(same) == ("blocked", "dedup")


def test_fire_leaves_the_twin_alone_when_it_is_not_due(world):
    """Case 20."""
    world.consent("c-1")
    due, ahead = (f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2))
    world.take({"id": due, "at": world.now}, {"id": ahead, "at": world.now + HOUR})
    world.fire(world.now)
    assert (world.outcome_of(due)[0], world.outcome_of(ahead)[0]) == ("fired", "pending")
    world.fire(world.now + HOUR)
    assert world.outcome_of(ahead) == ("fired", None)


def test_fire_judges_an_earlier_gate_first_when_two_apply(world):
    """Gates 1 to 5 come before the one against twins."""
    world.revoke()
    twins = [f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2)]
    world.take(*({"id": id} for id in twins))
    world.fire(world.now)
    assert [world.outcome_of(id) for id in twins] == [("blocked", "revoked")] * 2
    world.declare(quiet_hours={"timezone": "UTC", "start": "11:00", "end": "13:30"})
    world.consent("c-2")
    world.take(*({"customer": "c-2"} for _ in range(2)))
    assert world.fire(world.now).own == {"fired": 0, "blocked": 0, "deferred": 2}


def test_fire_makes_the_contact_unavailable_when_the_third_stays_unanswered(world):
    """Case 21."""
    for day in range(3):
        assert world.state() in (None, ("granted", day))
        fired_at(world, world.now + day * DAY, f"day {day}")
    assert world.state() == ("unavailable", 3)
    assert world.actions("contact") == ["contact.granted", "contact.unavailable"]
    fourth_at = world.now + 3 * DAY
    fourth = world.book(now=fourth_at - HOUR, at=fourth_at, reason="fourth")
    world.fire(fourth_at)
    assert world.outcome_of(fourth) == ("blocked", "unavailable")
    world.say("I am here", fourth_at + HOUR)
    assert world.state() == ("granted", 0)
    fired_at(world, fourth_at + 3 * HOUR, "fifth")
    assert world.state() == ("granted", 1)


def test_fire_stops_in_one_pass_when_the_contact_becomes_unavailable_within_it(world):
    world.declare(max_frequency=None, silence_after_sends=2)
    world.consent("c-1")
    world.take(*({"reason": str(n)} for n in range(5)))
    counts = world.fire(world.now)
    assert counts.own == {"fired": 2, "blocked": 3, "deferred": 0}
    assert world.state() == ("unavailable", 2)


@contextmanager
def poison(database: Database) -> Iterator[None]:
    """The database refuses every task of the session `poison`."""
    raising = {
        "sqlite": (
            "CREATE TRIGGER poison BEFORE INSERT ON agent_task WHEN NEW.session_id = 'poison' "
            "BEGIN SELECT RAISE(ABORT, 'poison'); END",
        ),
        "postgresql": (
            "CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ "
            "BEGIN IF NEW.session_id = 'poison' THEN RAISE EXCEPTION 'poison'; END IF; RETURN NEW; END $$",
            "CREATE TRIGGER poison BEFORE INSERT ON agent_task FOR EACH ROW EXECUTE FUNCTION poison()",
        ),
    }[database.dialect]
    ending = {
        "sqlite": ("DROP TRIGGER poison",),
        "postgresql": ("DROP TRIGGER poison ON agent_task", "DROP FUNCTION poison"),
    }[database.dialect]
    for statements in (raising, None, ending):
        if statements is None:
            yield
            db.session.rollback()
            continue
        with db.engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)


def test_fire_goes_on_when_one_record_raises(world, database):
    """Case 22."""
    good = [world.book(customer=f"c-{n}") for n in range(3)]
    bad = world.book(customer="c-1", reason="a private reason", session_id="poison")
    now = world.now + 2 * HOUR
    with poison(database):
        counts = world.fire(now)
        assert (counts.errors, counts.own["fired"]) == (1, 3)
        [fault] = counts.faults
        assert fault["row"] == str(bad.id)
        assert "poison" in fault["error"]
        assert "a private reason" not in fault["error"]
        assert [world.outcome_of(row)[0] for row in good] == ["fired"] * 3
        row = booking.get(world.session, world.tenant.id, bad.id)
        assert (row.status, row.task_id, row.attempts) == ("pending", None, 1)
        assert row.next_attempt_at == now + timedelta(seconds=30)
        # The contact was bumped for what fired, and not for what did not.
        assert world.state("c-1") == ("granted", 1)
        assert world.fire(now + timedelta(seconds=29)).examined == 0
        world.fire(now + timedelta(seconds=30))
        row = booking.get(world.session, world.tenant.id, bad.id)
        assert (row.attempts, row.next_attempt_at) == (2, now + timedelta(seconds=30 + 60))
    assert world.fire(now + timedelta(minutes=2)).own["fired"] == 1


def test_fire_pays_no_heed_to_paused_rows_when_a_tenant_switched_off(world):
    other = create_tenant(world.session, "globex", now=world.now)
    mine, theirs = world.book(), world.book(tenant=other)
    off = {Feature.FOLLOWUPS.value: False}
    tenants.set_features(world.session, world.tenant, off, actor=API, now=world.now)
    world.commit()
    assert world.fire(world.now + 2 * HOUR).own["fired"] == 1
    assert world.outcome_of(mine)[0] == "pending"
    assert booking.get(world.session, other.id, theirs.id).status == "fired"
    on = {Feature.FOLLOWUPS.value: True}
    tenants.set_features(world.session, world.tenant, on, actor=API, now=world.now)
    world.commit()
    assert world.fire(world.now + 2 * HOUR).own["fired"] == 1


def test_fire_picks_no_row_of_an_agent_when_it_is_held(world):
    held, free = world.book(), world.book(agent="another")
    world.declared = type(world.declared)(50, {"agents": {"store-support": {}, "another": {}}})

    def hold(on: bool) -> None:
        tenants.hold(
            world.session, world.tenant, "store-support", held=on, reason=None, actor=API, now=world.now
        )
        world.commit()

    hold(True)
    assert world.fire(world.now + 2 * HOUR).own["fired"] == 1
    assert (world.outcome_of(held)[0], world.outcome_of(free)[0]) == ("pending", "fired")
    hold(False)
    world.fire(world.now + 2 * HOUR)
    assert world.outcome_of(held)[0] == "fired"


def backlog(world: World, size: int, **given) -> None:
    world.consent(*(f"c-{n}" for n in range(size)))
    world.take(*({"customer": f"c-{n}", **given} for n in range(size)))


def test_fire_gives_each_tenant_a_share_when_the_limit_is_small(world):
    first = world.tenant
    backlog(world, 30)
    world.tenant = create_tenant(world.session, "globex", now=world.now)
    backlog(world, 3, at=world.now)
    counts = world.fire(world.now, limit=6)
    assert counts.capped
    fired = Counter(world.session.scalars(select(FollowUp.tenant_id).where(FollowUp.status == "fired")).all())
    assert fired[world.tenant.id] == 3
    assert fired[first.id] == 3


def test_fire_gives_each_agent_a_share_when_the_limit_is_small(world):
    world.declared = type(world.declared)(50, {"agents": {"store-support": {}, "sales": {}}})
    backlog(world, 30, at=world.now - DAY)
    backlog(world, 3, agent="sales", reason="another")
    world.fire(world.now, limit=8)
    agents = Counter(world.session.scalars(select(FollowUp.agent).where(FollowUp.status == "fired")).all())
    assert agents["sales"] == 3
    assert agents["store-support"] >= 3


@pytest.mark.parametrize(("limit", "capped"), [(9, True), (10, False), (11, False)])
def test_fire_is_capped_only_when_due_rows_are_left(world, limit, capped):
    backlog(world, 10)
    counts = world.fire(world.now, limit=limit)
    assert counts.capped is capped
    assert counts.own["fired"] == min(limit, 10)


def test_fire_judges_all_twins_together_when_the_limit_falls_between_them(world):
    world.consent("c-1")
    world.take({"at": world.now - HOUR}, {"at": world.now})
    counts = world.fire(world.now, limit=1)
    assert counts.own == {"fired": 1, "blocked": 1, "deferred": 0}


def test_record_outcome_returns_the_first_when_it_is_repeated(world):
    given = {
        "id": "o-1",
        "agent": "store-support",
        "customer": "c-1",
        "kind": "paid",
        "occurred_at": world.now,
        "value": 12.5,
        "now": world.now,
    }
    first, made = outcomes.record(world.session, world.tenant, **given)
    commit(world.session, "tests.outcome")
    again, made_again = outcomes.record(world.session, world.tenant, **given)
    assert (made, made_again) == (True, False)
    assert again.id == first.id
    with pytest.raises(Conflict):
        outcomes.record(world.session, world.tenant, **{**given, "value": 13.0})


def test_fire_takes_a_bounded_part_when_one_customer_has_many_due(world):
    """A limit of one takes two at most, however many are due for the customer."""
    world.declare(max_frequency="100/24h", silence_after_sends=1_000)
    world.take(*({"at": world.now + n * MICROSECOND, "reason": f"r-{n}"} for n in range(40)))
    world.consent("c-1")
    counts = world.fire(world.now + HOUR, limit=1)
    assert (counts.examined, counts.capped) == (2, True)
    assert world.fire(world.now + HOUR).own["fired"] == 38


def test_fire_blocks_a_younger_twin_beyond_the_chunk_when_its_elder_fires(world):
    world.declare(max_frequency="100/24h", silence_after_sends=1_000)
    reasons = ["same", "x-1", "x-2", "x-3", "same"]
    world.take(*({"at": world.now + n * MICROSECOND, "reason": reason} for n, reason in enumerate(reasons)))
    world.consent("c-1")
    counts = world.fire(world.now + HOUR, limit=1)
    assert (counts.own["fired"], counts.own["blocked"]) == (2, 1)
    [twin] = [row for row in world.session.scalars(select(FollowUp)) if row.blocked_reason]
    assert (twin.reason, twin.blocked_reason) == ("same", "dedup")
    assert world.fire(world.now + HOUR).own == {"fired": 2, "blocked": 0, "deferred": 0}


@pytest.mark.parametrize("key", ["a" * 201, "a\x00b"])
def test_fire_goes_on_when_an_agent_has_a_key_that_can_not_be_stored(world, key):
    followup = world.book()
    agents = {**world.declared.tables["agents"], key: {"followup": {}}}
    world.declared = Declared(world.declared.version + 1, {"agents": agents})
    assert world.fire(world.now + 2 * HOUR).own["fired"] == 1
    assert world.outcome_of(followup) == ("fired", None)
    assert [fault.path[:8] for fault in policies(world.declared)[key].faults] == ["agents.a"]


def test_fire_writes_few_records_at_a_time_when_the_database_has_one_writer(world):
    due = 2 * firing.SQLITE_CHUNK + 1
    world.take(*({"id": str(UUID(int=number + 1)), "customer": f"c-{number}"} for number in range(due)))
    chunks: list[str] = []

    def note(_connection, name, _context):
        chunks.append(name)

    event.listen(db.engine, "release_savepoint", note)
    try:
        assert world.fire(world.now + HOUR, limit=2 * due).own["blocked"] == due
    finally:
        event.remove(db.engine, "release_savepoint", note)
    assert len(chunks) == (3 if is_sqlite(world.session) else 1)
