from datetime import UTC, datetime, timedelta

from models import clock, tenants
from models.followups import transitions
from tests.console.visiting import SETTER_UP

LIST = "/acme/followups"


def asked(visitor, followup):
    return visitor.open(f"{LIST}/{followup.id}/rescheduling?shown=row&list=agent%3Dstore-support")


def form_of(visitor, followup):
    return asked(visitor, followup).form("/rescheduling")


def test_reschedule_asks_with_what_it_is_about_when_opened(desk, acme, lead):
    followup = desk.followup(acme, customer="c-1042", reason="pix pending")
    page = asked(lead, followup)
    assert page.status == 200
    for words in ("c-1042", "pix pending", "In UTC.", "Nothing is sent now."):
        assert words in page.text


def test_reschedule_moves_it_and_comes_back_to_the_list_when_there_is_no_script(desk, acme, lead):
    followup = desk.followup(acme, customer="c-1042")
    answer = lead.press(form_of(lead, followup), at="2099-08-14T10:00")
    assert answer.status == 303
    assert answer.headers["Location"] == f"{LIST}?agent=store-support"
    assert "Rescheduled the follow-up to c-1042 for 14 Aug 2099 10:00." in lead.follow(answer).text
    assert desk.read(acme, followup.id).at.isoformat() == "2099-08-14T10:00:00+00:00"
    [event] = desk.audit("followup.rescheduled")
    assert event.actor_label == "lead@acme.test"


def test_reschedule_gives_the_row_closes_the_dialog_and_says_so_when_htmx_asks(desk, acme, lead):
    followup = desk.followup(acme)
    answer = lead.press(form_of(lead, followup), htmx=True, at="2099-08-14T10:00")
    assert answer.status == 200
    assert f'hx-target="#followup-{followup.id}"' in answer.html
    assert '<hx-partial hx-target="#dialog" hx-swap="innerHTML"></hx-partial>' in answer.html
    assert "Rescheduled" in answer.text


def test_reschedule_names_the_field_and_keeps_what_was_typed_when_the_time_is_past(desk, acme, lead):
    followup = desk.followup(acme)
    answer = lead.press(form_of(lead, followup), at="2020-08-14T10:00")
    assert answer.status == 422
    assert "Must be ahead of now." in answer.text
    assert 'value="2020-08-14T10:00"' in answer.html
    assert desk.audit("followup.rescheduled") == []


def test_reschedule_is_a_conflict_that_keeps_what_was_typed_when_the_row_moved(desk, acme, lead):
    followup = desk.followup(acme)
    form = form_of(lead, followup)
    later = clock.now() + timedelta(days=9)
    desk.tell(
        lambda session: transitions.reschedule(
            session, acme.id, followup.id, later, actor=SETTER_UP, now=clock.now()
        )
    )
    answer = lead.press(form, at="2099-08-14T10:00")
    assert answer.status == 409
    assert "Rescheduled" in answer.text and "so nothing was done" in answer.text
    assert 'value="2099-08-14T10:00"' in answer.html
    assert desk.read(acme, followup.id).at == later
    assert [event.result for event in desk.audit("followup.rescheduled")] == ["success", "refused"]


def test_reschedule_is_off_with_the_reason_when_it_was_cancelled_meanwhile(desk, acme, lead):
    followup = desk.followup(acme)
    form = form_of(lead, followup)
    desk.tell(
        lambda session: transitions.cancel(session, acme.id, followup.id, actor=SETTER_UP, now=clock.now())
    )
    answer = lead.press(form, at="2099-08-14T10:00")
    assert answer.status == 409
    assert "This follow-up is cancelled, so it can't be rescheduled." in answer.text


def test_reschedule_is_not_found_when_it_is_of_another_tenant(desk, acme, lead):
    other = desk.followup(desk.tenant("other"))
    assert lead.open(f"{LIST}/{other.id}/rescheduling").status == 404
    own = form_of(lead, desk.followup(acme))
    own.action = own.action.replace(own.action.split("/")[3], str(other.id))
    assert lead.press(own, at="2099-08-14T10:00").status == 404


def test_reschedule_reads_the_time_in_the_zone_of_the_tenant(desk, lead, acme, app):
    madrid = desk.tell(
        lambda session: tenants.add(
            session, key="madrid", name=None, timezone="Europe/Madrid", actor=SETTER_UP, now=clock.now()
        )
    )
    followup = desk.followup(madrid)
    person = desk.visitor("lead@madrid.test", madrid, "lead")
    form = person.open(f"/madrid/followups/{followup.id}/rescheduling").form("/rescheduling")
    assert person.press(form, at="2031-03-30T02:30").status == 422  # the clocks skip it
    assert person.press(form, at="2031-08-14T10:00").status == 303
    assert desk.read(madrid, followup.id).at.isoformat() == "2031-08-14T08:00:00+00:00"


def test_reschedule_tells_the_customers_time_and_quiet_hours_when_the_policy_has_a_zone(
    desk, acme, lead, config
):
    config.write_text(
        "[agents.store-support.followup.quiet_hours]\n"
        'timezone = "America/Sao_Paulo"\nstart = "06:30"\nend = "09:00"\n'
    )
    early = desk.followup(acme, at=datetime(2099, 8, 14, 10, 0, tzinfo=UTC))
    late = desk.followup(acme, customer="c-2", at=datetime(2099, 8, 14, 15, 0, tzinfo=UTC))
    told = asked(lead, early).text
    assert "In UTC. 10:00 is 07:00 for the customer (America/Sao_Paulo)." in told
    assert "Quiet hours then, until 12:00." in told
    assert "15:00 is 12:00 for the customer" in asked(lead, late).text
    assert "Quiet hours" not in asked(lead, late).text


def test_hint_is_of_the_time_that_was_typed_when_that_is_refused(desk, acme, lead, config):
    config.write_text(
        "[agents.store-support.followup.quiet_hours]\n"
        'timezone = "America/Sao_Paulo"\nstart = "06:30"\nend = "09:00"\n'
    )
    followup = desk.followup(acme, at=datetime(2099, 8, 14, 6, 9, tzinfo=UTC))
    form = form_of(lead, followup)
    assert "06:09 is 03:09 for the customer" in asked(lead, followup).text
    page = lead.press(form, at="2020-08-14T10:00")
    assert page.status == 422
    assert "In UTC. 10:00 is 07:00 for the customer (America/Sao_Paulo)." in page.text
    assert "Quiet hours then, until 12:00." in page.text and "06:09 is" not in page.text
    for unusable in ("tomorrow", "", "0001-01-01T00:00"):
        page = lead.press(form, at=unusable)
        assert page.status == 422 and "In UTC." in page.text, unusable
        assert " is 03:09" not in page.text and "for the customer (" not in page.text


def test_hint_of_rearming_is_of_the_time_that_was_typed_when_that_is_refused(desk, acme, lead, config):
    config.write_text(
        "[agents.store-support.followup.quiet_hours]\n"
        'timezone = "America/Sao_Paulo"\nstart = "06:30"\nend = "09:00"\n'
    )
    followup = desk.followup(acme)
    desk.tell(
        lambda session: transitions.cancel(session, acme.id, followup.id, actor=SETTER_UP, now=clock.now())
    )
    form = lead.open(f"{LIST}/{followup.id}/rearming").form("/rearming")
    page = lead.press(form, at="2020-08-14T10:00", reason="r")
    assert page.status == 422
    assert "In UTC. 10:00 is 07:00 for the customer (America/Sao_Paulo)." in page.text
    assert "At least 5 minutes ahead." in page.text


def test_timeline_tells_from_when_to_when_it_was_rescheduled(desk, acme, lead):
    followup = desk.followup(acme, at=datetime(2098, 12, 1, 14, 23, tzinfo=UTC))
    lead.press(form_of(lead, followup), at="2099-08-14T10:00")
    says = "Rescheduled by lead@acme.test, from 1 Dec 2098 14:23 to 14 Aug 2099 10:00"
    assert says in lead.open(f"{LIST}/{followup.id}").text
