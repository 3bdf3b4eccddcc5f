from collections import Counter
from json import dumps
from uuid import NAMESPACE_URL, uuid5

import pytest
from sqlalchemy import func, select, text

from models.followups.firing import fire_due
from models.followups.records import AgentTask, Contact, FollowUp, RevokeEvent, TaskEvent
from models.outbox import OutboxEvent
from tests.conftest import T
from tests.followups.world import HOUR, World
from tests.races.acts import DUE, LOOSE

pytestmark = pytest.mark.slow

MANY = [f"c-{number}" for number in range(40)]


def statuses(world: World) -> Counter[str]:
    world.session.rollback()
    return Counter(world.session.scalars(select(FollowUp.status)))


def count(world: World, model, *conditions) -> int:
    world.session.rollback()
    return world.session.scalar(select(func.count()).select_from(model).where(*conditions)) or 0


def due_for(world: World, customers: list[str]) -> list[str]:
    """A follow-up of each customer, due at T + 1 h."""
    return [str(world.book(customer).id) for customer in customers]


def tasks_for(world: World, customers: list[str]) -> list[str]:
    due_for(world, customers)
    fire_due(world.session, declared=LOOSE, now=T + HOUR, limit=1_000)
    return [str(id) for id in world.session.scalars(select(AgentTask.id).order_by(AgentTask.id))]


def test_booking_of_a_pair_is_taken_once_when_two_book_at_once(world, race):
    """Case 8."""
    world.session.rollback()
    answers = race(("book", MANY), ("book", list(MANY)))
    for first, second in zip(*answers, strict=True):
        assert sorted([first, second]) == ["already-pending", "pending"]
    assert statuses(world) == {"pending": len(MANY)}
    assert count(world, Contact) == len(MANY)
    assert count(world, OutboxEvent) == len(MANY)


@pytest.mark.parametrize("runs", [2, 4])
def test_each_due_record_fires_once_when_runs_overlap(world, race, runs):
    """Case 23."""
    customers = [f"c-{number}" for number in range(250)]
    world.consent(*customers)
    records = [{"customer": customer, "reason": f"r{n}"} for customer in customers for n in range(2)]
    world.take(*records)
    answers = race(*[("fire", True)] * runs)
    assert sum(answer["fired"] for answer in answers) == 500
    assert sum(answer["errors"] for answer in answers) == 0
    fire_due(world.session, declared=LOOSE, now=DUE, limit=1_000)
    assert statuses(world) == {"fired": 500}
    assert count(world, AgentTask) == 500
    assert set(world.session.scalars(select(Contact.sends_without_reply))) == {2}


def test_the_ceiling_holds_when_runs_overlap(world, race):
    """Case 23."""
    customers = [f"c-{number}" for number in range(50)]
    world.consent(*customers)
    world.take(*({"customer": customer, "reason": f"r{n}"} for customer in customers for n in range(5)))
    race(*[("fire", False)] * 4)
    world.fire(DUE)
    fired = world.session.execute(
        select(FollowUp.customer, func.count()).where(FollowUp.status == "fired").group_by(FollowUp.customer)
    ).all()
    assert len(fired) == 50
    assert {number for _customer, number in fired} == {2}
    assert statuses(world) == {"fired": 100, "blocked": 150}


CEILING = """
[agents.store-support.followup]
max_frequency = "2/24h"
silence_after_sends = 100
"""


def test_one_customer_with_200_due_is_sent_two_when_many_sweeps_run_at_once(
    world, race, database, tmp_path, capsys
):
    """Case 18, with eight `desk sweep` at once on PostgreSQL and two on SQLite."""
    (tmp_path / "desk.toml").write_text(CEILING)
    world.consent("c-1")
    world.take(*({"reason": f"reason {number}"} for number in range(200)))
    sweep = ["sweep", "fire_followups", "--at", DUE.isoformat(), "--json"]
    contenders = 8 if database.dialect == "postgresql" else 2
    answers = race(*[("desk", sweep)] * contenders)
    with capsys.disabled():
        for number, answer in enumerate(answers, start=1):
            print(f"\n{database.dialect} sweep {number}: {dumps(answer)}", end="")  # noqa: T201
    assert sum(answer["fired"] for answer in answers) == 2
    assert sum(answer["blocked"] for answer in answers) == 198
    assert sum(answer["errors"] for answer in answers) == 0
    reasons = Counter(world.session.scalars(select(FollowUp.blocked_reason)))
    assert reasons == {None: 2, "frequency": 198}
    assert statuses(world) == {"fired": 2, "blocked": 198}
    assert count(world, AgentTask) == 2


def test_a_record_is_cancelled_or_fired_but_not_both_when_the_two_meet(world, race):
    ids = due_for(world, MANY)
    cancelled, fired = race(("cancel", ids), ("fire", True))
    found = statuses(world)
    assert found["fired"] + found["cancelled"] == len(MANY)
    assert found["fired"] == fired["fired"] == count(world, AgentTask)
    # Whoever came too late was told so.
    assert Counter(cancelled) == {
        name: number
        for name, number in (("cancelled", found["cancelled"]), ("conflict", found["fired"]))
        if number
    }


def test_nothing_waits_for_whoever_opted_out_when_a_fire_meets_it(world, race):
    due_for(world, MANY)
    states, _fired = race(("say_stop", MANY), ("fire", True))
    assert states == ["revoked"] * len(MANY)
    world.fire(DUE)
    assert statuses(world)["pending"] == 0
    assert count(world, Contact, Contact.state == "revoked") == len(MANY)
    assert count(world, AgentTask, AgentTask.status == "queued") == 0
    assert count(world, RevokeEvent) == len(MANY)


def test_a_task_is_claimed_or_cancelled_but_not_both_when_an_opt_out_meets_it(world, race):
    ids = tasks_for(world, MANY)
    claimed, states = race(("claim", ids), ("say_stop", MANY))
    assert states == ["revoked"] * len(MANY)
    found = Counter(world.session.scalars(select(AgentTask.status)))
    assert found["dispatched"] + found["cancelled"] == len(MANY)
    assert Counter(claimed) == {
        name: number
        for name, number in (("dispatched", found["dispatched"]), ("opted-out", found["cancelled"]))
        if number
    }
    assert count(world, TaskEvent) == len(MANY)


def test_a_task_is_claimed_once_when_two_claim_it(world, race):
    ids = tasks_for(world, MANY)
    answers = race(("claim", ids), ("claim", ids))
    for first, second in zip(*answers, strict=True):
        assert sorted([first, second]) == ["conflict", "dispatched"]
    assert count(world, TaskEvent) == len(MANY)


def test_a_record_is_imported_once_when_two_imports_meet(world, race):
    world.session.rollback()
    lines = [dumps(world.record(id=str(uuid5(NAMESPACE_URL, f"{n}")), reason=f"r{n}")) for n in range(300)]
    imported = race(("take", lines), ("take", lines[::-1]))
    assert sum(imported) == 300
    assert statuses(world) == {"pending": 300}
    assert count(world, OutboxEvent) == 300


def test_nothing_is_left_of_an_erased_customer_when_a_fire_meets_it(world, race):
    due_for(world, MANY)
    race(("erase", MANY), ("fire", True))
    assert count(world, FollowUp) == count(world, AgentTask) == count(world, Contact) == 0


def test_a_booking_and_an_erasing_leave_all_or_nothing_when_they_meet(world, race):
    due_for(world, MANY)
    world.session.rollback()
    race(("erase", MANY), ("book", MANY))
    left = world.session.execute(
        text(
            "SELECT count(*) FROM follow_up f LEFT JOIN contact c ON c.customer = f.customer"
            " WHERE c.id IS NULL"
        )
    ).scalar()
    assert left == 0
    world.session.rollback()
