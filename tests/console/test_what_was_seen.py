"""Nobody acts on what they were not shown: after a mistake in a form, on moved rows, on other addresses."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from models import clock, endpoints
from models.deliveries import Delivery
from models.endpoints import WebhookEndpoint
from models.followups import transitions
from models.followups.firing import fire_due
from tests.console.test_bulk import LIST, WHY, asked, book, confirmed_all, operations, ticks
from tests.console.visiting import SETTER_UP
from tests.support.api import on_sqlite
from tests.support.create import create_followup
from tests.support.declare import declared
from tests.support.deliver import create_delivery, create_endpoint

pytestmark = on_sqlite


def quiet(now):
    return {
        "timezone": "UTC",
        "start": f"{now - timedelta(hours=1):%H:%M}",
        "end": f"{now + timedelta(hours=2):%H:%M}",
    }


@pytest.mark.parametrize("when", ["before the question", "after it"])
def test_row_that_a_run_deferred_into_the_list_is_not_meant_by_all_that_match(desk, acme, lead, when):
    now = clock.now()
    past = now - timedelta(hours=5)

    def fill(session):
        quiet_one = create_followup(
            session, acme, now=past, customer="quiet-one", at=now - timedelta(minutes=3)
        ).id
        at = now + timedelta(hours=6)
        return quiet_one, [
            create_followup(session, acme, now=past, customer=f"c-{n}", at=at).id for n in range(102)
        ]

    quiet_one, rest = desk.tell(fill)
    since = (now + timedelta(hours=1)).astimezone(ZoneInfo(acme.timezone)).strftime("%Y-%m-%dT%H:%M")
    page = lead.open(f"{LIST}?since={since}")
    assert "quiet-one" not in page.text

    def defer():
        declarations = declared(quiet_hours=quiet(now))
        counts = desk.tell(lambda s: fire_due(s, declared=declarations, now=clock.now(), limit=100))
        assert counts.own["deferred"] == 1

    if when == "before the question":
        defer()
    question = lead.press(page.form("/followups/bulk"), all="1", do="cancellation")
    form = next(one for one in question.forms if one.fields.get("number"))
    assert form.fields["number"] == "102"
    if when == "after it":
        defer()
        desk.tell(lambda s: transitions.cancel(s, acme.id, rest[50], actor=SETTER_UP, now=clock.now()))
    lead.press(form, reason=WHY, typed=form.fields["number"])
    [operation] = operations(desk)
    assert operation.requested == (102 if when == "before the question" else 101)
    assert desk.read(acme, quiet_one).status == "pending"


def test_reschedule_is_a_conflict_after_a_mistake_when_the_row_moved_before_it(desk, acme, lead):
    followup = desk.tell(
        lambda s: create_followup(s, acme, now=clock.now() - timedelta(hours=1), customer="c-1")
    )
    question = lead.open(f"/acme/followups/{followup.id}/rescheduling")
    moved_to = clock.now() + timedelta(days=3)
    desk.tell(
        lambda s: transitions.reschedule(s, acme.id, followup.id, moved_to, actor=SETTER_UP, now=clock.now())
    )
    mistaken = lead.press(question.form("/rescheduling"), at="soon")
    assert mistaken.status == 422
    again = lead.press(mistaken.form("/rescheduling"), at="2131-01-01T00:00")
    assert again.status == 409
    assert desk.read(acme, followup.id).at == moved_to


def test_delivery_is_not_sent_elsewhere_after_a_mistake_in_its_question(app, desk, acme, lead):
    settings, now = app.extensions["desk_settings"], clock.now()

    def make(session):
        endpoint, _secret = create_endpoint(session, acme, settings, now=now)
        return endpoint.id, create_delivery(session, acme, endpoint, now=now).id

    endpoint, delivery = desk.tell(make)
    question = lead.open(f"/acme/deliveries/{delivery}/rearming")
    move(desk, acme, settings, endpoint)
    mistaken = lead.press(question.form("/rearming"), reason=" ")
    assert mistaken.status == 422
    assert lead.press(mistaken.form("/rearming"), reason=WHY).status == 409
    assert desk.tell(lambda s: s.get_one(Delivery, delivery).state) == "dead"


def test_question_names_every_address_that_deliveries_go_to(app, desk, acme, lead):
    settings, now = app.extensions["desk_settings"], clock.now()

    def make(session):
        old, _ = create_endpoint(
            session, acme, settings, now=now, url="https://old-y.example/a", event_types=["followup.blocked"]
        )
        other, _ = create_endpoint(session, acme, settings, now=now, event_types=["followup.fired"])
        long_ago = now - timedelta(minutes=5)
        create_delivery(session, acme, old, now=long_ago, event_type="followup.blocked")
        for _number in range(5):
            create_delivery(session, acme, other, now=now)
        return old.id

    moved = desk.tell(make)
    page = lead.open("/acme/deliveries?tab=dead")
    move(desk, acme, settings, moved)
    question = lead.press(page.form("/deliveries/bulk"), do="rearming", row=ticks(page))
    assert "https://new-y.example (1)" in question.text


def move(desk, tenant, settings, endpoint):
    desk.tell(
        lambda s: endpoints.update(
            s,
            tenant.id,
            endpoint,
            url="https://new-y.example/b",
            settings=settings,
            actor=SETTER_UP,
            now=clock.now(),
        )
    )
    found = desk.tell(lambda s: list(s.scalars(select(WebhookEndpoint.url))))
    assert "https://new-y.example/b" in found


def test_operation_says_that_all_that_matched_was_meant_though_it_named_each(desk, acme, lead):
    book(desk, acme, 2)
    confirmed_all(lead, asked(lead, every=True))
    [operation] = operations(desk)
    assert operation.watermark is not None
    assert "chosen one by one" not in lead.open(f"/acme/bulk/{operation.id}").text
