"""The deliveries pages: what was told to whom, and what a person does about what was not."""

import dataclasses
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from desk_ui.deliveries import answers, queries
from jobs.redis import connect
from models import clock, deliveries, endpoints, sending
from models.deliveries import Delivery, Outcome, State
from models.transactions import rollback
from tests.console.counting import selects
from tests.console.visiting import SETTER_UP
from tests.support import redis
from tests.support.deliver import OUTCOMES, create_delivery, create_endpoint

LIST = "/acme/deliveries"


@pytest.fixture
def settings(app):
    return app.extensions["desk_settings"]


@pytest.fixture
def endpoint(desk, acme, settings):
    return desk.tell(lambda session: create_endpoint(session, acme, settings, now=clock.now())[0])


@pytest.fixture
def delivered(desk, acme, endpoint):
    """`delivered(State.DEAD)`: a delivery in that state."""

    def make(state=State.DEAD, **given):
        return desk.tell(
            lambda session: create_delivery(session, acme, endpoint, now=clock.now(), state=state, **given)
        )

    return make


def read(desk, delivery):
    return desk.tell(lambda session: session.get_one(Delivery, delivery.id))


def history(desk, delivery):
    return desk.tell(
        lambda session: [
            (event.actor, event.to_state, event.error) for event in deliveries.history(session, delivery)
        ]
    )


def one(delivery):
    return f"{LIST}/{delivery.id}"


def asked(visitor, delivery, shown="row"):
    return visitor.open(f"{one(delivery)}/rearming?shown={shown}&list=tab%3Ddead")


def form_of(visitor, delivery, **given):
    return asked(visitor, delivery, **given).form("/rearming")


def pause(desk, acme, endpoint, settings):
    desk.tell(
        lambda session: endpoints.update(
            session,
            acme.id,
            endpoint.id,
            active=False,
            settings=settings,
            actor=SETTER_UP,
            now=clock.now(),
        )
    )


def remove(desk, acme, endpoint):
    desk.tell(
        lambda session: endpoints.remove(session, acme.id, endpoint.id, actor=SETTER_UP, now=clock.now())
    )


@pytest.mark.parametrize(
    ("tab", "state", "word"),
    [
        ("", State.FAILED, "Failing"),
        ("?tab=dead", State.DEAD, "Given up"),
        ("?tab=pending", State.PENDING, "Pending"),
        ("?tab=pending", State.DELIVERING, "Being sent"),
        ("?tab=delivered", State.DELIVERED, "Delivered"),
    ],
)
def test_list_shows_a_delivery_in_the_tab_of_its_state_alone(delivered, lead, tab, state, word):
    delivery = delivered(state)
    for query in ("", "?tab=dead", "?tab=pending", "?tab=delivered"):
        page = lead.open(f"{LIST}{query}")
        assert (f"delivery-{delivery.id}" in page.ids) == (query == tab), query
    page = lead.open(f"{LIST}{tab}")
    for words in (word, "followup.fired", "https://hooks.example", "contact 1"):
        assert words in page.text
    assert "secret-path" not in page.html


def test_list_links_to_the_follow_up_that_an_event_is_about(delivered, lead):
    id = str(uuid4())
    delivered(aggregate=("followup", id), payload={"followup_id": id})
    delivered(aggregate=("task", str(uuid4())), payload={"followup_id": id, "task_id": "t"})
    delivered(aggregate=("followup", "odd"), payload={"followup_id": "odd"})
    page = lead.open(f"{LIST}?tab=dead")
    assert page.html.count(f'href="/acme/followups/{id}"') == 2
    assert "follow-up odd" in page.text


def test_list_says_that_there_is_no_endpoint_and_offers_an_admin_to_add_one(lead, visitor):
    page = lead.open(LIST)
    assert "No endpoint yet" in page.text and "Nothing is failing" not in page.text
    assert "Add an endpoint" not in page.links
    assert visitor("admin").open(LIST).links["Add an endpoint"] == "/acme/endpoints/adding"


def test_list_says_that_nothing_is_failing_when_there_is_none(endpoint, lead):
    page = lead.open(LIST)
    assert "Nothing is failing" in page.text
    assert "Nothing matches" in lead.open(f"{LIST}?event=task.created").text


def test_list_narrows_by_endpoint_event_and_time(desk, acme, settings, endpoint, delivered, lead):
    dead = delivered()
    other = desk.tell(
        lambda session: create_endpoint(
            session,
            acme,
            settings,
            now=clock.now(),
            url="https://other.example/",
            event_types=["task.created"],
        )[0]
    )
    for query, found in (
        (f"receiver={endpoint.id}", True),
        (f"receiver={other.id}", False),
        ("event=followup.fired", True),
        ("event=task.created", False),
        ("since=2020-01-01T00:00", True),
        ("until=2020-01-01T00:00", False),
    ):
        page = lead.open(f"{LIST}?tab=dead&{query}")
        assert (f"delivery-{dead.id}" in page.ids) == found, query
    assert "Endpoint: https://hooks.example" in lead.open(f"{LIST}?tab=dead&receiver={endpoint.id}").text


@pytest.mark.parametrize("query", ["receiver=no-id", "event=nothing", "since=noon", "after=odd", "tab=odd"])
def test_list_leaves_out_and_says_so_when_a_filter_can_not_be_used(delivered, lead, query):
    delivery = delivered(State.FAILED)
    page = lead.open(f"{LIST}?{query}")
    assert page.status == 200
    assert f"delivery-{delivery.id}" in page.ids
    assert "left out" in page.text or "is shown" in page.text or "at its start" in page.text


def test_list_goes_on_after_the_last_row_of_a_page(desk, acme, endpoint, delivered, lead, monkeypatch):
    monkeypatch.setattr(queries, "ROWS", 2)
    made = {delivered(state).id for state in (State.PENDING, State.DELIVERING, State.PENDING)}
    first = lead.open(f"{LIST}?tab=pending")
    second = lead.open(first.links["Later ones"])
    rows = [id for page in (first, second) for id in page.ids if id.startswith("delivery-")]
    assert sorted(rows) == sorted(f"delivery-{id}" for id in made)
    assert "Later ones" not in second.links


def test_counts_follow_the_filters(delivered, lead):
    for state in (State.PENDING, State.DELIVERING, State.DEAD):
        delivered(state)
    text = lead.block(f"{LIST}/counts").text
    assert text.startswith("Failing 0 Given up 1 Pending 2 Delivered 0")
    none = lead.block(f"{LIST}/counts?event=task.created").text
    assert none.startswith("Failing 0 Given up 0 Pending 0 Delivered 0")


def test_page_tells_of_each_attempt_when_it_is_dead(delivered, lead):
    delivery = delivered(payload={"followup_id": "<b>f</b>", "n": 3})
    page = lead.open(one(delivery))
    assert page.status == 200
    for words in (
        "A follow-up fired, told to https://hooks.example",
        "Attempt 1: failed, given up",
        "Answered 410: the receiver says that it is gone, so this is not tried again.",
        "took 21 ms",
        f"evt_{delivery.event_id}",
        "Nothing more is sent unless it is re-armed.",
    ):
        assert words in page.text, words
    assert "&lt;b&gt;f&lt;/b&gt;" in page.html
    assert "secret-path" not in page.html
    assert page.links["Deliveries, given up"] == f"{LIST}?tab=dead"


@pytest.mark.parametrize("state", list(State))
def test_page_says_how_it_stands_in_each_state(delivered, lead, state):
    says = {
        State.PENDING: "It is due, and the next run takes it.",
        State.DELIVERING: "Taken to be sent",
        State.DELIVERED: "after 1 attempt.",
        State.FAILED: "The next attempt is in",
        State.DEAD: "Given up",
    }
    assert says[state] in lead.open(one(delivered(state))).text


def test_page_is_not_found_when_there_is_no_such_delivery(desk, settings, lead):
    other = desk.tenant("other")

    def make(session):
        endpoint, _secret = create_endpoint(session, other, settings, now=clock.now())
        return create_delivery(session, other, endpoint, now=clock.now())

    foreign = desk.tell(make)
    for path in (one(foreign), f"{one(foreign)}/rearming", f"{LIST}/{2**63 - 1}", f"{LIST}/{2**70}"):
        assert lead.open(path).status == 404, path


def test_rearm_says_that_the_receiver_may_get_it_twice_when_it_asks(delivered, lead):
    delivery = delivered()
    page = asked(lead, delivery)
    for words in (
        "Re-arm the delivery to https://hooks.example",
        "Then it gets it a second time",
        f"webhook-id evt_{delivery.event_id}",
        "with 12 attempts",
        "Why is it sent again?",
    ):
        assert words in page.text, words


def test_rearm_makes_it_due_and_comes_back_to_the_list_when_there_is_no_script(desk, delivered, lead):
    delivery = delivered()
    answer = lead.press(form_of(lead, delivery), reason="their disk was full")
    assert answer.status == 303
    assert answer.headers["Location"] == f"{LIST}?tab=dead"
    assert "Re-armed." in lead.follow(answer).text
    armed = read(desk, delivery)
    assert (armed.state, armed.attempts) == ("pending", 0)
    assert history(desk, delivery)[-1] == ("lead@acme.test", "pending", "their disk was full")
    assert "Re-armed by lead@acme.test : their disk was full" in lead.open(one(delivery)).text


@pytest.mark.parametrize(("shown", "place"), [("row", "#delivery-{}"), ("panel", "#delivery")])
def test_rearm_shows_it_anew_and_closes_the_dialog_when_htmx_asks(delivered, lead, shown, place):
    delivery = delivered()
    answer = lead.press(form_of(lead, delivery, shown=shown), htmx=True, reason="again")
    assert answer.status == 200
    assert f'hx-target="{place.format(delivery.id)}"' in answer.html
    assert '<hx-partial hx-target="#dialog" hx-swap="innerHTML"></hx-partial>' in answer.html
    assert "Re-armed." in answer.text and "Pending" in answer.text


@pytest.mark.parametrize("act", ["rearming", "sending"])
def test_act_wakes_the_delivery_when_it_is_committed(app, delivered, lead, tmp_path, monkeypatch, act):
    with redis.server(tmp_path) as server:
        settings = dataclasses.replace(app.extensions["desk_settings"], redis_url=server.url)
        monkeypatch.setitem(app.extensions, "desk_settings", settings)
        client = connect(settings)
        if act == "rearming":
            form = form_of(lead, delivered())
            assert lead.press(form, reason="").status == 422
        else:
            form = sending_form(lead, delivered(State.FAILED))
        assert client.llen("rq:queue:delivery") == 0
        assert lead.press(form, reason="again").status == 303
        assert client.llen("rq:queue:delivery") == 1


def test_rearm_needs_a_reason(desk, delivered, lead):
    delivery = delivered()
    for reason in ("", "   ", "x" * 501):
        answer = lead.press(form_of(lead, delivery), reason=reason)
        assert answer.status == 422
        assert 'id="ask-reason-fault"' in answer.html
    assert read(desk, delivery).state == "dead"


def test_rearm_is_a_conflict_that_keeps_what_was_typed_when_it_was_rearmed_meanwhile(
    desk, acme, delivered, lead
):
    delivery = delivered()
    form = form_of(lead, delivery)
    desk.tell(
        lambda session: deliveries.rearm(
            session, acme.id, delivery.id, reason="first", actor=SETTER_UP, now=clock.now()
        )
    )
    answer = lead.press(form, reason="me too")
    assert answer.status == 409
    assert (
        "This delivery changed since you saw it, so nothing was done. It is waiting to be sent."
        in answer.text
    )
    assert "me too</textarea>" in answer.html
    assert [error for _who, to, error in history(desk, delivery) if to == "pending"] == ["first"]
    [event] = desk.audit("delivery.rearmed")
    assert (event.result, event.resource_id) == ("refused", str(delivery.id))
    assert event.detail == {"state": "pending"}


def test_rearm_is_refused_with_when_it_was_delivered_when_it_arrived_meanwhile(
    desk, acme, endpoint, delivered, lead
):
    delivery = delivered()
    form = form_of(lead, delivery)

    def deliver(session):
        now = clock.now()
        deliveries.rearm(session, acme.id, delivery.id, reason="r", actor=SETTER_UP, now=now)
        [parcel] = sending.claim(session, endpoint.id, now=now, limit=1)
        sending.record(session, parcel, OUTCOMES[State.DELIVERED], now=now)

    desk.tell(deliver)
    answer = lead.press(form, reason="again")
    assert answer.status == 409
    assert "so it can't be re-armed." in answer.text


def test_rearm_is_off_when_its_endpoint_was_removed(desk, acme, endpoint, delivered, lead):
    delivery = delivered()
    form = form_of(lead, delivery)
    remove(desk, acme, endpoint)
    page = lead.open(one(delivery))
    assert "Its endpoint was removed, so this delivery can't be sent any more." in page.text
    assert not [form for form in page.forms if form.action.endswith("/rearming")]
    assert lead.press(form, reason="again").status == 409
    assert "removed" in lead.open(f"{LIST}?tab=dead&receiver={endpoint.id}").text


def test_rearm_says_that_it_waits_when_its_endpoint_is_paused(
    desk, acme, endpoint, settings, delivered, lead
):
    delivery = delivered()
    pause(desk, acme, endpoint, settings)
    page = asked(lead, delivery)
    assert "Its endpoint is paused, so it is sent when that is resumed" in page.text
    assert lead.press(page.form("/rearming"), reason="again").status == 303
    listed = lead.open(f"{LIST}?tab=pending")
    assert "Re-armed. Its endpoint is paused, so it waits until that is resumed." in listed.text
    assert "waits until its endpoint is resumed" in listed.text
    row = listed.html.split(f'id="delivery-{delivery.id}"')[1].split("</tr>")[0]
    assert "<time" not in row
    shown = lead.open(one(delivery)).text
    assert "Next attempt when its endpoint is resumed" in shown
    assert "Re-armed by lead@acme.test : again" in shown


def sending_form(visitor, delivery, path=LIST):
    return visitor.open(path).form(f"{delivery.id}/sending")


def test_send_now_makes_it_due_when_it_waits(desk, delivered, lead):
    delivery = delivered(State.FAILED)
    answer = lead.press(sending_form(lead, delivery))
    assert answer.status == 303
    assert "It is due now" in lead.follow(answer).text
    assert read(desk, delivery).next_attempt_at <= clock.now()
    assert history(desk, delivery)[-1] == ("lead@acme.test", "failed", "Sent ahead of its time.")
    assert "Sent ahead of its time by lead@acme.test" in lead.open(one(delivery)).text


def test_send_now_shows_the_row_anew_when_htmx_asks(delivered, lead):
    delivery = delivered(State.FAILED)
    answer = lead.press(sending_form(lead, delivery), htmx=True)
    assert answer.status == 200
    assert f'id="delivery-{delivery.id}"' in answer.html
    assert "due, the next run takes it" in answer.text


def test_send_now_is_a_conflict_when_it_moved(desk, endpoint, delivered, lead):
    delivery = delivered(State.FAILED)
    form = sending_form(lead, delivery)

    def give_up(session):
        later = clock.now() + timedelta(hours=1)
        [parcel] = sending.claim(session, endpoint.id, now=later, limit=1)
        sending.record(session, parcel, Outcome(410, "Answered 410.", 1), now=later)

    desk.tell(give_up)
    answer = lead.press(form, htmx=True)
    assert answer.status == 409
    assert "It is given up." in answer.text
    assert [event.result for event in desk.audit("delivery.sent_now")] == ["refused"]


def test_send_now_is_off_when_its_endpoint_is_paused(desk, acme, endpoint, settings, delivered, lead):
    delivery = delivered(State.FAILED)
    form = sending_form(lead, delivery)
    pause(desk, acme, endpoint, settings)
    assert not [form for form in lead.open(LIST).forms if form.action.endswith("/sending")]
    assert "Its endpoint is paused, so nothing is sent to it." in lead.open(one(delivery)).text
    assert lead.press(form, htmx=True).status == 409


def test_acts_are_not_found_when_the_delivery_is_of_another_tenant(desk, settings, delivered, lead):
    other = desk.tenant("other")

    def make(session):
        endpoint, _secret = create_endpoint(session, other, settings, now=clock.now())
        return create_delivery(session, other, endpoint, now=clock.now())

    foreign = desk.tell(make)
    form = form_of(lead, delivered())
    for act in ("rearming", "sending"):
        form.action = f"{one(foreign)}/{act}"
        assert lead.press(form, reason="again").status == 404
    assert read(desk, foreign).state == "dead"


@pytest.mark.parametrize("role", ["viewer", "marketer"])
def test_acts_are_refused_and_audited_when_the_role_may_only_look(desk, delivered, visitor, lead, role):
    dead, failed = delivered(), delivered(State.FAILED)
    person = visitor(role)
    page = person.open(f"{LIST}?tab=dead")
    assert f"delivery-{dead.id}" in page.ids
    assert "sending and re-arming needs the role lead or admin" in page.text
    assert not [form for form in page.forms if form.action.endswith("/rearming")]
    form = form_of(lead, dead)
    form.fields["csrf_token"] = page.form("/sign-out").fields["csrf_token"]
    for delivery, act in ((dead, "rearming"), (failed, "sending")):
        form.action = f"{one(delivery)}/{act}"
        assert person.press(form, reason="again").status == 403
    assert [event.purpose for event in desk.audit("delivery.rearmed")] == ["role"]
    assert read(desk, dead).state == "dead"


def test_pages_ask_the_database_no_more_for_many_rows_than_for_one(app, delivered, lead):
    delivered()
    lead.open(f"{LIST}?tab=dead")  # how the sweeps stand is read once for some seconds
    seen = []
    for more in (0, 12):
        for _n in range(more):
            delivered()
        with selects(app) as found:
            page = lead.open(f"{LIST}?tab=dead")
        seen.append(len(found))
    assert len([id for id in page.ids if id.startswith("delivery-")]) == 13
    assert seen[0] == seen[1] <= 8, seen


def test_names_in_a_list_tell_endpoints_of_one_host_apart(desk, acme, settings, endpoint, lead):
    twin = desk.tell(
        lambda session: create_endpoint(
            session, acme, settings, now=clock.now(), url="https://hooks.example/other"
        )[0]
    )
    page = lead.open(LIST)
    assert f"https://hooks.example ({str(twin.id)[:8]})" in page.text
    assert isinstance(twin.id, UUID)


def test_long_error_with_markup_is_text_when_it_is_shown(desk, acme, endpoint, delivered, lead):
    delivery = delivered(State.DELIVERING)
    words = "<script>x</script>" + "y" * 400

    def fail(session):
        found = deliveries.get(session, acme.id, delivery.id)
        parcel = sending._parcel(found, _event(session, found), _endpoint(session, found), clock.now())
        rollback(session)
        sending.record(session, parcel, Outcome(None, words, 5), now=clock.now())

    desk.tell(fail)
    for path in (LIST, one(delivery)):
        page = lead.open(path)
        assert "<script>x" not in page.html and "&lt;script&gt;x" in page.html


def _event(session, delivery):
    from models.outbox import OutboxEvent

    return session.get_one(OutboxEvent, delivery.event_id)


def _endpoint(session, delivery):
    from models.endpoints import WebhookEndpoint

    return session.get_one(WebhookEndpoint, delivery.endpoint_id)


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (404, "Answered 404.", "Answered 404: the receiver has nothing at this address."),
        (422, "Answered 422.", "Answered 422: the receiver refused it."),
        (503, "Answered 503.", "Answered 503: the receiver is not available at the moment."),
        (500, "Answered 500.", "Answered 500: something went wrong at the receiver."),
        (204, None, "Answered 204."),
        (
            None,
            "No connection: [Errno 111] Connection refused.",
            "The connection was refused: nothing listens",
        ),
        (None, "The name x.test can't be resolved.", "There is no server of the name x.test."),
        (None, "There was no whole answer within 10 s.", "There was no whole answer within 10 s."),
        (302, "Answered 302: redirects are not followed.", "Answered 302: redirects are not followed."),
        (None, None, ""),
    ],
)
def test_answer_says_what_it_means(app, status, error, said):
    with app.test_request_context("/"):
        found = answers.says(status, error)
    assert found.startswith(said) and bool(found) == bool(said)


def move(desk, acme, endpoint, settings, url="https://elsewhere.example/other-path"):
    desk.tell(
        lambda session: endpoints.update(
            session, acme.id, endpoint.id, url=url, settings=settings, actor=SETTER_UP, now=clock.now()
        )
    )


MOVED = "The address of its endpoint changed since you saw it, so nothing was done."


@pytest.mark.parametrize("htmx", [True, False], ids=["htmx", "plain"])
def test_rearm_is_a_conflict_that_asks_anew_when_it_would_go_to_another_address(
    desk, acme, endpoint, settings, delivered, lead, htmx
):
    delivery = delivered()
    form = form_of(lead, delivery)
    move(desk, acme, endpoint, settings)
    answer = lead.press(form, htmx=htmx, reason="it is back")
    assert answer.status == 409
    assert f"{MOVED} It is at https://elsewhere.example now." in answer.text
    assert "Re-arm the delivery to https://elsewhere.example" in answer.text
    assert "it is back</textarea>" in answer.html
    assert read(desk, delivery).state == "dead"
    assert [event.result for event in desk.audit("delivery.rearmed")] == ["refused"]
    # Who read that presses on, and it goes where the question says.
    again = answer.form("/rearming")
    assert lead.press(again, reason="it is back").status == 303
    assert read(desk, delivery).state == "pending"


def test_rearm_is_a_conflict_when_the_address_changed_behind_the_same_name(
    desk, acme, endpoint, settings, delivered, lead
):
    delivery = delivered()
    form = form_of(lead, delivery)
    move(desk, acme, endpoint, settings, url="https://hooks.example/of-another-team")
    answer = lead.press(form, reason="again")
    assert answer.status == 409 and MOVED in answer.text
    assert "of-another-team" not in answer.html
    assert read(desk, delivery).state == "dead"


@pytest.mark.parametrize("path", [LIST, None], ids=["list", "page"])
def test_send_now_is_a_conflict_when_it_would_go_to_another_address(
    desk, acme, endpoint, settings, delivered, lead, path
):
    delivery = delivered(State.FAILED)
    form = sending_form(lead, delivery, path or one(delivery))
    move(desk, acme, endpoint, settings)
    answer = lead.press(form, htmx=True)
    assert answer.status == 409
    assert f"{MOVED} It is at https://elsewhere.example now." in answer.text
    assert history(desk, delivery)[-1][2] != "Sent ahead of its time."
    assert lead.press(sending_form(lead, delivery, path or one(delivery))).status == 303


def test_acts_stand_when_the_endpoint_changed_but_for_its_address(
    desk, acme, endpoint, settings, delivered, lead
):
    dead, failed = delivered(), delivered(State.FAILED)
    forms = form_of(lead, dead), sending_form(lead, failed)
    pause(desk, acme, endpoint, settings)
    change = {"settings": settings, "actor": SETTER_UP, "now": clock.now()}
    desk.tell(lambda session: endpoints.rotate_secret(session, acme.id, endpoint.id, **change))
    desk.tell(lambda session: endpoints.update(session, acme.id, endpoint.id, active=True, **change))
    for form in forms:
        assert lead.press(form, reason="again").status == 303


@pytest.mark.parametrize("given", [None, "", "x", "x.1", f"{UUID(int=7)}.x", f"{UUID(int=7)}.99999999999"])
def test_acts_are_refused_when_the_form_does_not_say_which_address_it_showed(desk, delivered, lead, given):
    dead, failed = delivered(), delivered(State.FAILED)
    for form in (form_of(lead, dead), sending_form(lead, failed)):
        answer = lead.press(form, reason="again", htmx=True, addresses=given)
        assert answer.status == 422
        assert "addresses are missing; reload the page and try again." in answer.text
    assert read(desk, dead).state == "dead"
