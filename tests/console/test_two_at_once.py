"""What is pressed on a row that moved since it was shown: nothing is done twice, and the answer says why."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from models import bulk, clock
from models.followups.firing import fire_due
from models.followups.records import FollowUp
from tests.support.declare import declared

LIST = "/acme/followups"
AT = "2099-08-14T10:00"
HTMX = pytest.mark.parametrize("htmx", [True, False], ids=["htmx", "plain"])


def forms(visitor, followup):
    """The row's own Cancel, and the question behind its Reschedule."""
    cancel = visitor.open(LIST).form(f"{followup.id}/cancellation")
    reschedule = visitor.open(f"{LIST}/{followup.id}/rescheduling?shown=row").form("/rescheduling")
    return cancel, reschedule


def results(desk, action):
    return [(event.actor_label, event.result) for event in desk.audit(f"followup.{action}")]


@HTMX
def test_reschedule_is_refused_when_another_operator_cancelled(desk, acme, lead, visitor, htmx):
    followup, other = desk.followup(acme), visitor("marketer")
    cancel, _reschedule = forms(lead, followup)
    _cancel, reschedule = forms(other, followup)
    assert lead.press(cancel).status == 303
    answer = other.press(reschedule, htmx=htmx, at=AT)
    assert answer.status == 409
    assert "by lead@acme.test, so nothing was done." in answer.text
    assert "This follow-up is cancelled, so it can't be rescheduled." in answer.text
    assert desk.read(acme, followup.id).status == "cancelled"
    assert results(desk, "cancelled") == [("lead@acme.test", "success")]
    assert results(desk, "rescheduled") == [("marketer@acme.test", "refused")]


@HTMX
def test_cancel_is_refused_when_another_operator_rescheduled(desk, acme, lead, visitor, htmx):
    followup, other = desk.followup(acme), visitor("marketer")
    cancel, _reschedule = forms(lead, followup)
    _cancel, reschedule = forms(other, followup)
    assert other.press(reschedule, at=AT).status == 303
    answer = lead.press(cancel, htmx=htmx)
    page = answer if htmx else lead.follow(answer)
    assert answer.status == (409 if htmx else 303)
    assert "by marketer@acme.test, so nothing was done." in page.text
    row = desk.read(acme, followup.id)
    assert (row.status, row.at.isoformat()) == ("pending", "2099-08-14T10:00:00+00:00")
    # Seen again as it is now, it can be cancelled.
    assert lead.press(forms(lead, followup)[0]).status == 303
    assert results(desk, "cancelled") == [("lead@acme.test", "refused"), ("lead@acme.test", "success")]


@HTMX
def test_either_act_is_refused_when_the_row_fired_between_render_and_click(desk, acme, lead, htmx):
    followup = desk.followup(acme)
    cancel, reschedule = forms(lead, followup)
    now = clock.now()
    desk.tell(
        lambda session: bulk.execute_unaudited(
            session, update(FollowUp).where(FollowUp.id == followup.id).values(at=now - timedelta(seconds=3))
        )
    )
    desk.tell(lambda session: fire_due(session, declared=declared(), now=now, limit=100))
    answer = lead.press(cancel, htmx=htmx)
    page = answer if htmx else lead.follow(answer)
    assert "so it can't be cancelled." in page.text
    answer = lead.press(reschedule, htmx=htmx, at=AT)
    assert answer.status == 409
    assert "so it can't be rescheduled." in answer.text
    assert desk.read(acme, followup.id).status == "fired"
    for action in ("cancelled", "rescheduled"):
        assert results(desk, action) == [("lead@acme.test", "refused")]
