from datetime import timedelta

import pytest
from sqlalchemy import update

from models import clock
from models.followups import contacts
from models.followups.firing import fire_due
from models.followups.records import AgentTask, Contact, FollowUp, RevokeEvent
from tests.console.visiting import SETTER_UP
from tests.support.declare import declared

LIST = "/acme/followups"


def asked(visitor, followup):
    return visitor.open(f"{LIST}/{followup.id}/revocation?shown=panel")


def form_of(visitor, followup):
    return asked(visitor, followup).form("/revocation")


def contact_of(desk, customer="c-1"):
    return desk.tell(lambda session: session.query(Contact).filter(Contact.customer == customer).one())


def fire(desk):
    later = clock.now() + timedelta(hours=2)
    desk.tell(lambda session: fire_due(session, declared=declared(), now=later, limit=100))


@pytest.fixture
def three(desk, acme):
    """One fired with its task queued, and two pending of two agents, of the customer c-1; the fired one."""
    fired = desk.followup(acme, reason="fired")
    fire(desk)
    later = clock.now() + timedelta(days=2)
    desk.followup(acme, reason="a", at=later)
    desk.followup(acme, reason="b", agent="billing", at=later)
    desk.followup(acme, customer="c-2", at=later)
    return fired


def test_revoke_says_to_whom_and_what_goes_with_it_when_opened(three, lead):
    page = asked(lead, three)
    for words in (
        "Opt c-1 out",
        "Cancelled with it: 2 pending follow-ups and 1 queued task, of all agents.",
        "only a message from the customer reopens",
        "Opt out and cancel 2 follow-ups",
    ):
        assert words in page.text


def test_revoke_closes_the_contact_and_cancels_all_that_waits(desk, acme, lead, three):
    answer = lead.press(form_of(lead, three))
    assert answer.status == 303
    assert "Opted c-1 out, and cancelled 2 follow-ups." in lead.follow(answer).text
    contact = contact_of(desk)
    assert (contact.state, contact.revoked_by) == ("revoked", "lead@acme.test")
    statuses = desk.tell(
        lambda session: sorted(
            (row.customer, row.status) for row in session.query(FollowUp.customer, FollowUp.status)
        )
    )
    assert statuses == [("c-1", "cancelled"), ("c-1", "cancelled"), ("c-1", "fired"), ("c-2", "pending")]
    assert [task.status for task in desk.tell(lambda s: s.query(AgentTask).all())] == ["cancelled"]
    [event] = desk.audit("contact.revoked")
    assert (event.actor_label, event.purpose, event.result) == ("lead@acme.test", "operator", "success")
    assert len(desk.audit("followup.cancelled")) == 2
    says = "Opted out by lead@acme.test, just now."
    assert says in lead.open(f"{LIST}/{three.id}").text and says in asked(lead, three).text
    assert lead.open(f"{LIST}?tab=cancelled").text.count("opted out by lead@acme.test") == 2


def test_revoke_keeps_the_reason_in_the_audit_when_one_is_given(desk, acme, lead, three):
    lead.press(form_of(lead, three), reason="wrote to the shop")
    assert [event.purpose for event in desk.audit("contact.revoked")] == ["wrote to the shop"]


def test_revoke_names_what_it_cannot_call_back_when_an_agent_has_it(desk, acme, lead, three):
    assert "may still reach them" not in asked(lead, three).text
    desk.tell(lambda session: session.execute(update(AgentTask).values(status="dispatched")))
    assert "1 task is with agents already, and may still reach them." in asked(lead, three).text


def test_revoke_shows_the_page_as_it_is_then_when_htmx_asks(desk, acme, lead):
    followup = desk.followup(acme)
    answer = lead.press(form_of(lead, followup), htmx=True)
    assert answer.status == 200
    assert 'hx-target="#followup"' in answer.html
    assert "Opted c-1 out, and cancelled 1 follow-up." in answer.text
    assert "Opted out" in answer.text and "Cancelled" in answer.text


def test_revoke_changes_nothing_when_the_customer_opted_out_meanwhile(desk, acme, lead):
    followup = desk.followup(acme)
    form = form_of(lead, followup)
    desk.tell(
        lambda session: contacts.revoke(session, acme, "c-1", by="channel", actor=SETTER_UP, now=clock.now())
    )
    page = asked(lead, followup)
    assert "Opted out by the channel, just now." in page.text and "data-verb" not in page.html
    assert "c-1 had opted out already." in lead.follow(lead.press(form)).text
    assert contact_of(desk).revoked_by == "channel"
    assert len(desk.audit("contact.revoked")) == 1
    assert desk.tell(lambda session: session.query(RevokeEvent).count()) == 1


def test_revoke_is_a_conflict_when_something_was_sent_meanwhile(desk, acme, lead):
    followup = desk.followup(acme)
    form = form_of(lead, followup)
    fire(desk)
    answer = lead.press(form)
    assert answer.status == 409
    assert "This contact changed since you saw it, so nothing was done." in answer.text
    # What is asked now is about what is so now.
    assert "Cancelled with it: 0 pending follow-ups and 1 queued task" in answer.text
    assert contact_of(desk).state == "granted"
    assert lead.press(answer.form("/revocation")).status == 303
    assert contact_of(desk).state == "revoked"


def test_revoke_makes_the_contact_when_the_customer_was_never_messaged(desk, acme, lead):
    followup = desk.followup(acme, customer="c-9")
    desk.tell(lambda session: [session.delete(row) for row in session.query(Contact)])
    assert "Never messaged" in asked(lead, followup).text
    assert lead.press(form_of(lead, followup)).status == 303
    assert contact_of(desk, "c-9").state == "revoked"
    assert len([e for e in desk.audit("contact.revoked") if e.result == "success"]) == 1


def test_revoke_is_offered_on_the_page_of_one_in_every_state(desk, acme, lead, three):
    assert "Opt this customer out" in lead.open(f"{LIST}/{three.id}").text
    lead.press(form_of(lead, three))
    page = lead.open(f"{LIST}/{three.id}")
    assert "Opted out by lead@acme.test, just now." in page.text
    assert "/revocation" not in page.html


def test_revoke_is_not_found_when_it_is_of_another_tenant(desk, acme, lead):
    other = desk.followup(desk.tenant("other"))
    assert asked(lead, other).status == 404
    own = form_of(lead, desk.followup(acme))
    own.action = f"{LIST}/{other.id}/revocation"
    assert lead.press(own).status == 404
    assert {row.state for row in desk.tell(lambda s: s.query(Contact).all())} == {"granted"}


def test_revoke_is_refused_and_audited_when_the_role_may_only_look(desk, acme, visitor):
    followup = desk.followup(acme)
    viewer = visitor("viewer")
    assert viewer.press(form_of(viewer, followup)).status == 403
    [event] = desk.audit("contact.revoked")
    assert (event.result, event.resource_type) == ("refused", "followup")


def test_revoke_is_invalid_when_the_version_is_missing(desk, acme, lead):
    followup = desk.followup(acme)
    assert lead.press(form_of(lead, followup), version="x").status == 422
    assert contact_of(desk).state == "granted"
