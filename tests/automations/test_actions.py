import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.automations.actions import (
    ALWAYS_OUTSIDE,
    CUSTOMER_FACING,
    ActionName,
    is_native,
    parse,
    sentence,
)
from models.errors import Invalid
from models.settings import from_env

MAIL = {"team_ids": [4], "message": "Have a look"}
VALID = [
    ("send_message", ["Are you still there?"]),
    ("add_private_note", ["Waited two hours."]),
    ("add_label", ["late"]),
    ("remove_label", ["late", "vip"]),
    ("assign_agent", [7]),
    ("assign_agent", ["a-7"]),
    ("assign_agent", ["nil"]),
    ("assign_agent", ["last_responding_agent"]),
    ("assign_team", [7]),
    ("assign_team", ["nil"]),
    ("remove_assigned_agent", []),
    ("remove_assigned_team", []),
    ("resolve_conversation", []),
    ("open_conversation", []),
    ("pending_conversation", []),
    ("snooze_conversation", []),
    ("snooze_conversation", ["2031-08-14T12:00:00+02:00"]),
    ("change_status", ["snoozed"]),
    ("change_priority", ["urgent"]),
    ("change_priority", ["none"]),
    ("change_priority", [None]),
    ("mute_conversation", []),
    ("send_email_to_team", [MAIL]),
    ("send_email_transcript", ["lead@acme.test"]),
    ("send_email_transcript", ["lead@acme.test, second@acme.test"]),
    ("send_webhook_event", ["https://sink.example.com/hook"]),
]
INVALID = [
    ("send_message", []),
    ("send_message", [""]),
    ("send_message", [" \n"]),
    ("send_message", [7]),
    ("send_message", [["x"]]),
    ("send_message", ["a", "b"]),
    ("send_message", ["x" * 100_001]),
    ("add_private_note", ["\x00"]),
    ("add_private_note", ["\ud800"]),
    ("add_label", []),
    ("add_label", [7]),
    ("add_label", ["x", ""]),
    ("add_label", ["x" * 201]),
    ("remove_label", ["x"] * 101),
    ("assign_agent", []),
    ("assign_agent", [1, 2]),
    ("assign_agent", [None]),
    ("assign_agent", [True]),
    ("assign_agent", [1.5]),
    ("assign_agent", [2**63]),
    ("assign_agent", [""]),
    ("assign_agent", ['"' * 150]),
    ("assign_team", []),
    ("assign_team", [{"id": 1}]),
    ("remove_assigned_agent", [1]),
    ("resolve_conversation", [None]),
    ("mute_conversation", [True]),
    ("snooze_conversation", ["tomorrow"]),
    ("snooze_conversation", ["2031-08-14T12:00:00"]),
    ("snooze_conversation", [7]),
    ("snooze_conversation", ["2031-08-14T12:00:00Z", "x"]),
    ("change_status", []),
    ("change_status", ["closed"]),
    ("change_status", [["open"]]),
    ("change_priority", []),
    ("change_priority", ["highest"]),
    ("change_priority", [2]),
    ("change_priority", [[]]),
    ("send_email_to_team", []),
    ("send_email_to_team", ["x"]),
    ("send_email_to_team", [{"team_ids": [4]}]),
    ("send_email_to_team", [{**MAIL, "subject": "x"}]),
    ("send_email_to_team", [{**MAIL, "team_ids": []}]),
    ("send_email_to_team", [{**MAIL, "team_ids": 4}]),
    ("send_email_to_team", [{**MAIL, "team_ids": [None]}]),
    ("send_email_to_team", [{**MAIL, "message": " "}]),
    ("send_email_transcript", []),
    ("send_email_transcript", [""]),
    ("send_email_transcript", [","]),
    ("send_email_transcript", ["lead"]),
    ("send_email_transcript", ["lead@acme.test, second"]),
    ("send_email_transcript", ["lead@acme.test\nBcc: other@acme.test"]),
    ("send_email_transcript", ["lead@acme.test", "second@acme.test"]),
    ("send_email_transcript", [["lead@acme.test"]]),
    ("send_webhook_event", []),
    ("send_webhook_event", ["ftp://sink.example.com"]),
    ("send_webhook_event", ["sink.example.com"]),
    ("send_webhook_event", ["https://" + "x" * 2_000]),
    ("send_webhook_event", [7]),
]


@pytest.fixture
def settings(tmp_path):
    return from_env({"DESK_VAR": str(tmp_path), "SECRET_KEY": "x" * 16})


def refused(actions, **more):
    with pytest.raises(Invalid) as fault:
        parse(actions, **more)
    return fault.value


@pytest.mark.parametrize(("name", "params"), VALID)
def test_parse_takes_what_fits(name, params, settings):
    given = [{"name": "mute_conversation"}, {"name": name, "params": params}]
    assert parse(given, settings=settings) == [{"name": "mute_conversation", "params": []}, given[1]]


def test_each_action_is_among_those_that_are_taken():
    assert {name for name, _params in VALID} == set(ActionName)
    assert len(ActionName) == 18


@pytest.mark.parametrize(("name", "params"), INVALID)
def test_parse_names_the_action_when_its_params_do_not_fit(name, params):
    fault = refused([{"name": "mute_conversation"}, {"name": name, "params": params}])
    assert fault.field == "actions.1.params"
    assert fault.detail.endswith(f"for {name} (action 2).")


@pytest.mark.parametrize("given", [None, {}, "send_message", 7, True])
def test_parse_is_refused_when_the_actions_are_no_list(given):
    assert refused(given).field == "actions"


def test_parse_is_refused_when_there_is_no_action_or_too_many():
    assert refused([]).field == "actions"
    assert refused([{"name": "mute_conversation"}] * 51).field == "actions"


@pytest.mark.parametrize("one", [None, "mute_conversation", []])
def test_parse_is_refused_when_an_action_is_no_object(one):
    fault = refused([one])
    assert fault.field == "actions.0" and "action 1" in fault.detail


@pytest.mark.parametrize("name", [None, "send_attachment", "", 7, ["mute_conversation"], "MUTE_CONVERSATION"])
def test_parse_names_the_action_when_its_name_is_not_known(name):
    assert refused([{"name": name, "params": []}]).field == "actions.0.name"


def test_parse_is_refused_when_an_action_has_a_field_of_another_name():
    assert refused([{"name": "mute_conversation", "action_params": []}]).field == "actions.0.action_params"


@pytest.mark.parametrize("params", [None, {}, "late", 0])
def test_parse_is_refused_when_params_are_no_list(params):
    assert refused([{"name": "mute_conversation", "params": params}]).field == "actions.0.params"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "https://a:b@sink.example.com/", "https://localhost/", "https://x/#y"]
)
def test_parse_holds_a_webhook_against_the_settings_where_it_has_them(url, settings):
    action = {"name": "send_webhook_event", "params": [url]}
    assert parse([action]) == [action]
    fault = refused([action], settings=settings)
    assert (fault.field, "url" in fault.detail) == ("actions.0.params", False)


def test_is_native_follows_the_source_but_for_mail_and_webhooks():
    for name in ActionName:
        assert is_native(name, "native") is (name not in ALWAYS_OUTSIDE)
        assert not is_native(name, "chatwoot")
        assert not is_native(name, "another")
    assert {
        ActionName.SEND_EMAIL_TO_TEAM,
        ActionName.SEND_EMAIL_TRANSCRIPT,
        ActionName.SEND_WEBHOOK_EVENT,
    } == ALWAYS_OUTSIDE
    assert {ActionName.SEND_MESSAGE, ActionName.SEND_EMAIL_TRANSCRIPT} == CUSTOMER_FACING


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("send_message", ["Are you\nstill there?"], "Send the message “Are you still there?”"),
        ("send_message", ["x" * 200], f"Send the message “{'x' * 119}…”"),
        ("add_private_note", ["Waited."], "Add the private note “Waited.”"),
        ("add_label", ["late"], "Add the label “late”"),
        ("remove_label", ["late", "vip"], "Remove the labels “late”, “vip”"),
        ("assign_agent", [7], "Assign the agent 7"),
        ("assign_agent", ["nil"], "Assign nobody"),
        ("assign_agent", ["last_responding_agent"], "Assign who answered last"),
        ("assign_team", [7], "Assign the team 7"),
        ("assign_team", ["nil"], "Assign no team"),
        ("resolve_conversation", [], "Resolve the conversation"),
        ("snooze_conversation", [], "Snooze the conversation"),
        (
            "snooze_conversation",
            ["2031-08-14T12:00:00Z"],
            "Snooze the conversation until 2031-08-14T12:00:00Z",
        ),
        ("change_status", ["open"], "Set the status to open"),
        ("change_priority", [None], "Set the priority to none"),
        ("send_email_to_team", [{"team_ids": [4, 5], "message": "Look"}], "Mail the teams 4, 5: “Look”"),
        ("send_email_transcript", ["lead@acme.test"], "Mail the transcript to lead@acme.test"),
        (
            "send_webhook_event",
            ["https://sink.example.com/hook?token=secret"],
            "Send the event to https://sink.example.com",
        ),
        ("of_another_version", ["x"], "of_another_version"),
    ],
)
def test_sentence_says_what_is_done(name, params, expected):
    assert sentence(name, params) == expected


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(ActionName), st.lists(anything, max_size=3))
def test_sentence_is_given_whatever_is_stored(name, params):
    assert sentence(name, params)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"name": st.sampled_from(ActionName) | anything},
            optional={"params": st.lists(anything, max_size=2) | anything},
        )
        | anything,
        max_size=3,
    )
    | anything
)
def test_parse_refuses_or_gives_what_it_takes_again(given_actions):
    try:
        found = parse(given_actions)
    except Invalid as fault:
        assert fault.field.split(".")[0] == "actions"
        return
    assert parse(found) == found
