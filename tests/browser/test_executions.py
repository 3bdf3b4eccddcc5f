"""What a support lead does with executions that need a person, in a real browser."""

import pytest
from playwright.sync_api import expect

from models import clock
from models.automations import ledger
from models.automations.records import Execution
from tests.browser.pages import Executions
from tests.support.executions import create_execution, work, write

pytestmark = pytest.mark.slow

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])


@pytest.fixture
def acme(desk):
    return desk.tenant()


def made(desk, acme, state, **given):
    return desk.tell(lambda session: create_execution(session, acme, state, now=clock.now(), **given))


def read(desk, id):
    return desk.tell(lambda session: session.get_one(Execution, id))


def states(desk, id):
    return desk.tell(
        lambda session: [one.state for one in ledger.of(session, session.get_one(Execution, id))]
    )


@SCRIPTS
def test_an_abandoned_run_is_settled(desk, acme, open_page, scripts):
    id = made(desk, acme, "abandoned", called=f"talk-settled-{scripts}")
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        listed = Executions(page, desk.url).open()
        row = listed.row(id)
        expect(row).to_contain_text("Abandoned")
        expect(row).to_contain_text("1 of 3 actions done, 1 unknown, 1 waiting")
        listed.follow(id)
        expect(page.get_by_text("No machine will touch this row again")).to_be_visible()
        page.get_by_role("link", name="Settle it as it is").click()
        page.get_by_role("button", name="Settle it", exact=True).wait_for()
        page.get_by_role("group", name="2. Send the message").get_by_label("It was done").check()
        page.get_by_label("Note").fill("seen in the inbox")
        page.get_by_role("button", name="Settle it", exact=True).click()
        listed.says("Settled “Unanswered for two hours” on conversation talk-settled")
        expect(page.get_by_text("Execution settled").first).to_be_visible()
        expect(page.locator(".ledger li").nth(1)).to_contain_text("Done")
        listed.open()
        expect(listed.row(id)).to_have_count(0)
    assert (read(desk, id).status, read(desk, id).note) == ("executed", "seen in the inbox")
    assert states(desk, id) == ["done", "done", "waiting"]


@SCRIPTS
def test_the_rest_is_rearmed_with_one_unknown_action_ticked_and_its_warning_read(
    desk, acme, open_page, scripts
):
    id = made(desk, acme, "abandoned", called=f"talk-rearmed-{scripts}")
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        listed = Executions(page, desk.url).open()
        listed.row(id).get_by_role("link", name="Re-arm the rest").click()
        expect(page.get_by_text("The reason still stands: waits since")).to_be_visible()
        expect(page.get_by_text("3. Set the priority to high")).to_be_visible()
        unknown = page.get_by_label("2. Send the message “We have not forgotten you.”")
        expect(unknown).not_to_be_checked()
        expect(
            page.get_by_text("What is ticked may be sent twice: the customer may have it already.")
        ).to_be_visible()
        unknown.check()
        page.get_by_label("Why").fill("it is not in their inbox")
        page.get_by_role("button", name="Re-arm action 3").click()
        listed.says("2 actions go on as soon as a worker takes them.")
        if scripts:
            expect(listed.row(id)).to_contain_text("Re-armed")
    calls = desk.tell(lambda session: work(session, [id], clock.now()))
    assert [(call.name, call.again) for call in calls] == [("send_message", True), ("change_priority", False)]
    assert len({call.idempotency_key for call in calls}) == 2
    assert states(desk, id) == ["done", "done", "done"]


@SCRIPTS
def test_settle_keeps_what_was_typed_when_another_settled_it_meanwhile(desk, acme, open_page, scripts):
    id = made(desk, acme, "unknown", called=f"talk-twice-{scripts}")
    with open_page(java_script_enabled=scripts) as page, open_page() as other:
        desk.sign_in(page)
        listed = Executions(page, desk.url).open()
        listed.row(id).get_by_role("link", name="Settle").click()
        page.get_by_label("It was not done").check()
        page.get_by_label("Note").fill("mine")
        desk.sign_in(other)
        first = Executions(other, desk.url).open()
        first.row(id).get_by_role("link", name="Settle").click()
        other.get_by_label("It was done").check()
        other.get_by_role("button", name="Settle it", exact=True).click()
        first.says("Settled")
        page.get_by_role("button", name="Settle it", exact=True).click()
        expect(page.get_by_text("there is nothing to settle").first).to_be_visible()
        expect(page.get_by_label("Note")).to_have_value("mine")
        expect(page.get_by_role("button", name="Settle it")).to_be_disabled()
    assert states(desk, id) == ["done", "done", "done"]


@SCRIPTS
def test_going_on_against_the_checks_is_shown_and_needs_a_reason(desk, acme, open_page, scripts):
    called = f"talk-against-{scripts}"
    id = made(desk, acme, "abandoned", called=called)
    desk.tell(
        lambda session: write(session, acme, called, now=clock.now(), direction="outgoing", text="Answered.")
    )
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        Executions(page, desk.url).open_one(id)
        expect(page.get_by_text("moved on: waits for no answer").first).to_be_visible()
        page.get_by_role("link", name="Re-arm what is left").click()
        expect(page.get_by_text("The reason does not stand any more")).to_be_visible()
        expect(page.get_by_text("You go on although the conversation moved on.")).to_be_visible()
        page.get_by_label("Why").fill("the customer asked for it")
        page.get_by_role("button", name="Re-arm action 3").click()
        expect(page.locator("[data-toast]")).to_contain_text("1 action goes on")
        expect(page.get_by_text("although the conversation moved on").first).to_be_visible()
    assert read(desk, id).resumed


def test_cancel_three_that_wait_at_once(desk, open_page):
    tenant = desk.tenant("bulky")
    ids = [made(desk, tenant, "waiting", called=f"talk-bulk-{number}") for number in range(4)]
    with open_page() as page:
        desk.sign_in(page, "lead@bulky.test")
        listed = Executions(page, desk.url, "bulky").open("?tab=waiting")
        for id in ids[:3]:
            listed.row(id).get_by_role("checkbox").check()
        page.get_by_role("button", name="Cancel 3 executions").click()
        page.get_by_label("Why").fill("the shop moves")
        page.locator("dialog").get_by_role("button", name="Cancel 3 executions").click()
        listed.says("Cancelled 3 executions.")
    assert [read(desk, id).status for id in ids] == ["skipped"] * 3 + ["pending"]


def test_keys_lead_to_the_executions_and_a_row_is_refreshed_in_place(desk, acme, open_page):
    id = made(desk, acme, "due", called="talk-keys")
    with open_page() as page:
        desk.sign_in(page)
        page.keyboard.press("g")
        page.keyboard.press("e")
        page.wait_for_url("**/acme/executions")
        listed = Executions(page, desk.url).open("?tab=waiting&conversation=talk-keys")
        page.get_by_label("Refresh every").select_option("5")
        expect(listed.row(id)).to_contain_text("Waiting")
        desk.tell(lambda session: work(session, [id], clock.now()))
        expect(listed.row(id)).to_contain_text("Executed", timeout=20_000)
        page.get_by_label("Refresh every").select_option("0")
