"""The rules pages: the list, one rule, writing one with each fault at its input, trying it, switching it."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select

from desk_ui.automations import rules_queries
from models import clock, intake, tenants
from models.automations import rules
from models.automations.records import AutomationRule, Execution
from models.conversations import get
from models.happenings import Happening
from models.messages import Message
from tests.console.counting import selects
from tests.console.filled import inputs
from tests.console.visiting import SETTER_UP, Form
from tests.support.rules import (
    INCOMING,
    OPEN,
    create_conversation,
    create_executions,
    create_rule,
    say,
)

RULES = "/acme/rules"
MESSAGE = {"name": "send_message", "params": ["Are you still there?"]}
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


def made(desk, tenant, **given):
    return desk.tell(lambda session: create_rule(session, tenant, now=clock.now(), **given))


def arm(desk, rule, **numbers):
    desk.tell(lambda session: create_executions(session, rule, now=clock.now(), **numbers))


def stored(desk, rule):
    return desk.tell(lambda session: session.get(AutomationRule, rule.id))


def left(desk):
    return desk.tell(lambda session: sorted(session.scalars(select(Execution.status))))


def editing(visitor, rule):
    """The form of a rule, with all that stands in it."""
    url = f"{RULES}/{rule.id}/editing"
    return Form("post", url, inputs(visitor.open(url).html, "/editing").fields)


def adding(visitor, **typed):
    url = f"{RULES}/adding"
    return Form("post", url, {**inputs(visitor.open(url).html, "/adding").fields, **typed})


def redrawn(visitor, form, do, **changes):
    """The form after one of its buttons was pressed."""
    page = visitor.press(Form("post", f"{RULES}/draft", form.fields), do=do, **changes)
    assert page.status == 200, page.text
    found = inputs(page.check().html, form.action)
    return Form("post", form.action, found.fields), found.focus


def talk(desk, tenant, called="talk-1", *, ago=timedelta(minutes=30), **given):
    now = clock.now()
    desk.tell(lambda session: create_conversation(session, tenant, called, now=now - ago, **given))
    desk.tell(lambda session: say(session, tenant, called, at=now - ago, text="Where is my parcel?"))


# The list


def test_list_says_so_when_there_are_none(lead):
    page = lead.open(RULES)
    assert "No rules yet" in page.text
    assert page.links["New rule"] == f"{RULES}/adding"


def test_list_tells_each_rule_in_a_sentence_with_its_executions_by_state(desk, acme, lead):
    rule = made(desk, acme, actions=[MESSAGE, {"name": "add_label", "params": ["late"]}])
    arm(desk, rule, pending=3, processing=1, executing=1, executed=4, review=2, skipped=5)
    made(desk, desk.tenant("other"), name="Theirs")
    page = lead.open(RULES)
    assert (
        "When a conversation waits for an answer for 2 h and the status is open: send the message "
        "“Are you still there?”, add the label “late”"
    ) in page.text
    assert "Rules: 2 runs need review" in page.text
    row = page.text.partition("Rule, and what it does")[2]
    for words in ("2 Needs review", "3 Waiting", "2 Running", "6 Executed", "5 Skipped"):
        assert words in row
    assert page.links["2"] == f"/acme/executions?rule={rule.id}"
    assert page.links["3"] == f"/acme/executions?tab=waiting&rule={rule.id}"
    assert "Theirs" not in page.text


def test_list_says_what_can_not_run_when_a_stored_rule_can_not_be_read(desk, acme, lead):
    rule = made(desk, acme)

    def spoil(session):
        session.get(AutomationRule, rule.id).conditions = [
            {**OPEN, "operator": "sounds_like"},
            "no condition",
        ]

    desk.tell(spoil)
    page = lead.open(RULES)
    assert "Rules: one can't run" in page.text
    assert "Its condition 1 can't be used any more." in page.text
    assert "a condition that can't be read holds" in page.text
    assert "nothing of it runs until it is put right" in lead.open(f"{RULES}/{rule.id}").text
    assert lead.open(f"{RULES}/{rule.id}/editing").status == 200
    assert "It can't be tried as it is stored" in lead.open(f"{RULES}/{rule.id}/trial").text


def test_list_goes_on_after_the_rules_of_one_page(desk, acme, lead, monkeypatch):
    monkeypatch.setattr("desk_ui.automations.rules_queries.ROWS", 2)
    for number in range(3):
        made(desk, acme, name=f"rule {number}")
    page = lead.open(RULES)
    assert "rule 2" in page.links and "rule 0" not in page.links
    following = lead.open(page.links["Older ones"])
    assert "rule 0" in following.links
    assert following.links["Back to the first ones"] == RULES


def test_list_counts_after_the_page_when_that_takes_too_long(desk, acme, lead, monkeypatch):
    rule = made(desk, acme)
    arm(desk, rule, pending=1)
    monkeypatch.setattr("desk_ui.automations.rules_routes.SOON", timedelta())
    counted = rules_queries.counts
    monkeypatch.setattr(
        "desk_ui.automations.rules_queries.counts",
        lambda *given: counted(*given) if given[-1] else None,
    )
    page = lead.open(RULES)
    assert f'hx-get="{RULES}?counts=1" hx-trigger="load"' in page.html
    assert page.links["Count its executions"] == f"{RULES}?counts=1"
    assert "1 Waiting" in lead.block(f"{RULES}?counts=1").text


def test_list_runs_as_many_statements_whatever_there_is(app, desk, acme, lead):
    made(desk, acme)

    def number():
        with selects(app) as seen:
            lead.open(RULES)
        return len(seen)

    lead.open(RULES)
    before = number()
    for n in range(8):
        arm(desk, made(desk, acme, name=f"rule {n}"), pending=2, executed=1, review=1)
    assert number() == before < 14


# Writing a rule


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


# Switching and deleting


def test_switching_off_says_how_many_are_deleted_and_that_nothing_comes_back(desk, acme, lead):
    rule = made(desk, acme)
    arm(desk, rule, pending=2, executed=1)
    asked = lead.open(f"{RULES}/{rule.id}/switching")
    assert "2 executions wait and are deleted" in asked.text
    assert "Switching it on again brings nothing back" in asked.text
    assert "Switch off, and delete 2 waiting" in asked.text
    answer = lead.press(asked.form("/switching"))
    page = lead.follow(answer)
    assert "Switched off Waits too long. 2 waiting executions were deleted." in page.text
    assert not stored(desk, rule).active
    assert left(desk) == ["executed"]
    asked = lead.open(f"{RULES}/{rule.id}/switching")
    assert "What happened before arms nothing." in asked.text
    assert "Switched on Waits too long." in lead.follow(lead.press(asked.form("/switching"))).text
    assert [event.action for event in desk.audit("rule.switched_on")] == ["rule.switched_on"]
    assert left(desk) == ["executed"]


def test_switching_on_says_that_customers_read_it(desk, acme, lead):
    rule = made(desk, acme, active=False, actions=[MESSAGE])
    asked = lead.open(f"{RULES}/{rule.id}/switching")
    assert "Customers read what it sends, and what was sent can't be taken back." in asked.text
    assert 'class="danger" data-verb' in asked.html
    desk.tell(
        lambda session: tenants.set_features(
            session, acme, {"delayed_automations": False}, actor=SETTER_UP, now=clock.now()
        )
    )
    assert "so it arms nothing for now" in lead.open(f"{RULES}/{rule.id}/switching").text
    assert "rules with a delay arm nothing" in lead.open(RULES).text


def test_switching_is_refused_when_it_is_so_already_or_the_rule_moved(desk, acme, lead):
    rule = made(desk, acme)
    form = lead.open(f"{RULES}/{rule.id}/switching").form("/switching")
    desk.tell(
        lambda session: rules.set_active(session, acme, rule.id, False, actor=SETTER_UP, now=clock.now())
    )
    answer = lead.press(form)
    assert answer.status == 409
    assert "Rule switched off just now by tests, so nothing was done." in answer.text
    assert "It is off already." in lead.open(f"{RULES}/{rule.id}/switching?on=0").text
    assert [event.result for event in desk.audit("rule.switched_off")] == ["success", "refused"]


def test_switching_on_is_off_while_the_rule_can_not_be_used(desk, acme, lead):
    rule = made(desk, acme, active=False)

    def spoil(session):
        session.get(AutomationRule, rule.id).actions = []

    desk.tell(spoil)
    asked = lead.open(f"{RULES}/{rule.id}/switching")
    assert "It must be put right first" in asked.text
    form = Form("post", f"{RULES}/{rule.id}/switching", asked.form("/switching").fields)
    assert lead.press(form, on="1").status == 409
    assert not stored(desk, rule).active


def test_rule_is_deleted_with_what_waits(desk, acme, lead):
    rule = made(desk, acme)
    arm(desk, rule, pending=1, executed=1)
    asked = lead.open(f"{RULES}/{rule.id}/deletion")
    assert "1 execution waits and is deleted" in asked.text
    page = lead.follow(lead.press(asked.form("/deletion")))
    assert "Deleted the rule Waits too long. 1 waiting execution was deleted." in page.text
    assert stored(desk, rule) is None
    assert left(desk) == ["executed"]
    assert lead.press(asked.form("/deletion")).status == 404


@pytest.mark.parametrize("role", ["viewer", "marketer"])
def test_rules_are_only_looked_at_when_the_role_may_not_write_them(desk, acme, visitor, role):
    rule = made(desk, acme)
    talk(desk, acme)
    person = visitor(role)
    page = person.open(RULES)
    assert "this needs a lead or admin. Ask an admin of acme." in page.text
    assert "New rule" not in page.links
    assert person.open(f"{RULES}/{rule.id}").status == 200
    assert "Would act" in person.open(f"{RULES}/{rule.id}/trial?conversation=talk-1").text
    token = person.open(RULES).form("/sign-out").fields["csrf_token"]
    for path, action in (
        ("/adding", "rule.created"),
        (f"/{rule.id}/editing", "rule.changed"),
        (f"/{rule.id}/switching", "rule.switched"),
        (f"/{rule.id}/deletion", "rule.deleted"),
        ("/draft", "rule.created"),
        ("/trial", "rule.tried"),
    ):
        assert person.press(Form("post", RULES + path, {"csrf_token": token})).status == 403
        assert desk.audit(action)[-1].result == "refused"
    assert stored(desk, rule).version == 1


# Trying a rule


def test_trial_says_of_each_condition_what_was_found_and_when_it_would_be_due(desk, acme, lead):
    rule = made(desk, acme, actions=[MESSAGE, {"name": "add_label", "params": ["late"]}])
    talk(desk, acme)
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    for words in (
        "Would act",
        "It would wait until its time, and act if its reason still stands. Nothing was done.",
        "The message is incoming Holds Found: incoming",
        "The status is open Holds Found: open",
        "incoming: “Where is my parcel?”",
        "awaiting_agent:",
        "in 1 h 29 min",
        "1 Send the message “Are you still there?” on our own data, exactly once A customer reads this.",
        "2 Add the label “late”",
    ):
        assert words in page.text, words
    assert left(desk) == []
    assert desk.audit("execution.armed") == []


def test_trial_finds_the_conversation_among_the_latest(desk, acme, lead):
    rule = made(desk, acme)
    talk(desk, acme)
    talk(desk, desk.tenant("other"), "theirs")
    page = lead.open(f"{RULES}/{rule.id}/trial")
    assert "talk-1, c-1, open" in page.text and "theirs" not in page.text
    found = inputs(page.html, "/trial")
    assert found.fields["pick"] == ""
    [pick] = [one for one in page.html.split('<option value="')[1:] if "talk-1" in one]
    picked = lead.open(f"{RULES}/{rule.id}/trial?pick={pick.partition(chr(34))[0]}")
    assert "On conversation talk-1" in picked.text


@pytest.mark.parametrize("named", ["conversation=theirs", "conversation=%00", "pick=999", "pick=x", "pick=²"])
def test_trial_says_so_when_there_is_no_such_conversation(desk, acme, lead, named):
    rule = made(desk, acme)
    talk(desk, desk.tenant("other"), "theirs")
    page = lead.open(f"{RULES}/{rule.id}/trial?{named}")
    assert page.status == 404
    assert "There is no conversation" in page.text or "Choose a conversation" in page.text


def test_trial_says_what_does_not_hold(desk, acme, lead):
    rule = made(desk, acme)
    talk(desk, acme, status="resolved")
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    assert "Would not act" in page.text
    assert "The status is open Does not hold Found: resolved" in page.text


def test_trial_says_that_it_would_be_skipped_when_the_reason_is_gone(desk, acme, lead):
    rule = made(desk, acme, conditions=[INCOMING])
    talk(desk, acme)
    desk.tell(lambda session: say(session, acme, "talk-1", at=clock.now(), direction="outgoing"))
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    assert "Since then the conversation moved on, so it would be skipped." in page.text
    old = made(desk, acme, conditions=[INCOMING])
    talk(desk, acme, "talk-2", ago=timedelta(days=9))
    page = lead.open(f"{RULES}/{old.id}/trial?conversation=talk-2")
    assert "over for more than 3 d, so it would be skipped" in page.text


def test_trial_names_the_execution_that_there_is(desk, acme, lead):
    rule = made(desk, acme)
    talk(desk, acme)

    def hear(session):
        conversation = get(session, acme.id, "talk-1")
        message = session.scalars(select(Message)).one()
        happening = Happening("1", conversation.id, ["message_created"], message.id)
        intake.arm(session, acme, happening, now=clock.now())

    desk.tell(hear)
    [execution] = desk.tell(lambda session: session.scalars(select(Execution)).all())
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    assert "It waits for this already." in page.text
    assert page.links["Show it"] == f"/acme/executions/{execution.id}"


def test_trial_tells_the_hours_of_the_inbox(desk, acme, lead, config):
    config.write_text(config.read_text() + '\n[inboxes.7]\ntimezone = "Asia/Tokyo"\n')
    rule = made(desk, acme, window_start=0, window_end=1)
    talk(desk, acme, inbox_id=7)
    page = lead.open(f"{RULES}/{rule.id}/trial?conversation=talk-1")
    assert "It would wait for its hours" in page.text
    assert "JST" in page.text


def test_trial_tells_why_nothing_would_be_armed(desk, acme, lead):
    talk(desk, acme)
    desk.tell(
        lambda session: create_conversation(session, acme, "silent", now=clock.now(), status_changed_at=None)
    )
    by_message, by_status = made(desk, acme), made(desk, acme, event="conversation_updated", conditions=[])
    assert "no message that could arm" in lead.open(f"{RULES}/{by_message.id}/trial?conversation=silent").text
    assert "not known since when" in lead.open(f"{RULES}/{by_status.id}/trial?conversation=silent").text
    desk.tell(
        lambda session: tenants.set_features(
            session, acme, {"delayed_automations": False}, actor=SETTER_UP, now=clock.now()
        )
    )
    page = lead.open(f"{RULES}/{by_message.id}/trial?conversation=talk-1")
    assert "Delayed automations are switched off for this tenant, so nothing is armed." in page.text


def test_trial_of_what_is_typed_writes_nothing_and_keeps_it(desk, acme, lead):
    talk(desk, acme)
    form = adding(lead, name="", **{"a0.lines": "late"})
    refused = lead.press(Form("post", f"{RULES}/trial", form.fields), conversation="talk-1")
    assert refused.status == 422 and "name-fault" in refused.ids
    page = lead.press(
        Form("post", f"{RULES}/trial", form.fields), name="x", delay="1", conversation="talk-1"
    ).check()
    assert page.status == 200
    assert "Would act" in page.text and "in 29 min" in page.text
    kept = inputs(page.html, "/adding")
    assert (kept.fields["name"], kept.fields["delay"], kept.focus) == ("x", "1", "trial-lead")
    swapped = lead.press(
        Form("post", f"{RULES}/trial", form.fields), htmx=True, name="x", conversation="talk-1"
    )
    assert "Would act" in swapped.text and 'id="editor"' not in swapped.html
    nowhere = lead.press(Form("post", f"{RULES}/trial", form.fields), htmx=True, name="x", conversation="no")
    assert nowhere.status == 422 and "There is no conversation no." in nowhere.text
    assert desk.tell(lambda session: session.scalars(select(AutomationRule)).all()) == []
