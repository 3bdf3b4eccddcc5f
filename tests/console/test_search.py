"""Search: an id, the beginning of one, a customer or a reason, straight to what was meant."""

from uuid import UUID

import pytest
from sqlalchemy import update

from desk_ui import search
from models import clock
from models.base import db
from models.bulk import execute_unaudited
from models.followups import transitions
from models.followups.records import FollowUp
from tests.console.visiting import SETTER_UP
from tests.support.plans import analyze, assert_uses_index


def sought(visitor, wanted):
    """Where a search for `wanted` leads; None where nothing is found."""
    page = visitor.open(f"/acme/search?q={wanted}")
    assert page.status in (303, 404)
    return page.headers.get("Location")


def cancel(desk, tenant, followup):
    desk.tell(
        lambda session: transitions.cancel(session, tenant.id, followup.id, actor=SETTER_UP, now=clock.now())
    )


def test_search_opens_the_followup_when_its_id_is_given_in_either_case(desk, acme, lead):
    followup = desk.followup(acme)
    for wanted in (str(followup.id), str(followup.id).upper(), followup.id.hex):
        assert sought(lead, wanted) == f"/acme/followups/{followup.id}"


def test_search_opens_the_followup_when_the_beginning_of_its_id_is_given(desk, acme, lead):
    followup = desk.followup(acme)
    for wanted in (str(followup.id)[:4], str(followup.id)[:8].upper(), str(followup.id)[:20]):
        assert sought(lead, wanted) == f"/acme/followups/{followup.id}"
    assert sought(lead, str(followup.id)[:3]) is None


def test_search_finds_nothing_when_the_beginning_is_of_several_or_of_another_tenants(desk, acme, lead):
    foreign = desk.followup(desk.tenant("other"))
    assert sought(lead, str(foreign.id)[:8]) is None
    for number, end in enumerate(("1", "2")):
        one = desk.followup(acme, customer=f"c-{number}")
        renamed = update(FollowUp).where(FollowUp.id == one.id)
        renamed = renamed.values(id=UUID(f"0123456789abcdef0123456789abcde{end}"))
        desk.tell(lambda session, renamed=renamed: execute_unaudited(session, renamed))
    assert sought(lead, "01234567") is None


def test_search_prefers_a_customer_to_the_beginning_of_an_id(desk, acme, lead):
    followup = desk.followup(acme)
    customer = str(followup.id)[:8]
    desk.followup(acme, customer=customer)
    assert sought(lead, customer) == f"/acme/followups?customer={customer}"


def test_search_leads_to_what_is_pending_and_else_to_what_changed_last(desk, acme, lead):
    first = desk.followup(acme, customer="c-7")
    assert sought(lead, "c-7") == "/acme/followups?customer=c-7"
    cancel(desk, acme, first)
    assert sought(lead, "c-7") == "/acme/followups?customer=c-7&tab=cancelled"
    second = desk.followup(acme, customer="c-7", reason="another")
    older = clock.now().replace(year=clock.now().year - 1)
    blocked = update(FollowUp).where(FollowUp.id == second.id)
    blocked = blocked.values(status="blocked", blocked_reason="consent", updated_at=older)
    desk.tell(lambda session: execute_unaudited(session, blocked))
    assert sought(lead, "c-7") == "/acme/followups?customer=c-7&tab=cancelled"


def test_search_finds_a_customer_whatever_the_case_and_the_exact_one_first(desk, acme, lead):
    desk.followup(desk.tenant("other"), customer="C-1042")
    assert sought(lead, "C-1042") is None
    desk.followup(acme, customer="c-1042")
    assert sought(lead, "C-1042") == "/acme/followups?customer=c-1042"
    desk.followup(acme, customer="C-1042")
    assert sought(lead, "C-1042") == "/acme/followups?customer=C-1042"
    assert sought(lead, "c-1042") == "/acme/followups?customer=c-1042"


def test_search_leads_back_when_nothing_was_typed(lead):
    def back(referrer):
        page = lead.open("/acme/search?q=+", headers={"Referer": referrer} if referrer else {})
        return page.status, page.headers["Location"]

    assert back("http://localhost/acme/audit?kind=contact") == (303, "/acme/audit?kind=contact")
    assert back("http://localhost/acme/search?q=") == (303, "/acme")
    assert back(None) == (303, "/acme")


@pytest.mark.slow
def test_search_for_a_customer_goes_by_its_index_whatever_the_case(app, desk, acme):
    for number in range(300):
        desk.followup(acme, customer=f"c-{number}")
    with app.app_context():
        session = db.session()
        analyze(session)
        query = search.written_otherwise(acme, "C-7")
        assert_uses_index(session, query, table="follow_up", index="ix_follow_up_customer_lower")
        assert session.scalars(query).all() == ["c-7"]
        db.session.remove()
