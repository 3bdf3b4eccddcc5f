"""Taking a cancel back from the console: offered as long as it is true, done once, by whoever may act."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select, update

from models import bulk, clock
from models.actors import Actor
from models.audit import AuditEvent
from models.followups import contacts, transitions
from models.followups.records import FollowUp
from models.operators import Role
from tests.console.test_cancel import LIST, cancel_form
from tests.support.api import on_sqlite

PERSON = Actor.operator("99", "other@acme.test")
SECOND = timedelta(seconds=1)


def again(desk, followup):
    """What was booked again from it."""
    query = select(FollowUp).where(FollowUp.rearmed_from == followup.id)
    return desk.tell(lambda session: session.scalars(query).all())


def cancelled(desk, tenant, *, ago=SECOND, actor=PERSON, **given):
    followup = desk.followup(tenant, **given)
    at = clock.now() - ago
    desk.tell(lambda session: transitions.cancel(session, tenant.id, followup.id, actor=actor, now=at))
    return followup


def due_soon(desk, tenant, *, cancelled=False):
    """Due in less than the five minutes that a booking needs."""
    followup = desk.followup(tenant, reason="soon")
    at, now = clock.now() + timedelta(minutes=4), clock.now()

    def work(session):
        transitions.reschedule(session, tenant.id, followup.id, at, actor=PERSON, now=now)
        if cancelled:
            transitions.cancel(session, tenant.id, followup.id, actor=PERSON, now=now)

    desk.tell(work)
    return followup


def undo_form(person, followup):
    """The form on the page of a cancelled one."""
    return person.open(f"{LIST}/{followup.id}").form("/restoration")


def test_cancel_offers_to_take_it_back_and_the_row_is_replaced_when_that_is_pressed(desk, acme, lead):
    followup = desk.followup(acme)
    page = lead.press(cancel_form(lead, followup), htmx=True)
    assert "Undo the cancel of the follow-up to c-1" in page.text
    form = page.form("/restoration")
    assert 25 <= int(page.html.partition('data-left="')[2].partition('"')[0]) <= 30
    answer = lead.press(form, htmx=True)
    assert answer.status == 200
    [made] = again(desk, followup)
    assert f'hx-target="#followup-{followup.id}"' in answer.html
    assert f"followup-{made.id}" in answer.ids and f"followup-{followup.id}" not in answer.ids
    assert "Taken back: the follow-up to c-1 is booked again, for" in answer.text
    assert 'class="gone"' not in answer.html
    assert (made.status, made.at) == ("pending", followup.at)
    [event] = desk.audit("followup.rearmed")
    assert (event.resource_id, event.purpose, event.result) == (str(made.id), "undo", "success")


def put_off(desk, tenant):
    """Its own time is past; quiet hours put it off to a time that is far enough ahead."""
    followup = desk.followup(tenant)
    now = clock.now()
    times = {"at": now - timedelta(hours=1), "deferred_until": now + timedelta(hours=5)}

    def work(session):
        bulk.execute_unaudited(session, update(FollowUp).where(FollowUp.id == followup.id).values(**times))

    desk.tell(work)
    return followup


@pytest.mark.parametrize("htmx", [True, False], ids=["with a script", "without"])
@pytest.mark.parametrize("made", [due_soon, put_off])
def test_cancel_says_that_it_is_not_taken_back_and_what_helps_when_it_is_due_too_soon(
    desk, acme, lead, made, htmx
):
    followup = made(desk, acme)
    answer = lead.press(cancel_form(lead, followup), htmx=htmx)
    page = answer if htmx else lead.follow(answer)
    assert "Cancelled the follow-up to c-1. It was due too soon to be taken back." in page.text
    assert not [form for form in page.forms if form.action.endswith("/restoration")]
    way = page.links["Re-arm it for later instead"].replace("&amp;", "&")
    assert way.startswith(f"{LIST}/{followup.id}/rearming")
    assert lead.open(way).form("/rearming")


def test_undo_leads_back_to_the_list_when_there_is_no_script(desk, acme, lead):
    followup = desk.followup(acme)
    listed = lead.press(cancel_form(lead, followup))
    answer = lead.press(lead.follow(listed).form("/restoration"))
    assert (answer.status, answer.headers["Location"]) == (303, listed.headers["Location"])
    page = lead.follow(answer)
    assert "Taken back: the follow-up to c-1" in page.text
    assert f"followup-{again(desk, followup)[0].id}" in page.ids
    # The offer was for the page after the act.
    assert not [form for form in lead.open(LIST).forms if form.action.endswith("/restoration")]


def test_undo_leads_to_the_new_one_when_it_is_pressed_on_the_page_of_the_cancelled(desk, acme, lead):
    followup = cancelled(desk, acme)
    form = undo_form(lead, followup)
    answer = lead.press(form, htmx=True)
    [made] = again(desk, followup)
    assert answer.headers["HX-Redirect"].startswith(f"{LIST}/{made.id}")
    page = lead.open(answer.headers["HX-Redirect"])
    assert "Taken back" in page.text and "Booked again from" in page.text
    assert "Booked again by lead@acme.test: its cancel was taken back" in page.text


@pytest.mark.parametrize("htmx", [True, False])
def test_undo_is_refused_with_the_time_when_it_is_too_late(desk, acme, lead, htmx):
    followup = cancelled(desk, acme, ago=42 * SECOND)
    form = lead.open(f"{LIST}/{followup.id}").form("/sign-out")
    form.action = f"{LIST}/{followup.id}/restoration"
    answer = lead.press(form, htmx=htmx, shown="row")
    page = answer if htmx else lead.follow(answer)
    text = page.text
    assert answer.status == (409 if htmx else 303)
    assert "so it can't be taken back. Re-arm it instead." in text
    assert "Not taken back, the follow-up to c-1: Cancelled 4" in text
    if htmx:
        assert f"followup-{followup.id}" in answer.ids
    assert again(desk, followup) == []
    assert page.links["Show it"].startswith(f"{LIST}/{followup.id}")
    assert desk.audit("followup.rearmed") == []
    [event] = desk.audit("followup.restored")
    assert (event.result, event.resource_id) == ("refused", str(followup.id))
    assert "Undo refused" in lead.open(f"{LIST}/{followup.id}").text


def test_undo_acts_once_when_it_is_pressed_twice(desk, acme, lead):
    followup = cancelled(desk, acme)
    form = undo_form(lead, followup)
    lead.press(form, htmx=True)
    answer = lead.press(form, htmx=True, shown="row")
    assert answer.status == 409
    assert "It was booked again already, so there is nothing to take back." in answer.text
    assert len(again(desk, followup)) == 1


def test_undo_leads_to_the_pending_one_when_the_same_was_booked_meanwhile(desk, acme, lead):
    followup = cancelled(desk, acme)
    form = undo_form(lead, followup)
    other = desk.followup(acme)
    answer = lead.press(form, htmx=True, shown="row")
    assert answer.status == 409
    assert answer.links["Show the pending one"] == f"{LIST}/{other.id}"
    assert again(desk, followup) == []


@on_sqlite
def test_undo_is_not_offered_when_it_can_not_be(desk, acme, lead, visitor):
    def is_offered(followup, person=lead):
        page = person.open(f"{LIST}/{followup.id}")
        return any(form.action.endswith("/restoration") for form in page.forms)

    now = clock.now()
    assert is_offered(cancelled(desk, acme))
    assert not is_offered(cancelled(desk, acme, reason="late", ago=31 * SECOND))
    assert not is_offered(cancelled(desk, acme, reason="api", actor=Actor.api("1", "tests")))
    assert not is_offered(due_soon(desk, acme, cancelled=True))
    viewed = cancelled(desk, acme, reason="viewed")
    assert not is_offered(viewed, visitor(Role.VIEWER))
    assert not is_offered(desk.followup(acme, reason="pending"))
    desk.tell(lambda session: contacts.revoke(session, acme, "c-1", by="operator", actor=PERSON, now=now))
    assert not is_offered(viewed)


@on_sqlite
def test_cancel_offers_nothing_when_it_is_due_too_soon_to_be_booked_again(desk, acme, lead):
    page = lead.press(cancel_form(lead, due_soon(desk, acme)), htmx=True)
    assert page.status == 200 and "Undo" not in page.text


@on_sqlite
@pytest.mark.parametrize("role", list(Role))
def test_undo_is_for_marketers_and_above_when_it_is_pressed(desk, acme, visitor, role):
    followup = cancelled(desk, acme)
    person = visitor(role)
    form = person.open(LIST).form("/sign-out")
    form.action = f"{LIST}/{followup.id}/restoration"
    allowed = role != Role.VIEWER
    assert person.press(form, htmx=True, shown="row").status == (200 if allowed else 403)
    assert len(again(desk, followup)) == allowed
    [event] = desk.audit("followup.rearmed" if allowed else "followup.restored")
    assert event.result == ("success" if allowed else "refused")


@on_sqlite
def test_undo_finds_nothing_when_it_is_of_another_tenant(desk, acme, lead):
    other = desk.tenant("other")
    theirs = cancelled(desk, other)
    form = lead.open(LIST).form("/sign-out")
    before = desk.tell(lambda session: len(session.scalars(select(AuditEvent.id)).all()))
    for id in (theirs.id, uuid4()):
        form.action = f"{LIST}/{id}/restoration"
        assert lead.press(form, htmx=True, shown="row").status == 404
    assert again(desk, theirs) == []
    assert desk.tell(lambda session: len(session.scalars(select(AuditEvent.id)).all())) == before


@on_sqlite
def test_undo_offer_is_text_when_a_customer_is_named_as_markup(desk, acme, lead):
    followup = desk.followup(acme, customer="<b>\"x'")
    for htmx in (True, False):
        answer = lead.press(cancel_form(lead, followup), htmx=htmx)
        page = answer if htmx else lead.follow(answer)
        assert "&lt;b&gt;&#34;x&#39;" in page.html and '<b>"x' not in page.html
        lead.press(page.form("/restoration"), htmx=htmx)
        [followup] = again(desk, followup)
