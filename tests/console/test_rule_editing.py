"""Writing a rule: rows that come and go, each fault at its input, what is saved, and what is asked before."""

from uuid import uuid4

import pytest
from sqlalchemy import select

from models import clock
from models.automations import rules
from models.automations.records import AutomationRule
from tests.console.filled import inputs
from tests.console.ruling import RULES, adding, arm, editing, left, made, redrawn, stored
from tests.console.visiting import SETTER_UP, Form
from tests.support.rules import INCOMING

# A rule as the API takes it, with what no form writes in just that way.
ODD = {
    "description": "\nTwo lines,\nand a space at the end ",
    "execution_delay": None,
    "event": "conversation_updated",
    "conditions": [
        {"attribute": "inbox_id", "operator": "equal_to", "values": ["7", 8], "joiner": "or"},
        {"attribute": "custom.tier", "operator": "is_greater_than", "values": [3], "joiner": "and"},
        {"attribute": "customer.custom.since", "operator": "days_before", "values": [30], "joiner": "and"},
        {
            "attribute": "content",
            "operator": "contains",
            "values": ["two\nlines", "  spaced  "],
            "joiner": "and",
        },
        {"attribute": "status", "operator": "attribute_changed", "values": [], "joiner": "and"},
        {
            "attribute": "labels",
            "operator": "attribute_changed",
            "values": [{"from": ["a"], "to": []}],
            "joiner": "or",
        },
        {"attribute": "priority", "operator": "is_not_present", "values": [], "joiner": "or"},
        {"attribute": "private_note", "operator": "not_equal_to", "values": [True], "joiner": None},
    ],
    "actions": [
        {"name": "send_message", "params": ["  Hello,\n\nare you there?\n"]},
        {"name": "assign_agent", "params": [12]},
        {"name": "assign_agent", "params": ["last_responding_agent"]},
        {"name": "assign_team", "params": ["nil"]},
        {"name": "change_priority", "params": [None]},
        {"name": "snooze_conversation", "params": ["2031-08-14T12:00:31.5Z"]},
        {"name": "send_email_to_team", "params": [{"team_ids": ["7", 8], "message": "Look\nat it"}]},
        {"name": "add_label", "params": ["a, b", "c"]},
    ],
}


def test_rule_is_made_switched_off(desk, acme, lead):
    form = adding(lead, name=" Chase ", **{"a0.lines": "late\r\nvip"})
    answer = lead.press(form)
    page = lead.follow(answer)
    assert "Made the rule Chase. It is off: try it on a conversation, then switch it on." in page.text
    [rule] = desk.tell(lambda session: session.scalars(select(AutomationRule)).all())
    assert (rule.name, rule.active, rule.event, rule.execution_delay) == (
        "Chase",
        False,
        "message_created",
        120,
    )
    assert rule.conditions == [INCOMING]
    assert rule.actions == [{"name": "add_label", "params": ["late", "vip"]}]
    [event] = desk.audit("rule.created")
    assert (event.actor_label, event.result) == ("lead@acme.test", "success")


def test_rule_is_made_once_when_the_form_is_sent_twice(desk, acme, lead):
    form = adding(lead, name="Chase", **{"a0.lines": "late"})
    assert lead.press(form).status == 303
    again = lead.press(form)
    assert again.status == 409
    assert "it was done the first time" in again.text
    assert len(desk.tell(lambda session: session.scalars(select(AutomationRule)).all())) == 1


def test_rows_are_added_moved_and_removed_with_what_was_typed_kept_and_the_focus_on_them(lead):
    form = adding(lead, name="Chase", description="why\r\nnot")
    form, focus = redrawn(lead, form, "c.add")
    assert focus == "c1-attribute"
    form, focus = redrawn(
        lead, form, "c.add", **{"c1.attribute": "labels", "c1.values": "vip", "c0.joiner": "or"}
    )
    assert focus == "c2-attribute"
    assert form.fields["name"] == "Chase" and form.fields["description"] == "why\r\nnot"
    form, focus = redrawn(lead, form, "c.up.1")
    assert (form.fields["c0.attribute"], form.fields["c0.values"]) == ("labels", "vip")
    assert form.fields["c1.values.incoming"] == "1"
    # What joins two belongs to their places.
    assert (form.fields["c0.joiner"], form.fields["c1.joiner"]) == ("or", "and")
    assert focus == "c0-down"
    form, focus = redrawn(lead, form, "c.down.0")
    assert (form.fields["c1.attribute"], focus) == ("labels", "c1-down")
    form, focus = redrawn(lead, form, "c.remove.1")
    assert (form.fields["c"], form.fields["c1.attribute"], focus) == ("2", "status", "c1-remove")
    form, focus = redrawn(lead, form, "c.remove.0")
    form, focus = redrawn(lead, form, "c.remove.0")
    assert (form.fields["c"], focus) == ("0", "c-add")
    form, focus = redrawn(lead, form, "a.add", **{"a0.lines": "late"})
    assert (form.fields["a"], form.fields["a0.lines"], focus) == ("2", "late", "a1-name")


@pytest.mark.parametrize("do", ["", "c", "c.up.0", "c.up.7", "c.remove.-1", "x.add", "c.fly.0", "a.remove.²"])
def test_form_stays_as_it_is_when_a_button_can_do_nothing(lead, do):
    form = adding(lead, name="Chase")
    after, _focus = redrawn(lead, form, do)
    anew = {"once": "", "csrf_token": ""}
    assert {**after.fields, **anew} == {**form.fields, **anew}


def test_inputs_fit_what_was_chosen_when_the_form_is_drawn_anew(lead):
    form = adding(lead)
    form, focus = redrawn(lead, form, "c.fit.0", **{"c0.attribute": "custom.", "c0.operator": "days_before"})
    assert focus == "c0-operator"
    assert {"c0.key", "c0.values"} <= set(form.fields)
    form, _focus = redrawn(lead, form, "refresh", **{"c0.attribute": "status"})
    assert form.fields["c0.operator"] == "equal_to"
    form, _focus = redrawn(lead, form, "refresh", **{"a0.name": "send_email_to_team"})
    assert {"a0.lines", "a0.text"} <= set(form.fields)
    page = lead.press(Form("post", f"{RULES}/draft", form.fields), **{"a0.name": "send_message"})
    assert "A customer reads this." in page.text


def test_each_fault_is_told_at_its_input_and_what_was_typed_is_kept(desk, acme, lead):
    form = adding(
        lead,
        name=" ",
        delay="soon",
        until="09:00",
        c="3",
        a="3",
        **{
            "c0.values.incoming": None,
            "c0.attribute": "message_type",
            "c1.attribute": "custom.",
            "c1.operator": "equal_to",
            "c2.attribute": "labels",
            "c2.operator": "contains",
            "a0.name": "send_message",
            "a0.text": " ",
            "a1.name": "send_webhook_event",
            "a1.text": "ftp://x",
            "a2.name": "assign_agent",
            "a2.who": "id",
        },
    )
    form.fields = {name: value for name, value in form.fields.items() if value is not None}
    answer = lead.press(form).check()
    assert answer.status == 422
    for name in (
        "name", "delay", "c0-values", "c1-key", "c2-operator", "a0-text", "a1-text", "a2-id"
    ):  # fmt: skip
        assert f"{name}-fault" in answer.ids, name
    assert "8 things are wrong or missing" in answer.text
    found = inputs(answer.html, "/adding")
    assert (found.fields["delay"], found.fields["a1.text"], found.focus) == ("soon", "ftp://x", "name")
    assert desk.tell(lambda session: session.scalars(select(AutomationRule)).all()) == []


@pytest.mark.parametrize(
    ("typed", "fault", "words"),
    [
        ({"delay": "9", "unit": "m"}, "delay", "between 10 minutes and 30 days"),
        ({"delay": "31", "unit": "d"}, "delay", "between 10 minutes and 30 days"),
        ({"delay": "0.001"}, "delay", "whole minutes"),
        ({"delay": "1e9"}, "delay", "between 10 minutes"),
        ({"quiet": "1"}, "quiet", "conversation_updated"),
        ({"from": "09:00"}, "until", "neither"),
        ({"from": "17:00", "until": "09:00"}, "until", "after"),
        ({"from": "25:00", "until": "09:00"}, "from", "time of day"),
        ({"event": "conversation_updated"}, "delay", "(condition 1)"),
        ({"event": "full_moon"}, "event", "conversation_created"),
        ({"a": "0"}, "", "Add at least one action."),
        ({"c": "101"}, "", "There are too many: 100 is the most."),
        ({"a": "51"}, "", "There are too many: 50 is the most."),
    ],
)
def test_rule_is_refused_with_the_input_to_be_mended(lead, typed, fault, words):
    form = adding(lead, name="Chase", **{"a0.lines": "late"})
    answer = lead.press(form, **typed)
    assert answer.status == 422
    assert words in answer.text
    assert not fault or f"{fault}-fault" in answer.ids


def test_delay_may_be_a_fraction_of_its_unit(desk, acme, lead):
    assert lead.press(adding(lead, name="x", delay="1,5", unit="h", **{"a0.lines": "late"})).status == 303
    [rule] = desk.tell(lambda session: session.scalars(select(AutomationRule)).all())
    assert rule.execution_delay == 90


def test_saving_what_the_form_shows_changes_nothing_of_what_is_stored(desk, acme, lead):
    rule = made(desk, acme, **ODD)
    before = stored(desk, rule)
    arm(desk, rule, pending=2)
    answer = lead.press(editing(lead, rule))
    assert answer.status == 303
    assert "Nothing was changed, so nothing was saved." in lead.follow(answer).text
    after = stored(desk, rule)
    assert (after.version, after.conditions, after.actions) == (1, before.conditions, before.actions)
    assert left(desk) == ["pending", "pending"]


def test_one_changed_row_leaves_the_others_as_they_are_stored(desk, acme, lead):
    rule = made(desk, acme, **ODD)
    answer = lead.press(editing(lead, rule), **{"a1.id": "13", "c6.operator": "is_present"})
    assert answer.status == 303
    after = stored(desk, rule)
    assert after.actions == [*rule.actions[:1], {"name": "assign_agent", "params": [13]}, *rule.actions[2:]]
    assert after.conditions[:6] == rule.conditions[:6]
    assert after.conditions[6]["operator"] == "is_present"


def test_renaming_deletes_nothing_and_asks_nothing(desk, acme, lead):
    rule = made(desk, acme)
    arm(desk, rule, pending=2)
    answer = lead.press(editing(lead, rule), name="Another")
    assert "Saved Another." in lead.follow(answer).text
    assert left(desk) == ["pending", "pending"]
    assert "Rule changed by lead@acme.test: name" in lead.open(f"{RULES}/{rule.id}").text


def test_saving_asks_first_when_executions_wait_and_says_how_many_were_deleted(desk, acme, lead):
    rule = made(desk, acme)
    arm(desk, rule, pending=2, processing=1, executing=1, executed=1)
    asked = lead.press(editing(lead, rule), delay="3", description="a\r\nb").check()
    assert asked.status == 200
    assert "3 executions wait and are deleted: nothing of them is done." in asked.text
    assert "Save, and delete 3 waiting" in asked.text
    assert stored(desk, rule).execution_delay == 120 and len(left(desk)) == 5
    going_on = inputs(asked.html, "/editing").fields
    form, _focus = redrawn(lead, Form("post", f"{RULES}/{rule.id}/editing", going_on), "refresh")
    assert form.fields["delay"] == "3"
    saved = lead.press(Form("post", f"{RULES}/{rule.id}/editing", going_on))
    page = lead.follow(saved)
    assert "3 waiting executions were deleted." in page.text
    assert "delay; 3 waiting executions deleted" in page.text.replace("description, ", "")
    after = stored(desk, rule)
    assert (after.execution_delay, after.description, after.active) == (180, "a\nb", True)
    assert left(desk) == ["executed", "executing"]


def test_saving_asks_over_the_page_with_htmx_and_leads_to_the_rule(desk, acme, lead):
    rule = made(desk, acme)
    arm(desk, rule, pending=1)
    asked = lead.press(editing(lead, rule), htmx=True, delay="3")
    assert '<hx-partial hx-target="#dialog"' in asked.html
    assert "1 execution waits and is deleted" in asked.text
    answer = lead.press(
        Form("post", f"{RULES}/{rule.id}/editing", inputs(asked.html, "/editing").fields), htmx=True
    )
    assert answer.headers["HX-Redirect"] == f"{RULES}/{rule.id}"
    assert left(desk) == []


def test_save_is_refused_with_what_changed_meanwhile_and_goes_over_it_when_it_is_sent_again(desk, acme, lead):
    rule = made(desk, acme)
    form = editing(lead, rule)

    def meanwhile(session):
        rules.change(session, acme, rule.id, {"execution_delay": 60}, actor=SETTER_UP, now=clock.now())

    desk.tell(meanwhile)
    answer = lead.press(form, name="Mine", delay="4").check()
    assert answer.status == 409
    assert "Rule changed just now by tests, so nothing was done." in answer.text
    assert "Other than you saw it: delay. What you typed is kept." in answer.text
    kept = inputs(answer.html, "/editing").fields
    assert (kept["name"], kept["delay"]) == ("Mine", "4")
    assert stored(desk, rule).name == "Waits too long"
    [refused] = [event for event in desk.audit("rule.changed") if event.result == "refused"]
    assert refused.resource_id == str(rule.id)
    assert lead.press(Form("post", form.action, kept)).status == 303
    after = stored(desk, rule)
    assert (after.name, after.execution_delay) == ("Mine", 240)


def test_conflict_is_swapped_in_and_closes_the_question_when_the_rule_moved(desk, acme, lead):
    rule = made(desk, acme)
    arm(desk, rule, pending=1)
    asked = lead.press(editing(lead, rule), htmx=True, delay="3")
    desk.tell(
        lambda session: rules.change(
            session, acme, rule.id, {"name": "Theirs"}, actor=SETTER_UP, now=clock.now()
        )
    )
    form = Form("post", f"{RULES}/{rule.id}/editing", inputs(asked.html, "/editing").fields)
    answer = lead.press(form, htmx=True)
    assert answer.status == 409
    assert 'hx-target="#editor"' in answer.html and 'hx-target="#dialog"' in answer.html
    assert "Other than you saw it: name." in answer.text
    assert left(desk) == ["pending"]


def test_form_is_not_found_when_the_rule_is_gone_or_another_tenants(desk, acme, lead):
    theirs = made(desk, desk.tenant("other"))
    form = editing(lead, made(desk, acme))
    for id in (theirs.id, uuid4()):
        for path in ("", "/editing", "/trial", "/switching", "/deletion"):
            assert lead.open(f"{RULES}/{id}{path}").status == 404
        assert lead.press(Form("post", f"{RULES}/{id}/editing", form.fields)).status == 404
        assert lead.press(Form("post", f"{RULES}/draft", {**form.fields, "rule": str(id)})).status == 404
