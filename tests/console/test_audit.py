import re
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from desk_ui import words
from models import audit_seals, clock, endpoints
from models.base import db
from models.followups import contacts, transitions
from models.operators import Role
from tests.console.visiting import SETTER_UP
from tests.support.declare import declared
from tests.support.deliver import create_endpoint

LIST = "/acme/audit"
# Columns, an event that is only sent, and one that the outbox alone holds.
# The last are what is done in bulk, each row with an event of its own.
NOT_AUDITED = {
    *("tenant.id", "operator.id", "endpoint.test", "tenant.change"),
    *("followup.cancel", "followup.rearm", "delivery.rearm"),
}


def cancelled(desk, tenant, **given):
    followup = desk.followup(tenant, **given)
    desk.tell(
        lambda session: transitions.cancel(session, tenant.id, followup.id, actor=SETTER_UP, now=clock.now())
    )
    return followup


def sealed(desk):
    desk.tell(lambda session: audit_seals.seal(session, now=clock.now(), limit=1_000))


def test_list_tells_who_did_what_about_which_and_links_to_it(desk, acme, lead):
    followup = cancelled(desk, acme)
    page = lead.open(LIST)
    assert page.status == 200
    assert "Cancelled" in page.text and "tests" in page.text and "Signed in" in page.text
    assert page.links[str(followup.id)] == f"/acme/followups/{followup.id}"


def test_list_never_holds_an_event_of_another_tenant(desk, acme, lead):
    other = cancelled(desk, desk.tenant("other"))
    assert str(other.id) not in lead.open(LIST).text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("action=followup.cancelled", True),
        ("action=followup.fired", False),
        ("kind=followup&id={id}", True),
        ("kind=followup&id=nothing", False),
        ("actor=tests", True),
        ("actor=nobody", False),
        ("result=success", True),
        ("result=refused", False),
        ("since=2020-01-01T00:00", True),
        ("until=2020-01-01T00:00", False),
    ],
)
def test_filter_narrows_the_list(desk, acme, lead, query, found):
    followup = cancelled(desk, acme)
    page = lead.open(f"{LIST}?{query.format(id=followup.id)}")
    assert (f"/acme/followups/{followup.id}" in page.html) == found
    assert "Clear all" in page.text
    assert ("Nothing matches" in page.text) != found


def test_list_says_what_it_left_out_when_a_filter_is_odd(lead):
    page = lead.open(f"{LIST}?result=maybe&since=yesterday&after=zz")
    assert page.status == 200
    for name in ("Result", "From"):
        assert f"The filter {name} can't be used as it was given" in page.text
    assert "This place in the list can't be found" in page.text


def test_pages_hold_every_event_once_when_many_happened_at_one_instant(desk, acme, lead):
    now = clock.now()
    followups = [desk.followup(acme, customer=f"c-{n}") for n in range(60)]
    for followup in followups:
        desk.tell(
            lambda session, id=followup.id: transitions.cancel(session, acme.id, id, actor=SETTER_UP, now=now)
        )
    first = lead.open(f"{LIST}?action=followup.cancelled")
    second = lead.open(first.links["Older ones"])
    seen = [id for page in (first, second) for id in page.ids if id.startswith("event-")]
    assert len(seen) == len(set(seen)) == 60


def test_event_tells_all_that_is_kept_of_it(desk, acme, lead):
    followup = cancelled(desk, acme)
    [event] = desk.audit("followup.cancelled")
    page = lead.open(f"{LIST}/{event.id}?list=action%3Dfollowup.cancelled")
    for words_of_it in ("followup.cancelled", str(followup.id), '"to": "cancelled"', "not given yet"):
        assert words_of_it in page.text
    assert page.links["Audit"] == LIST or "action=followup.cancelled" in page.html


def test_event_of_another_tenant_is_not_found(desk, acme, lead):
    cancelled(desk, desk.tenant("other"))
    [event] = desk.audit("followup.cancelled")
    assert lead.open(f"{LIST}/{event.id}").status == 404
    assert lead.open(f"{LIST}/{2**70}").status == 404


def test_event_of_a_contact_says_how_it_came_about(desk, acme, lead):
    desk.followup(acme)
    desk.tell(
        lambda session: contacts.revoke(session, acme, "c-1", by="keyword", actor=SETTER_UP, now=clock.now())
    )
    text = lead.open(f"{LIST}?kind=contact").text
    assert "May be contacted with the booking" in text and "Opted out by a message of theirs" in text
    [event] = desk.audit("contact.revoked")
    assert "by a message of theirs" in lead.open(f"{LIST}/{event.id}").text


def test_event_of_an_endpoint_leads_to_it_until_it_was_removed(app, desk, acme, lead):
    settings = app.extensions["desk_settings"]
    one, _secret = desk.tell(lambda session: create_endpoint(session, acme, settings, now=clock.now()))
    path = f'href="/acme/endpoints/{one.id}"'
    [event] = desk.audit("endpoint.added")
    assert path in lead.open(LIST).html and path in lead.open(f"{LIST}/{event.id}").html
    desk.tell(lambda session: endpoints.remove(session, acme.id, one.id, actor=SETTER_UP, now=clock.now()))
    assert path not in lead.open(LIST).html and path not in lead.open(f"{LIST}/{event.id}").html
    assert str(one.id) in lead.open(LIST).text


def test_refused_act_is_told_as_such(desk, acme, visitor):
    followup = desk.followup(acme)
    lead, viewer = visitor("lead"), visitor("viewer")
    form = lead.open(f"/acme/followups/{followup.id}").form("/cancellation")
    form.fields["csrf_token"] = viewer.open("/acme/followups").form("/sign-out").fields["csrf_token"]
    assert viewer.press(form).status == 403
    page = lead.open(f"{LIST}?result=refused")
    assert "Cancel refused" in page.text and "role does not allow it" in page.text


def test_list_says_how_far_the_chain_goes(desk, acme, lead):
    assert "No event is sealed yet" in lead.open(LIST).text
    sealed(desk)
    assert "All events are sealed" in lead.open(LIST).text
    desk.followup(acme)
    assert "newer ones wait for the next sealing" in lead.open(LIST).text


def test_verification_holds_until_a_row_was_changed_behind_the_triggers(desk, acme, visitor, app):
    admin = visitor("admin")
    cancelled(desk, acme)
    sealed(desk)
    assert "The audit holds" in admin.open(f"{LIST}/verification").text
    with app.app_context(), db.engine.begin() as connection:
        db_is_postgresql = db.engine.dialect.name == "postgresql"
        if not db_is_postgresql:
            connection.execute(text("DROP TRIGGER audit_event_no_update"))
        else:
            connection.execute(text("ALTER TABLE audit_event DISABLE TRIGGER USER"))
        connection.execute(text("UPDATE audit_event SET purpose = 'x' WHERE action = 'followup.cancelled'"))
    try:
        page = admin.open(f"{LIST}/verification")
    finally:
        if db_is_postgresql:
            with app.app_context(), db.engine.begin() as connection:
                connection.execute(text("ALTER TABLE audit_event ENABLE TRIGGER USER"))
    assert page.status == 200
    assert "The audit does not hold" in page.text


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
def test_verification_is_for_admins(visitor, role):
    person = visitor(role)
    assert person.open(f"{LIST}/verification").status == 403
    text = person.open(LIST).text
    assert f"Your role in acme is {role}; this needs an admin. Ask an admin of acme." in text


def test_words_of_a_reason_are_never_markup(desk, acme, lead):
    first = cancelled(desk, acme)
    hostile = '"><script>alert(1)</script>{{7*7}}'

    def rearm(session):
        return transitions.rearm(
            session,
            acme,
            first.id,
            clock.now() + timedelta(hours=1),
            declared=declared(),
            actor=SETTER_UP,
            now=clock.now(),
            reason=hostile,
        )

    desk.tell(rearm)
    for page in (lead.open(LIST), lead.open(f"{LIST}/{desk.audit('followup.rearmed')[0].id}")):
        assert hostile in page.text and "<script>alert" not in page.html


def test_every_action_has_words():
    written = "".join(path.read_text() for path in Path(audit_seals.__file__).parent.rglob("*.py"))
    named = set(
        re.findall(r'"((?:operator|token|endpoint|tenant|agent|customer|followup)\.[a-z_]+)"', written)
    )
    assert {"operator.added", "token.revoked", "followup.cancelled", "agent.released"} <= named
    assert named - NOT_AUDITED - set(words.AUDITED) == set()
