"""The sweeps pages: how each stands, its runs, rows that failed, and what an admin of the platform does."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select

from jobs.schedule import SWEEPS
from models import clock, sweep_states, tenants
from models.sweeps import RunStatus, SlotKind, SlotState, SweepFault, SweepPause, SweepRun, SweepSlot
from tests.console.counting import selects
from tests.console.visiting import SETTER_UP

LIST = "/acme/sweeps"
FIRING = f"{LIST}/fire_followups"
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


@pytest.fixture(autouse=True)
def on_time(desk):
    """No sweep is late unless a test says so, however long the machine takes over it."""
    later = clock.now() + HOUR
    desk.tell(lambda session: setattr(tenants.get(session, None), "created_at", later))


@pytest.fixture
def admin(desk, acme):
    """Somebody who looks after acme, and is an admin of the platform."""
    found = desk.visitor("admin@acme.test", acme, "viewer")
    desk.give("admin@acme.test", desk.tell(lambda session: tenants.get(session, None)), "admin")
    return found


def ran(desk, name="fire_followups", *, ago=SECOND, took=SECOND / 5, **given):
    """A run of a sweep that began `ago`."""
    at = clock.now() - ago
    values = {
        "status": RunStatus.OK.value,
        "counts": {},
        "finished_at": at + took,
        **given,
    }

    def add(session):
        run = SweepRun(name=name, started_at=at, holder="tests", **values)
        session.add(run)
        session.flush()
        return run.id

    return desk.tell(add)


def failed_row(desk, tenant, row, *, name="fire_followups", error="Traceback\nValueError: no", ago=SECOND):
    run_id = ran(desk, name)
    fault = {"run_id": run_id, "tenant_id": tenant.id, "name": name, "row": row, "error": error}
    desk.tell(lambda session: session.add(SweepFault(**fault, at=clock.now() - ago)))


def pause(desk, name="fire_followups", reason="the shop moves"):
    return desk.tell(
        lambda session: sweep_states.pause(
            session, name, known=SWEEPS, reason=reason, actor=SETTER_UP, now=clock.now()
        )
    )


def resume(desk, name="fire_followups"):
    desk.tell(
        lambda session: sweep_states.resume(session, name, known=SWEEPS, actor=SETTER_UP, now=clock.now())
    )


def state_of(desk, name="fire_followups"):
    """Whether it is paused, by whom and why."""
    row = desk.tell(lambda session: session.get(SweepPause, name))
    return (row.paused, row.by, row.reason) if row else None


def slots(desk):
    query = select(SweepSlot.name, SweepSlot.kind, SweepSlot.state)
    return desk.tell(lambda session: [tuple(row) for row in session.execute(query)])


# Looking.


def test_page_names_each_sweep_with_what_it_does_when_nothing_ran_yet(desk, acme, lead):
    page = lead.open(LIST)
    assert "<h1>All sweeps are on time</h1>" in page.html
    for words in ("Firing", "Delivery", "Sealing of the audit", "Retention", "Takes follow-ups that are due"):
        assert words in page.text
    assert "Not run yet" in page.text and "every 30 s" in page.text
    assert "None. A row that fails is tried again by itself" in page.text
    assert "Only an admin of platform pauses or runs one; you can look." in page.text


def test_page_tells_how_the_last_run_went_in_words(desk, acme, admin):
    counts = {"examined": 15, "changed": 15, "errors": 1, "capped": True, "fired": 1_200, "blocked": 3}
    ran(desk, ago=18 * SECOND, counts=counts, capped=True, by_hand=True)
    text = admin.open(LIST).text
    assert "Last run 18 s ago , by hand, took 0.2 s" in text
    assert "1,200 fired, 3 blocked, 1 row failed" in text
    assert "It reached its limit; more was due." in text
    assert "1 run in 24 hours" in text


def test_page_shows_each_state_by_its_word(desk, acme, lead):
    ran(desk, "deliver", status="running", finished_at=None)
    ran(desk, "seal_audit", status="error", error="secret of another")
    pause(desk, "retention")
    ran(desk, ago=SECOND)
    text = lead.open(LIST).text
    for words in ("Running", "Last run failed", "Paused", "On time", "tests paused it. “the shop moves”."):
        assert words in text
    assert "1 sweep is paused" in text
    assert "secret of another" not in text


def test_page_says_what_is_late_when_nothing_ran(desk, acme, lead):
    desk.tell(lambda session: setattr(tenants.get(session, "platform"), "created_at", clock.EPOCH))
    text = lead.open(LIST).text
    assert f"{len(SWEEPS)} sweeps are late" in text and "No good run for three intervals." in text


def test_counts_and_errors_of_runs_are_for_those_who_see_all_tenants(desk, acme, lead, admin):
    ran(desk, ago=2 * SECOND, counts={"fired": 7})
    ran(desk, ago=9 * SECOND, status="error", error="Traceback\nKeyError: 'of another'")
    for path in (LIST, FIRING):
        theirs, ours = lead.open(path).text, admin.open(path).text
        assert "7 fired" not in theirs and "KeyError" not in theirs
        assert "7 fired" in ours
    assert "It ended in an error, and was tried again." in lead.open(FIRING).text
    assert "KeyError: 'of another'" in admin.open(FIRING).text


def test_rows_that_failed_are_shown_to_their_own_tenant_with_a_way_there(desk, acme, lead, admin):
    mine = desk.followup(acme, customer="c-1042")
    other = desk.tenant("other")
    failed_row(desk, acme, str(mine.id), error="Traceback\n  at x\nDataError: <b>too long</b>")
    failed_row(desk, acme, str(uuid4()), ago=25 * HOUR, error="Traceback\nOldError")
    failed_row(desk, other, str(uuid4()), error="Traceback\nTheirError")
    for path in (LIST, FIRING):
        page = lead.open(path)
        assert page.links[str(mine.id)] == f"/acme/followups/{mine.id}"
        assert "DataError: <b>too long</b>" in page.text and "<b>too" not in page.html
        assert "OldError" not in page.text and "TheirError" not in page.text
        assert "of acme alone" in page.text
        assert "TheirError" in admin.open(path).text
    # Of another sweep's rows its page tells nothing.
    assert "DataError" not in lead.open(f"{LIST}/deliver").text
    assert "1 row failed" in lead.open(LIST).text


def test_row_of_a_tenant_that_one_may_not_open_is_no_link(desk, acme, admin):
    id = str(uuid4())
    failed_row(desk, desk.tenant("other"), id)
    page = admin.open(LIST)
    assert id in page.text and id not in page.links
    assert "other" in page.text


def test_runs_go_on_by_their_place_and_hold_each_once(desk, acme, lead):
    for number in range(120):
        ran(desk, ago=(number // 3) * SECOND, took=timedelta())
    seen, path = [], FIRING
    while path:
        page = lead.open(path)
        seen += [id for id in page.ids if id.startswith("run-")]
        path = page.links.get("Older ones")
    assert len(seen) == len(set(seen)) == 120
    assert "newest first" in page.text


def test_runs_are_narrowed_by_how_they_ended(desk, acme, lead):
    ran(desk)
    ran(desk, status="skipped", error="paused by lead@acme.test: the shop moves")
    page = lead.open(f"{FIRING}?status=skipped")
    assert "1 row, newest first" in page.text
    assert "paused by lead@acme.test: the shop moves" in page.text
    assert page.links["Clear all"] == FIRING
    assert "Nothing matches" in lead.open(f"{FIRING}?status=error").text
    assert "No runs yet" in lead.open(f"{LIST}/retention").text
    assert "The filter Ended can't be used" in lead.open(f"{FIRING}?status=odd").text


def test_sweep_is_not_found_when_there_is_no_such(desk, acme, lead, admin):
    assert lead.open(f"{LIST}/polish").status == 404
    form = admin.open(LIST).form("/runs")
    form.action = f"{LIST}/polish/runs"
    assert admin.press(form).status == 404
    assert slots(desk) == []


def test_sweep_is_not_found_before_a_role_is_asked_when_there_is_no_such(desk, acme, admin, lead):
    form = admin.open(LIST).form("/runs")
    form.fields["csrf_token"] = lead.open(LIST).form("/sign-out").fields["csrf_token"]
    for name in ("polish", "y" * 5_000, "a%00b", "%ED%A0%80"):
        for act in ("runs", "pause", "resumption"):
            form.action = f"{LIST}/{name}/{act}"
            assert lead.press(form).status == 404
    assert [event.result for event in desk.audit("sweep.run_by_hand") + desk.audit("sweep.paused")] == []


def test_pages_take_as_many_queries_for_many_rows_as_for_one(app, desk, acme, admin):
    # Three for each sweep of the schedule, however many rows there are.
    for path, most in ((LIST, 42), (FIRING, 42)):
        failed_row(desk, acme, str(uuid4()))
        admin.open(path)
        with selects(app) as few:
            admin.open(path)
        for _number in range(15):
            failed_row(desk, acme, str(uuid4()))
        with selects(app) as many:
            admin.open(path)
        assert len(many) == len(few) <= most, few


# Run now.


def test_run_now_asks_for_a_run_and_says_so_when_there_is_no_script(desk, acme, admin):
    answer = admin.press(admin.open(LIST).form("/sweeps/fire_followups/runs"))
    assert answer.status == 303
    assert answer.headers["Location"] == f"{LIST}#sweep-fire_followups"
    page = admin.open(LIST)
    assert "Firing runs now: a worker takes it within seconds." in page.text
    assert "A run was asked for" in page.text
    assert slots(desk) == [("fire_followups", SlotKind.HAND, SlotState.WAITING)]
    [event] = desk.audit("sweep.run_by_hand")
    assert (event.actor_label, event.result) == ("admin@acme.test", "success")


def test_run_now_gives_the_sweep_as_it_is_and_a_toast_when_htmx_asks(desk, acme, admin):
    answer = admin.press(admin.open(LIST).form("/sweeps/deliver/runs"), htmx=True)
    assert answer.status == 200
    assert 'id="sweep-deliver"' in answer.html and "<h1" not in answer.html
    assert "Delivery runs now" in answer.text and "A run was asked for" in answer.text


def test_run_now_is_a_conflict_when_it_was_paused_meanwhile(desk, acme, admin):
    form = admin.open(LIST).form("/sweeps/fire_followups/runs")
    pause(desk)
    answer = admin.press(form, htmx=True)
    assert answer.status == 409
    assert "tests paused Firing, so nothing was done." in answer.text
    assert slots(desk) == []
    assert [event.result for event in desk.audit("sweep.run_by_hand")] == ["refused"]
    assert "Firing is paused. Resume it first, then run it." in admin.open(LIST).text


# Pausing.


def asked(visitor, name="fire_followups", act="pause"):
    return visitor.open(f"{LIST}/{name}/{act}")


def test_pause_says_what_will_wait_before_it_is_done(desk, acme, admin):
    for number in range(3):
        desk.followup(acme, customer=f"c-{number}", at=clock.now() + HOUR / 2)
    desk.followup(acme, customer="c-later", at=clock.now() + 2 * HOUR)
    desk.followup(desk.tenant("other"), at=clock.now() + HOUR / 2)
    page = asked(admin)
    assert "Pause Firing for all tenants" in page.text
    assert "4 follow-ups due within the hour will wait: nothing fires." in page.text
    assert "Nothing waits to be delivered within the hour" in asked(admin, "deliver").text
    assert "the newest stay unsealed" in asked(admin, "seal_audit").text
    assert "Nothing is removed until it is resumed" in asked(admin, "retention").text


def test_pause_counts_no_further_than_its_cap(desk, acme, admin, monkeypatch):
    monkeypatch.setattr("models.followups.needs.MOST", 2)
    monkeypatch.setattr("desk_ui.sweeps.asks.MOST", 2)
    monkeypatch.setattr("desk_ui.sweeps.telling.MOST", 2)
    for number in range(5):
        desk.followup(acme, customer=f"c-{number}", at=clock.now() + HOUR / 2)
    assert "2+ follow-ups due within the hour will wait" in asked(admin).text


def test_pause_stops_it_for_all_with_the_reason_when_there_is_no_script(desk, acme, lead, admin):
    answer = admin.press(asked(admin).form("/pause"), reason="the shop <b>moves</b>")
    assert answer.status == 303
    page = admin.open(answer.headers["Location"])
    assert "Paused Firing for all tenants." in page.text
    assert "admin@acme.test paused it. “the shop <b>moves</b>”." in page.text and "<b>moves" not in page.html
    assert state_of(desk) == (True, "admin@acme.test", "the shop <b>moves</b>")
    [event] = desk.audit("sweep.paused")
    assert (event.actor_label, event.resource_id) == ("admin@acme.test", "fire_followups")
    # Everybody sees it at once, on every page.
    assert "Firing paused" in lead.open("/acme/followups").text


def test_pause_leads_back_by_ascii_alone_when_the_way_holds_more_and_htmx_asks(desk, acme, admin):
    form = asked(admin).form("/pause")
    answer = admin.press(form, htmx=True, reason="moving", back=f"{LIST}?customer=é日本")
    assert answer.headers["HX-Redirect"] == f"{LIST}?customer=%C3%A9%E6%97%A5%E6%9C%AC"


def test_pause_has_the_whole_page_read_again_when_htmx_asks(desk, acme, admin):
    answer = admin.press(asked(admin).form("/pause"), htmx=True, reason="moving")
    assert answer.status == 200
    # The bar and the heading tell of it too.
    assert answer.headers["HX-Redirect"] == LIST
    text = admin.open(LIST).text
    assert "Paused Firing for all tenants." in text
    assert "1 sweep is paused" in text and "Firing paused" in text


@pytest.mark.parametrize(
    ("reason", "says"),
    [("", "Must not be blank."), ("  ", "Must not be blank."), ("x" * 201, "200 is the most")],
)
def test_pause_names_the_field_when_the_reason_can_not_be_used(desk, acme, admin, reason, says):
    answer = admin.press(asked(admin).form("/pause"), reason=reason)
    assert answer.status == 422
    assert says in answer.text
    assert f'value="{reason}"' in answer.html
    assert state_of(desk) is None and desk.audit("sweep.paused") == []


def test_pause_is_a_conflict_that_keeps_what_was_typed_when_another_was_first(desk, acme, admin):
    form = asked(admin).form("/pause")
    pause(desk)
    answer = admin.press(form, reason="mine")
    assert answer.status == 409
    assert "tests paused Firing, so nothing was done." in answer.text
    assert 'value="mine"' in answer.html
    assert state_of(desk) == (True, "tests", "the shop moves")
    assert [event.result for event in desk.audit("sweep.paused")] == ["success", "refused"]


# Resuming.


def test_resume_says_who_paused_it_and_what_happens_then(desk, acme, admin):
    pause(desk)
    page = asked(admin, act="resumption")
    for words in ("Paused by tests", "the shop moves", "within 30 s", "may fire at once"):
        assert words in page.text
    answer = admin.press(page.form("/resumption"))
    assert "Resumed Firing for all tenants." in admin.open(answer.headers["Location"]).text
    assert state_of(desk) == (False, "admin@acme.test", None)
    assert [event.actor_label for event in desk.audit("sweep.resumed")] == ["admin@acme.test"]


def test_resume_is_a_conflict_when_it_was_resumed_and_paused_again_for_another_reason(desk, acme, admin):
    pause(desk)
    form = asked(admin, act="resumption").form("/resumption")
    resume(desk)
    pause(desk, reason="for good this time")
    answer = admin.press(form)
    assert answer.status == 409
    assert "for good this time" in answer.text
    assert state_of(desk) == (True, "tests", "for good this time")


def test_resume_is_off_with_the_reason_when_it_is_not_paused(desk, acme, admin):
    page = asked(admin, act="resumption")
    assert "It is not paused." in page.text
    pause(desk)
    form = asked(admin, act="resumption").form("/resumption")
    resume(desk)
    answer = admin.press(form)
    assert answer.status == 409
    assert "Firing was resumed meanwhile, so nothing was done." in answer.text


# Who may.


@pytest.mark.parametrize("role", ["viewer", "marketer", "lead", "admin"])
def test_acts_are_refused_and_off_when_the_person_is_no_admin_of_the_platform(
    desk, acme, visitor, admin, role
):
    person = visitor(role) if role != "admin" else desk.visitor("boss@acme.test", acme, "admin")
    page = person.open(LIST)
    assert "This concerns all tenants, so it needs an admin of platform." in page.text
    assert not [form for form in page.forms if form.action.startswith(LIST)]
    assert not [
        form for form in asked(person).forms if form.action.endswith("/pause") and form.fields is None
    ]
    for act, form in (
        ("sweep.run_by_hand", admin.open(LIST).form("/sweeps/deliver/runs")),
        ("sweep.paused", asked(admin).form("/pause")),
        ("sweep.resumed", asked(admin, act="resumption").form("/resumption")),
    ):
        token = page.form("/sign-out").fields["csrf_token"]
        assert person.press(form, csrf_token=token, reason="x").status == 403
        assert [event.result for event in desk.audit(act)] == ["refused"]
    assert slots(desk) == [] and state_of(desk) is None


def test_bar_leads_here_and_says_when_the_next_run_is(desk, acme, lead):
    page = lead.open("/acme/followups")
    assert page.links["Sweeps on time"] == LIST
    assert "Next run" in page.text


def test_trend_counts_by_the_hour_and_leaves_out_what_was_skipped(desk, acme, lead):
    now = clock.now()
    begins = now.replace(minute=0, second=0, microsecond=0)
    ran(desk, ago=now - begins, took=timedelta())
    ran(desk, ago=now - begins + HOUR, took=timedelta())
    ran(desk, ago=now - begins + HOUR, took=timedelta(), status="error", error="x")
    ran(desk, ago=now - begins + HOUR, took=timedelta(), status="skipped", error="x")
    ran(desk, ago=now - begins + 24 * HOUR, took=timedelta())
    html = lead.open(FIRING).html
    hour = f"{(begins - HOUR):%H:%M} to {begins:%H:%M}"
    assert f"<title>{hour}: 2 runs, 1 failed</title>" in html
    assert "3 runs, 1 failed in 24 hours" in html
