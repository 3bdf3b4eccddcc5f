"""What people do with deliveries and endpoints, in a real browser, with a real receiver at the other end."""

import dataclasses

import pytest
from playwright.sync_api import expect

from jobs.delivery.webhook import deliver_due
from models import clock, deliveries, endpoints, operators, outbox
from models.deliveries import Delivery, State
from models.endpoints import WebhookEndpoint
from tests.browser.pages import Deliveries, Endpoint
from tests.browser.served import SETTER_UP
from tests.support.deliver import create_delivery, create_endpoint
from tests.support.sink import sink, status

pytestmark = pytest.mark.slow

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])


@pytest.fixture
def acme(desk):
    """The tenant with an admin, whose events may be sent to this machine."""
    tenant = desk.tenant()
    desk.tell(
        lambda session: operators.add(
            session, "admin@acme.test", tenant=tenant, role="admin", actor=SETTER_UP, now=clock.now()
        )
    )
    known = desk.app.extensions["desk_settings"]
    allowed = dataclasses.replace(known, webhook_allowed_hosts=frozenset({"127.0.0.1"}))
    desk.app.extensions["desk_settings"] = allowed
    yield tenant
    desk.app.extensions["desk_settings"] = known


@pytest.fixture
def receiver():
    with sink() as running:
        yield running


@pytest.fixture
def endpoint(desk, acme, receiver):
    """An endpoint at the receiver, for as long as the test."""
    settings = desk.app.extensions["desk_settings"]
    # What happened before is nobody's to tell: it would take the answers that a test has scripted.
    run(desk)
    made, _secret = desk.tell(
        lambda session: create_endpoint(session, acme, settings, now=clock.now(), url=receiver.url())
    )
    yield made

    def remove(session):
        if session.get_one(WebhookEndpoint, made.id).state != "removed":
            endpoints.remove(session, acme.id, made.id, actor=SETTER_UP, now=clock.now())

    desk.tell(remove)
    run(desk)


def run(desk):
    """What the sweep does."""
    return desk.tell(lambda session: deliver_due(session, now=clock.now(), limit=1_000))


def made(desk, acme, endpoint, state):
    return desk.tell(
        lambda session: create_delivery(session, acme, endpoint, now=clock.now(), state=state)
    ).id


def state(desk, delivery):
    return desk.tell(lambda session: session.get_one(Delivery, delivery).state)


@SCRIPTS
def test_rearm_sends_a_dead_delivery_again_under_its_id(desk, acme, endpoint, receiver, open_page, scripts):
    receiver.script(status(410))
    delivery = desk.tell(
        lambda session: create_delivery(session, acme, endpoint, now=clock.now(), state=State.PENDING)
    ).id
    run(desk)
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        listed = Deliveries(page, desk.url, delivery).open(f"?tab=dead&receiver={endpoint.id}")
        listed.rearm("their queue was full")
        listed.says("Re-armed. It is sent as soon as a run takes it.")
        assert page.url.endswith(f"/acme/deliveries?tab=dead&receiver={endpoint.id}")
        if scripts:
            expect(listed.row).to_contain_text("Pending")
        else:
            expect(listed.row).to_have_count(0)
        run(desk)
        listed.open_one()
        expect(page.get_by_text("Re-armed by lead@acme.test: their queue was full")).to_be_visible()
        expect(page.get_by_text("Attempt 1: delivered")).to_be_visible()
    first, second = receiver.received
    assert first.webhook_id == second.webhook_id


@SCRIPTS
def test_rearm_is_refused_and_keeps_the_reason_when_it_was_rearmed_meanwhile(
    desk, acme, endpoint, open_page, scripts
):
    delivery = made(desk, acme, endpoint, State.DEAD)
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        listed = Deliveries(page, desk.url, delivery).open(f"?tab=dead&receiver={endpoint.id}")
        listed.row.get_by_role("link", name="Re-arm").click()
        page.get_by_label("Why is it sent again?").fill("mine")
        desk.tell(
            lambda session: deliveries.rearm(
                session, acme.id, delivery, reason="first", actor=SETTER_UP, now=clock.now()
            )
        )
        page.get_by_role("button", name="Re-arm it").click()
        expect(page.get_by_text("so nothing was done")).to_be_visible()
        expect(page.get_by_label("Why is it sent again?")).to_have_value("mine")
        expect(page.get_by_role("button", name="Re-arm it")).to_be_disabled()


@SCRIPTS
def test_send_now_makes_a_failed_delivery_due(desk, acme, endpoint, receiver, open_page, scripts):
    delivery = made(desk, acme, endpoint, State.FAILED)
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page)
        listed = Deliveries(page, desk.url, delivery).open(f"?receiver={endpoint.id}")
        listed.send_now()
        listed.says("It is due now")
        expect(listed.row).to_contain_text("due, the next run takes it")
    run(desk)
    assert state(desk, delivery) == "delivered"
    assert len(receiver.received) == 1


@SCRIPTS
def test_rotate_gives_a_secret_once_that_signs_from_then_on(
    desk, acme, endpoint, receiver, open_page, scripts
):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, "admin@acme.test")
        shown = Endpoint(page, desk.url, endpoint.id).open()
        shown.ask("Rotate the secret", "Rotate the secret")
        secret = shown.secret()
        page.wait_for_url(shown.url)
        assert secret not in page.content()
    desk.tell(
        lambda session: outbox.enqueue(
            session,
            tenant_id=acme.id,
            event_type="followup.fired",
            aggregate=("contact", "1"),
            payload={},
            now=clock.now(),
        )
    )
    run(desk)
    [request] = receiver.received
    assert request.verified(secret)["type"] == "followup.fired"


@SCRIPTS
def test_test_reaches_the_receiver_and_is_seen_on_the_page(
    desk, acme, endpoint, receiver, open_page, scripts
):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, "admin@acme.test")
        shown = Endpoint(page, desk.url, endpoint.id).open()
        shown.test()
        shown.says("A test is on its way.")
        shown.shows("it waits for the next run")
        run(desk)
        shown.open().shows("delivered")
        page.get_by_role("link", name="The last one").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("A test of an endpoint")
        expect(page.get_by_text("Attempt 1: delivered")).to_be_visible()
    [request] = receiver.received
    assert b'"endpoint.test"' in request.body


@SCRIPTS
def test_pause_keeps_what_waits_and_resume_lets_it_go(desk, acme, endpoint, receiver, open_page, scripts):
    delivery = made(desk, acme, endpoint, State.PENDING)
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, "admin@acme.test")
        shown = Endpoint(page, desk.url, endpoint.id).open()
        shown.ask("Pause", "Pause it")
        shown.shows("Nothing is sent to it until it is resumed: 1 delivery waits.")
        run(desk)
        assert state(desk, delivery) == "pending"
        shown.ask("Resume", "Resume it")
        shown.says("Resumed the endpoint.")
    run(desk)
    assert state(desk, delivery) == "delivered"


@SCRIPTS
def test_add_and_remove_an_endpoint(desk, acme, open_page, scripts):
    with open_page(java_script_enabled=scripts) as page:
        desk.sign_in(page, "admin@acme.test")
        page.goto(f"{desk.url}/acme/endpoints")
        page.get_by_role("link", name="Add an endpoint").click()
        page.get_by_label("Address").fill("https://new.example/hook")
        page.get_by_label("All, also those to come").uncheck()
        page.get_by_label("followup.fired").check()
        page.get_by_role("button", name="Add it").click()
        assert page.get_by_label("Secret", exact=True).input_value().startswith("whsec_")
        page.get_by_role("link", name="I have copied it").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("https://new.example")
        page.get_by_role("link", name="Remove", exact=True).click()
        page.get_by_role("button", name="Remove it").click()
        page.wait_for_url("**/acme/endpoints")
        expect(page.locator("[data-toast]")).to_contain_text("Removed the endpoint.")
        expect(page.get_by_role("link", name="https://new.example")).to_have_count(0)


def test_a_lead_sees_endpoints_and_why_the_acts_are_off(desk, acme, endpoint, open_page):
    with open_page() as page:
        desk.sign_in(page)
        Endpoint(page, desk.url, endpoint.id).open()
        for name in ("Edit", "Pause", "Rotate the secret", "Remove", "Send a test"):
            expect(page.get_by_role("button", name=name)).to_be_disabled()
            expect(page.get_by_role("button", name=name)).to_contain_text("Ask an admin of acme.")
