"""The endpoints pages: where events are sent, and what an admin does with each."""

import re

import pytest
from sqlalchemy import func, select

from models import clock, endpoints
from models.deliveries import Delivery, State
from models.endpoints import WebhookEndpoint
from models.outbox import OutboxEvent
from models.publishing import publish
from models.transactions import rollback
from tests.console.visiting import SETTER_UP
from tests.support.deliver import create_delivery, create_endpoint

LIST = "/acme/endpoints"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")


@pytest.fixture
def settings(app):
    return app.extensions["desk_settings"]


@pytest.fixture
def added(desk, acme, settings):
    """An endpoint and its secret."""
    return desk.tell(lambda session: create_endpoint(session, acme, settings, now=clock.now()))


@pytest.fixture
def endpoint(added):
    return added[0]


@pytest.fixture
def admin(visitor):
    return visitor("admin")


def read(desk, endpoint):
    return desk.tell(lambda session: session.get_one(WebhookEndpoint, endpoint.id))


def deliver(desk, tenant, endpoint, state):
    return desk.tell(lambda session: create_delivery(session, tenant, endpoint, now=clock.now(), state=state))


def form_of(visitor, endpoint, act):
    return visitor.open(f"{LIST}/{endpoint.id}/{act}").form(f"/{act}")


def pause(desk, acme, endpoint, settings):
    return desk.tell(
        lambda session: endpoints.update(
            session, acme.id, endpoint.id, active=False, settings=settings, actor=SETTER_UP, now=clock.now()
        )
    )


def test_list_shows_the_host_the_events_and_how_each_fares(desk, acme, endpoint, lead):
    deliver(desk, acme, endpoint, State.DELIVERED)
    page = lead.open(LIST)
    for words in ("https://hooks.example", "all events", "Active", "none"):
        assert words in page.text
    assert "secret-path" not in page.html and "none yet" not in page.text
    deliver(desk, acme, endpoint, State.FAILED)
    page = lead.open(LIST)
    assert re.search(r"Failed in a row: 1\b", page.text) and "Failing" in page.text


@pytest.mark.parametrize(
    ("types", "says"),
    [
        (["followup.fired"], "A follow-up fired"),
        (["contact.revoked", "task.created"], "2 kinds: a customer opted out, an agent got a task"),
    ],
)
def test_list_names_the_events_in_words(desk, acme, settings, endpoint, lead, types, says):
    desk.tell(
        lambda session: endpoints.update(
            session,
            acme.id,
            endpoint.id,
            event_types=types,
            settings=settings,
            actor=SETTER_UP,
            now=clock.now(),
        )
    )
    page = lead.open(LIST)
    assert says in page.text
    assert not any(code in page.html for code in types)


def test_list_says_what_there_is_without_one(lead):
    assert "No endpoint yet" in lead.open(LIST).text


def test_page_shows_what_waits_and_what_was_sent(desk, acme, endpoint, lead):
    made = [deliver(desk, acme, endpoint, state) for state in (State.DELIVERED, State.DEAD, State.PENDING)]
    page = lead.open(f"{LIST}/{endpoint.id}")
    for delivery in made:
        assert f'href="/acme/deliveries/{delivery.id}"' in page.html
    assert "and a path that isn't shown" in page.text
    assert "secret-path" not in page.html
    assert page.links["All of its deliveries"] == f"/acme/deliveries?receiver={endpoint.id}"


def test_page_is_not_found_when_it_is_of_another_tenant_or_was_removed(desk, acme, settings, endpoint, admin):
    other = desk.tenant("other")
    foreign, _secret = desk.tell(lambda session: create_endpoint(session, other, settings, now=clock.now()))
    form = form_of(admin, endpoint, "removal")
    desk.tell(
        lambda session: endpoints.remove(session, acme.id, endpoint.id, actor=SETTER_UP, now=clock.now())
    )
    for id in (foreign.id, endpoint.id):
        for act in ("", "/editing", "/pausing", "/resuming", "/rotation", "/removal"):
            assert admin.open(f"{LIST}/{id}{act}").status == 404, act
        for act in ("editing", "pausing", "resuming", "rotation", "removal", "testing"):
            form.action = f"{LIST}/{id}/{act}"
            given = {"url": "https://a.example/", "event_types": "*"} if act == "editing" else {}
            assert admin.press(form, **given).status == 404, act
    assert read(desk, foreign).state == "active"


def test_add_shows_the_secret_once(desk, acme, admin):
    form = admin.open(f"{LIST}/adding").form("/adding")
    page = admin.press(form, url="https://new.example/hook", event_types=["followup.fired", "task.created"])
    assert page.status == 200
    [secret] = SECRET.findall(page.html)
    [made] = desk.tell(lambda session: endpoints.of_tenant(session, acme.id))
    assert (made.url, made.event_types) == ("https://new.example/hook", ["followup.fired", "task.created"])
    assert page.links["I have copied it"] == f"{LIST}/{made.id}"
    assert secret not in admin.open(f"{LIST}/{made.id}").html
    [event] = desk.audit("endpoint.added")
    assert event.actor_label == "admin@acme.test"
    assert secret not in str(event.detail)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"url": "ftp://x.example/", "event_types": "*"}, "url"),
        ({"url": "", "event_types": "*"}, "url"),
        ({"url": "http://127.0.0.1/", "event_types": "*"}, "url"),
        ({"url": "https://x.example/", "event_types": None}, "event_types"),
        ({"url": "https://x.example/", "event_types": "nothing"}, "event_types"),
    ],
)
def test_add_names_the_field_and_keeps_what_was_typed_when_it_can_not_be_used(
    desk, acme, admin, given, field
):
    form = admin.open(f"{LIST}/adding").form("/adding")
    page = admin.press(form, **given)
    assert page.status == 422
    assert f'id="ask-{field}-fault"' in page.html
    assert f'value="{given["url"]}"' in page.html
    assert desk.tell(lambda session: endpoints.of_tenant(session, acme.id)) == []


def test_add_is_refused_when_there_are_as_many_as_there_may_be(
    desk, acme, admin, settings, monkeypatch, endpoint
):
    monkeypatch.setattr(endpoints, "MOST_ENDPOINTS", 1)
    form = admin.open(f"{LIST}/adding").form("/adding")
    page = admin.press(form, url="https://x.example/", event_types="*")
    assert page.status == 409
    assert "There are 1 endpoints already, which is the most." in page.text
    assert [event.result for event in desk.audit("endpoint.added")] == ["success", "refused"]


def test_add_offers_what_this_version_tells_of_and_edit_also_what_was_asked_for(desk, acme, settings, admin):
    html = admin.open(f"{LIST}/adding").html
    assert "a follow-up fired (followup.fired)" in html and "ticket.opened" not in html
    early, _secret = desk.tell(
        lambda session: endpoints.add(
            session,
            acme,
            url="https://early.example/hook",
            event_types=["ticket.opened"],
            settings=settings,
            actor=SETTER_UP,
            now=clock.now(),
        )
    )
    assert 'value="ticket.opened" checked' in admin.open(f"{LIST}/{early.id}/editing").html


def test_edit_shows_the_whole_address_and_changes_it(desk, endpoint, admin):
    form = form_of(admin, endpoint, "editing")
    page = admin.open(f"{LIST}/{endpoint.id}/editing")
    assert 'value="https://hooks.example/secret-path"' in page.html
    answer = admin.press(form, url="https://hooks.example/else", event_types="task.created")
    assert answer.status == 303
    assert "Saved the endpoint." in admin.follow(answer).text
    changed = read(desk, endpoint)
    assert (changed.url, changed.event_types) == ("https://hooks.example/else", ["task.created"])
    [event] = desk.audit("endpoint.updated")
    assert "else" not in str(event.detail["address"])


def test_edit_is_a_conflict_that_keeps_what_was_typed_when_it_changed_meanwhile(
    desk, acme, endpoint, settings, admin
):
    form = form_of(admin, endpoint, "editing")
    pause(desk, acme, endpoint, settings)
    page = admin.press(form, url="https://mine.example/", event_types="task.created")
    assert page.status == 409
    assert "changed since you saw it" in page.text
    assert 'value="https://mine.example/"' in page.html
    assert read(desk, endpoint).url == endpoint.url


def test_pause_says_how_many_wait_and_resume_sends_them(desk, acme, endpoint, admin):
    for _n in range(2):
        deliver(desk, acme, endpoint, State.PENDING)
    page = admin.open(f"{LIST}/{endpoint.id}/pausing")
    assert "Nothing is sent to it until it is resumed: 2 deliveries wait." in page.text
    answer = admin.press(page.form("/pausing"))
    assert "Paused the endpoint." in admin.follow(answer).text
    assert read(desk, endpoint).state == "paused"
    page = admin.open(f"{LIST}/{endpoint.id}/resuming")
    assert "2 deliveries wait: what is due is sent at once, the oldest first." in page.text
    assert "Resumed the endpoint." in admin.follow(admin.press(page.form("/resuming"))).text
    assert [len(desk.audit(f"endpoint.{act}")) for act in ("paused", "resumed")] == [1, 1]


def test_pause_shows_the_page_anew_and_closes_the_dialog_when_htmx_asks(endpoint, admin):
    answer = admin.press(form_of(admin, endpoint, "pausing"), htmx=True)
    assert answer.status == 200
    assert 'hx-target="#endpoint"' in answer.html
    assert '<hx-partial hx-target="#dialog" hx-swap="innerHTML"></hx-partial>' in answer.html
    assert "by admin@acme.test. Nothing is sent to it until it is resumed: no delivery waits." in answer.text


def test_pause_is_off_when_it_was_paused_meanwhile(desk, acme, endpoint, settings, admin):
    form = form_of(admin, endpoint, "pausing")
    pause(desk, acme, endpoint, settings)
    page = admin.press(form)
    assert page.status == 409
    assert "It is paused already." in page.text
    assert len(desk.audit("endpoint.paused")) == 2  # the one, and the refusal of the other


@pytest.mark.parametrize("htmx", [False, True])
def test_test_sends_an_event_to_this_endpoint_alone(desk, acme, endpoint, settings, admin, htmx):
    desk.tell(lambda session: create_endpoint(session, acme, settings, now=clock.now()))
    form = admin.open(f"{LIST}/{endpoint.id}").form("/testing")
    answer = admin.press(form, htmx=htmx)
    page = answer if htmx else admin.follow(answer)
    assert "A test is on its way." in page.text
    assert "it waits for the next run" in page.text
    desk.tell(lambda session: publish(session, now=clock.now(), limit=10))
    [delivery] = desk.tell(lambda session: list(session.scalars(select(Delivery))))
    assert delivery.endpoint_id == endpoint.id
    page = admin.open(f"{LIST}/{endpoint.id}")
    assert "waiting to be sent" in page.text
    assert page.html.count(f'href="/acme/deliveries/{delivery.id}"') == 2


def test_test_is_refused_when_the_endpoint_is_paused(desk, acme, endpoint, settings, admin):
    form = admin.open(f"{LIST}/{endpoint.id}").form("/testing")
    pause(desk, acme, endpoint, settings)
    assert "so nothing is sent to it. Resume it first." in admin.open(f"{LIST}/{endpoint.id}").text
    answer = admin.press(form, htmx=True)
    assert answer.status == 409
    assert desk.tell(lambda session: session.scalar(select(func.count()).select_from(OutboxEvent))) == 0


def test_rotate_shows_the_new_secret_once_and_the_old_one_stops(desk, added, settings, admin):
    endpoint, old = added
    page = admin.open(f"{LIST}/{endpoint.id}/rotation")
    assert "The old secret stops at once" in page.text
    page = admin.press(page.form("/rotation"))
    assert page.status == 200
    [secret] = SECRET.findall(page.html)
    now = read(desk, endpoint)
    assert endpoints.secret_of(now.id, now.secret, settings) == secret != old
    assert len(desk.audit("endpoint.secret_rotated")) == 1


def test_rotate_gives_no_second_secret_when_it_was_rotated_meanwhile(desk, endpoint, admin):
    form = form_of(admin, endpoint, "rotation")
    assert admin.press(form).status == 200
    page = admin.press(form)
    assert page.status == 409
    assert SECRET.findall(page.html) == []


def test_remove_says_how_many_are_given_up_and_forgets_the_secret(desk, acme, endpoint, admin):
    deliver(desk, acme, endpoint, State.PENDING)
    page = admin.open(f"{LIST}/{endpoint.id}/removal")
    assert "1 delivery to it waits, and is given up." in page.text
    answer = admin.press(page.form("/removal"))
    assert answer.headers["Location"] == LIST
    page = admin.follow(answer)
    assert "Removed the endpoint." in page.text and "No endpoint yet" in page.text
    gone = read(desk, endpoint)
    assert (gone.state, gone.secret, gone.url) == ("removed", "", "https://hooks.example")


@pytest.mark.parametrize("role", ["viewer", "marketer", "lead"])
def test_acts_are_off_and_refused_when_the_role_may_only_look(desk, endpoint, visitor, admin, role):
    person = visitor(role)
    page = person.open(f"{LIST}/{endpoint.id}")
    assert page.status == person.open(LIST).status == 200
    assert not [form for form in page.forms if "/endpoints/" in form.action]
    for act in ("adding", f"{endpoint.id}/editing"):
        assert person.open(f"{LIST}/{act}").status == 403
    assert "this needs an admin. Ask an admin of acme." in person.open(f"{LIST}/{endpoint.id}/removal").text
    form = form_of(admin, endpoint, "removal")
    form.fields["csrf_token"] = page.form("/sign-out").fields["csrf_token"]
    for act in ("removal", "rotation", "pausing", "testing"):
        form.action = f"{LIST}/{endpoint.id}/{act}"
        assert person.press(form).status == 403
    assert [event.result for event in desk.audit("endpoint.removed")] == ["refused"]
    assert read(desk, endpoint).state == "active"


def test_secret_is_on_no_page_and_the_row_holds_none_that_can_be_read(desk, added, admin):
    endpoint, secret = added
    for path in (
        LIST,
        f"{LIST}/{endpoint.id}",
        f"{LIST}/{endpoint.id}/editing",
        f"{LIST}/{endpoint.id}/rotation",
    ):
        assert secret not in admin.open(path).html
    assert secret not in read(desk, endpoint).secret
    desk.tell(rollback)


def test_page_says_who_paused_it_when_and_why_until_it_is_resumed(desk, endpoint, admin, lead):
    form = form_of(admin, endpoint, "pausing")
    assert admin.press(form, reason="<b>moving house</b>").status == 303
    page = lead.open(f"{LIST}/{endpoint.id}")
    assert "by admin@acme.test: <b>moving house</b>. Nothing is sent to it until it is resumed" in page.text
    assert "<b>moving" not in page.html
    [event] = desk.audit("endpoint.paused")
    assert event.purpose == "<b>moving house</b>"
    assert admin.press(form_of(admin, endpoint, "resuming")).status == 303
    now = read(desk, endpoint)
    assert (now.paused_at, now.paused_by, now.paused_reason) == (None, None, None)


def test_pause_is_refused_when_its_reason_is_too_long(desk, endpoint, admin):
    answer = admin.press(form_of(admin, endpoint, "pausing"), reason="x" * 201)
    assert answer.status == 422 and read(desk, endpoint).state == "active"


def test_page_counts_what_fails_and_what_was_given_up(desk, acme, endpoint, lead):
    for state in (State.DEAD, State.FAILED, State.FAILED, State.DELIVERED):
        deliver(desk, acme, endpoint, state)
    text = lead.open(f"{LIST}/{endpoint.id}").text
    assert "Failing 2 Given up 1 Failed in a row none" in text
