"""A lead builds a rule, tries it, switches it on and off: by pointer and by keys, with scripts and not."""

from datetime import timedelta
from itertools import count

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from sqlalchemy import select

from models import clock
from models.automations.records import AutomationRule, Execution
from models.automations.rules import change
from tests.browser.served import NARROW, SETTER_UP, WIDE
from tests.browser.test_keyboard import Keyboard
from tests.support.rules import create_conversation, create_executions, create_rule, say

pytestmark = pytest.mark.slow

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
EACH = pytest.mark.parametrize(
    ("size", "scheme"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide and light", "narrow and dark"]
)
SERIOUS = {"serious", "critical"}
_numbers = count(1)


@pytest.fixture(scope="module")
def ruled(desk):
    """The tenant whose rules are written here, with one conversation that waits for an answer."""
    tenant = desk.tenant("ruled")
    at = clock.now() - timedelta(minutes=30)
    desk.tell(lambda session: create_conversation(session, tenant, "talk-1", now=at, inbox_id=7))
    desk.tell(lambda session: say(session, tenant, "talk-1", at=at, text="Where is my code?"))
    return tenant


class Editor:
    """The form of a rule, in a lead's words."""

    def __init__(self, page, url):
        self.page = page
        self.url = url

    def open(self, path="/adding"):
        self.page.goto(f"{self.url}/ruled/rules{path}")
        return self

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).last.click()

    def row(self, letter, number):
        return self.page.locator(f"#{letter}{number}")

    def has_focus(self, id):
        expect(self.page.locator(f"#{id}")).to_be_focused()

    def says(self, words):
        expect(self.page.locator("[data-toast]")).to_contain_text(words)

    def reads(self, words):
        expect(self.page.locator("#in-words")).to_contain_text(words)


def new_name():
    return f"Rule {next(_numbers)}"


def stored(desk, name):
    query = select(AutomationRule).where(AutomationRule.name == name)
    return desk.tell(lambda session: session.scalars(query).one())


def armed(desk, rule):
    query = select(Execution.status).where(Execution.rule_id == rule.id)
    return desk.tell(lambda session: sorted(session.scalars(query)))


@SCRIPTS
def test_rule_is_built_tried_and_switched_on_and_off(desk, ruled, open_page, scripts):
    name = new_name()
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, "lead@ruled.test")
        page.goto(f"{desk.url}/ruled/rules")
        page.get_by_role("link", name="New rule").click()
        editor = Editor(page, desk.url)
        page.get_by_label("Name", exact=True).fill(name)
        editor.press("Add a condition")
        editor.has_focus("c1-attribute")
        expect(page.get_by_label("Name", exact=True)).to_have_value(name)
        page.locator("#c1-attribute").select_option("inbox_id")
        if not scripts:
            editor.row("c", 1).get_by_role("button", name="Fit the inputs").click()
            editor.has_focus("c1-operator")
        page.locator("textarea#c1-values").fill("7")
        page.locator("#a0-lines").fill("late")
        editor.press("Add an action")
        editor.has_focus("a1-name")
        page.locator("#a1-name").select_option("send_message")
        if not scripts:
            editor.row("a", 1).get_by_role("button", name="Fit the inputs").click()
        expect(editor.row("a", 1)).to_contain_text("A customer reads this.")
        page.locator("#a1-text").fill("Have you seen our answer?")
        page.locator("#a1-up").click()
        editor.has_focus("a0-down")
        expect(page.locator("#a0-text")).to_have_value("Have you seen our answer?")
        page.get_by_label("One of the latest conversations").select_option(index=1)
        editor.press("Try it")
        editor.has_focus("trial-lead")
        expect(page.locator("#trial")).to_contain_text("Would act")
        expect(page.locator("#trial")).to_contain_text("in 1 h 29 min")
        editor.reads(
            "When a conversation waits for an answer for 2 h and the inbox is 7: "
            "send the message “Have you seen our answer?”, add the label “late”."
        )
        editor.press("Make the rule")
        editor.says(f"Made the rule {name}. It is off")
        page.get_by_role("link", name="Switch on").click()
        page.get_by_role("button", name="Switch on").click()
        editor.says(f"Switched on {name}.")
        rule = stored(desk, name)
        assert rule.active and [one["name"] for one in rule.actions] == ["send_message", "add_label"]
        desk.tell(lambda session: create_executions(session, rule, now=clock.now(), pending=2, executed=1))
        page.reload()
        page.get_by_role("link", name="Switch off").click()
        expect(page.get_by_text("2 executions wait and are deleted")).to_be_visible()
        page.get_by_role("button", name="Switch off, and delete 2 waiting").click()
        editor.says(f"Switched off {name}. 2 waiting executions were deleted.")
        assert not stored(desk, name).active
        assert armed(desk, rule) == ["executed"]


@SCRIPTS
def test_faults_stand_at_their_inputs_and_the_first_has_the_focus(desk, ruled, open_page, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, "lead@ruled.test")
        editor = Editor(page, desk.url).open()
        page.get_by_label("And waits, while its reason stands, for").fill("soon")
        page.get_by_label("What it is for").fill("Kept.")
        editor.press("Make the rule")
        editor.has_focus("name")
        expect(page.get_by_role("alert").first).to_contain_text("3 things are wrong or missing")
        expect(page.locator("#delay-fault")).to_contain_text("whole minutes")
        expect(page.locator("#a0-lines-fault")).to_contain_text("Must not be blank.")
        expect(page.get_by_label("What it is for")).to_have_value("Kept.")


def test_what_is_typed_while_the_form_is_drawn_anew_is_kept(desk, ruled, open_page):
    with open_page() as page:
        desk.sign_in(page, "lead@ruled.test")
        editor = Editor(page, desk.url).open()
        held = []
        page.route("**/rules/draft", lambda route: held.append(route))
        with page.expect_request("**/rules/draft"):
            editor.press("Add a condition")
        page.get_by_label("Name", exact=True).fill("Typed meanwhile")
        page.locator("[name='c0.values.outgoing']").check()
        held[0].continue_()
        editor.has_focus("c1-attribute")
        expect(page.get_by_label("Name", exact=True)).to_have_value("Typed meanwhile")
        expect(page.locator("[name='c0.values.outgoing']")).to_be_checked()


@SCRIPTS
def test_enter_in_a_field_saves_nothing(desk, ruled, open_page, scripts):
    name = new_name()
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, "lead@ruled.test")
        editor = Editor(page, desk.url).open()
        page.get_by_label("Name", exact=True).fill(name)
        page.locator("#a0-lines").fill("late")
        page.get_by_label("Or another, by its id").fill("talk-1")
        page.get_by_label("Or another, by its id").press("Enter")
        editor.reads("add the label “late”")
        expect(page.get_by_label("Name", exact=True)).to_have_value(name)
    found = select(AutomationRule.id).where(AutomationRule.name == name)
    assert desk.tell(lambda session: session.scalars(found).first()) is None


@SCRIPTS
def test_saving_asks_how_many_are_deleted_and_can_be_thought_over(desk, ruled, open_page, scripts):
    rule = desk.tell(lambda session: create_rule(session, ruled, now=clock.now(), name=new_name()))
    desk.tell(lambda session: create_executions(session, rule, now=clock.now(), pending=3))
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, "lead@ruled.test")
        editor = Editor(page, desk.url).open(f"/{rule.id}/editing")
        page.locator("#delay").fill("3")
        editor.press("Save")
        expect(page.get_by_text("3 executions wait and are deleted")).to_be_visible()
        page.get_by_role("button", name="Go on editing").click()
        expect(page.locator("#delay")).to_have_value("3")
        assert armed(desk, rule) == ["pending"] * 3
        editor.press("Save")
        page.get_by_role("button", name="Save, and delete 3 waiting").click()
        editor.says("3 waiting executions were deleted.")
    assert armed(desk, rule) == []


@SCRIPTS
def test_saving_tells_what_changed_meanwhile_and_keeps_what_was_typed(desk, ruled, open_page, scripts):
    rule = desk.tell(lambda session: create_rule(session, ruled, now=clock.now(), name=new_name()))
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, "lead@ruled.test")
        editor = Editor(page, desk.url).open(f"/{rule.id}/editing")
        page.get_by_label("What it is for").fill("Mine.")
        desk.tell(
            lambda session: change(
                session, ruled, rule.id, {"on_failure": "stop"}, actor=SETTER_UP, now=clock.now()
            )
        )
        editor.press("Save")
        expect(page.get_by_text("Other than you saw it: what happens after a failure.")).to_be_visible()
        expect(page.get_by_label("What it is for")).to_have_value("Mine.")
        editor.press("Save")
        editor.says("Saved")


def test_rule_is_built_tried_and_switched_by_keys_alone(desk, ruled, open_page):
    name = new_name()
    with open_page() as page:
        desk.sign_in(page, "lead@ruled.test")
        keyboard = Keyboard(page)
        keyboard.press("g", "r")
        page.wait_for_url("**/ruled/rules")
        keyboard.tab_to("New rule")
        keyboard.press("Enter")
        page.wait_for_url("**/rules/adding")
        tab_on_to(keyboard, "name")
        page.keyboard.type(name)
        tab_on_to(keyboard, "c-add")
        keyboard.press("Enter")
        keyboard.holds("#c1-attribute")
        page.keyboard.type("Inb")
        expect(page.locator("#c1-attribute")).to_have_value("inbox_id")
        expect(page.locator("#c1-values[type=text], textarea#c1-values")).to_have_count(1)
        keyboard.holds("#c1-attribute")
        tab_on_to(keyboard, "c1-values")
        page.keyboard.type("7")
        tab_on_to(keyboard, "a0-lines")
        page.keyboard.type("late")
        tab_on_to(keyboard, "conversation")
        page.keyboard.type("talk-1")
        tab_on_to(keyboard, "try")
        keyboard.press("Enter")
        keyboard.holds("#trial-lead")
        expect(page.locator("#trial")).to_contain_text("Would act")
        keyboard.press(*["Shift+Tab"] * 3)
        while keyboard.focused() != "Make the rule":
            keyboard.press("Shift+Tab")
        keyboard.press("Enter")
        expect(page.locator("[data-toast]")).to_contain_text(f"Made the rule {name}.")
        keyboard.tab_to("Switch on")
        keyboard.press("Enter")
        page.locator("dialog[open]").wait_for()
        keyboard.press("Enter")
        expect(page.locator("[data-toast]")).to_contain_text(f"Switched on {name}.")
        keyboard.tab_to("Switch off")
        keyboard.press("Enter")
        page.locator("dialog[open]").wait_for()
        keyboard.press("Escape")
        keyboard.holds("#switch")
        keyboard.press("Enter")
        page.locator("dialog[open]").wait_for()
        keyboard.press("Enter")
        expect(page.locator("[data-toast]")).to_contain_text(f"Switched off {name}.")
    assert not stored(desk, name).active


def tab_on_to(keyboard, id):
    """Tab on to the element with this id."""
    for _step in range(80):
        keyboard.press("Tab")
        if keyboard.page.evaluate("document.activeElement.id") == id:
            return
    raise AssertionError(f"no way by Tab to #{id}")


def check(page, where):
    page.wait_for_load_state("load")
    expect(page.locator(".htmx-request")).to_have_count(0)
    found = Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["target"] for node in one["nodes"]][:5])
        for one in found
        if one["impact"] in SERIOUS
    ]
    assert serious == [], where


@EACH
def test_axe_finds_nothing_serious_on_the_rules_pages(desk, ruled, open_page, scheme, size):
    rule = desk.tell(lambda session: create_rule(session, ruled, now=clock.now(), name=new_name()))
    desk.tell(lambda session: create_executions(session, rule, now=clock.now(), pending=3, review=1))
    with open_page(color_scheme=scheme, viewport=size) as page:
        desk.sign_in(page, "lead@ruled.test")
        home = f"{desk.url}/ruled/rules"
        for path in (
            "",
            f"/{rule.id}",
            f"/{rule.id}/trial?conversation=talk-1",
            f"/{rule.id}/trial?conversation=no",
            f"/{rule.id}/switching",
            f"/{rule.id}/deletion",
            "/adding",
            f"/{rule.id}/editing",
        ):
            page.goto(home + path)
            check(page, path)
        editor = Editor(page, desk.url)
        page.get_by_label("Or another, by its id").fill("talk-1")
        editor.press("Try it")
        editor.has_focus("trial-lead")
        check(page, "tried")
        page.locator("#delay").fill("3")
        editor.press("Save")
        page.locator("dialog[open]").wait_for()
        check(page, "asked before it is saved")
        page.get_by_role("button", name="Go on editing").click()
        page.locator("#delay").fill("soon")
        page.locator("#name").fill("")
        editor.press("Save")
        page.locator("#faults").wait_for()
        check(page, "refused")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
