"""The customer's own time beside one's own, wherever an agent's policy has a zone that differs."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from models import clock
from models.actors import Actor
from models.followups import transitions
from tests.console.test_cancel import LIST
from tests.support.api import on_sqlite

pytestmark = on_sqlite

ZONE = "America/Sao_Paulo"
AT_NOON = """
[agents.store-support.followup]
[agents.store-support.followup.quiet_hours]
timezone = "America/Sao_Paulo"
start = "%s"
end = "%s"
"""
LEAD = Actor.operator("7", "other@acme.test")


@pytest.fixture
def config(config):
    """Quiet hours that are never near: what is due now is not put off."""
    here = clock.now().astimezone(ZoneInfo(ZONE))
    start, end = (here + timedelta(hours=hours) for hours in (10, 11))
    config.write_text(AT_NOON % (f"{start:%H:%M}", f"{end:%H:%M}"))
    return config


def local(at):
    return f"{at.astimezone(ZoneInfo(ZONE)):%H:%M} for the customer"


def test_list_tells_the_customers_time_of_each_row(desk, acme, lead):
    followup = desk.followup(acme)
    page = lead.open(LIST)
    assert local(followup.due_at) in page.text
    assert f"; {local(followup.due_at)}" in page.html
    at = clock.now()
    desk.tell(lambda session: transitions.cancel(session, acme.id, followup.id, actor=LEAD, now=at))
    assert f"; {local(at)}" in lead.open(f"{LIST}?tab=cancelled").html


def test_page_and_questions_tell_the_customers_time(desk, acme, lead):
    followup = desk.followup(acme)
    page = lead.open(f"{LIST}/{followup.id}")
    assert "For the customer" in page.text
    questions = [lead.open(f"{LIST}/{followup.id}/rescheduling").text]
    at = clock.now()
    desk.tell(lambda session: transitions.cancel(session, acme.id, followup.id, actor=LEAD, now=at))
    questions.append(lead.open(f"{LIST}/{followup.id}/rearming").text)
    for text in questions:
        assert f"for the customer ({ZONE})." in text
        assert "For the customer" in text


def test_nothing_is_said_twice_when_the_page_is_in_the_customers_zone(desk, acme, lead):
    followup = desk.followup(acme)
    lead.press(lead.open("/profile").form("/profile/timezone"), timezone=ZONE)
    assert "for the customer" not in lead.open(LIST).html
    for path in ("", "/rescheduling"):
        assert "For the customer" not in lead.open(f"{LIST}/{followup.id}{path}").text
