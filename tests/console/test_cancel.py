import re
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from models import clock
from models.audit import AuditEvent
from models.followups import transitions
from models.followups.firing import fire_due
from models.operators import Role
from tests.console.visiting import SETTER_UP, Visitor
from tests.support.declare import declared

LIST = "/acme/followups"


def fire_all(desk):
    """What the sweep does in two hours' time, now."""
    later = clock.now() + timedelta(hours=2)
    desk.tell(lambda session: fire_due(session, declared=declared(), now=later, limit=100))


def cancel_form(visitor, followup):
    return visitor.open(LIST).form(f"{followup.id}/cancellation")


def test_cancel_swaps_the_row_and_says_so_when_pressed_with_htmx(desk, acme, lead):
    followup = desk.followup(acme, customer="c-1042")
    page = lead.press(cancel_form(lead, followup), htmx=True)
    assert page.status == 200
    assert page.ids == [f"followup-{followup.id}"]
    assert "Cancelled" in page.text and "by lead@acme.test" in page.text
    assert "Cancelled the follow-up to c-1042." in page.text
    assert [form.action for form in page.forms] == [f"{LIST}/{followup.id}/restoration"]
    assert desk.read(acme, followup.id).status == "cancelled"


def test_cancel_leaves_one_audit_event_of_the_person_when_it_succeeds(desk, acme, lead):
    followup = desk.followup(acme)
    lead.press(cancel_form(lead, followup))
    [event] = desk.audit("followup.cancelled")
    assert (event.actor_type, event.actor_label) == ("operator", "lead@acme.test")
    assert (event.result, event.resource_id) == ("success", str(followup.id))
    assert event.detail == {"from": "pending", "to": "cancelled"}
    assert event.request_id


def test_cancel_comes_back_to_the_same_list_when_there_is_no_script(desk, acme, lead):
    followup = desk.followup(acme, customer="c-1042")
    page = lead.open(f"{LIST}?agent=store-support")
    answer = lead.press(page.form(f"{followup.id}/cancellation"))
    assert answer.status == 303
    assert answer.headers["Location"] == f"{LIST}?agent=store-support"
    assert "Cancelled the follow-up to c-1042." in lead.follow(answer).text


def test_cancel_acts_once_when_pressed_twice(desk, acme, lead):
    followup = desk.followup(acme, customer="c-1042")
    form = cancel_form(lead, followup)
    first, second = lead.press(form, htmx=True), lead.press(form, htmx=True)
    assert first.status == second.status == 200
    assert "Cancelled the follow-up to c-1042." in second.text
    assert len(desk.audit("followup.cancelled")) == 1


def test_cancel_names_who_was_first_when_another_cancelled_it(desk, acme, lead, visitor):
    followup = desk.followup(acme, customer="c-1042")
    form = cancel_form(lead, followup)
    other = visitor("admin")
    other.press(cancel_form(other, followup))
    assert "was cancelled already, by admin@acme.test." in lead.press(form, htmx=True).text


def test_cancel_is_refused_with_the_row_as_it_is_when_it_fired_meanwhile(desk, acme, lead):
    followup = desk.followup(acme)
    form = cancel_form(lead, followup)
    fire_all(desk)
    page = lead.press(form, htmx=True)
    assert page.status == 409
    assert page.ids == [f"followup-{followup.id}"]
    assert "so it can't be cancelled." in page.text
    assert not page.forms
    assert desk.read(acme, followup.id).status == "fired"


def test_cancel_says_the_same_without_a_script_when_it_fired_meanwhile(desk, acme, lead):
    followup = desk.followup(acme)
    form = cancel_form(lead, followup)
    fire_all(desk)
    answer = lead.press(form)
    assert answer.status == 303
    assert "so it can't be cancelled." in lead.follow(answer).text


def test_cancel_audits_a_refusal_and_nothing_else_when_it_conflicts(desk, acme, lead):
    followup = desk.followup(acme)
    form = cancel_form(lead, followup)
    fire_all(desk)
    before = desk.read(acme, followup.id)
    lead.press(form, htmx=True)
    [event] = desk.audit("followup.cancelled")
    assert (event.result, event.purpose) == ("refused", "conflict")
    assert event.detail == {"state": "fired"}
    assert desk.read(acme, followup.id).version == before.version


def test_cancel_is_refused_when_the_row_moved_since_it_was_shown(desk, acme, lead):
    followup = desk.followup(acme)
    form = cancel_form(lead, followup)
    now = clock.now()
    desk.tell(
        lambda session: transitions.reschedule(
            session, acme.id, followup.id, now + timedelta(days=1), actor=SETTER_UP, now=now
        )
    )
    page = lead.press(form, htmx=True)
    assert page.status == 409
    assert re.search(r"Rescheduled (just now|\d+ s ago) by tests, so nothing was done\.", page.text)
    assert desk.read(acme, followup.id).status == "pending"
    # The row that came with the refusal can be acted on as it is now.
    assert lead.press(page.form("/cancellation"), htmx=True).status == 200


@pytest.mark.parametrize("version", [None, "", "one", "-1", "²", "9" * 30])
def test_cancel_is_unprocessable_when_the_version_is_missing_or_odd(desk, acme, lead, version):
    followup = desk.followup(acme)
    page = lead.press(cancel_form(lead, followup), htmx=True, version=version)
    assert page.status == 422
    assert "version is missing" in page.text
    assert desk.read(acme, followup.id).status == "pending"


def test_cancel_is_not_found_when_the_row_is_unknown_or_another_tenants(desk, acme, lead):
    other = desk.tenant("other")
    theirs = desk.followup(other)
    form = cancel_form(lead, desk.followup(acme))
    answers = []
    for id in (theirs.id, uuid4()):
        form.action = f"{LIST}/{id}/cancellation"
        page = lead.press(form)
        text = page.text.replace(page.headers["X-Request-ID"], "")
        # The next run comes nearer meanwhile.
        answers.append((page.status, re.sub(r"in \d+ s\b", "", text)))
    assert answers[0] == answers[1]
    assert answers[0][0] == 404
    assert desk.read(other, theirs.id).status == "pending"
    assert desk.audit("followup.cancelled") == []


def test_cancel_is_not_found_when_the_person_is_of_another_tenant(desk, acme):
    followup = desk.followup(acme)
    outsider = desk.visitor("lead@other.test", desk.tenant("other"), "admin")
    form = outsider.open("/other/followups").form("/sign-out")
    form.action = f"{LIST}/{followup.id}/cancellation"
    assert outsider.press(form, version="1").status == 404
    assert desk.read(acme, followup.id).status == "pending"


@pytest.mark.parametrize("role", list(Role))
def test_cancel_is_for_marketers_and_above_when_pressed(desk, acme, visitor, role):
    followup = desk.followup(acme)
    person = visitor(role)
    form = person.open(LIST).form("/sign-out")
    form.action = f"{LIST}/{followup.id}/cancellation"
    page = person.press(form, htmx=True, version="1", shown="row")
    allowed = role != Role.VIEWER
    assert page.status == (200 if allowed else 403)
    assert desk.read(acme, followup.id).status == ("cancelled" if allowed else "pending")
    [event] = desk.audit("followup.cancelled")
    assert event.result == ("success" if allowed else "refused")
    assert event.resource_id == str(followup.id)


def test_list_says_once_that_one_may_only_look_when_the_role_does_not_allow_more(desk, acme, visitor):
    followup = desk.followup(acme)
    desk.followup(acme, customer="c-2")
    viewer = visitor("viewer")
    page = viewer.open(LIST)
    assert not [form for form in page.forms if form.action.endswith("/cancellation")]
    assert page.text.count("You can look; to act needs the role marketer, lead or admin.") == 1
    assert 'role="cell" class="acts"' not in page.html
    one = viewer.open(f"{LIST}/{followup.id}")
    assert "Cancel this follow-up : Your role in acme is viewer" in one.text
    assert "You can look" not in viewer.open(f"{LIST}?tab=fired").text


def test_every_answer_to_an_act_says_that_it_is_the_desks(desk, acme, lead):
    followup = desk.followup(acme)
    form = cancel_form(lead, followup)
    assert [lead.press(form, htmx=True, version=v).headers["X-Desk"] for v in ("odd", "1")] == ["1", "1"]
    form.action = f"{LIST}/{uuid4()}/cancellation"
    assert lead.press(form, htmx=True).headers["X-Desk"] == "1"
    assert Visitor(lead.app).press(form, htmx=True).headers["X-Desk"] == "1"
    assert "X-Desk" not in lead.client.get("/api/v1/followups").headers


def test_place_in_the_list_is_kept_when_acting_and_coming_back(desk, acme, lead):
    for number in range(52):
        desk.followup(acme, customer=f"c-{number}", at=clock.now() + timedelta(hours=1, minutes=number))
    second = lead.open(LIST).links["Later ones"]
    page = lead.open(second)
    assert lead.press(page.form("/cancellation")).headers["Location"] == second
    one = lead.open(lead.open(second).links["c-51"])
    assert one.links["Follow-ups, pending"] == second
    assert lead.follow(lead.press(one.form("/cancellation"))).links["Follow-ups, pending"] == second
    # The row that takes the old one's place leads back there, too.
    row = lead.press(page.form("/cancellation"), htmx=True, version="odd")
    assert "after%3D" in row.html


def test_cancel_does_nothing_and_says_so_when_the_session_of_the_form_is_over(desk, acme, lead):
    followup = desk.followup(acme)
    form = cancel_form(lead, followup)
    answer = lead.press(form, csrf_token="of-an-older-session")
    assert answer.status == 303
    assert "nothing was done" in lead.follow(answer).text
    assert desk.read(acme, followup.id).status == "pending"


def test_cancel_reloads_the_page_when_htmx_sends_a_form_of_an_older_session(desk, acme, lead):
    followup = desk.followup(acme)
    answer = lead.press(cancel_form(lead, followup), htmx=True, csrf_token=None)
    assert answer.status == 400
    assert answer.headers["HX-Refresh"] == "true"
    assert desk.read(acme, followup.id).status == "pending"


def test_cancel_leads_nowhere_else_when_the_way_back_is_forged(desk, acme, lead):
    for back in ("https://evil.test/", "//evil.test", "/\\evil.test", "/a\nb"):
        form = cancel_form(lead, desk.followup(acme, reason=back.strip()))
        assert lead.press(form, back=back).headers["Location"] == LIST


def test_cancel_swaps_the_panel_when_pressed_on_its_own_page(desk, acme, lead):
    followup = desk.followup(acme)
    form = lead.open(f"{LIST}/{followup.id}").form("/cancellation")
    page = lead.press(form, htmx=True)
    assert page.status == 200
    assert "followup" in page.ids
    assert "Nothing was sent." in page.text
    assert not [form for form in page.forms if form.action.endswith("/cancellation")]


def test_cancel_writes_no_audit_when_there_is_no_such_row(desk, acme, lead):
    form = lead.open(LIST).form("/sign-out")
    form.action = f"{LIST}/{uuid4()}/cancellation"
    before = desk.tell(lambda session: session.scalar(select(func.count(AuditEvent.id))))
    assert lead.press(form, version="1").status == 404
    assert desk.tell(lambda session: session.scalar(select(func.count(AuditEvent.id)))) == before
