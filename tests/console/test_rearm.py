import re
from datetime import timedelta
from json import dumps
from uuid import UUID, uuid4

import pytest
from sqlalchemy import update

from models import bulk, clock
from models.followups import contacts, transitions
from models.followups.firing import fire_due
from models.followups.importing import import_records
from models.followups.records import AgentTask, FollowUp
from tests.console.visiting import SETTER_UP
from tests.support.declare import declared

LIST = "/acme/followups"
WHEN = {"at": "2099-08-14T10:00", "reason": "the customer called"}


def cancelled(desk, acme, **given):
    followup = desk.followup(acme, **given)
    desk.tell(
        lambda session: transitions.cancel(session, acme.id, followup.id, actor=SETTER_UP, now=clock.now())
    )
    return followup


def blocked(desk, acme, **given):
    """One whose agent is not declared, so that its policy can't be used."""
    followup = desk.followup(acme, agent="nobody", **given)
    later = clock.now() + timedelta(hours=2)
    desk.tell(lambda session: fire_due(session, declared=declared(), now=later, limit=100))
    assert desk.read(acme, followup.id).status == "blocked"
    return followup


def asked(visitor, followup, **more):
    query = "&".join(f"{name}={value}" for name, value in more.items())
    return visitor.open(f"{LIST}/{followup.id}/rearming?{query}")


def form_of(visitor, followup):
    return asked(visitor, followup, shown="row").form("/rearming")


@pytest.mark.parametrize("tab", ["cancelled", "blocked"])
def test_rearm_is_offered_in_the_row_when_it_is_over_and_nothing_was_sent(desk, acme, lead, tab):
    followup = {"cancelled": cancelled, "blocked": blocked}[tab](desk, acme)
    page = lead.open(f"{LIST}?tab={tab}")
    assert f'href="{LIST}/{followup.id}/rearming?list=tab%3D{tab}&amp;shown=row"' in page.html
    assert [form.action for form in page.forms if form.action.endswith("/cancellation")] == []


def test_rearm_is_not_offered_in_the_row_to_one_who_may_only_look(desk, acme, visitor):
    cancelled(desk, acme)
    assert "/rearming" not in visitor("viewer").open(f"{LIST}?tab=cancelled").html


def test_rearm_says_why_it_was_blocked_and_that_it_still_stands(desk, acme, lead):
    followup = blocked(desk, acme, customer="c-1042")
    page = asked(lead, followup)
    for words in (
        "c-1042",
        "the policy can't be used. That still stands: This agent is not declared in desk.toml.",
        "It will be blocked again, unless the policy in desk.toml is corrected before.",
        "At least 5 minutes ahead",
    ):
        assert words in page.text


def test_rearm_says_that_the_cause_is_gone_when_it_is(desk, acme, lead):
    followup = blocked(desk, acme)
    desk.tell(
        lambda session: bulk.execute_unaudited(
            session, update(FollowUp).where(FollowUp.id == followup.id).values(agent="store-support")
        )
    )
    page = asked(lead, followup)
    assert "That no longer stands: The agent's policy is valid." in page.text
    assert "As things stand it would fire in an hour." in page.text


def test_rearm_says_who_cancelled_it_and_that_it_was_booked_again_already(desk, acme, lead):
    followup = cancelled(desk, acme)
    assert "by tests." in asked(lead, followup).text
    lead.press(form_of(lead, followup), **WHEN)
    page = asked(lead, followup)
    assert "It was booked again once already" in page.text and "that one is pending" in page.text


def panel_form_of(visitor, followup):
    return asked(visitor, followup, shown="panel").form("/rearming")


def test_rearm_books_a_new_one_and_leads_to_it_when_it_was_asked_for_on_its_page(desk, acme, lead):
    followup = cancelled(desk, acme, customer="c-1042")
    answer = lead.press(panel_form_of(lead, followup), **WHEN)
    assert answer.status == 303
    page = lead.follow(answer)
    assert "Booked the follow-up to c-1042 again, for 14 Aug 2099 10:00." in page.text
    new = answer.headers["Location"].rpartition("/")[2]
    assert new != str(followup.id)
    assert page.links[str(followup.id)] == f"{LIST}/{followup.id}"
    assert lead.open(f"{LIST}/{followup.id}").links[new] == f"{LIST}/{new}"
    assert desk.read(acme, followup.id).status == "cancelled"
    [event] = desk.audit("followup.rearmed")
    assert (event.actor_label, event.purpose, event.resource_id) == (
        "lead@acme.test",
        "the customer called",
        new,
    )


def test_rearm_leads_to_the_new_one_when_htmx_asks_on_its_page(desk, acme, lead):
    answer = lead.press(panel_form_of(lead, cancelled(desk, acme)), htmx=True, **WHEN)
    assert answer.status == 200
    assert answer.headers["HX-Redirect"].startswith(f"{LIST}/")
    page = lead.open(answer.headers["HX-Redirect"])
    assert "Booked the follow-up" in page.text and "Show the new one" not in page.text


def new_of(desk, followup):
    return desk.tell(lambda s: s.query(FollowUp.id).filter(FollowUp.rearmed_from == followup.id).one())[0]


def test_rearm_stays_in_the_list_and_names_the_new_one_when_there_is_no_script(desk, acme, lead):
    followup = cancelled(desk, acme, customer="c-1042")
    form = asked(lead, followup, shown="row", list="tab%3Dcancelled").form("/rearming")
    answer = lead.press(form, **WHEN)
    assert (answer.status, answer.headers["Location"]) == (303, f"{LIST}?tab=cancelled")
    page = lead.follow(answer)
    assert "Booked the follow-up to c-1042 again, for 14 Aug 2099 10:00." in page.text
    assert page.links["Show the new one"] == f"{LIST}/{new_of(desk, followup)}"


def test_rearm_shows_the_row_as_booked_again_when_htmx_asks_in_the_list(desk, acme, lead):
    followup = cancelled(desk, acme, customer="c-1042")
    form = asked(lead, followup, shown="row", list="tab%3Dcancelled").form("/rearming")
    answer = lead.press(form, htmx=True, **WHEN)
    assert answer.status == 200 and "HX-Redirect" not in answer.headers
    new = new_of(desk, followup)
    assert f'id="followup-{followup.id}"' in answer.html and "rearming" not in answer.html
    assert answer.links["Booked again"] == f"{LIST}/{new}?list=tab%3Dcancelled"
    assert answer.links["Show the new one"] == f"{LIST}/{new}"


NO_CONSENT = (
    "There is no consent on record. To book it again records consent for this customer, in your name."
)


def unconsented(desk, tenant, **given):
    """One that was imported, so without consent, and then blocked for the lack of it."""
    record = {
        "id": str(uuid4()),
        "agent": "store-support",
        "customer": "c-7",
        "reason": "r",
        "arm": "a",
        "at": (clock.now() - timedelta(minutes=4)).isoformat(),
        **given,
    }
    desk.tell(
        lambda session: import_records(session, tenant, [dumps(record)], actor=SETTER_UP, now=clock.now())
    )
    desk.tell(lambda session: fire_due(session, declared=declared(), now=clock.now(), limit=100))
    found = desk.read(tenant, UUID(record["id"]))
    assert found.status == "blocked"
    return found


@pytest.mark.parametrize("shown", ["row", "panel"])
def test_rearm_says_that_it_records_consent_and_records_it_in_ones_name_when_there_is_no_contact(
    desk, acme, lead, shown
):
    followup = unconsented(desk, acme)
    assert followup.blocked_reason == "consent"
    page = asked(lead, followup, shown=shown)
    assert NO_CONSENT in page.text and "That still stands" not in page.text
    assert "As things stand it would fire in an hour." in page.text
    assert '<button class="danger" data-verb>Re-arm and record consent</button>' in page.html
    answer = lead.follow(lead.press(page.form("/rearming"), **WHEN))
    assert "Consent is recorded for this customer, in your name." in answer.text
    [event] = desk.audit("contact.granted")
    assert (event.actor_label, event.purpose) == ("lead@acme.test", "consent")
    timeline = lead.open(f"{LIST}/{new_of(desk, followup)}").text
    assert "Consent recorded by lead@acme.test: with the booking" in timeline
    assert "Consent recorded" not in lead.open(f"{LIST}/{followup.id}").text


def test_page_says_that_booking_again_records_consent_when_there_is_no_contact(desk, acme, lead):
    text = lead.open(f"{LIST}/{unconsented(desk, acme).id}").text
    assert "None on record; to book it again records it" in text and "Stops it" not in text


def test_rearm_says_nothing_of_consent_when_there_is_a_contact(desk, acme, lead):
    followup = cancelled(desk, acme)
    page = asked(lead, followup, shown="panel")
    assert "onsent" not in page.text
    assert '<button class="primary" data-verb>Re-arm</button>' in page.html
    new = lead.follow(lead.press(page.form("/rearming"), **WHEN))
    assert "onsent is recorded" not in new.text and "Consent recorded" not in new.text
    assert len(desk.audit("contact.granted")) == 1


def test_rearm_is_a_conflict_when_it_would_record_a_consent_that_was_not_asked_about(desk, acme, lead):
    followup = unconsented(desk, acme)
    form = asked(lead, followup, shown="row").form("/rearming")
    answer = lead.press(form, **WHEN, consent=None)
    assert answer.status == 409
    assert NO_CONSENT in answer.text
    assert desk.audit("contact.granted") == []
    # The page that answers has asked.
    assert lead.press(answer.form("/rearming"), **WHEN).status == 303


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"reason": " "}, "Must not be blank."),
        ({"reason": "x" * 201}, "Has 201 characters; 200 is the most."),
        ({"at": "2020-08-14T10:00"}, "Would already be due; it must be at least 5 minutes ahead."),
        ({"at": "soon"}, "Is not a time such as 2031-08-14T10:00."),
    ],
)
def test_rearm_names_the_field_and_keeps_what_was_typed_when_it_is_invalid(desk, acme, lead, changes, says):
    followup = cancelled(desk, acme)
    answer = lead.press(form_of(lead, followup), **{**WHEN, **changes})
    assert answer.status == 422
    assert says in answer.text
    assert f'value="{changes.get("reason", WHEN["reason"])}"' in answer.html
    assert desk.audit("followup.rearmed") == []


def test_rearm_is_off_and_a_conflict_that_leads_on_when_the_same_is_pending(desk, acme, lead):
    followup = cancelled(desk, acme)
    form = form_of(lead, followup)
    pending = desk.followup(acme)
    page = asked(lead, followup)
    assert "The same follow-up is pending already" in page.text
    # Nothing is to be filled in where nothing can be done.
    assert 'name="reason"' not in page.html and "below" not in page.text
    assert page.links["Show the pending one"] == f"{LIST}/{pending.id}"
    for htmx in (False, True):
        answer = lead.press(form, htmx=htmx, **WHEN)
        assert answer.status == 409
        assert answer.links["Show the pending one"] == f"{LIST}/{pending.id}"
        assert f'value="{WHEN["reason"]}"' in answer.html
    assert [event.result for event in desk.audit("followup.rearmed")] == ["refused", "refused"]


def test_rearm_is_off_and_a_conflict_when_the_customer_opted_out(desk, acme, lead):
    followup = cancelled(desk, acme)
    form = form_of(lead, followup)
    desk.tell(
        lambda session: contacts.revoke(session, acme, "c-1", by="operator", actor=SETTER_UP, now=clock.now())
    )
    says = "The customer opted out of being contacted. Only a message from them reopens it."
    page = asked(lead, followup)
    assert says in page.text and "data-verb" not in page.html
    answer = lead.press(form, **WHEN)
    assert answer.status == 409
    assert says in answer.text
    assert desk.audit("followup.rearmed")[0].purpose == "opted-out"


def test_rearm_is_refused_when_it_fired_or_waits(desk, acme, lead):
    followup = desk.followup(acme)
    form = form_of(lead, followup)
    assert "This follow-up is pending already. Reschedule it instead." in asked(lead, followup).text
    assert lead.press(form, **WHEN).status == 409
    later = clock.now() + timedelta(hours=2)
    desk.tell(lambda session: fire_due(session, declared=declared(), now=later, limit=100))
    answer = lead.press(form_of(lead, followup), **WHEN)
    assert answer.status == 409
    assert "its task was not taken yet, and still may be, so it is never re-armed." in answer.text
    desk.tell(lambda session: session.execute(update(AgentTask).values(status="dispatched")))
    answer = lead.press(form_of(lead, followup), **WHEN)
    assert "its message may have gone out, so it is never re-armed" in answer.text


def test_rearm_books_once_when_two_do_it_at_once(desk, acme, lead, visitor):
    followup = cancelled(desk, acme)
    other = visitor("marketer")
    first, second = form_of(lead, followup), form_of(other, followup)
    assert lead.press(first, **WHEN).status == 303
    assert other.press(second, **WHEN).status == 409
    found = desk.tell(
        lambda session: session.query(FollowUp).filter(FollowUp.rearmed_from == followup.id).count()
    )
    assert found == 1


def test_rearm_is_not_found_when_it_is_of_another_tenant(desk, acme, lead):
    other = cancelled(desk, desk.tenant("other"))
    assert asked(lead, other).status == 404
    own = form_of(lead, cancelled(desk, acme))
    own.action = f"{LIST}/{other.id}/rearming"
    assert lead.press(own, **WHEN).status == 404


def test_rearm_is_refused_and_audited_when_the_role_may_only_look(desk, acme, lead, visitor):
    followup = cancelled(desk, acme)
    viewer = visitor("viewer")
    form = form_of(viewer, followup)
    assert viewer.press(form, **WHEN).status == 403
    assert "data-verb" not in asked(viewer, followup).html
    [event] = desk.audit("followup.rearmed")
    assert (event.result, event.resource_id) == ("refused", str(followup.id))


def test_rearm_shows_what_a_customer_wrote_as_text(desk, acme, lead):
    hostile = "<script>alert('x')</script>"
    followup = cancelled(desk, acme, customer=hostile, reason=hostile)
    page = asked(lead, followup)
    assert "<script>alert" not in page.html
    answer = lead.press(form_of(lead, followup), htmx=True, **WHEN)
    assert "Booked the follow-up" in answer.text and "<script>alert" not in answer.html
    assert "<script>alert" not in lead.open(f"{LIST}/{new_of(desk, followup)}").html


def test_row_and_page_lead_on_when_it_was_booked_again(desk, acme, lead, visitor):
    followup, other = cancelled(desk, acme), cancelled(desk, acme, customer="c-2")
    lead.press(form_of(lead, followup), **WHEN)
    new = f"{LIST}/{new_of(desk, followup)}"
    lead.open(LIST)  # Takes the toast.
    rows = lead.open(f"{LIST}?tab=cancelled")
    assert rows.html.count(">Booked again<") == 1 and "booked again" not in rows.text
    assert rows.links["Booked again"] == f"{new}?list=tab%3Dcancelled"
    assert f"{followup.id}/rearming" not in rows.html and f"{other.id}/rearming" in rows.html
    # Who may only look has no place for acts, so that it stands beside the cause.
    assert "by tests; booked again" in visitor("viewer").open(f"{LIST}?tab=cancelled").text
    page = lead.open(f"{LIST}/{followup.id}")
    assert page.html.count(f'href="{new}"') == 3
    assert page.links["Show it"] == new
    assert "Booked again by lead@acme.test: the customer called" in page.text
    assert "Show it" not in lead.open(new).text


def limited(desk, acme):
    """One that is blocked since two messages went to its customer within the day."""
    for reason in ("a", "b", "c"):
        desk.followup(acme, reason=reason)
    soon = clock.now() + timedelta(hours=2)
    desk.tell(lambda session: fire_due(session, declared=declared(), now=soon, limit=100))
    desk.tell(
        lambda session: bulk.execute_unaudited(
            session, update(FollowUp).where(FollowUp.fired_at.is_not(None)).values(fired_at=clock.now())
        )
    )
    found = desk.tell(lambda s: s.query(FollowUp.id).filter(FollowUp.blocked_reason == "frequency").one())
    return desk.read(acme, found.id)


def test_rearm_names_and_offers_the_earliest_time_when_the_ceiling_stops_it(desk, acme, lead):
    followup = limited(desk, acme)
    page = asked(lead, followup)
    fired = desk.tell(lambda s: min(at for (at,) in s.query(FollowUp.fired_at) if at))
    earliest = (fired + timedelta(hours=24)).replace(second=0, microsecond=0) + timedelta(minutes=1)
    assert "message limit reached. That still stands" in page.text
    assert f"Earliest: tomorrow {earliest:%H:%M}." in page.text
    assert "waits for then" not in page.text
    assert f'value="{earliest:%Y-%m-%dT%H:%M}"' in page.html
    at = f"{earliest:%Y-%m-%dT%H:%M}"
    answer = lead.press(panel_form_of(lead, followup), at=at, reason="asked to")
    page = lead.follow(answer)
    assert page.text.count("The message limit is reached now, but not at its time.") == 2


def test_rearm_says_that_it_would_be_blocked_again_when_it_would(desk, acme, lead):
    followup = limited(desk, acme)
    soon = f"{clock.now() + timedelta(hours=3):%Y-%m-%dT%H:%M}"
    page = lead.follow(lead.press(panel_form_of(lead, followup), at=soon, reason="asked to"))
    says = "At its time it would be blocked again: message limit reached."
    assert page.text.count(says) == 2
    assert "As things stand it would be blocked" not in page.text


def test_rearm_counts_what_waits_for_the_customer_already_when_it_names_the_earliest_time(
    desk, acme, lead, config
):
    config.write_text(config.read_text().replace("2/24h", "1/24h"))
    first, second = (cancelled(desk, acme, reason=reason) for reason in ("a", "b"))
    at = (clock.now() + timedelta(hours=1)).replace(second=0, microsecond=0)
    lead.press(panel_form_of(lead, first), at=f"{at:%Y-%m-%dT%H:%M}", reason="asked to")
    page = asked(lead, second, shown="panel")
    free = at + timedelta(hours=24, minutes=1)
    assert "In an hour it would be blocked: message limit reached." in page.text
    assert re.search(rf"Earliest: [\w ]+ {free:%H:%M}, since another one waits for then.", page.text)
    assert f'value="{free:%Y-%m-%dT%H:%M}"' in page.html
    soon = at + timedelta(minutes=10)
    new = lead.follow(lead.press(page.form("/rearming"), at=f"{soon:%Y-%m-%dT%H:%M}", reason="asked to"))
    says = "At its time it would be blocked again: message limit reached, another one waits for then."
    assert new.text.count(says) == 2


def test_rearm_says_in_the_toast_that_it_would_be_blocked_again_when_the_policy_stays_as_it_is(
    desk, acme, lead
):
    answer = lead.press(form_of(lead, blocked(desk, acme)), htmx=True, **WHEN)
    assert (
        "At its time it would be blocked again: the policy can't be used, "
        "unless the policy in desk.toml is corrected before." in answer.text
    )


def test_refused_question_leads_to_the_row_when_there_is_no_script(desk, acme, lead):
    followup = cancelled(desk, acme)
    form = form_of(lead, followup)
    desk.followup(acme)
    assert lead.press(form, **WHEN).links["Show it as it is now"] == f"{LIST}/{followup.id}"
