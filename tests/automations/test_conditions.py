from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.automations.condition_grammar import ATTRIBUTES, Kind, Operator
from models.automations.conditions import Scene, explain, matches, of_stored, parse, sentence
from models.automations.records import Trigger
from models.conversations import Conversation
from models.errors import Invalid
from models.happenings import Event
from models.messages import Message

NOW = datetime(2031, 3, 4, 10, tzinfo=UTC)
MESSAGE = {"message_type": "incoming", "private_note": False, "content": "Where is my parcel?"}


def condition(attribute="status", operator="equal_to", values=("open",), joiner=None):
    return {"attribute": attribute, "operator": operator, "values": list(values), "joiner": joiner}


def read(*conditions, event=Event.CONVERSATION_UPDATED, delay=None, trigger=None):
    return parse(list(conditions), event=event, execution_delay=delay, trigger=trigger)


def refused(*conditions, **rule):
    with pytest.raises(Invalid) as fault:
        read(*conditions, **rule)
    return fault.value


def scene(*, message=None, messages=(), changed=None, customer=None, **conversation):
    return Scene(
        conversation={"status": "open", "labels": [], "custom": {}, **conversation},
        customer=customer or {},
        message=message,
        messages=messages,
        changed=changed or {},
        now=NOW,
    )


def holds(attribute, operator, values=(), **of_scene):
    return matches(read(condition(attribute, operator, values)), scene(**of_scene))


# Reading


def test_parse_gives_the_conditions_as_they_are_kept():
    given = [condition(joiner="and"), condition("custom.tier", "is_greater_than", [3])]
    found = read(*given)
    assert [one.to_json() for one in found] == given
    assert of_stored(given) == found


@pytest.mark.parametrize("given", [None, {}, "status", 7, True])
def test_parse_is_refused_when_the_conditions_are_no_list(given):
    with pytest.raises(Invalid) as fault:
        parse(given, event=Event.CONVERSATION_UPDATED, execution_delay=None, trigger=None)
    assert fault.value.field == "conditions"


def test_parse_is_refused_when_there_are_too_many():
    assert refused(*[condition(joiner="and")] * 101).field == "conditions"


@pytest.mark.parametrize("one", [None, [], "status", 7])
def test_parse_is_refused_when_a_condition_is_no_object(one):
    fault = refused(condition(joiner="and"), one)
    assert fault.field == "conditions.1"
    assert "condition 2" in fault.detail


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("attribute", None),
        ("attribute", "colour"),
        ("attribute", 7),
        ("attribute", ["status"]),
        ("attribute", "custom."),
        ("attribute", "custom. "),
        ("attribute", "customer.custom."),
        ("attribute", "custom.\x00"),
        ("attribute", "custom." + "x" * 300),
        ("operator", None),
        ("operator", "is"),
        ("operator", "EQUAL_TO"),
        ("operator", ["equal_to"]),
        ("operator", "contains"),
        ("operator", "is_greater_than"),
        ("operator", "is_present"),
        ("values", None),
        ("values", []),
        ("values", "open"),
        ("values", ["opened"]),
        ("values", [["open"]]),
        ("values", [{"open": 1}]),
        ("values", [None]),
        ("values", [True]),
        ("values", {"from": ["open"], "to": []}),
        ("values", ["open"] * 101),
        ("joiner", "and"),
        ("joiner", ""),
        ("joiner", False),
        ("joiner", []),
    ],
)
def test_parse_names_the_condition_and_its_part_when_it_cannot_be_used(part, value):
    fault = refused(condition("inbox_id", values=[1], joiner="or"), {**condition(), part: value})
    assert fault.field == f"conditions.1.{part}"
    assert "(condition 2)" in fault.detail


def test_parse_is_refused_when_a_condition_has_a_field_of_another_name():
    assert refused({**condition(), "query_operator": None}).field == "conditions.0.query_operator"
    assert refused({**condition(), "a\x00b\ud800": None}).field.isprintable()


@pytest.mark.parametrize(
    ("attribute", "operator", "values"),
    [
        ("labels", "equal_to", [7]),
        ("labels", "contains", ["vip"]),
        ("inbox_id", "equal_to", [1.5]),
        ("inbox_id", "equal_to", [True]),
        ("inbox_id", "equal_to", [2**63]),
        ("inbox_id", "equal_to", [""]),
        ("inbox_id", "contains", ["1"]),
        ("email", "equal_to", [True]),
        ("email", "equal_to", [" "]),
        ("email", "equal_to", ["a\x00"]),
        ("email", "equal_to", ["\ud800"]),
        ("email", "equal_to", ["x" * 1_001]),
        ("email", "equal_to", [float("nan")]),
        ("email", "equal_to", [float("inf")]),
        ("email", "equal_to", [1e16]),
        ("email", "attribute_changed", []),
        ("email", "is_greater_than", [1]),
        ("customer.custom.tier", "attribute_changed", []),
        ("email", "is_present", ["x"]),
        ("email", "is_not_present", [0]),
        ("private_note", "equal_to", ["true"]),
        ("private_note", "equal_to", [1]),
        ("message_type", "equal_to", ["Incoming"]),
        ("message_type", "equal_to", [0]),
        ("message_type", "attribute_changed", []),
        ("custom.x", "is_greater_than", [1, 2]),
        ("custom.x", "is_greater_than", ["soon"]),
        ("custom.x", "is_less_than", [True]),
        ("custom.x", "is_less_than", ["2031-02-30"]),
        ("custom.x", "days_before", ["3"]),
        ("custom.x", "days_before", [-1]),
        ("custom.x", "days_before", [1.5]),
        ("custom.x", "days_before", [True]),
        ("custom.x", "days_before", [36_501]),
        ("status", "attribute_changed", ["opened"]),
        ("status", "attribute_changed", {"before": ["open"]}),
        ("status", "attribute_changed", {"from": "open"}),
        ("status", "attribute_changed", {"from": 0}),
        ("status", "attribute_changed", [{"from": ["opened"]}]),
        ("status", "attribute_changed", 7),
    ],
)
def test_parse_is_refused_when_operator_or_values_do_not_fit_the_attribute(attribute, operator, values):
    fault = refused({"attribute": attribute, "operator": operator, "values": values})
    assert fault.field in ("conditions.0.operator", "conditions.0.values")


@pytest.mark.parametrize(
    ("attribute", "operator", "values"),
    [
        ("status", "not_equal_to", ["open", "snoozed"]),
        ("inbox_id", "equal_to", [1, "two"]),
        ("team_id", "is_not_present", []),
        ("priority", "equal_to", ["urgent", 2]),
        ("labels", "not_equal_to", ["vip"]),
        ("conversation_language", "starts_with", ["en"]),
        ("referer", "contains", ["/pricing"]),
        ("mail_subject", "does_not_contain", ["invoice"]),
        ("phone_number", "starts_with", ["+44"]),
        ("message_type", "equal_to", ["incoming", "template"]),
        ("private_note", "not_equal_to", [True]),
        ("content", "contains", ["parcel"]),
        ("custom.order.total", "is_greater_than", ["12.50"]),
        ("custom.renews", "is_less_than", ["2031-08-14T12:00:00Z"]),
        ("custom.renews", "days_before", [0]),
        ("custom.done", "equal_to", [True]),
        ("customer.custom.tier", "equal_to", ["gold"]),
        ("status", "attribute_changed", []),
        ("status", "attribute_changed", ["open"]),
        ("labels", "attribute_changed", [{"from": [], "to": ["vip"]}]),
    ],
)
def test_parse_takes_what_fits(attribute, operator, values):
    [found] = read({"attribute": attribute, "operator": operator, "values": values})
    assert found.to_json() == {
        "attribute": attribute,
        "operator": operator,
        "values": values,
        "joiner": None,
    }


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_parse_takes_each_operator_that_an_attribute_has_and_no_other(name):
    values = {
        Kind.STATUS: ["open"],
        Kind.ID: [7],
        Kind.LABEL: ["vip"],
        Kind.TEXT: ["x"],
        Kind.DIRECTION: ["incoming"],
        Kind.FLAG: [True],
    }[ATTRIBUTES[name].kind]
    for operator in Operator:
        given = condition(name, operator, [] if "present" in operator else values)
        if operator in ATTRIBUTES[name].operators:
            assert read(given)[0].operator is operator
        else:
            assert refused(given).field == "conditions.0.operator"


def test_parse_judges_the_joiners_of_two_conditions():
    """Case 61."""
    last = condition("inbox_id", values=[1])
    assert refused(condition(), last).field == "conditions.0.joiner"
    assert refused({"attribute": "status", "operator": "equal_to", "values": ["open"]}, last).field == (
        "conditions.0.joiner"
    )
    assert refused(condition(joiner="xor"), last).field == "conditions.0.joiner"
    assert refused(condition(joiner="AND"), last).field == "conditions.0.joiner"
    assert [one.joiner for one in read(condition(joiner="and"), last)] == ["and", None]
    assert [one.joiner for one in read(condition(joiner="or"), last)] == ["or", None]


def test_parse_lets_a_delayed_rule_see_only_what_its_episode_can():
    """Case 60."""
    labels = condition("labels", values=["vip"])
    fault = refused(labels, delay=60)
    assert fault.field == "execution_delay"
    assert "labels (condition 1)" in fault.detail and "only status and inbox_id" in fault.detail
    assert read(labels, event=Event.MESSAGE_CREATED, delay=60)
    assert read(condition(joiner="and"), condition("inbox_id", values=[1]), delay=60)
    assert read(labels)


@pytest.mark.parametrize("event", sorted(set(Event) - {Event.MESSAGE_CREATED}))
def test_parse_lets_no_other_attribute_wait_on_a_conversation_event(event):
    for name in ("labels", "assignee_id", "content", "email", "custom.tier", "customer.custom.tier"):
        kind = ATTRIBUTES[name].kind if name in ATTRIBUTES else Kind.CUSTOM
        values = [7] if kind is Kind.ID else ["x"]
        assert refused(condition(name, values=values), event=event, delay=10).field == "execution_delay"


def test_parse_lets_an_inactivity_rule_see_all_but_what_changed():
    for name in ("labels", "content", "custom.tier"):
        assert read(condition(name, values=["x"]), delay=60, trigger=Trigger.INACTIVITY)
    changed = condition("labels", "attribute_changed", [])
    assert refused(changed, delay=60, trigger=Trigger.INACTIVITY).field == "execution_delay"


@pytest.mark.parametrize("values", [[], ["open"], {"from": ["open"], "to": ["pending"]}, "nonsense", None])
@pytest.mark.parametrize("event", list(Event))
def test_parse_lets_no_delayed_rule_ask_what_changed(event, values):
    given = {"attribute": "status", "operator": "attribute_changed", "values": values}
    fault = refused(given, event=event, delay=60)
    assert fault.field == "execution_delay"
    assert "condition 1" in fault.detail


def test_parse_is_refused_when_a_message_is_asked_what_it_changed():
    given = condition("status", "attribute_changed", [])
    assert refused(given, event=Event.MESSAGE_CREATED).field == "conditions.0.operator"


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
shaped = st.fixed_dictionaries(
    {},
    optional={
        "attribute": st.sampled_from([*ATTRIBUTES, "custom.k", "customer.custom.k", "x"]) | json,
        "operator": st.sampled_from(["equal_to", "is_present", "attribute_changed", "days_before"]) | json,
        "values": json,
        "joiner": st.sampled_from(["and", "or", None]) | json,
    },
)


@given(st.lists(shaped | json, max_size=3) | json, st.sampled_from(list(Event)), st.none() | st.just(60))
def test_parse_refuses_or_gives_what_it_takes_again(anything, event, delay):
    rule = {"event": event, "execution_delay": delay, "trigger": None}
    try:
        found = parse(anything, **rule)
    except Invalid as fault:
        assert fault.field.split(".")[0] in ("conditions", "execution_delay")
        return
    again = [one.to_json() for one in found]
    assert parse(again, **rule) == found == of_stored(again)
    matches(found, scene(message=MESSAGE))


# Judging


def test_matches_when_there_are_no_conditions():
    assert matches((), scene())
    assert explain((), scene()) == []


@pytest.mark.parametrize(
    ("attribute", "found", "operator", "values", "expected"),
    [
        ("status", "open", "equal_to", ["resolved", "open"], True),
        ("status", "open", "not_equal_to", ["resolved", "open"], False),
        ("status", "open", "not_equal_to", ["resolved"], True),
        ("inbox_id", 5, "equal_to", ["5"], True),
        ("inbox_id", "5", "equal_to", [5], True),
        ("inbox_id", " 5 ", "equal_to", [5], True),
        ("inbox_id", 5, "equal_to", [55], False),
        ("inbox_id", 0, "is_present", [], True),
        ("priority", 2, "equal_to", [2.0], True),
        ("priority", "Urgent ", "equal_to", ["uRGENT"], True),
        ("mail_subject", "Your INVOICE", "contains", ["invoice"], True),
        ("mail_subject", "Your INVOICE", "contains", ["late", " Invoice "], True),
        ("mail_subject", "Your INVOICE", "does_not_contain", ["late", "invoice"], False),
        ("mail_subject", "Your INVOICE", "does_not_contain", ["late"], True),
        ("mail_subject", "Re: x", "starts_with", ["re:"], True),
        ("mail_subject", "x Re:", "starts_with", ["re:"], False),
        ("mail_subject", "caf\u00e9", "equal_to", ["cafe\u0301"], True),
        ("mail_subject", "STRASSE", "equal_to", ["straße"], True),
        ("mail_subject", "  ", "is_present", [], False),
        ("mail_subject", "", "is_not_present", [], True),
    ],
)
def test_matches_compares_values_of_the_conversation(attribute, found, operator, values, expected):
    assert holds(attribute, operator, values, **{attribute: found}) is expected


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("equal_to", ["x"], False),
        ("not_equal_to", ["x"], True),
        ("contains", ["x"], False),
        ("does_not_contain", ["x"], True),
        ("starts_with", ["x"], False),
        ("is_present", [], False),
        ("is_not_present", [], True),
        ("is_greater_than", [1], False),
        ("is_less_than", [1], False),
        ("days_before", [0], False),
        ("attribute_changed", [], False),
    ],
)
@pytest.mark.parametrize("stored", ["nothing at all", None, {}, [], {"a": "x"}, [None], [{"x": "x"}], ""])
def test_matches_takes_a_missing_or_odd_value_for_equal_to_nothing(operator, values, expected, stored):
    custom = {} if stored == "nothing at all" else {"k": stored}
    assert holds("custom.k", operator, values, custom=custom) is expected


@pytest.mark.parametrize(
    ("labels", "operator", "values", "expected"),
    [
        (["bug", "VIP"], "equal_to", ["vip", "late"], True),
        (["bug"], "equal_to", ["vip", "late"], False),
        (["bug"], "not_equal_to", ["vip", "late"], True),
        (["bug", "late"], "not_equal_to", ["vip", "late"], False),
        ([], "equal_to", ["vip"], False),
        ([], "not_equal_to", ["vip"], True),
        (None, "not_equal_to", ["vip"], True),
        ([], "is_present", [], False),
        (["bug"], "is_present", [], True),
        ([], "is_not_present", [], True),
    ],
)
def test_matches_takes_labels_for_a_set(labels, operator, values, expected):
    assert holds("labels", operator, values, labels=labels) is expected


@pytest.mark.parametrize(
    ("stored", "operator", "value", "expected"),
    [
        (10, "is_greater_than", 9, True),
        ("10", "is_greater_than", 9, True),
        ("10.5", "is_less_than", "10.50001", True),
        (10, "is_greater_than", 10, False),
        (10, "is_less_than", 10, False),
        (2**60 + 1, "is_greater_than", 2**60, True),
        (0.1, "is_less_than", "0.2", True),
        ("1_000", "is_greater_than", 9, False),
        ("nan", "is_less_than", 9, False),
        (True, "is_greater_than", 0, False),
        ("2031-03-05", "is_greater_than", "2031-03-04", True),
        ("2031-03-04T23:59:59Z", "is_greater_than", "2031-03-04", False),
        ("2031-03-05T00:00:00Z", "is_greater_than", "2031-03-04", True),
        ("2031-03-04T10:00:00+02:00", "is_less_than", "2031-03-04T09:00:00Z", True),
        ("2031-03-04T10:00:00", "is_less_than", "2031-03-04T10:00:01Z", True),
        ("2031-03-04 10:00:00 UTC", "is_less_than", "2031-03-04T10:00:01Z", True),
        ("2031-03-04", "is_greater_than", 5, False),
        (5, "is_less_than", "2031-03-04", False),
        ("2031-99-99", "is_less_than", "2031-03-04", False),
        ("0001-01-01T00:00:00+14:00", "is_less_than", "2031-03-04", False),
        ("tomorrow", "is_less_than", "2031-03-04", False),
    ],
)
def test_matches_puts_numbers_and_dates_in_order(stored, operator, value, expected):
    assert holds("custom.k", operator, [value], custom={"k": stored}) is expected


@pytest.mark.parametrize(
    ("stored", "days", "expected"),
    [
        ("2031-02-25T09:59:59.999999Z", 7, True),
        ("2031-02-25T10:00:00Z", 7, False),
        ("2031-02-25", 7, True),
        ("2031-02-26", 7, False),
        (NOW - timedelta(days=8), 7, True),
        ((NOW - timedelta(days=8)).date(), 7, True),
        ("2031-03-04T09:59:59Z", 0, True),
        ("2031-03-04T10:00:01Z", 0, False),
        ("never", 7, False),
        (7, 7, False),
    ],
)
def test_matches_tells_how_long_ago_a_date_lies(stored, days, expected):
    assert holds("custom.k", "days_before", [days], custom={"k": stored}) is expected


def test_matches_looks_at_the_customer_and_at_custom_attributes_of_both():
    customer = {"email": "Lead@acme.test", "custom": {"tier": "gold", "a.b": 1}}
    assert holds("email", "equal_to", ["lead@ACME.test"], customer=customer)
    assert holds("customer.custom.tier", "equal_to", ["Gold"], customer=customer)
    assert holds("customer.custom.a.b", "equal_to", [1], customer=customer)
    assert not holds("custom.tier", "equal_to", ["gold"], customer=customer)
    assert holds("custom.tier", "equal_to", ["gold"], custom={"tier": ["silver", "gold"]})


def test_matches_on_a_message_looks_at_that_message_alone():
    content = read(condition("content", "contains", ["parcel"]), event=Event.MESSAGE_CREATED)
    other = {**MESSAGE, "content": "Hello"}
    assert matches(content, scene(message=MESSAGE))
    assert not matches(content, scene(message=other, messages=[MESSAGE]))
    note = read(condition("private_note", "equal_to", [False]), event=Event.MESSAGE_CREATED)
    assert matches(note, scene(message=MESSAGE))
    assert not matches(note, scene(message={**MESSAGE, "private_note": True}))


def test_matches_on_a_conversation_wants_one_message_that_meets_all_together():
    both = read(
        condition("content", "contains", ["parcel"], "and"), condition("private_note", "equal_to", [True])
    )
    public, note = MESSAGE, {**MESSAGE, "private_note": True, "content": "Call back"}
    assert not matches(both, scene(messages=[public, note]))
    assert matches(both, scene(messages=[public, note, {**note, "content": "parcel lost"}]))
    assert not matches(both, scene())


def test_matches_no_message_condition_when_there_is_no_message():
    for operator in ("not_equal_to", "does_not_contain", "is_not_present"):
        assert not holds("content", operator, [] if "present" in operator else ["x"])


@pytest.mark.parametrize(
    ("values", "changed", "expected"),
    [
        ([], {"status": ("open", "pending")}, True),
        ([], {"labels": ([], ["vip"])}, False),
        (["pending"], {"status": ("open", "pending")}, True),
        (["resolved"], {"status": ("open", "pending")}, False),
        ([{"from": ["open"], "to": ["pending"]}], {"status": ("open", "pending")}, True),
        ([{"from": ["snoozed"], "to": ["pending"]}], {"status": ("open", "pending")}, False),
        ([{"from": ["open"], "to": []}], {"status": ("open", "pending")}, True),
        ([{"from": [], "to": ["open"]}], {"status": ("open", "pending")}, False),
        ([], {"status": "odd"}, False),
        ([], {}, False),
    ],
)
def test_matches_tells_what_changed(values, changed, expected):
    assert holds("status", "attribute_changed", values, changed=changed) is expected


@pytest.mark.parametrize(
    ("values", "old", "new", "expected"),
    [
        (["vip"], [], ["vip"], True),
        (["vip"], ["vip"], ["vip", "bug"], False),
        ([{"from": ["vip"], "to": []}], ["vip"], [], True),
        ([{"from": ["vip"], "to": []}], ["vip"], ["vip", "bug"], False),
        (["vip"], None, ["VIP"], True),
    ],
)
def test_matches_tells_of_labels_what_came_and_what_went(values, old, new, expected):
    assert holds("labels", "attribute_changed", values, changed={"labels": (old, new)}) is expected


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["and", "or"])), min_size=1, max_size=8))
def test_matches_binds_and_tighter_than_or(drawn):
    """`A or B and C` is `A or (B and C)`, as Python has it."""
    last = len(drawn) - 1
    asked = [
        condition(values=["open" if truth else "resolved"], joiner=None if number == last else joiner)
        for number, (truth, joiner) in enumerate(drawn)
    ]
    words = [word for truth, joiner in drawn for word in (str(truth), joiner)][:-1]
    assert matches(read(*asked), scene()) is eval(" ".join(words))


valid = [
    condition(name, operator, [] if "present" in operator or "changed" in operator else values)
    for name, operators, values in (
        ("status", ("equal_to", "attribute_changed"), ["open"]),
        ("labels", ("not_equal_to", "is_present", "attribute_changed"), ["vip"]),
        ("inbox_id", ("equal_to",), [5]),
        ("email", ("contains", "starts_with", "does_not_contain"), ["x"]),
        ("content", ("contains", "is_not_present"), ["x"]),
        ("private_note", ("equal_to",), [True]),
        ("custom.k", ("is_greater_than", "is_less_than", "equal_to", "attribute_changed"), [5]),
        ("custom.k", ("is_greater_than", "is_less_than"), ["2031-03-04"]),
        ("customer.custom.k", ("days_before",), [3]),
    )
    for operator in operators
]
stored = json | st.datetimes() | st.dates() | st.integers(min_value=10**4_400, max_value=10**4_401)
names = ["status", "labels", "inbox_id", "email", "content", "private_note", "custom"]
odd = st.dictionaries(st.sampled_from(names), stored | st.dictionaries(st.just("k"), stored))


@given(
    st.lists(st.sampled_from(valid), min_size=1, max_size=4),
    odd,
    odd,
    st.lists(odd, max_size=3),
    st.dictionaries(st.sampled_from(["status", "labels", "custom.k"]), st.tuples(stored, stored) | stored),
)
def test_matches_never_raises_and_explains_what_it_decides(chosen, conversation, customer, messages, changed):
    given = [{**one, "joiner": "and"} for one in chosen[:-1]] + chosen[-1:]
    asked = read(*given)
    seen = Scene(conversation, customer, NOW, messages=messages, changed=changed)
    told = explain(asked, seen)
    assert matches(asked, seen) is all(one.holds for one in told)
    assert [one.condition for one in told] == list(asked)


# In words


def test_explain_says_each_condition_what_was_found_and_whether_it_holds():
    asked = read(
        condition("labels", "not_equal_to", ["vip"], "and"),
        condition("custom.tier", "equal_to", ["gold"], "or"),
        condition("status", "attribute_changed", ["open"]),
    )
    seen = scene(labels=["bug"], custom={"tier": "silver"}, changed={"status": ("pending", "open")})
    assert [(one.sentence, one.found, one.holds) for one in explain(asked, seen)] == [
        ("the labels do not hold vip", ["bug"], True),
        ("tier is “gold”", "silver", False),
        ("the status changed to open", ("pending", "open"), True),
    ]


def test_explain_shows_the_message_that_meets_most():
    asked = read(
        condition("content", "contains", ["parcel"], "and"),
        condition("private_note", "equal_to", [True], "and"),
        condition("message_type", "equal_to", ["outgoing"]),
    )
    near = {"message_type": "outgoing", "private_note": True, "content": "Call back"}
    told = explain(asked, scene(messages=[MESSAGE, near, MESSAGE]))
    assert [(one.found, one.holds) for one in told] == [
        ("Call back", False),
        (True, True),
        ("outgoing", True),
    ]


@pytest.mark.parametrize(
    ("attribute", "operator", "values", "expected"),
    [
        ("status", "equal_to", ["open", "pending"], "the status is open or pending"),
        ("status", "not_equal_to", ["open"], "the status is not open"),
        ("status", "not_equal_to", ["open", "pending"], "the status is neither open nor pending"),
        ("labels", "equal_to", ["vip"], "the labels hold vip"),
        ("labels", "equal_to", ["vip", "late"], "the labels hold one of vip, late"),
        ("labels", "not_equal_to", ["vip", "late"], "the labels hold none of vip, late"),
        ("labels", "is_present", [], "the labels are set"),
        ("team_id", "is_not_present", [], "the team is not set"),
        ("mail_subject", "contains", ["a", "b"], "the subject contains “a” or “b”"),
        ("email", "starts_with", ["x"], "the customer's mail address begins with “x”"),
        ("city", "does_not_contain", ["x"], "the customer's city does not contain “x”"),
        ("private_note", "equal_to", [True], "the message is a private note"),
        ("private_note", "not_equal_to", [True], "the message is not a private note"),
        ("message_type", "equal_to", ["incoming"], "the message is incoming"),
        ("custom.total", "is_greater_than", [5], "total is greater than 5"),
        ("custom.renews", "is_greater_than", ["2031-03-04"], "renews is after 2031-03-04"),
        ("custom.renews", "is_less_than", ["2031-03-04"], "renews is before 2031-03-04"),
        ("custom.renews", "days_before", [3], "renews lies more than 3 days back"),
        ("customer.custom.vip", "equal_to", [True], "the customer's vip is “yes”"),
        ("status", "attribute_changed", [], "the status changed"),
        (
            "status",
            "attribute_changed",
            [{"from": ["open"], "to": ["pending", "resolved"]}],
            "the status changed from open to pending or resolved",
        ),
    ],
)
def test_sentence_says_what_is_asked(attribute, operator, values, expected):
    assert sentence(read(condition(attribute, operator, values))[0]) == expected


# From rows


def test_scene_of_takes_what_rows_hold():
    conversation = Conversation(
        status="pending",
        inbox_id=5,
        assignee_id="a-1",
        team_id=None,
        priority="high",
        labels=["vip"],
        language="en",
        attributes={
            "browser_language": "de",
            "referer": "https://acme.test/pricing",
            "mail_subject": "Hello",
            "custom": {"tier": "gold"},
            "customer": {"email": "lead@acme.test", "custom": {"since": "2030-01-01"}},
        },
    )
    message = Message(direction="incoming", private=False, text="Hello")
    changed = {
        "status": ["open", "pending"],
        "language": ["fr", "en"],
        "attributes": [{"custom": {"tier": "silver"}, "referer": "x"}, conversation.attributes],
    }
    seen = Scene.of(conversation, message=message, messages=[message], changed=changed, now=NOW)
    for attribute, value in {
        "status": "pending",
        "inbox_id": "5",
        "assignee_id": "A-1",
        "priority": "high",
        "labels": "vip",
        "conversation_language": "en",
        "browser_language": "de",
        "mail_subject": "hello",
        "custom.tier": "gold",
        "email": "lead@acme.test",
        "customer.custom.since": "2030-01-01",
        "message_type": "incoming",
        "private_note": False,
        "content": "hello",
    }.items():
        assert matches(read(condition(attribute, values=[value])), seen), attribute
    assert seen.changed == {
        "status": ("open", "pending"),
        "conversation_language": ("fr", "en"),
        "custom.tier": ("silver", "gold"),
        "referer": ("x", "https://acme.test/pricing"),
        "browser_language": (None, "de"),
        "mail_subject": (None, "Hello"),
    }


@pytest.mark.parametrize(
    "attributes", [{}, None, {"custom": 7, "customer": "c-1"}, {"customer": {"custom": []}}]
)
def test_scene_of_takes_odd_attributes(attributes):
    seen = Scene.of(Conversation(status="open", attributes=attributes), now=NOW)
    assert not matches(read(condition("customer.custom.tier", values=["gold"])), seen)
    assert matches(read(condition()), seen)


def test_times_of_another_zone_are_the_same_instant():
    zone = timezone(timedelta(hours=5))
    stored_at = datetime(2031, 3, 4, 14, 59, tzinfo=zone)
    assert holds("custom.k", "days_before", [0], custom={"k": stored_at})
