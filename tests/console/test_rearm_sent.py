"""Booking again when the same went out meanwhile: the question says so, and a stale one is refused."""

from datetime import UTC, datetime, timedelta

from models import clock
from models.followups.firing import fire_due
from tests.console.test_rearm import LIST, WHEN, asked, cancelled, form_of
from tests.support.declare import declared

LONG_AFTER = datetime(2100, 1, 1, tzinfo=UTC)
FIRED = "by another follow-up: its message may have gone out."


def fire_what_waits(desk):
    later = clock.now() + timedelta(hours=2)
    desk.tell(lambda session: fire_due(session, declared=declared(), now=later, limit=100))


def test_stale_question_is_refused_and_says_it_when_what_was_booked_from_it_fired(desk, acme, lead, visitor):
    followup = cancelled(desk, acme)
    form = form_of(lead, followup)
    other = visitor("marketer")
    assert other.press(form_of(other, followup), **WHEN).status == 303
    desk.tell(lambda session: fire_due(session, declared=declared(), now=LONG_AFTER, limit=100))
    for htmx in (False, True):
        answer = lead.press(form, htmx=htmx, **WHEN)
        assert answer.status == 409
        assert "Nothing was booked." in answer.text and FIRED in answer.text
        assert f'value="{WHEN["reason"]}"' in answer.html
    assert [event.result for event in desk.audit("followup.rearmed")] == ["success", "refused", "refused"]


def test_question_says_that_the_same_fired_and_a_person_may_book_it_still(desk, acme, lead):
    followup = cancelled(desk, acme)
    same = desk.followup(acme)
    fire_what_waits(desk)
    page = asked(lead, followup)
    assert FIRED in page.text
    assert page.links["Show that one"] == f"{LIST}/{same.id}"
    assert lead.press(form_of(lead, followup), **WHEN).status == 303


def test_form_that_says_nothing_of_what_was_known_is_refused_when_there_is_more(desk, acme, lead):
    followup = cancelled(desk, acme)
    desk.followup(acme)
    fire_what_waits(desk)
    form = form_of(lead, followup)
    for known in ("", ".", "no.id", f"{followup.id}.{followup.id}"):
        assert lead.press(form, **WHEN, known=known).status == 409
