import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from models.audit import AuditEvent
from models.automations import rules
from models.automations.chatwoot_rules import translated
from models.automations.importing import Outcome, import_rules
from models.automations.records import AutomationRule
from models.automations.rule_checks import definition, part
from models.errors import Invalid
from models.settings import from_env
from models.transactions import commit
from tests.conftest import T
from tests.support.create import API, create_tenant

OPEN = {
    "values": ["open"],
    "attribute_key": "status",
    "query_operator": None,
    "filter_operator": "equal_to",
    "custom_attribute_type": "",
}
# As the list of rules of an account comes, with all that it holds beside the rule itself.
CHASE = {
    "id": 12,
    "account_id": 1,
    "name": "Chase",
    "description": "When nobody answered for two hours",
    "event_name": "message_created",
    "conditions": [
        {
            "values": ["outgoing"],
            "attribute_key": "message_type",
            "query_operator": "AND",
            "filter_operator": "equal_to",
            "custom_attribute_type": "",
        },
        {
            "values": [False],
            "attribute_key": "private_note",
            "query_operator": "and",
            "filter_operator": "equal_to",
        },
        {
            "values": ["gold"],
            "attribute_key": "tier",
            "query_operator": "OR",
            "filter_operator": "equal_to",
            "custom_attribute_type": "contact_attribute",
        },
        {
            "values": ["acme"],
            "attribute_key": "company_name",
            "query_operator": "and",
            "filter_operator": "contains",
        },
        {
            "values": ["3"],
            "attribute_key": "renewed_on",
            "query_operator": None,
            "filter_operator": "days_before",
            "custom_attribute_type": "conversation_attribute",
        },
    ],
    "actions": [
        {"action_name": "send_message", "action_params": ["Are you still there?"]},
        {"action_name": "assign_team", "action_params": [1]},
        {"action_name": "remove_assigned_agent"},
        {"action_name": "change_priority", "action_params": ["nil"]},
        {"action_name": "send_email_to_team", "action_params": {"message": "Look", "team_ids": [1]}},
        {"action_name": "snooze_conversation", "action_params": [""]},
    ],
    "created_on": 1_930_384_800,
    "active": True,
    "execution_delay": 120,
    "execution_window_start_minutes": 540,
    "execution_window_end_minutes": 1_080,
}


@pytest.fixture
def tenant(session):
    return create_tenant(session, now=T)


def take(session, tenant, document, **more):
    given = document if isinstance(document, str | bytes) else json.dumps(document)
    result = import_rules(session, tenant, given, actor=API, now=T, **more)
    commit(session, "tests.import")
    return result


def outcomes(result):
    return [one.outcome.value for one in result.rules]


def condition(**given):
    [found] = translated({**CHASE, "conditions": [{**OPEN, **given}]})["conditions"]
    return found


def action(name, params):
    given = {"action_name": name, "action_params": params}
    [found] = translated({**CHASE, "actions": [given]})["actions"]
    return found["params"]


def test_import_takes_a_rule_as_it_is(session, tenant):
    [one] = take(session, tenant, {"payload": [CHASE]}).rules
    assert (one.number, one.name, one.outcome, one.detail) == (1, "Chase", Outcome.TAKEN, "")
    session.expire_all()
    rule = rules.get(session, tenant.id, one.rule_id)
    assert (rule.name, rule.description) == ("Chase", "When nobody answered for two hours")
    assert (rule.event, rule.active, rule.execution_delay) == ("message_created", True, 120)
    assert (rule.window_start, rule.window_end, rule.trigger, rule.on_failure) == (
        540,
        1_080,
        None,
        "continue",
    )
    assert [(one["attribute"], one["operator"], one["values"], one["joiner"]) for one in rule.conditions] == [
        ("message_type", "equal_to", ["outgoing"], "and"),
        ("private_note", "equal_to", [False], "and"),
        ("customer.custom.tier", "equal_to", ["gold"], "or"),
        ("company", "contains", ["acme"], "and"),
        ("custom.renewed_on", "days_before", [3], None),
    ]
    assert [(one["name"], one["params"]) for one in rule.actions] == [
        ("send_message", ["Are you still there?"]),
        ("assign_team", [1]),
        ("remove_assigned_agent", []),
        ("change_priority", [None]),
        ("send_email_to_team", [{"message": "Look", "team_ids": [1]}]),
        ("snooze_conversation", []),
    ]
    [event] = session.scalars(select(AuditEvent).where(AuditEvent.resource_type == "rule"))
    assert (event.action, event.actor_id) == ("rule.created", API.id)


@pytest.mark.parametrize("wrap", [lambda one: [one], lambda one: {"payload": one}, lambda one: one])
def test_import_takes_a_list_and_a_rule_alone_too(session, tenant, wrap):
    assert outcomes(take(session, tenant, wrap(CHASE))) == ["taken"]


@pytest.mark.parametrize(
    "document", ["", "{", "null", "7", "{}", '{"payload": 7}', '"x"', b"\xff", "[" * 9_999]
)
def test_import_is_refused_when_there_are_no_rules_in_the_file(session, tenant, document):
    with pytest.raises(Invalid) as fault:
        take(session, tenant, document)
    assert fault.value.field == "file"


def test_importing_twice_makes_no_twin(session, tenant):
    other = {**CHASE, "name": "Other"}
    first = take(session, tenant, [CHASE, CHASE, other])
    assert outcomes(first) == ["taken", "known", "taken"]
    again = take(session, tenant, [other, CHASE])
    assert outcomes(again) == ["known", "known"]
    assert [one.rule_id for one in again.rules] == [first.rules[2].rule_id, first.rules[0].rule_id]
    assert len(session.scalars(select(AutomationRule)).all()) == 2


def test_import_brings_no_rule_back_that_was_switched_off_or_changed_here(session, tenant):
    [one] = take(session, tenant, [CHASE]).rules
    rules.set_active(session, tenant, one.rule_id, False, actor=API, now=T)
    assert outcomes(take(session, tenant, [CHASE])) == ["known"]
    rules.change(session, tenant, one.rule_id, {"execution_delay": 60}, actor=API, now=T)
    [again] = take(session, tenant, [CHASE]).rules
    assert again.outcome is Outcome.REFUSED
    assert "another one here" in again.detail
    [rule] = session.scalars(select(AutomationRule))
    assert not rule.active


def test_import_takes_two_rules_of_a_name_from_one_file(session, tenant):
    both = [CHASE, {**CHASE, "execution_delay": 60}]
    assert outcomes(take(session, tenant, both)) == ["taken", "taken"]
    assert outcomes(take(session, tenant, both)) == ["known", "known"]


def test_import_knows_nothing_of_another_tenants_rules(session, tenant):
    take(session, tenant, [CHASE])
    assert outcomes(take(session, create_tenant(session, "other", now=T), [CHASE])) == ["taken"]


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({"event_name": "conversation_status_changed"}, "event must be"),
        (
            {"actions": [{"action_name": "send_attachment", "action_params": [7]}]},
            "actions.0.name is not known",
        ),
        ({"actions": []}, "actions must hold at least one action"),
        ({"actions": {"action_name": "mute_conversation"}}, "actions must be a list of objects"),
        ({"conditions": ["status"]}, "conditions must be a list of objects"),
        (
            {"conditions": [{**OPEN, "attribute_key": "created_at"}]},
            "conditions.0.attribute is not known",
        ),
        (
            {"conditions": [{**OPEN, "custom_attribute_type": "deal_attribute"}]},
            "conditions.0.attribute has a custom_attribute_type that is not known here (condition 1)",
        ),
        ({"conditions": [OPEN, OPEN]}, 'conditions.0.joiner must be "and" or "or"'),
        ({"conditions": [{**OPEN, "query_operator": "AND"}]}, "conditions.0.joiner must be null"),
        ({"conditions": [{**OPEN, "values": ["all"]}]}, "conditions.0.values may hold only open"),
        ({"execution_delay": 5}, "execution_delay must be a whole number of minutes"),
        (
            {
                "event_name": "conversation_updated",
                "conditions": [{**OPEN, "attribute_key": "labels", "values": ["vip"]}],
            },
            "execution_delay can't go with labels (condition 1)",
        ),
        ({"execution_window_end_minutes": None}, "window_end is needed with window_start"),
        ({"name": None}, "name must be text"),
        ({"name": "\ud800"}, "name holds a character that can't be stored"),
        ({"active": "yes"}, "active must be true or false"),
    ],
)
def test_import_refuses_a_rule_alone_and_says_why(session, tenant, given, detail):
    result = take(session, tenant, [{**CHASE, **given}, {**CHASE, "name": "Good"}])
    assert outcomes(result) == ["refused", "taken"]
    assert result.rules[0].detail.startswith(detail)
    assert result.rules[0].name.isprintable()
    assert session.scalars(select(AutomationRule.name)).all() == ["Good"]


def test_import_refuses_what_is_no_rule(session, tenant):
    result = take(session, tenant, [7, None, {}, CHASE])
    assert outcomes(result) == ["refused", "refused", "refused", "taken"]
    assert [one.number for one in result.rules] == [1, 2, 3, 4]


def test_import_holds_a_webhook_against_the_settings(session, tenant, tmp_path):
    here = from_env({"DESK_VAR": str(tmp_path), "SECRET_KEY": "x" * 16})
    calls = {
        **CHASE,
        "actions": [{"action_name": "send_webhook_event", "action_params": ["http://10.0.0.1/"]}],
    }
    [one] = take(session, tenant, [calls], settings=here).rules
    assert one.detail.startswith("actions.0.params leads to 10.0.0.1")


def test_import_is_refused_when_there_are_too_many_rules(session, tenant):
    with pytest.raises(Invalid):
        take(session, tenant, [{}] * 1_001)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"attribute_key": "message_type", "values": [0, "1", "template", 9]},
            ["incoming", "outgoing", "template", 9],
        ),
        ({"attribute_key": "private_note", "values": ["false", "TRUE", "x"]}, [False, True, "x"]),
        ({"attribute_key": "private_note", "values": True}, [True]),
        ({"attribute_key": "city", "values": "Lisbon"}, ["Lisbon"]),
        ({"filter_operator": "is_present", "values": ["x"]}, []),
        (
            {"filter_operator": "attribute_changed", "values": {"from": ["open"], "to": []}},
            {"from": ["open"], "to": []},
        ),
        ({"attribute_key": "x", "custom_attribute_type": "contact_attribute", "values": ["7"]}, ["7"]),
    ],
)
def test_values_are_translated(given, expected):
    assert condition(**given)["values"] == expected


@pytest.mark.parametrize(
    ("operator", "expected"), [("equal_to", "is_not_present"), ("not_equal_to", "is_present")]
)
def test_no_priority_is_translated(operator, expected):
    found = condition(attribute_key="priority", filter_operator=operator, values=["nil"])
    assert (found["operator"], found["values"]) == (expected, [])


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("assign_agent", ["last_responding_agent"], ["last_responding_agent"]),
        ("assign_agent", [{"id": 7, "name": "A"}], [7]),
        ("assign_team", [0], ["nil"]),
        ("assign_team", ["nil"], ["nil"]),
        ("resolve_conversation", ["", None], []),
        ("send_message", "Hello", ["Hello"]),
        ("add_label", ["a", "b"], ["a", "b"]),
    ],
)
def test_params_are_translated(name, params, expected):
    assert action(name, params) == expected


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(CHASE)), anything) | anything)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_rule_that_is_anything_is_taken_or_refused(changed):
    one = {**CHASE, **changed} if isinstance(changed, dict) else changed
    try:
        definition(part(translated(one)))
    except Invalid as refusal:
        assert refusal.detail


@given(st.lists(st.dictionaries(st.sampled_from([*OPEN, "x"]), anything), max_size=2))
def test_conditions_that_are_anything_are_taken_or_refused(conditions):
    try:
        definition(part(translated({**CHASE, "conditions": conditions, "actions": conditions})))
    except Invalid as refusal:
        assert refusal.detail
