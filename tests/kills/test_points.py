"""SIGKILL before and after each commit: what was not committed left nothing, the next run does it once."""

import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from sqlalchemy import and_, case, func, literal_column, select

from models import clock, declarations
from models.base import db
from models.followups.firing import fire_due
from tests.conftest import Database, T, settings_for
from tests.kills import acts
from tests.kills.points import ELSEWHERE, SCENARIOS
from tests.kills.scenario import Scenario
from tests.kills.setting import HOUR, Setting
from tests.support import forks
from tests.support.create import create_tenant
from tests.support.declare import declared
from tests.support.points import commits, outside
from tests.support.processes import environment
from tests.support.recount import assert_audit_matches, assert_each_fired_has_one_task

pytestmark = pytest.mark.slow

STATUS = {
    "follow_up": "status",
    "contact": "state",
    "agent_task": "status",
    "audit_event": "result",
    "webhook_endpoint": "state",
    "delivery": "state",
    "sweep_slot": "state",
    "bulk_operation": "state",
    "bulk_item": "state",
    "execution": "status",
    "action_run": "state",
}
DECLARED = """
[agents.store-support.followup]
max_frequency = "2/24h"
silence_after_sends = 3
cancel_keywords = ["stop"]
"""
SIDES = ("before", "after")
SIGNED_IN = "operator.signed_in"
DEMO = {"tenant": 1}


def cases() -> list[tuple[str, str, str]]:
    """Points of the domain on both databases; those of the edges, which only wrap it, take turns."""
    found = []
    for number, (point, scenario) in enumerate(SCENARIOS.items()):
        for turn, side in enumerate(SIDES):
            dialects = ("sqlite", "postgresql")
            chosen = dialects if scenario.domain else (dialects[(number + turn) % 2],)
            found += [(point, side, dialect) for dialect in chosen]
    return found


def test_every_commit_in_the_code_is_killed_at():
    """Fails when a commit is added without a scenario, or a scenario is left of one that is gone."""
    named = {place.point for place in (*commits(), *outside()) if place.point is not None}
    assert named == SCENARIOS.keys() | ELSEWHERE.keys()
    assert not SCENARIOS.keys() & ELSEWHERE.keys()


@pytest.fixture
def setting(request: pytest.FixtureRequest, tmp_path: Path):
    database: Database = request.getfixturevalue(f"{request.node.callspec.params['dialect']}_database")
    database.reset()
    config = tmp_path / "desk.toml"
    config.write_text(DECLARED)
    with database.app.app_context():
        session, now = db.session(), clock.now()
        declarations.refresh(session, config, now)
        settings = settings_for(database.url, tmp_path, DESK_CONFIG=str(config))
        yield Setting(database.app, session, create_tenant(session, now=now), settings, now)
        db.session.remove()
        db.engine.dispose()


def fingerprint(setting: Setting) -> Counter[str]:
    """How many rows each table holds, by status where it has one."""
    found: Counter[str] = Counter()
    setting.session.rollback()
    for table in db.metadata.sorted_tables:
        if column := STATUS.get(table.name):
            kind = table.c[column]
            if table.name == "audit_event":
                # To sign in is part of many an act, so it is counted apart.
                signed_in = and_(table.c.action == SIGNED_IN, table.c.result == "success")
                kind = case((signed_in, SIGNED_IN), else_=kind)
            query = select(kind.label("kind"), func.count()).select_from(table).group_by(literal_column("1"))
            found.update({f"{table.name}:{value}": count for value, count in setting.session.execute(query)})
        else:
            found[table.name] = setting.session.scalar(select(func.count()).select_from(table))
    setting.session.rollback()
    return found


def changes(before: Counter[str], after: Counter[str]) -> dict[str, int]:
    return {
        name: after[name] - before[name]
        for name in before.keys() | after.keys()
        if after[name] != before[name]
    }


def run(setting: Setting, act: object, faults: str = "") -> tuple[int, str]:
    """The return code of an act done in a process of its own, and what it wrote."""
    folder = setting.settings.var
    env = environment(folder, setting.settings.database_url, **setting.env)
    return forks.run(acts.do, act, env={**env, "DESK_FAULTS": faults}, log=folder / "act.log")


def filled(part: object, given: dict[str, str]) -> object:
    if isinstance(part, list):
        return [filled(one, given) for one in part]
    if isinstance(part, str):
        for name, value in given.items():
            part = part.replace(f"{{{name}}}", value)
    return part


def assert_as_told(scenario: Scenario, told: Mapping[str, int], found: Mapping[str, int]) -> None:
    """`found` is what `told` says: exactly, but of the demo, which makes much, whether it made its tenant."""
    if scenario.effect == DEMO:
        assert found.get("tenant", 0) == told.get("tenant", 0)
        return
    # That a form was sent is kept for each question, whatever it asks.
    beside = {f"audit_event:{SIGNED_IN}", "audit_event:refused", "sent_form"} - scenario.effect.keys()
    assert {name: change for name, change in found.items() if name not in beside} == dict(told)


@pytest.mark.parametrize(("point", "side", "dialect"), cases())
def test_the_next_run_makes_it_whole_once_when_killed(setting, record_property, point, side, dialect):
    scenario = SCENARIOS[point]
    given = dict(scenario.prepare(setting))
    before = fingerprint(setting)
    code, output = run(setting, filled(scenario.act, given), faults=f"{point}:{side}")
    assert code == -signal.SIGKILL, output
    left = changes(before, fingerprint(setting))
    check(setting)
    if side == "after":
        assert_as_told(scenario, scenario.effect if scenario.after is None else scenario.after, left)
    if side == "after" and not scenario.repeats:
        record_property("fault point", line(point, side, dialect, left, "not done again"))
        return
    # A link signs in once, so whoever comes again has another.
    code, output = run(setting, filled(scenario.act, {**given, "link": given.get("again", "")}))
    # Done already, it may be refused; undone, it must succeed.
    assert code == 0 or (side == "after" and code == 1), output
    check(setting)
    assert_as_told(scenario, scenario.effect, changes(before, fingerprint(setting)))
    record_property("fault point", line(point, side, dialect, left, "done once"))


def states(setting: Setting, table: str) -> dict[str, int]:
    found = fingerprint(setting)
    return {name.partition(":")[2]: number for name, number in found.items() if name.startswith(f"{table}:")}


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_fire_leaves_neither_task_nor_change_when_killed_before_its_commit(setting, dialect):
    """Case 24."""
    kill_before(setting, "followups.fire.chunk")
    assert states(setting, "follow_up") == {"pending": 3}
    assert states(setting, "agent_task") == {}
    counts = fire_due(setting.session, declared=declared(), now=T + 2 * HOUR, limit=100)
    assert counts.own["fired"] == 3
    assert states(setting, "follow_up") == {"fired": 3}
    assert states(setting, "agent_task") == {"queued": 3}
    check(setting)


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_opt_out_leaves_neither_state_nor_cancelling_when_killed_before_its_commit(setting, dialect):
    """Case 29."""
    kill_before(setting, "api.messages.receive")
    assert states(setting, "follow_up") == {"pending": 2}
    assert states(setting, "contact") == {"granted": 1}
    assert fingerprint(setting)["message"] == fingerprint(setting)["revoke_event"] == 0
    check(setting)


def kill_before(setting: Setting, point: str) -> None:
    """Prepare the scenario of `point`, and end its act right before the commit."""
    act = filled(SCENARIOS[point].act, dict(SCENARIOS[point].prepare(setting)))
    setting.session.rollback()
    code, output = run(setting, act, faults=f"{point}:before")
    assert code == -signal.SIGKILL, output


def check(setting: Setting) -> None:
    setting.session.rollback()
    assert_audit_matches(setting.session)
    assert_each_fired_has_one_task(setting.session)
    setting.session.rollback()


def line(point: str, side: str, dialect: str, left: dict[str, int], then: str) -> str:
    shown = ", ".join(f"{name} {change:+}" for name, change in sorted(left.items())) or "nothing"
    return f"{point:<28} {side:<6} {dialect:<10} left {shown}; {then}"
