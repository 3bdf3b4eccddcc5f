"""SIGKILL at every fault point of a run: what the ledger says, what a person may do, and what arrived.

`pytest -s` prints the table: the point, the ledger, what an operator may do 16 minutes later, how often each
of the three actions arrived without a person, and how often after the rest was re-armed.
"""

import signal

import pytest
from sqlalchemy import delete, func, select

from models.audit import AuditEvent
from models.automations.records import ActionEvent
from models.clock import iso
from models.conversations import Conversation
from models.outbox import OutboxEvent
from models.transactions import rollback
from tests.automations import acts
from tests.automations.receivers import KINDS, Receivers, receivers
from tests.automations.world import at
from tests.kills import acts as desk
from tests.support import forks
from tests.support.points import commits, outside
from tests.support.processes import environment

pytestmark = pytest.mark.slow

SIDES = ("before", "after")
OF_RUN = ("executions.claim", "executions.judge")
OF_CALL = ("executions.start", "executions.call", "executions.record")
OF_OWN = ("executions.act_alone",)
TOGETHER = ("executions.act",)
OF_END = ("executions.finish",)
BESIDE = (
    "executions.abandon",
    "executions.free",
    "executions.nothing_to_call",
    "executions.purge",
    "executions.record_late",
)
POINTS = (*OF_RUN, *OF_CALL, *OF_OWN, *TOGETHER, *OF_END, *BESIDE)

# What becomes of an action in whose midst the process ends, as a person reads it, and whether it arrived.
CAUGHT = {
    ("executions.start", "before"): ("waiting", 0),
    ("executions.start", "after"): ("started", 0),
    ("executions.call", "before"): ("started", 0),
    ("executions.call", "after"): ("started", 1),
    ("executions.record", "before"): ("started", 1),
    ("executions.record", "after"): ("done", 1),
    ("executions.act", "before"): ("waiting", 0),
    ("executions.act", "after"): ("done", 1),
    ("executions.act_alone", "before"): ("waiting", 0),
    ("executions.act_alone", "after"): ("done", 1),
}


def cases():
    """Each point of each kind of run, on each side; one that is reached for each action, at each of them."""
    for kind, hows in KINDS.items():
        yield from ((kind, point, 0, side) for point in OF_RUN for side in SIDES)
        if kind == "native":
            # All of it is one transaction.
            yield from ((kind, point, 0, side) for point in TOGETHER for side in SIDES)
            continue
        for position, how in enumerate(hows):
            points = OF_OWN if how == "native" else OF_CALL
            yield from ((kind, point, position, side) for point in points for side in SIDES)
        yield from ((kind, point, 0, side) for point in OF_END for side in SIDES)


def expected(kind, point, position, side):
    """What the ledger must say right after the end of the process, and what must have arrived."""
    if point == "executions.claim":
        return ("pending" if side == "before" else "processing"), [0, 0, 0]
    if point == "executions.judge":
        return ("processing" if side == "before" else "executing: waiting, waiting, waiting"), [0, 0, 0]
    if point == "executions.finish":
        return ("executing" if side == "before" else "executed") + ": done, done, done", [1, 1, 1]
    state, count = CAUGHT[point, side]
    if kind == "native":
        return ("executing" if side == "before" else "executed") + f": {state}, {state}, {state}", [count] * 3
    states = ["done"] * position + [state] + ["waiting"] * (2 - position)
    return f"executing: {', '.join(states)}", [1] * position + [count] + [0] * (2 - position)


@pytest.fixture
def desk_of(world, app, tmp_path):
    with receivers(world, app, tmp_path) as found:
        yield found


@pytest.fixture
def kill(database, desk_of: Receivers, tmp_path):
    """End a process at a fault point: that of the sweep, unless it is another act."""

    def run(point, *given, act=None, minutes=0.0):
        rollback(desk_of.world.session)
        given = given or (["desk", "sweep", "run_executions", "--at", iso(at(minutes)), "--json"],)
        env = environment(tmp_path, database.url, **desk_of.env, DESK_FAULTS=point)
        code, output = forks.run(act or desk.do, *given, env=env, log=tmp_path / "act.log")
        assert code == -signal.SIGKILL, output
        desk_of.world.session.expire_all()

    return run


def test_every_point_of_a_run_is_killed_at():
    named = {place.point for place in (*commits(), *outside()) if place.point is not None}
    assert {point for point in named if point.startswith("executions.")} == set(POINTS)
    assert {point for _kind, point, _position, _side in cases()} == set(POINTS) - set(BESIDE)


def taking_turns():
    """The cases, each on one of the two databases and the other side of its commit on the other."""
    for number, case in enumerate(cases()):
        turn = (number // 2 + number) % 2
        yield (*case, ("sqlite", "postgresql")[turn])


@pytest.mark.parametrize(
    ("kind", "point", "position", "side", "database"), list(taking_turns()), indirect=["database"]
)
def test_no_action_arrives_twice_when_the_process_is_killed(
    desk_of: Receivers, database, kill, record_property, kind, point, position, side
):
    desk_of.armed(kind)
    nth = sum(1 for how in KINDS[kind][:position] if (how == "native") == (point in OF_OWN)) + 1
    kill(f"{point}:{side}#{nth}")
    ledger, arrived = expected(kind, point, position, side)
    assert (desk_of.ledger(), desk_of.got()) == (ledger, arrived)
    may = desk_of.may(16)
    began = ledger.startswith("execut")
    desk_of.sweep(1)
    if ledger != "pending":
        assert (desk_of.ledger(), desk_of.got()) == (ledger, arrived)
    for minutes in (16, 20):
        desk_of.sweep(minutes)
    # What had not begun is begun by the machine; what had is left as it is.
    by_itself = desk_of.got()
    assert by_itself == (arrived if began else [1, 1, 1])
    assert may == allowed(ledger)
    assert desk_of.may(20) == (may if began else [])
    after = rearm_the_rest(desk_of) if "re-arm the rest" in may else by_itself
    left = ["started" in state for state in ledger.partition(": ")[2].split(", ")]
    once = [count if left[n] else 1 for n, count in enumerate(arrived)] if began else [1, 1, 1]
    assert after == once
    told = line(database.dialect, kind, point, position, side, ledger, may, by_itself, after)
    record_property("fault point", told)
    print(f"\n{told}", end="")  # noqa: T201


def allowed(ledger):
    """What a person may do with a row that stands so for 16 minutes."""
    if ledger == "pending":
        return ["cancel"]
    if ledger == "processing":
        return ["cancel", "reclaim"]
    if ledger.startswith("executed"):
        return []
    if ledger == "executing: done, done, done":
        return ["settle", "drop"]
    return ["settle", "drop", "re-arm the rest"]


def rearm_the_rest(found: Receivers) -> list[int]:
    """Let a person re-arm what is left, where something is, with no unknown action; what arrived then."""
    world, row = found.world, found.world.row()
    states = world.states(row)
    if "waiting" not in states:
        # Only an action whose end is unknown is left: it is settled.
        unknown = {states.index("started"): "done"}
        world.act("settle", row, unknown, now=at(20))
        assert (world.row().status, world.row().needs_review) == ("executed", False)
        found.sweep(60)
        return found.got()
    world.act("rearm", row, now=at(20))
    assert world.row().status == "processing"
    found.sweep(20)
    done = ["done" if state != "started" else "unknown" for state in states]
    assert world.states(world.row()) == done
    assert (world.row().status, world.row().needs_review) == ("executed", "unknown" in done)
    found.sweep(60)
    return found.got()


def line(dialect, kind, point, position, side, ledger, may, by_itself, after):
    where = f"{point}:{side}"
    which = f"action {position + 1}" if point in (*OF_CALL, *OF_OWN) else ""
    counts = f"{'/'.join(map(str, by_itself))}, then {'/'.join(map(str, after))}"
    return (
        f"{dialect:<10} {kind:<7} {where:<27} {which:<8}  {ledger:<36} "
        f"may {', '.join(may) or 'nothing':<29} arrived {counts}"
    )


@pytest.mark.parametrize("side", SIDES)
def test_a_person_may_have_an_unknown_action_again_only_when_ticked(desk_of, kill, side):
    """Killed around the call of the second: ticked, it arrives once or, as the warning said, twice."""
    desk_of.armed("webhook")
    kill(f"executions.call:{side}#2")
    desk_of.sweep(20)
    row = desk_of.world.row()
    desk_of.world.act("rearm", row, include_unknown=frozenset({1}), now=at(20))
    desk_of.sweep(20)
    assert desk_of.got() == [1, 1 if side == "before" else 2, 1]
    keys = {request.headers["idempotency-key"] for request in desk_of.hook.at("/1")}
    assert keys == {f"{row.id}:1"}
    assert desk_of.ledger() == "executed: done, done, done"


@pytest.mark.parametrize("side", SIDES)
def test_a_run_is_said_to_be_abandoned_once_when_killed(desk_of, kill, side):
    desk_of.armed("webhook")
    kill("executions.start:after")
    kill(f"executions.abandon:{side}", minutes=20)
    assert desk_of.world.row().needs_review is (side == "after")
    desk_of.sweep(21)
    assert desk_of.world.row().needs_review
    assert [action for action, _purpose in desk_of.world.audited()].count("execution.needs_review") == 1
    assert desk_of.world.told().count("execution.needs_review") == 1


@pytest.mark.parametrize("side", SIDES)
def test_nothing_is_called_for_a_conversation_that_is_gone_when_killed(desk_of, kill, side):
    """The rest was re-armed against that; each action fails, and the process ends at the first."""
    desk_of.armed("webhook")
    kill("executions.judge:after")
    session = desk_of.world.session
    session.execute(delete(Conversation))
    desk_of.world.commit()
    desk_of.world.act("rearm", desk_of.world.row(), reason="asked to", now=at(16))
    kill(f"executions.nothing_to_call:{side}", minutes=16)
    first = "waiting" if side == "before" else "failed"
    assert desk_of.ledger() == f"executing: {first}, waiting, waiting"
    desk_of.sweep(32)
    assert desk_of.may(32) == ["settle", "drop", "re-arm the rest"]
    desk_of.world.act("rearm", desk_of.world.row(), reason="asked to", now=at(32))
    desk_of.sweep(32)
    assert desk_of.ledger() == "executed: failed, failed, failed"
    assert desk_of.got() == [0, 0, 0]


@pytest.mark.parametrize("side", SIDES)
def test_a_purge_goes_on_when_killed(desk_of, kill, side):
    desk_of.armed("native")
    desk_of.sweep(0)
    long_after = 40 * 24 * 60
    kill(f"executions.purge:{side}", minutes=long_after)
    assert len(desk_of.world.rows()) == (1 if side == "before" else 0)
    desk_of.sweep(long_after)
    assert desk_of.world.rows() == []
    assert desk_of.got() == [1, 1, 1]


@pytest.mark.parametrize("side", SIDES)
def test_what_is_outdated_is_freed_and_never_run_when_killed(desk_of, kill, side):
    """Armed under an older version of its rule, as what a change of the rule left over."""
    row = desk_of.armed("native")
    desk_of.world.set(row, armed_version=row.armed_version - 1)
    kill(f"executions.free:{side}")
    assert len(desk_of.world.rows()) == (1 if side == "before" else 0)
    desk_of.sweep(0)
    assert desk_of.world.rows() == []
    assert desk_of.got() == [0, 0, 0]


@pytest.mark.parametrize("side", SIDES)
def test_a_late_answer_is_kept_or_not_but_changes_nothing_when_killed(desk_of, kill, side):
    """The process had called, a person settled the run meanwhile, and it ends as it notes the answer."""
    row = desk_of.armed("webhook")
    kill(f"executions.record_late:{side}", str(row.id), act=acts.run_and_be_settled_meanwhile)
    world = desk_of.world
    assert desk_of.ledger() == "executed: failed, waiting, waiting"
    late = select(func.count()).select_from(ActionEvent).where(ActionEvent.actor == "late answer")
    assert world.session.scalar(late) == (0 if side == "before" else 1)
    desk_of.sweep(60)
    assert desk_of.ledger() == "executed: failed, waiting, waiting"
    assert not world.row().needs_review


@pytest.mark.parametrize("side", SIDES)
def test_a_skip_is_made_once_when_killed(desk_of, kill, side):
    desk_of.armed("native")
    desk_of.world.put(at(-1), status="resolved", status_changed_at=None)
    kill(f"executions.judge:{side}")
    assert desk_of.world.row().status == ("processing" if side == "before" else "skipped")
    desk_of.sweep(16)
    assert (desk_of.world.row().status, desk_of.world.row().skip_reason) == ("skipped", "episode_moved")
    query = select(func.count()).select_from(AuditEvent).where(AuditEvent.action == "execution.skipped")
    assert desk_of.world.session.scalar(query) == 1
    assert desk_of.got() == [0, 0, 0]


def test_nothing_is_told_of_a_run_but_what_was_committed(desk_of, kill):
    desk_of.armed("mixed")
    kill("executions.finish:before")
    assert desk_of.world.session.scalar(select(func.count()).select_from(OutboxEvent)) == 0
    rollback(desk_of.world.session)
