"""The rules pages: the list, one rule, and what is asked before one is switched or deleted."""

from datetime import timedelta

import pytest

from desk_ui.automations import rules_queries
from models import clock, tenants
from models.automations import rules
from models.automations.records import AutomationRule
from tests.console.counting import selects
from tests.console.ruling import MESSAGE, RULES, arm, left, made, stored, talk
from tests.console.visiting import SETTER_UP, Form
from tests.support.rules import OPEN


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
    off, on = desk.audit("rule.changed")
    assert off.detail == {"active": {"before": True, "after": False}, "freed": 2}
    assert (on.detail["active"]["after"], on.actor_label) == (True, "lead@acme.test")
    assert "Rule switched off by lead@acme.test: 2 waiting" in lead.open(f"{RULES}/{rule.id}").text
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
    assert [event.result for event in desk.audit("rule.changed")] == ["success", "refused"]


@pytest.mark.parametrize("act", ["switching", "deletion"])
def test_rule_stays_as_it_is_when_it_is_another_one_than_was_asked_about(desk, acme, lead, act):
    rule = made(desk, acme)
    form = lead.open(f"{RULES}/{rule.id}/{act}").form(f"/{act}")
    desk.tell(
        lambda session: rules.change(
            session, acme, rule.id, {"name": "Theirs"}, actor=SETTER_UP, now=clock.now()
        )
    )
    answer = lead.press(form)
    assert answer.status == 409
    assert "Rule changed just now by tests, so nothing was done." in answer.text
    assert stored(desk, rule).active


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
        (f"/{rule.id}/switching", "rule.changed"),
        (f"/{rule.id}/deletion", "rule.deleted"),
        ("/draft", "rule.created"),
        ("/trial", "rule.tried"),
    ):
        assert person.press(Form("post", RULES + path, {"csrf_token": token})).status == 403
        assert desk.audit(action)[-1].result == "refused"
    assert stored(desk, rule).version == 1
