"""Live refresh as a script meets it: nothing where nothing changed, and how often a person wants it."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select, update

from desk_ui import refreshing
from models import bulk, clock, deliveries, handling, preferences, sweep_states, tenants
from models.deliveries import Delivery
from models.followups import contacts, transitions
from models.followups.records import FollowUp
from tests.console.counting import selects
from tests.console.test_handling import OTHER, make_overdue, take
from tests.console.test_list import fire_all, set_due
from tests.console.visiting import HTMX, SETTER_UP
from tests.support.api import on_sqlite
from tests.support.create import create_good_run
from tests.support.deliver import create_each_state

LIST = "/acme/followups"


@pytest.fixture(autouse=True)
def firing_is_on_time(desk):
    """However old the database is, so that the next run is known."""
    desk.tell(lambda session: create_good_run(session, "fire_followups", now=clock.now()))


def test_interval_is_kept_for_the_person_and_audited_once_when_chosen(desk, lead):
    form = lead.open("/profile").form("/profile/refresh")
    answer = lead.press(form, refresh="30")
    assert "Lists are read again every 30 s now." in lead.follow(answer).text
    assert lead.press(form, refresh="30").status == 303
    [event] = desk.audit("operator.refresh_set")
    assert event.detail == {"before": preferences.USUAL, "after": 30}
    assert 'value="30" selected' in lead.open("/profile").html


def test_interval_is_off_when_nothing_is_to_be_read_again(lead):
    answer = lead.press(lead.open("/profile").form("/profile/refresh"), refresh="0")
    assert "only when you reload them" in lead.follow(answer).text
    assert 'value="0" selected' in lead.open("/profile").html


def test_interval_is_set_in_the_list_and_leads_back_to_it(lead):
    page = lead.open(f"{LIST}?tab=fired&agent=billing")
    assert 'data-every="10"' in page.html
    answer = lead.press(page.form("/profile/refresh"), refresh="60")
    assert answer.headers["Location"] == f"{LIST}?tab=fired&agent=billing"
    assert 'data-every="60"' in lead.follow(answer).html


def test_interval_is_set_without_a_new_page_when_a_script_asks(lead):
    answer = lead.press(lead.open(LIST).form("/profile/refresh"), htmx=True, refresh="5")
    assert answer.status == 200
    assert "every 5 s" in answer.text


@pytest.mark.parametrize("given", ["", "7", "-5", "1e1", "10 ", "\x00", "9" * 500, "<b>"])
def test_interval_is_refused_by_name_when_it_is_none_of_the_choices(desk, lead, given):
    answer = lead.press(lead.open("/profile").form("/profile/refresh"), refresh=given)
    assert answer.status == 422
    assert "refresh must be one of 5, 10, 30, 60, 0" in answer.text.lower()
    assert desk.audit("operator.refresh_set") == []


def ask(visitor, path, sign=None):
    """What the page's script asks for, given the sign of what it shows."""
    headers = {**HTMX, **({"If-None-Match": f'W/"{sign}"'} if sign else {})}
    return visitor.client.get(path, headers=headers)


def sign_of(page):
    return re.search(r'data-sign="([^"]+)"', page.html)[1]


def signs(text):
    """The `data-v` of each row by its id."""
    return dict(re.findall(r'<tr role="row" id="([^"]+)" data-v="([^"]+)"', text))


AREAS = (
    "/acme",
    "/acme/followups",
    "/acme/deliveries",
    "/acme/audit",
    "/acme/sweeps",
    "/acme/sweeps/deliver",
)


@on_sqlite
@pytest.mark.parametrize("path", AREAS)
def test_refresh_is_answered_by_nothing_when_nothing_changed(desk, acme, lead, path):
    desk.followup(acme)
    sign = sign_of(lead.open(path))
    answer = ask(lead, path, sign)
    assert answer.status_code == 304 and answer.data == b""
    assert answer.headers["ETag"] == f'W/"{sign}"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Cookie" in answer.headers["Vary"] and "HX-Request" in answer.headers["Vary"]
    assert answer.headers["Content-Security-Policy"] and answer.headers["X-Desk"] == "1"
    assert answer.headers["X-Next-Run"]


@on_sqlite
@pytest.mark.parametrize("path", AREAS)
def test_refresh_gets_the_list_alone_when_the_sign_is_another(lead, path):
    for sign in (None, "0", "x" * 5_000):
        answer = ask(lead, path, sign)
        assert answer.status_code == 200
        assert 'id="fresh"' in answer.text and "<html" not in answer.text


def test_whole_page_is_never_left_out_when_a_sign_is_given(lead):
    sign = sign_of(lead.open(LIST))
    answer = lead.client.get(LIST, headers={"If-None-Match": f'W/"{sign}"'})
    assert answer.status_code == 200 and "ETag" not in answer.headers


def test_sign_stays_when_only_time_passes(desk, acme, lead, monkeypatch):
    for minutes in (6, 90, 60 * 30):
        desk.followup(acme, customer=f"c-{minutes}", at=clock.now() + timedelta(minutes=minutes))
    desk.followup(acme, customer="c-fires")
    now = clock.now()
    before = {tab: ask(lead, f"{LIST}?tab={tab}") for tab in ("pending", "fired")}
    for seconds in (1, 45, 80):
        monkeypatch.setattr(clock, "now", lambda seconds=seconds: now + timedelta(seconds=seconds))
        for tab, answer in before.items():
            path = f"{LIST}?tab={tab}"
            assert ask(lead, path, answer.headers["ETag"][3:-1]).status_code == 304, (tab, seconds)


def cancel(desk, acme, id):
    desk.tell(lambda session: transitions.cancel(session, acme.id, id, actor=SETTER_UP, now=clock.now()))


def hold(desk, acme, _id):
    desk.tell(
        lambda session: tenants.hold(
            session, acme, "store-support", held=True, reason=None, actor=SETTER_UP, now=clock.now()
        )
    )


def reschedule(desk, acme, id):
    later = clock.now() + timedelta(hours=3)
    desk.tell(
        lambda session: transitions.reschedule(
            session, acme.id, id, later, actor=SETTER_UP, now=clock.now(), expected_version=1
        )
    )


def book(desk, acme, _id):
    desk.followup(acme, customer="c-new")


def come_due(desk, acme, id):
    at = clock.now() - timedelta(seconds=5)
    desk.tell(
        lambda session: bulk.execute_unaudited(
            session, update(FollowUp).where(FollowUp.id == id).values(at=at)
        )
    )


def switch_off(desk, acme, _id):
    desk.tell(
        lambda session: tenants.set_features(
            session, acme, {"followups": False}, actor=SETTER_UP, now=clock.now()
        )
    )


@pytest.mark.parametrize("change", [cancel, hold, reschedule, book, come_due, switch_off])
def test_sign_changes_with_what_is_shown(desk, acme, lead, change):
    followup = desk.followup(acme)
    sign = sign_of(lead.open(LIST))
    assert ask(lead, LIST, sign).status_code == 304
    change(desk, acme, followup.id)
    assert ask(lead, LIST, sign).status_code == 200


def test_sign_changes_with_the_zone_of_the_person(desk, acme, lead):
    desk.followup(acme, at=clock.now() + timedelta(days=3))
    sign = sign_of(lead.open(LIST))
    lead.press(lead.open("/profile").form("/profile/timezone"), timezone="Asia/Tokyo")
    assert ask(lead, LIST, sign).status_code == 200


def test_only_the_row_that_changed_has_another_sign(desk, acme, lead):
    first, second = desk.followup(acme, customer="c-1"), desk.followup(acme, customer="c-2")
    before = signs(lead.open(LIST).html)
    reschedule(desk, acme, second.id)
    after = signs(lead.open(LIST).html)
    assert before[f"followup-{first.id}"] == after[f"followup-{first.id}"]
    assert before[f"followup-{second.id}"] != after[f"followup-{second.id}"]


def test_rows_are_shown_as_the_list_shows_them_and_as_gone_when_they_left_it(desk, acme, lead):
    stays, goes = desk.followup(acme, customer="c-stays"), desk.followup(acme, customer="c-goes")
    listed = signs(lead.open(LIST).html)
    cancel(desk, acme, goes.id)
    text = ask(lead, f"{LIST}/rows?id={stays.id}&id={goes.id}").text
    assert signs(text)[f"followup-{stays.id}"] == listed[f"followup-{stays.id}"]
    assert text.count('class="gone"') == 1
    gone = text[text.index(f'id="followup-{goes.id}"') :]
    assert "Cancelled" in gone and "by tests" in gone
    assert f"{goes.id}/cancellation" not in text and f"{stays.id}/cancellation" in text


def test_row_has_left_when_it_is_no_longer_what_the_filters_ask_for(desk, acme, lead):
    followup = desk.followup(acme)
    set_due(desk, followup, timedelta(hours=1))
    path = f"{LIST}/rows?tab=overdue&id={followup.id}"
    assert 'class="gone"' not in ask(lead, path).text
    assert 'class="gone"' in ask(lead, f"{path}&agent=billing").text
    later = (clock.now() + timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M")
    assert 'class="gone"' in ask(lead, f"{LIST}/rows?id={followup.id}&since={later}").text
    hold(desk, acme, followup.id)
    assert 'class="gone"' in ask(lead, path).text


@on_sqlite
def test_rows_are_answered_by_nothing_when_they_did_not_change(desk, acme, lead):
    path = f"{LIST}/rows?id={desk.followup(acme).id}"
    sign = ask(lead, path).headers["ETag"][3:-1]
    assert ask(lead, path, sign).status_code == 304


@on_sqlite
def test_row_of_another_tenant_is_as_one_that_is_not_there(desk, acme, lead):
    theirs = desk.followup(desk.tenant("other"), customer="c-theirs")
    for id in (theirs.id, uuid4()):
        answer = ask(lead, f"{LIST}/rows?id={id}")
        assert (answer.status_code, signs(answer.text)) == (200, {})
    assert ask(lead, f"/other/followups/rows?id={theirs.id}").status_code == 404


HOSTILE = ["", "x", "\x00", "-1", "0", "9" * 30, "1e3", "<script>", "' OR 1=1 --", "٣", "1" * 5_000]


@pytest.mark.parametrize("area", ["followups", "deliveries"])
def test_rows_are_none_when_the_ids_are_none(lead, area):
    for given in HOSTILE:
        answer = lead.client.get(f"/acme/{area}/rows", query_string={"id": given}, headers=HTMX)
        assert (answer.status_code, signs(answer.text)) == (200, {}), given


@on_sqlite
@pytest.mark.parametrize("area", ["followups", "deliveries"])
def test_rows_are_refused_when_there_are_more_than_a_page_holds(lead, area):
    ids = "&".join(f"id={number + 1}" for number in range(refreshing.MOST_NAMED + 1))
    assert ask(lead, f"/acme/{area}/rows?{ids}").status_code == 422


@on_sqlite
def test_rows_are_read_by_one_statement_however_many_there_are(app, desk, acme, lead):
    ids = "&".join(f"id={desk.followup(acme, customer=f'c-{number}').id}" for number in range(50))
    ask(lead, f"{LIST}/rows?{ids}")
    with selects(app) as seen:
        assert len(signs(ask(lead, f"{LIST}/rows?{ids}").text)) == 50
    assert len([one for one in seen if "FROM follow_up" in one]) == 1


def test_deliveries_are_refreshed_and_greyed_when_they_left(app, desk, acme, lead):
    settings = app.extensions["desk_settings"]
    desk.tell(lambda session: create_each_state(session, acme, settings, now=clock.now()))
    dead = desk.tell(
        lambda session: session.scalars(select(Delivery.id).where(Delivery.state == "dead")).first()
    )
    path = "/acme/deliveries?tab=dead"
    sign = sign_of(lead.open(path))
    assert ask(lead, path, sign).status_code == 304
    rows = f"/acme/deliveries/rows?tab=dead&id={dead}"
    assert 'class="gone"' not in ask(lead, rows).text
    desk.tell(
        lambda session: deliveries.rearm(
            session, acme.id, dead, actor=SETTER_UP, now=clock.now(), reason="r", expected_version=None
        )
    )
    assert ask(lead, path, sign).status_code == 200
    assert 'class="gone"' in ask(lead, rows).text


@on_sqlite
def test_audit_has_another_sign_when_something_happened(desk, acme, lead):
    sign = sign_of(lead.open("/acme/audit"))
    assert ask(lead, "/acme/audit", sign).status_code == 304
    desk.followup(acme)
    assert ask(lead, "/acme/audit", sign).status_code == 200


@on_sqlite
@pytest.mark.parametrize("path", ["/acme/sweeps", "/acme/sweeps/deliver"])
def test_sweeps_have_another_sign_when_one_ran_or_was_paused(desk, acme, lead, path):
    sign = sign_of(lead.open(path))
    desk.tell(lambda session: create_good_run(session, "deliver", now=clock.now()))
    ran = ask(lead, path, sign)
    assert ran.status_code == 200
    sign = ran.headers["ETag"][3:-1]
    assert ask(lead, path, sign).status_code == 304
    desk.tell(
        lambda session: sweep_states.pause(
            session, "deliver", known=["deliver"], reason="r", actor=SETTER_UP, now=clock.now()
        )
    )
    assert ask(lead, path, sign).status_code == 200


def test_page_of_one_says_what_it_became_only_when_it_moved(desk, acme, lead):
    followup = desk.followup(acme)
    path = f"{LIST}/{followup.id}"
    sign = sign_of(lead.open(path))
    assert ask(lead, path, sign).status_code == 304
    cancel(desk, acme, followup.id)
    answer = ask(lead, path, sign)
    assert answer.status_code == 200
    assert 'data-became="cancelled"' in answer.text
    assert f'data-sign="{answer.headers["ETag"][3:-1]}"' in answer.text


def test_page_of_one_says_who_is_on_it_when_that_changed(app, desk, acme, lead):
    late = make_overdue(desk, acme)
    settings = app.extensions["desk_settings"]
    desk.tell(
        lambda session: create_each_state(session, acme, settings, now=clock.now() - timedelta(hours=1))
    )
    dead = desk.tell(
        lambda session: session.scalars(select(Delivery.id).where(Delivery.state == "dead")).first()
    )
    for kind, id in (("followup", late.id), ("delivery", dead)):
        path = f"/acme/{'followups' if kind == 'followup' else 'deliveries'}/{id}"
        sign = sign_of(lead.open(path))
        assert ask(lead, path, sign).status_code == 304
        take(desk, acme, id, kind=kind, ago=timedelta())
        answer = ask(lead, path, sign)
        assert answer.status_code == 200
        assert 'data-became="other@acme.test is on it now"' in answer.text
        desk.tell(
            lambda session, on=(kind, str(id)): handling.let_go(
                session, acme, on, actor=OTHER, now=clock.now()
            )
        )
        taken = answer.headers["ETag"][3:-1]
        assert 'data-became="nobody is on it now"' in ask(lead, path, taken).text


def test_page_of_one_that_fired_notices_when_its_task_goes_on(desk, acme, lead):
    followup = desk.followup(acme)
    fire_all(desk)
    path = f"{LIST}/{followup.id}"
    page = lead.open(path)
    assert ask(lead, path, sign_of(page)).status_code == 304
    desk.tell(
        lambda session: contacts.revoke(
            session, acme, followup.customer, by="operator", actor=SETTER_UP, now=clock.now()
        )
    )
    assert ask(lead, path, sign_of(page)).status_code == 200


@on_sqlite
def test_page_of_one_is_asked_by_few_statements_when_nothing_moved(app, desk, acme, lead):
    path = f"{LIST}/{desk.followup(acme).id}"
    sign = sign_of(lead.open(path))
    # The numbers of the navigation are read along once in half a minute.
    ask(lead, path, sign)
    with selects(app) as seen:
        assert ask(lead, path, sign).status_code == 304
    assert len([one for one in seen if "follow_up" in one]) == 2


def test_refresh_is_sent_to_sign_in_when_signed_out(desk, acme, lead):
    lead.client.delete_cookie("desk")
    answer = ask(lead, LIST, "0")
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"].startswith("/sign-in")


def test_next_run_is_told_with_each_refresh_and_not_when_in_doubt(app, desk, acme, lead):
    told = ask(lead, LIST).headers["X-Next-Run"]
    assert re.fullmatch(r"[0-9-]+T[0-9:.]+\+00:00", told)
    desk.tell(
        lambda session: sweep_states.pause(
            session, "fire_followups", known=["fire_followups"], reason="r", actor=SETTER_UP, now=clock.now()
        )
    )
    app.extensions["desk_sweep_lines"] = (clock.EPOCH, [])
    assert "X-Next-Run" not in ask(lead, LIST).headers


def test_page_says_what_the_next_run_will_do_with_one_that_is_due(desk, acme, lead):
    followup = desk.followup(acme)
    come_due(desk, acme, followup.id)
    assert re.search(
        r"The next run, (in [0-9]+ s|now) , will fire this", lead.open(f"{LIST}/{followup.id}").text
    )
    unknown = desk.followup(acme, agent="nobody")
    come_due(desk, acme, unknown.id)
    assert re.search(r"The next run, .* , will judge this", lead.open(f"{LIST}/{unknown.id}").text)
    asked = lead.open(f"{LIST}/{followup.id}/rescheduling").text
    assert re.search(r"It is due: the next run, .* , takes it if it comes before you are done", asked)
    hold(desk, acme, followup.id)
    assert "The next run, " not in lead.open(f"{LIST}/{followup.id}").text
    assert "its agent is on hold" in lead.open(f"{LIST}/{followup.id}/rescheduling").text


def test_sign_leaves_out_what_ticks_alone():
    alike = (
        "was due 4 s ago",
        "was due 3 min ago",
        "was due 1 h 55 min ago",
        "was due now",
        "was due just now",
        "was due in 2 d",
    )
    assert len({refreshing.sign(text) for text in alike}) == 1
    for other in ("was due", "was due 10:00", "was due 4 s ago, held", "was due nowhere"):
        assert refreshing.sign(other) not in {refreshing.sign(text) for text in alike} or other == "was due"
