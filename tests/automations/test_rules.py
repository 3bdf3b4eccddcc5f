from collections import Counter
from datetime import timedelta
from itertools import count
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from models import audit, handling
from models.actors import Actor
from models.audit import AuditEvent
from models.automations import freeing, rules
from models.automations.records import ActionRun, AutomationRule, Execution, Status
from models.errors import Conflict, Invalid, NotFound
from models.settings import from_env
from models.transactions import commit
from tests.conftest import T
from tests.support.create import API, create_tenant

SYSTEM = Actor.system("tests")
LATER = T + timedelta(hours=1)
OPEN = {"attribute": "status", "operator": "equal_to", "values": ["open"], "joiner": None}
LABELS = {"attribute": "labels", "operator": "equal_to", "values": ["vip"], "joiner": None}
RULE = {
    "name": "Chase",
    "event": "conversation_updated",
    "execution_delay": 60,
    "conditions": [OPEN],
    "actions": [{"name": "add_label", "params": ["late"]}],
}
_numbers = count(1)


@pytest.fixture
def tenant(session):
    return create_tenant(session, now=T)


@pytest.fixture
def rule(session, tenant):
    return create(session, tenant)


def create(session, tenant, **given):
    made = rules.create(session, tenant, {**RULE, **given}, actor=API, now=T)
    commit(session, "tests.rules")
    return made


def change(session, tenant, rule, given, **more):
    changed = rules.change(session, tenant, rule.id, given, actor=API, now=LATER, **more)
    commit(session, "tests.rules")
    return changed


def arm(session, rule, status=Status.PENDING, *, armed_version=None, tenant_id=None, now=T, **given):
    execution = Execution(
        tenant_id=tenant_id or rule.tenant_id,
        rule_id=rule.id,
        conversation_id=1,
        episode_key=f"status:{next(_numbers)}",
        armed_version=armed_version or rule.armed_version,
        status=status.value,
        due_at=now,
        lapses_from=now,
        created_at=now,
        updated_at=now,
        **given,
    )
    session.add(execution)
    session.flush()
    audit.append(
        session,
        tenant_id=execution.tenant_id,
        actor=SYSTEM,
        action="execution.armed",
        resource=("execution", str(execution.id)),
        now=now,
        detail={"from": None, "to": execution.status},
    )
    commit(session, "tests.rules")
    return execution


def arm_each(session, rule):
    for status in Status:
        arm(session, rule, status)


def left(session):
    """How many executions stand in each status."""
    session.expire_all()
    return Counter(session.scalars(select(Execution.status)))


def told(session):
    """What the audit says of rules, after the rule was made."""
    query = select(AuditEvent).where(AuditEvent.resource_type == "rule").order_by(AuditEvent.id)
    return [(one.action, one.detail) for one in session.scalars(query)][1:]


def refused(session, tenant, **given):
    with pytest.raises(Invalid) as fault:
        rules.create(session, tenant, {**RULE, **given}, actor=API, now=T)
    return fault.value.field


ALL = {status.value: 1 for status in Status}
BEGUN_OR_OVER = {"executing": 1, "executed": 1, "skipped": 1}


# Making


def test_create_keeps_what_is_given_and_says_so(session, tenant):
    made = create(session, tenant, description="After an hour", window_start=540, window_end=1_080)
    session.expire_all()
    found = rules.get(session, tenant.id, made.id)
    assert (found.name, found.description, found.event) == ("Chase", "After an hour", "conversation_updated")
    assert (found.execution_delay, found.window_start, found.window_end) == (60, 540, 1_080)
    assert (found.conditions, found.actions) == ([OPEN], RULE["actions"])
    assert (found.trigger, found.on_failure, found.active) == (None, "continue", True)
    assert (found.version, found.armed_version, found.created_at, found.updated_at) == (1, 1, T, T)
    [event] = session.scalars(select(AuditEvent).where(AuditEvent.resource_type == "rule"))
    assert (event.action, event.resource_id, event.actor_id) == ("rule.created", str(made.id), API.id)
    assert event.detail == {"name": "Chase", "event": "conversation_updated", "active": True}


def test_create_gives_what_is_left_out_its_default(session, tenant):
    given = {"name": "n", "event": "message_created", "actions": [{"name": "mute_conversation"}]}
    made = rules.create(session, tenant, given, actor=API, now=T)
    assert (made.description, made.conditions, made.active, made.on_failure) == ("", [], True, "continue")
    assert made.actions == [{"name": "mute_conversation", "params": []}]
    assert made.execution_delay is made.window_start is made.window_end is made.trigger is None


@pytest.mark.parametrize("missing", ["name", "event", "actions"])
def test_create_is_refused_when_a_needed_field_is_missing(session, tenant, missing):
    with pytest.raises(Invalid) as fault:
        rules.create(
            session,
            tenant,
            {name: value for name, value in RULE.items() if name != missing},
            actor=API,
            now=T,
        )
    assert fault.value.field == missing


@pytest.mark.parametrize(
    ("delay", "is_valid"),
    [(9, False), (10, True), (43_200, True), (43_201, False), (10.5, False), (None, True)],
)
def test_create_judges_the_delay(session, tenant, delay, is_valid):
    """Case 59."""
    if is_valid:
        assert create(session, tenant, execution_delay=delay).execution_delay == delay
    else:
        assert refused(session, tenant, execution_delay=delay) == "execution_delay"


@pytest.mark.parametrize("delay", [True, "60", [60], -60, 0, 2**70])
def test_create_is_refused_when_the_delay_is_no_number_of_minutes(session, tenant, delay):
    assert refused(session, tenant, execution_delay=delay) == "execution_delay"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"execution_delay": 60, "conditions": [LABELS]}, "execution_delay"),
        ({"execution_delay": 60, "conditions": [LABELS], "event": "message_created"}, None),
        (
            {
                "execution_delay": 60,
                "conditions": [
                    {**OPEN, "joiner": "and"},
                    {**LABELS, "attribute": "inbox_id", "values": [1]},
                ],
            },
            None,
        ),
        ({"execution_delay": None, "conditions": [LABELS]}, None),
        ({"execution_delay": 60, "conditions": [LABELS], "trigger": "inactivity"}, None),
        (
            {"conditions": [{**OPEN, "operator": "attribute_changed", "values": {"to": ["open"]}}]},
            "execution_delay",
        ),
    ],
)
def test_create_judges_conditions_with_delay_and_event(session, tenant, given, field):
    """Case 60."""
    if field is None:
        assert create(session, tenant, **given)
    else:
        assert refused(session, tenant, **given) == field


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"window_start": 0, "window_end": 1_439}, None),
        ({"window_start": 540}, "window_end"),
        ({"window_end": 540}, "window_start"),
        ({"window_start": 540, "window_end": 540}, "window_end"),
        ({"window_start": 541, "window_end": 540}, "window_end"),
        ({"window_start": -1, "window_end": 540}, "window_start"),
        ({"window_start": 0, "window_end": 1_440}, "window_end"),
        ({"window_start": 0.5, "window_end": 540}, "window_start"),
        ({"window_start": True, "window_end": 540}, "window_start"),
        ({"window_start": 0, "window_end": 540, "execution_delay": None}, "window_start"),
        ({"trigger": "inactivity"}, None),
        ({"trigger": "silence"}, "trigger"),
        ({"trigger": True}, "trigger"),
        ({"trigger": "inactivity", "execution_delay": None}, "trigger"),
        ({"trigger": "inactivity", "event": "message_created"}, "trigger"),
        ({"name": ""}, "name"),
        ({"name": " "}, "name"),
        ({"name": None}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "a\x00"}, "name"),
        ({"description": None}, "description"),
        ({"description": "x" * 10_001}, "description"),
        ({"event": "conversation_deleted"}, "event"),
        ({"event": None}, "event"),
        ({"active": None}, "active"),
        ({"active": 1}, "active"),
        ({"on_failure": "stop"}, None),
        ({"on_failure": "retry"}, "on_failure"),
        ({"on_failure": None}, "on_failure"),
        ({"conditions": None}, "conditions"),
        ({"conditions": [{**OPEN, "joiner": "xor"}, OPEN]}, "conditions.0.joiner"),
        ({"actions": []}, "actions"),
        ({"actions": None}, "actions"),
        ({"actions": [{"name": "x"}]}, "actions.0.name"),
        ({"armed_version": 7}, "armed_version"),
        ({"id": str(uuid4())}, "id"),
    ],
)
def test_create_judges_each_field(session, tenant, given, field):
    if field is None:
        assert create(session, tenant, **given)
    else:
        assert refused(session, tenant, **given) == field
        assert session.scalars(select(AutomationRule)).all() == []


def test_create_holds_a_webhook_against_the_settings(session, tenant, tmp_path):
    settings = from_env({"DESK_VAR": str(tmp_path), "SECRET_KEY": "x" * 16})
    given = {**RULE, "actions": [{"name": "send_webhook_event", "params": ["http://127.0.0.1/"]}]}
    with pytest.raises(Invalid) as fault:
        rules.create(session, tenant, given, actor=API, now=T, settings=settings)
    assert fault.value.field == "actions.0.params"


def test_get_finds_no_rule_of_another_tenant(session, tenant, rule):
    other = create_tenant(session, "other", now=T)
    for tenant_id, rule_id in ((other.id, rule.id), (tenant.id, uuid4())):
        with pytest.raises(NotFound):
            rules.get(session, tenant_id, rule_id)
    for verb in (
        lambda: rules.change(session, other, rule.id, {"name": "x"}, actor=API, now=T),
        lambda: rules.delete(session, other, rule.id, actor=API, now=T),
        lambda: rules.set_active(session, other, rule.id, False, actor=API, now=T),
    ):
        with pytest.raises(NotFound):
            verb()


# Changing


@pytest.mark.parametrize(
    "given",
    [
        {"active": False},
        {"event": "conversation_opened"},
        {"execution_delay": 61},
        {"execution_delay": None},
        {"window_start": 0, "window_end": 60},
        {"trigger": "inactivity"},
        {"conditions": []},
        {"actions": [{"name": "add_label", "params": ["later"]}]},
    ],
)
def test_change_frees_what_is_armed_when_the_rule_does_something_else(session, tenant, rule, given):
    """Case 50."""
    arm_each(session, rule)
    changed = change(session, tenant, rule, given)
    assert left(session) == BEGUN_OR_OVER
    assert (changed.version, changed.armed_version, changed.updated_at) == (2, 2, LATER)
    [(action, detail)] = told(session)
    assert action == "rule.changed"
    assert detail["freed"] == 2
    assert set(detail) == {*given, "freed"}


@pytest.mark.parametrize("given", [{"name": "Another"}, {"description": "d"}, {"on_failure": "stop"}])
def test_change_frees_nothing_when_the_rule_does_the_same(session, tenant, rule, given):
    """Case 50."""
    arm_each(session, rule)
    changed = change(session, tenant, rule, given)
    assert left(session) == ALL
    assert (changed.version, changed.armed_version) == (2, 1)
    [(action, detail)] = told(session)
    assert action == "rule.changed" and "freed" not in detail


def test_switching_on_again_restores_nothing(session, tenant, rule):
    """Case 50."""
    arm_each(session, rule)
    for active in (False, True):
        rules.set_active(session, tenant, rule.id, active, actor=API, now=LATER)
        commit(session, "tests.rules")
    assert left(session) == BEGUN_OR_OVER
    session.expire_all()
    assert (rule.active, rule.version, rule.armed_version) == (True, 3, 3)
    assert told(session) == [
        ("rule.changed", {"active": {"before": True, "after": False}, "freed": 2}),
        ("rule.changed", {"active": {"before": False, "after": True}, "freed": 0}),
    ]


def test_change_does_nothing_when_all_is_so_already(session, tenant, rule):
    arm_each(session, rule)
    same = change(session, tenant, rule, dict(RULE))
    change(session, tenant, rule, {})
    rules.set_active(session, tenant, rule.id, True, actor=API, now=LATER)
    commit(session, "tests.rules")
    assert (same.version, same.armed_version, same.updated_at) == (1, 1, T)
    assert left(session) == ALL
    assert told(session) == []


@pytest.mark.parametrize(("values", "version"), [([1], 1), ([1.0], 2), ([True], 2), (["1"], 2)])
def test_change_tells_values_apart_that_only_python_takes_for_the_same(session, tenant, values, version):
    def conditions(values):
        return [{"attribute": "custom.k", "operator": "equal_to", "values": values, "joiner": None}]

    kept = [1e-9, 0.1, 1e14, -0.0, 2**60]
    rule = create(session, tenant, execution_delay=None, conditions=conditions([*kept, 1]))
    session.expire_all()
    again = change(session, tenant, rule, {"conditions": conditions([*kept, *values])})
    assert again.version == version
    session.expire_all()
    assert type(rules.get(session, tenant.id, rule.id).conditions[0]["values"][-1]) is type(values[0])


def test_change_judges_the_whole_that_comes_of_it(session, tenant):
    waiting = create(session, tenant, window_start=0, window_end=60)
    for given, field in (
        ({"execution_delay": None}, "window_start"),
        ({"window_end": None}, "window_end"),
        ({"window_start": 60}, "window_end"),
        ({"conditions": [LABELS]}, "execution_delay"),
        ({"trigger": "inactivity", "event": "message_created"}, "trigger"),
        ({"name": None}, "name"),
        ({"colour": "red"}, "colour"),
    ):
        with pytest.raises(Invalid) as fault:
            rules.change(session, tenant, waiting.id, given, actor=API, now=T)
        assert fault.value.field == field
        session.rollback()
    change(session, tenant, waiting, {"execution_delay": None, "window_start": None, "window_end": None})
    assert change(session, tenant, waiting, {"conditions": [LABELS]}).conditions == [LABELS]


def test_change_judges_a_field_before_it_looks_for_the_rule(session, tenant):
    with pytest.raises(Invalid):
        rules.change(session, tenant, uuid4(), {"execution_delay": 9}, actor=API, now=T)
    with pytest.raises(NotFound):
        rules.change(session, tenant, uuid4(), {"execution_delay": 10}, actor=API, now=T)


def test_change_is_refused_when_the_rule_moved_since_it_was_seen(session, tenant, rule):
    arm_each(session, rule)
    change(session, tenant, rule, {"name": "Another"}, expected_version=1)
    for verb in (
        lambda: rules.change(
            session, tenant, rule.id, {"active": False}, actor=API, now=T, expected_version=1
        ),
        lambda: rules.set_active(session, tenant, rule.id, False, actor=API, now=T, expected_version=1),
        lambda: rules.delete(session, tenant, rule.id, actor=API, now=T, expected_version=1),
    ):
        with pytest.raises(Conflict) as fault:
            verb()
        assert fault.value.current.name == "Another"
        session.rollback()
    assert left(session) == ALL


def test_change_says_of_words_and_addresses_only_that_they_changed(session, tenant, rule):
    secret = [{"name": "send_webhook_event", "params": ["https://sink.example.com/token"]}]
    change(session, tenant, rule, {"description": "private", "actions": secret, "name": "Another"})
    [(_action, detail)] = told(session)
    assert detail == {
        "name": {"before": "Chase", "after": "Another"},
        "description": "changed",
        "actions": "changed",
        "freed": 0,
    }


# Deleting


def test_delete_frees_what_is_armed_and_leaves_what_began_or_is_over(session, tenant, rule):
    arm_each(session, rule)
    other = create(session, tenant, name="Other")
    arm(session, other)
    assert rules.delete(session, tenant, rule.id, actor=API, now=LATER) == 2
    commit(session, "tests.rules")
    assert left(session) == {**BEGUN_OR_OVER, "pending": 1}
    with pytest.raises(NotFound):
        rules.get(session, tenant.id, rule.id)
    with pytest.raises(NotFound):
        rules.delete(session, tenant, rule.id, actor=API, now=LATER)
    assert ("rule.deleted", {"name": "Chase", "freed": 2}) in told(session)


# Freeing


def test_freeing_leaves_what_a_person_let_go_on(session, tenant, rule):
    arm(session, rule, Status.PROCESSING, resumed=True)
    change(session, tenant, rule, {"active": False})
    assert rules.free_outdated(session, limit=10) == 0
    rules.delete(session, tenant, rule.id, actor=API, now=LATER)
    assert rules.free_outdated(session, limit=10) == 0
    commit(session, "tests.rules")
    assert left(session) == {"processing": 1}


def test_freeing_takes_away_the_marks_and_the_ledger_of_what_goes(session, tenant, rule):
    gone, stays = arm(session, rule), arm(session, rule, Status.EXECUTED)
    hand = Actor.operator("1", "lead@acme.test")
    for execution in (gone, stays):
        session.add(
            ActionRun(
                tenant_id=tenant.id,
                execution_id=execution.id,
                run=0,
                position=0,
                name="add_label",
                params=["late"],
                native=True,
                state="waiting",
                idempotency_key=f"{execution.id}:0",
            )
        )
        handling.take(session, tenant, ("execution", str(execution.id)), refusal=None, actor=hand, now=T)
    commit(session, "tests.rules")
    change(session, tenant, rule, {"active": False})
    assert list(handling.of(session, tenant.id, "execution", [str(gone.id), str(stays.id)])) == [
        str(stays.id)
    ]
    assert session.scalars(select(ActionRun.execution_id)).all() == [stays.id]


def test_change_frees_a_bounded_number_at_once_and_the_sweep_the_rest(session, tenant, rule, monkeypatch):
    monkeypatch.setattr(freeing, "AT_ONCE", 3)
    monkeypatch.setattr(freeing, "CHUNK", 2)
    for _ in range(7):
        arm(session, rule)
    changed = change(session, tenant, rule, {"active": False})
    assert told(session)[-1][1]["freed"] == 3
    assert left(session) == {"pending": 4}
    assert {one.armed_version for one in session.scalars(select(Execution))} == {1}
    rules.set_active(session, tenant, rule.id, True, actor=API, now=LATER)
    commit(session, "tests.rules")
    assert left(session) == {"pending": 1}
    fresh = arm(session, changed, now=LATER)
    assert rules.free_outdated(session, limit=10) == 1
    commit(session, "tests.rules")
    assert session.scalars(select(Execution.id)).all() == [fresh.id]


def test_free_outdated_stops_at_its_limit_and_goes_on(session, tenant, rule):
    other = create(session, create_tenant(session, "other", now=T))
    for one in (rule, rule, other, other, other):
        arm(session, one, Status.PROCESSING)
    session.delete(rule)
    session.get_one(AutomationRule, other.id).armed_version = 2
    commit(session, "tests.rules")
    freed = []
    for _ in range(4):
        freed.append(rules.free_outdated(session, limit=2))
        commit(session, "tests.rules")
    assert freed == [2, 2, 1, 0]
    assert left(session) == {}


def test_free_outdated_leaves_all_but_what_is_armed_under_an_older_version(session, tenant, rule):
    arm_each(session, rule)
    arm(session, rule, armed_version=2)
    assert rules.free_outdated(session, limit=10) == 0
    rule.armed_version = 2
    commit(session, "tests.rules")
    assert rules.free_outdated(session, limit=10) == 2
    commit(session, "tests.rules")
    assert left(session) == {**BEGUN_OR_OVER, "pending": 1}


def test_free_outdated_finds_each_of_many_rules(session, tenant):
    made = [create(session, tenant, name=f"Rule {number}") for number in range(5)]
    for rule in made:
        arm(session, rule)
    for rule in made[::2]:
        session.delete(rule)
    commit(session, "tests.rules")
    assert rules.free_outdated(session, limit=10) == 3
    commit(session, "tests.rules")
    assert set(session.scalars(select(Execution.rule_id))) == {rule.id for rule in made[1::2]}
    assert isinstance(made[0].id, UUID)
