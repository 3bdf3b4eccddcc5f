"""The audit and a customer: named where they are known now, and found by the filter."""

import pytest
from sqlalchemy import case

from desk_ui.audit import customers
from models import audit, clock, deliveries, erasure
from models.followups import contacts, transitions
from tests.console.counting import selects
from tests.console.visiting import SETTER_UP
from tests.support.deliver import create_delivery, create_endpoint

LIST = "/acme/audit"


def cancel(desk, tenant, followup):
    desk.tell(
        lambda session: transitions.cancel(session, tenant.id, followup.id, actor=SETTER_UP, now=clock.now())
    )


def revoke(desk, tenant, customer, **given):
    desk.tell(
        lambda session: contacts.revoke(
            session, tenant, customer, by="operator", actor=SETTER_UP, now=clock.now(), **given
        )
    )


def test_list_and_event_name_the_customer_until_they_are_erased(desk, acme, lead):
    cancel(desk, acme, desk.followup(acme, customer="<b>c-77</b>"))
    [event] = desk.audit("followup.cancelled")
    for path in (f"{LIST}?kind=followup", f"{LIST}?kind=contact", f"{LIST}/{event.id}"):
        page = lead.open(path)
        assert page.links["<b>c-77</b>"] == "/acme/search?q=%3Cb%3Ec-77%3C/b%3E", path
        assert "<b>c-77" not in page.html
    assert lead.open("/acme/search?q=<b>c-77</b>").status == 303
    desk.tell(
        lambda session: erasure.erase_customer(session, acme, "<b>c-77</b>", actor=SETTER_UP, now=clock.now())
    )
    for path in (f"{LIST}?kind=followup", f"{LIST}/{event.id}"):
        assert "c-77" not in lead.open(path).text


def test_filter_finds_what_concerns_a_customer_and_nothing_of_another_or_elsewhere(desk, acme, lead):
    mine, other = desk.followup(acme, customer="c-1"), desk.followup(acme, customer="c-2")
    elsewhere = desk.followup(desk.tenant("other"), customer="c-1")
    revoke(desk, acme, "c-1")
    page = lead.open(f"{LIST}?customer=c-1")
    assert str(mine.id) in page.text and "Opted out" in page.text and "May be contacted" in page.text
    assert str(other.id) not in page.text and str(elsewhere.id) not in page.text
    assert "Nothing matches" in lead.open(f"{LIST}?customer=nobody").text


def test_filter_says_so_when_a_customer_has_more_follow_ups_than_are_looked_for(
    desk, acme, lead, monkeypatch
):
    for number in range(3):
        desk.followup(acme, customer="c-1", reason=f"reason {number}")
    assert "the newest are looked for" not in lead.open(f"{LIST}?customer=c-1").text
    monkeypatch.setattr(customers, "MOST", 2)
    assert "the newest are looked for" in lead.open(f"{LIST}?customer=c-1").text


def test_list_asks_no_more_when_there_are_more_rows(app, desk, acme, lead):
    desk.followup(acme, customer="c-0")
    lead.open(LIST)
    with selects(app) as few:
        lead.open(LIST)
    for number in range(20):
        desk.followup(acme, customer=f"c-{number + 1}")
    with selects(app) as many:
        lead.open(LIST)
    assert len(many) <= len(few)


def test_page_of_a_follow_up_shows_the_reason_typed_with_an_opt_out(desk, acme, lead):
    followup = desk.followup(acme, customer="c-1")
    assert "asked on the phone" not in lead.open(f"/acme/followups/{followup.id}").text
    revoke(desk, acme, "c-1", reason="<i>asked on the phone</i>")
    page = lead.open(f"/acme/followups/{followup.id}")
    assert "<i>asked on the phone</i>" in page.text and "<i>asked" not in page.html


def test_list_says_where_the_history_of_deliveries_is(app, desk, acme, lead):
    assert "Each delivery keeps its own history" in lead.open(f"{LIST}?kind=delivery").text
    assert "Each delivery keeps its own history" not in lead.open(LIST).text

    def rearm(session):
        now = clock.now()
        endpoint, _secret = create_endpoint(session, acme, app.extensions["desk_settings"], now=now)
        made = create_delivery(session, acme, endpoint, now=now)
        return deliveries.rearm(session, acme.id, made.id, reason="fixed there", actor=SETTER_UP, now=now)

    delivery = desk.tell(rearm)
    assert "Re-armed by tests : fixed there" in lead.open(f"/acme/deliveries/{delivery.id}").text


def test_event_says_in_words_what_changed(desk, acme, lead):
    desk.followup(acme, customer="c-1")
    revoke(desk, acme, "c-1")
    [event] = desk.audit("contact.revoked")
    page = lead.open(f"{LIST}/{event.id}")
    assert "State from May be contacted to Opted out" in page.text
    assert '"to": "revoked"' in page.text and "The desk itself" in page.text


@pytest.mark.slow
def test_filter_goes_by_the_index_over_what_events_are_about(app, desk, acme):
    from desk_ui.audit import queries
    from models.base import db
    from tests.support.filling import bare, fill, numbered
    from tests.support.plans import analyze, assert_uses_index

    for number in range(20):
        desk.followup(acme, customer="c-1", reason=f"reason {number}")
    noted = audit.row(
        tenant_id=acme.id, actor=SETTER_UP, action="sweep.paused", resource=("", ""), now=clock.now()
    )
    with app.app_context():
        session = db.session()
        with db.engine.begin() as connection, bare(connection, "audit_event"):
            fill(
                connection,
                "audit_event",
                20_000,
                lambda n: {
                    **noted,
                    "resource_type": case((n % 2 == 1, "followup"), else_="contact"),
                    "resource_id": numbered("id-", n),
                },
            )
        analyze(session)
        query = queries.selected(session, acme, "UTC", queries.Filters(customer="c-1"), None)
        assert_uses_index(session, query, table="audit_event", index="ix_audit_event_resource")
        assert len(session.execute(query).all()) == 21
        db.session.remove()
