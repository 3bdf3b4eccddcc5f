"""The overview: the answer first, each thing that needs a person, and the numbers of the navigation."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import update

from desk_ui.sweeps import lines
from jobs.schedule import SWEEPS
from models import bulk, clock, endpoints, operators, sweep_states, tenants
from models.deliveries import Delivery, State
from models.followups import transitions
from models.followups.firing import fire_due
from models.followups.records import AgentTask
from models.sweeps import RunStatus, SweepFault, SweepRun
from tests.console.counting import selects
from tests.console.visiting import HTMX, SETTER_UP
from tests.support.create import create_followup, create_good_run
from tests.support.declare import declared
from tests.support.deliver import create_delivery, create_endpoint

HOME = "/acme"
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture(autouse=True)
def on_time(desk):
    """No sweep is late unless a test says so, however long the machine takes over it."""
    later = clock.now() + HOUR
    desk.tell(lambda session: setattr(tenants.get(session, None), "created_at", later))


def overdue(desk, tenant, *, ago=HOUR, **given):
    """A follow-up that came due `ago` and that no run took."""
    return desk.tell(
        lambda session: create_followup(
            session, tenant, now=clock.now() - ago - HOUR, at=clock.now() - ago, **given
        )
    )


def fire(desk, *, ago=timedelta(), policies=None):
    """A run of the firing sweep `ago`."""
    at = clock.now() - ago
    desk.tell(lambda session: fire_due(session, declared=policies or declared(), now=at, limit=100))


def blocked(desk, tenant, *, ago=HOUR, **given):
    """A follow-up blocked `ago` because its agent has no policy."""
    found = overdue(desk, tenant, ago=ago + MINUTE, agent="nobody", **given)
    fire(desk, ago=ago)
    return found


def things(page):
    """The lines of the page: number and title of each, from the top."""
    return re.findall(
        r'<p class="big (?:bad|warn)"><svg.*?</svg>\s*([^<]*)</p>\s*<div>\s*<h3>([^<]*)</h3>',
        page.html,
        re.DOTALL,
    )


def places(page):
    """Where the lines lead."""
    found = re.findall(r'<a class="button(?: primary)?" id="to-[^"]*" href="([^"]*)">Show ', page.html)
    return [place.replace("&amp;", "&") for place in found]


def numbers(visitor, path=f"{HOME}/needs"):
    """The numbers of the navigation, as HTMX gets them."""
    found = re.findall(r'hx-target="#needs-(\w+)"[^>]*>(?:<a [^>]*>)?([^<]*)', visitor.block(path).html)
    return {area: number.strip() for area, number in found if number.strip()}


def test_overview_says_that_nothing_needs_a_person_when_all_is_well(desk, acme, lead):
    page = lead.open(HOME)
    assert "<h1>Nothing needs a person</h1>" in page.html
    assert "Due follow-ups fire by themselves. The next run is" in page.text
    assert things(page) == places(page) == []
    assert "primary" not in page.html
    assert numbers(lead) == {}


def test_overview_is_where_signing_in_leads_and_the_switch_of_tenants(desk, acme, lead):
    other = desk.tenant("beta")
    desk.give("lead@acme.test", other, "viewer")
    assert lead.open("/").headers["Location"] == HOME
    page = lead.open(HOME)
    assert page.links["Overview"] == HOME
    assert page.links["beta"] == "/beta"
    assert page.links["Sweeps on time"] == "/acme/sweeps"


def test_overview_names_what_is_overdue_and_what_the_next_run_does(desk, acme, lead):
    overdue(desk, acme, ago=42 * MINUTE)
    page = lead.open(HOME)
    assert "<h1>1 thing needs a person</h1>" in page.html
    assert "The oldest has waited 42 min ." in page.text
    assert "Show it" in page.links
    assert things(page) == [("1", "Follow-up is overdue")]
    assert "Nothing was sent. The next run, " in page.text
    assert places(page) == ["/acme/followups?tab=overdue"]
    assert "1 row, longest overdue first" in lead.open(places(page)[0]).text
    assert numbers(lead) == {"followups": "1"}


def test_overdue_is_counted_as_its_tab_counts_it_when_an_agent_is_held(desk, acme, lead):
    for number in range(3):
        overdue(desk, acme, customer=f"c-{number}")
    overdue(desk, acme, agent="billing")
    desk.tell(
        lambda session: tenants.hold(
            session, acme, "store-support", held=True, reason=None, actor=SETTER_UP, now=clock.now()
        )
    )
    page = lead.open(HOME)
    assert ("1", "Follow-up is overdue") in things(page)
    assert "store-support has been on hold since" in page.text
    assert "Overdue 1 " in lead.block("/acme/followups/counts").text


def test_each_agent_that_is_held_is_told_with_who_and_why_and_leads_to_its_page(desk, acme, lead):
    def hold(session):
        for agent, why in (("billing", "the shop is closed."), ("night dispatch", None)):
            tenants.hold(session, acme, agent, held=True, reason=why, actor=SETTER_UP, now=clock.now())
        gone = {"tenant": acme, "agent": "back-again", "reason": None, "actor": SETTER_UP, "now": clock.now()}
        version = tenants.hold(session, **gone, held=True).version
        tenants.hold(session, **gone, held=False, expected_version=version)

    desk.tell(hold)
    page = lead.open(HOME).check()
    held = rf"has been on hold since \S+ .*?by {SETTER_UP.label}"
    assert re.search(rf"billing {held}: the shop is closed\. What comes due for it waits\.", page.text)
    assert re.search(rf"night dispatch {held}\. What comes due for it waits\.", page.text)
    assert 'href="/acme/agents/billing">Show billing</a>' in page.html
    assert 'href="/acme/agents/night~20dispatch">Show night dispatch</a>' in page.html
    assert "back-again" not in page.text

    def more(session):
        for number in range(3):
            tenants.hold(
                session, acme, f"x-{number}", held=True, reason=None, actor=SETTER_UP, now=clock.now()
            )

    desk.tell(more)
    page = lead.open(HOME)
    assert "2 more agents are on hold." in page.text and ">Show the agents</a>" in page.html


def test_nothing_is_overdue_when_follow_ups_are_switched_off(desk, acme, lead):
    overdue(desk, acme)
    desk.tell(
        lambda session: tenants.set_features(
            session, acme, {"followups": False}, actor=SETTER_UP, now=clock.now()
        )
    )
    page = lead.open(HOME)
    assert things(page) == []
    assert "Follow-ups are switched off for this tenant." in page.text


def test_overview_names_what_was_blocked_by_cause_when_a_person_can_put_it_right(desk, acme, lead):
    for number in range(3):
        overdue(desk, acme, reason=f"reason {number}", ago=HOUR + number * MINUTE)
    for number in range(3):
        # The policy lets a customer have two in a day, so that the third is blocked.
        fire(desk, ago=HOUR - number * MINUTE)
    blocked(desk, acme, ago=30 * MINUTE)
    desk.tell(lambda session: session.execute(update(AgentTask).values(status="done")))
    page = lead.open(HOME)
    assert sorted(things(page)) == [
        ("1", "Follow-up blocked: message limit reached"),
        ("1", "Follow-up blocked: the policy can&#39;t be used"),
    ]
    for place in places(page):
        assert "1 row, newest first" in lead.open(place).text
    assert numbers(lead) == {"followups": "2"}


@pytest.mark.parametrize("what", ["a day old", "re-armed"])
def test_blocked_needs_nobody_when_it_is(desk, acme, lead, what):
    found = blocked(desk, acme, ago=25 * HOUR if what == "a day old" else HOUR)
    if what == "re-armed":
        desk.tell(
            lambda session: transitions.rearm(
                session,
                acme,
                found.id,
                clock.now() + HOUR,
                reason="policy corrected",
                declared=declared(),
                actor=SETTER_UP,
                now=clock.now(),
            )
        )
    assert [title for _number, title in things(lead.open(HOME)) if "blocked" in title] == []


def test_overview_names_tasks_that_nobody_finished(desk, acme, lead):
    overdue(desk, acme, ago=HOUR)
    fire(desk, ago=10 * MINUTE)
    assert things(lead.open(HOME)) == []
    earlier = clock.now() - 16 * MINUTE
    desk.tell(lambda session: session.execute(update(AgentTask).values(updated_at=earlier)))
    page = lead.open(HOME)
    assert things(page) == [("1", "Task that no agent finished")]
    assert "for over 15 min: the customer may have heard nothing" in page.text
    assert places(page) == ["/acme/followups?tab=fired&task=unfinished"]
    assert "Not taken" in lead.open(places(page)[0]).text


def test_overview_names_dead_deliveries_of_a_week_but_of_a_removed_endpoint(app, desk, acme, lead):
    settings = app.extensions["desk_settings"]
    other = desk.tenant("other")

    def dead(tenant, ago=timedelta()):
        def make(session):
            now = clock.now()
            endpoint, _secret = create_endpoint(session, tenant, settings, now=now)
            delivery = create_delivery(session, tenant, endpoint, now=now)
            session.execute(update(Delivery).where(Delivery.id == delivery.id).values(updated_at=now - ago))
            endpoints.update(
                session, tenant.id, endpoint.id, active=False, settings=settings, actor=SETTER_UP, now=now
            )
            return endpoint

        return desk.tell(make)

    lately = dead(acme, timedelta(days=6))
    dead(acme, timedelta(days=8))
    dead(other)
    page = lead.open(HOME)
    assert things(page) == [("1", "Delivery given up")]
    assert "The oldest has waited 6 d ." in page.text
    assert places(page) == ["/acme/deliveries?tab=dead"]
    assert numbers(lead) == {"deliveries": "1"}
    desk.tell(lambda session: endpoints.remove(session, acme.id, lately.id, actor=SETTER_UP, now=clock.now()))
    assert things(lead.open(HOME)) == []


def test_overview_names_each_sweep_that_is_late(app, desk, acme, lead):
    desk.tell(lambda session: setattr(tenants.get(session, "platform"), "created_at", clock.EPOCH))
    page = lead.open(HOME)
    assert [title for _number, title in things(page)] == [
        "Intake is late",
        "Delivery is late",
        "Bulk work is late",
        "Firing is late",
        "Running of rules is late",
        "Reading of Chatwoot is late",
        "Sealing of the audit is late",
        "Retention is late",
    ]
    assert "<h1>8 things need a person</h1>" in page.html
    assert "on time" not in page.text
    assert places(page)[3] == "/acme/sweeps/fire_followups"
    assert "Due follow-ups fire" not in page.text
    assert numbers(lead) == {"sweeps": str(len(SWEEPS))}


def test_overview_tells_of_a_paused_sweep_with_who_and_why(desk, acme, lead):
    overdue(desk, acme)
    desk.tell(
        lambda session: sweep_states.pause(
            session,
            "fire_followups",
            known=SWEEPS,
            reason="<b>moving</b>",
            actor=SETTER_UP,
            now=clock.now(),
        )
    )
    page = lead.open(HOME)
    assert page.links["Show Firing"] == "/acme/sweeps/fire_followups"
    assert "Firing has been paused since" in page.text and "by tests: <b>moving</b>" in page.text
    assert "<b>moving" not in page.html
    assert things(page) == [("1", "Follow-up is overdue")]
    assert "That waits until Firing runs again." in page.text


def test_overview_names_faults_of_desk_toml_and_agents_whose_policy_is_faulty(desk, acme, lead, config):
    desk.followup(acme, agent="billing")
    config.write_text(
        config.read_text()
        + '[agents.billing.followup]\nmax_frequency = "often"\n[sweeps.sweeep]\nevery = "1m"\n'
    )
    page = lead.open(HOME)
    assert sorted(things(page)) == [
        ("1", "Agent whose policy can&#39;t be used"),
        ("1", "Fault in desk.toml"),
    ]
    assert "What waits for billing is blocked when it comes due: the next in 59 min ." in page.text
    assert "sweeps.sweeep" in page.text and "max_frequency" not in page.text
    assert numbers(lead) == {"agents": "1"}
    config.write_text("[agents\n")
    assert ("1", "desk.toml can&#39;t be used") in things(lead.open(HOME))


def test_overview_has_one_primary_button_and_the_oldest_first(desk, acme, lead):
    overdue(desk, acme, ago=10 * MINUTE)
    blocked(desk, acme, ago=2 * HOUR)
    desk.tell(lambda session: setattr(tenants.get(session, "platform"), "created_at", clock.EPOCH))
    page = lead.open(HOME)
    titles = [title for _number, title in things(page)]
    # By area: the sweeps, which are late for ever, then the follow-ups, the older first.
    assert titles[0] == "Intake is late"
    assert [title[:20] for title in titles[len(SWEEPS) :]] == ["Follow-up blocked: t", "Follow-up is overdue"]
    assert page.html.count("button primary") == 1
    assert page.html.index("button primary") < page.html.index("Firing is late")


def test_overview_counts_no_further_than_its_cap(desk, acme, lead):
    earlier = clock.now() - HOUR

    def many(session):
        row = {
            "tenant_id": acme.id,
            "agent": "store-support",
            "command": {},
            "status": "queued",
            "created_at": earlier,
            "updated_at": earlier,
            "version": 1,
        }
        bulk.insert_rows(
            session, AgentTask, [{**row, "id": uuid4(), "customer": f"c-{n}"} for n in range(1_001)]
        )

    desk.tell(many)
    overdue(desk, acme)
    page = lead.open(HOME)
    assert ("1,000+", "Tasks that no agent finished") in things(page)
    assert "<h1>More than 1,001 things need a person</h1>" in page.html
    assert numbers(lead) == {"followups": "1,000+"}


def test_overview_and_its_numbers_are_those_of_the_tenant_alone(desk, acme, lead):
    other = desk.tenant("other")
    overdue(desk, other)
    assert things(lead.open(HOME)) == []
    assert numbers(lead) == {}
    assert lead.open("/other").status == 404
    assert lead.block("/other/needs").status == 404


def test_numbers_are_read_afresh_when_something_was_done(desk, acme, lead, monkeypatch):
    monkeypatch.setattr("desk_ui.overview.queries.REREAD_AFTER", HOUR)
    found = overdue(desk, acme)
    assert numbers(lead) == {"followups": "1"}
    overdue(desk, acme, customer="c-2")
    # They are kept for a while, which an act of the person's does not wait for.
    assert numbers(lead) == {"followups": "1"}
    form = lead.open(f"/acme/followups/{found.id}").form("/cancellation")
    lead.press(form)
    assert numbers(lead) == {"followups": "1"}
    lead.press(lead.open("/acme/followups").form("/cancellation"))
    assert numbers(lead) == {}


def test_numbers_say_to_those_who_listen_what_they_are(desk, acme, lead):
    overdue(desk, acme)
    block = lead.block(f"{HOME}/needs").html
    assert '1<span class="unseen"> needs a person</span>' in block


def test_numbers_lead_to_the_lines_that_they_count(desk, acme, lead):
    overdue(desk, acme, ago=2 * HOUR)
    blocked(desk, acme)
    assert lead.block(f"{HOME}/needs").links["2"] == f"{HOME}#need-followups"
    page = lead.open(HOME)
    first = page.html.index('id="need-followups"')
    assert page.html.count('id="need-') == 1
    assert first < page.html.index("<h3>", first) == page.html.index("<h3>")


def test_overview_shows_the_day_of_each_sweep_as_bars_and_as_a_table(desk, acme, lead):
    now = clock.now()

    def runs(session):
        for minutes, status in ((1, "ok"), (2, "error"), (3, "skipped")):
            session.add(
                SweepRun(
                    name="deliver",
                    holder="tests",
                    status=RunStatus(status).value,
                    started_at=now - minutes * timedelta(seconds=1),
                    finished_at=now,
                    counts={},
                )
            )
        session.flush()
        run = session.query(SweepRun).first()
        for tenant, row in ((acme, "mine"), (desk_other, "theirs")):
            session.add(
                SweepFault(run_id=run.id, tenant_id=tenant.id, name="deliver", row=row, error="x", at=now)
            )

    desk_other = desk.tenant("other")
    desk.tell(runs)
    page = lead.open(HOME)
    assert 'aria-label="Delivery: 2 runs, 1 failed, 1 row failed in 24 hours"' in page.html
    assert page.html.count('<rect class="bad"') == 1
    assert page.html.split('id="toasts"')[0].count("<rect ") == 24 * len(SWEEPS)
    assert '<td class="bad">2 runs, 1 failed, 1 row failed</td>' in page.html


def test_overview_takes_as_many_queries_for_many_rows_as_for_one(app, desk, acme, lead):
    overdue(desk, acme)
    blocked(desk, acme)
    lead.open(HOME)
    with selects(app) as few:
        lead.open(HOME)
    for number in range(20):
        overdue(desk, acme, customer=f"c-{number}")
        blocked(desk, acme, customer=f"c-{number}")
    # How the sweeps stand is kept for some seconds, which may have passed meanwhile.
    lead.open(HOME)
    with selects(app) as many:
        lead.open(HOME)
    assert len(many) == len(few) <= 24, few
    app.extensions["desk_needs"].clear()
    with selects(app) as numbers_read:
        lead.block(f"{HOME}/needs")
    with selects(app) as numbers_kept:
        lead.block(f"{HOME}/needs")
    assert len(numbers_kept) < len(numbers_read) <= 20, numbers_read


def test_overdue_of_several_agents_is_what_their_tab_holds(desk, acme, lead):
    for number in range(4):
        overdue(desk, acme, customer=f"c-{number}", agent=f"agent-{number % 2}")
    assert ("4", "Follow-ups are overdue") in things(lead.open(HOME))
    assert "Overdue 4 " in lead.block("/acme/followups/counts").text


def paused(app, desk, tenant, *, waiting, reason=None):
    """A paused endpoint for which `waiting` deliveries wait."""
    settings = app.extensions["desk_settings"]

    def make(session):
        now = clock.now()
        endpoint, _secret = create_endpoint(session, tenant, settings, now=now)
        for _number in range(waiting):
            create_delivery(session, tenant, endpoint, now=now, state=State.PENDING)
        endpoints.update(
            session,
            tenant.id,
            endpoint.id,
            active=False,
            reason=reason,
            settings=settings,
            actor=SETTER_UP,
            now=now - 2 * HOUR,
        )
        return endpoint

    return desk.tell(make)


def test_overview_names_a_paused_endpoint_when_deliveries_wait_for_it(app, desk, acme, lead):
    # How the sweeps stand is kept for some seconds: it is read afresh at both times.
    app.extensions[lines.CACHE] = (clock.EPOCH, [])
    lead.open(HOME)
    app.extensions[lines.CACHE] = (clock.EPOCH, [])
    with selects(app) as before:
        lead.open(HOME)
    paused(app, desk, desk.tenant("other"), waiting=1)
    assert things(lead.open(HOME)) == []
    one = paused(app, desk, acme, waiting=3, reason="<b>moving</b>")
    app.extensions[lines.CACHE] = (clock.EPOCH, [])
    with selects(app) as after:
        page = lead.open(HOME)
    assert things(page) == [("3", "Endpoint paused: 3 wait")]
    assert "tests paused https://hooks.example: <b>moving</b>. Nothing is sent to it until" in page.text
    assert "<b>moving" not in page.html and "secret-path" not in page.html
    assert "The oldest has waited 2 h ." in page.text
    assert places(page) == [f"/acme/endpoints/{one.id}"]
    assert numbers(lead) == {"deliveries": "3"}
    assert len(after) == len(before)


def ask(visitor, path=HOME, sign=None):
    """What the script of a page that stays open asks for, given the sign of what it shows."""
    headers = {**HTMX, **({"If-None-Match": f'W/"{sign}"'} if sign else {})}
    return visitor.client.get(path, headers=headers)


def sign_of(answer):
    return answer.headers["ETag"][3:-1]


def parts(text):
    """The `data-v` of each part of the page by its id."""
    return dict(re.findall(r'<(?:div|li|tbody) id="([^"]+)" data-v="([^"]+)"', text))


def come_overdue(app, desk, acme):
    overdue(desk, acme)


def be_late(app, desk, acme):
    desk.tell(lambda session: setattr(tenants.get(session, None), "created_at", clock.EPOCH))
    app.extensions[lines.CACHE] = (clock.EPOCH, [])


def be_paused(app, desk, acme):
    desk.tell(
        lambda session: sweep_states.pause(
            session, "deliver", known=SWEEPS, reason="r", actor=SETTER_UP, now=clock.now()
        )
    )
    app.extensions[lines.CACHE] = (clock.EPOCH, [])


def be_held(app, desk, acme):
    desk.tell(
        lambda session: tenants.hold(
            session, acme, "billing", held=True, reason=None, actor=SETTER_UP, now=clock.now()
        )
    )


def run_once(app, desk, acme):
    desk.tell(lambda session: create_good_run(session, "deliver", now=clock.now()))
    app.extensions[lines.CACHE] = (clock.EPOCH, [])


def be_elsewhere(app, desk, acme):
    desk.tell(
        lambda session: setattr(operators.by_email(session, "lead@acme.test"), "timezone", "Asia/Tokyo")
    )


def be_viewer(app, desk, acme):
    desk.give("lead@acme.test", acme, "viewer")


BEATS = {f"beat-{name}" for name in SWEEPS}
ALL = {"standing", "notices", "needing", "by-hour"} | BEATS


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (come_overdue, {"standing", "needing"}),
        (be_late, {"standing", "needing", "by-hour"} | BEATS),
        (be_paused, {"standing", "notices", "beat-deliver", "by-hour"}),
        (be_held, {"notices"}),
        (run_once, {"beat-deliver", "by-hour"}),
        (be_elsewhere, ALL),
        (be_viewer, ALL),
    ],
)
def test_overview_that_stays_open_is_answered_where_it_changed_and_by_nothing_else(
    app, desk, acme, lead, monkeypatch, change, where
):
    now = clock.now().replace(minute=10, second=0)
    monkeypatch.setattr(clock, "now", lambda: now)
    page = lead.open(HOME)
    shown = re.search(r'data-sign="([^"]+)"', page.html)[1]
    assert ask(lead, sign=shown).status_code == 304
    assert set(parts(page.html)) == ALL
    change(app, desk, acme)
    answer = ask(lead, sign=shown)
    assert answer.status_code == 200 and "<html" not in answer.text
    after = parts(answer.text)
    assert {id for id, v in parts(page.html).items() if after[id] != v} == where
    assert ask(lead, sign=sign_of(answer)).status_code == 304


def test_overview_is_the_same_when_only_time_passes(desk, acme, lead, monkeypatch):
    overdue(desk, acme, ago=42 * MINUTE)
    desk.followup(acme, agent="nobody")
    # Long after all that is made here is due, and far from the end of an hour.
    now = (clock.now() + 3 * HOUR).replace(minute=10, second=0)
    monkeypatch.setattr(clock, "now", lambda: now)
    sign = sign_of(ask(lead))
    for seconds in (1, 70, 190):
        monkeypatch.setattr(clock, "now", lambda seconds=seconds: now + timedelta(seconds=seconds))
        assert ask(lead, sign=sign).status_code == 304, seconds
    monkeypatch.setattr(clock, "now", lambda: now + HOUR)
    # What is no longer on time by then, and the hours of the charts.
    assert ask(lead, sign=sign).status_code == 200


def test_overview_says_what_time_does_not_change_by_itself_in_words_that_go_on(desk, acme, lead):
    since = overdue(desk, acme, ago=42 * MINUTE).at.isoformat()
    html = lead.open(HOME).html
    assert f'has waited <time datetime="{since}" data-ticks data-lasts>42 min</time>.' in html
    assert re.search("The next run, <time [^>]* data-expected data-next-run data-ticks>", html)


def around(answer):
    return answer.headers["X-Around"]


@pytest.mark.parametrize("path", [HOME, "/acme/followups", "/acme/deliveries", "/acme/sweeps", "/acme/audit"])
def test_each_page_that_is_read_again_is_told_when_what_stands_around_it_changed(app, desk, acme, lead, path):
    first = ask(lead, path)
    numbers_read = ask(lead, f"{HOME}/needs")
    assert around(first) == around(ask(lead, path, sign_of(first))) == around(numbers_read)
    assert "Sweeps on time" in numbers_read.text
    be_late(app, desk, acme)
    answer = ask(lead, path, sign_of(first))
    assert around(answer) != around(first)
    app.extensions["desk_needs"].clear()
    read = ask(lead, f"{HOME}/needs")
    assert around(read) == around(ask(lead, path))
    assert 'hx-target="#health"' in read.text and f"{len(SWEEPS)} sweeps late" in read.text
    assert "Next run:" in numbers_read.text and "Next run:" not in read.text


def test_page_of_one_is_told_what_stands_around_it_when_it_did_not_move(app, desk, acme, lead):
    path = f"/acme/followups/{desk.followup(acme).id}"
    first = ask(lead, path)
    be_late(app, desk, acme)
    answer = ask(lead, path, sign_of(first))
    assert answer.status_code == 304 and around(answer) != around(first)


def test_numbers_are_kept_longer_for_a_page_that_did_not_move(app, desk, acme, lead):
    path = "/acme/deliveries"
    sign = sign_of(ask(lead, path))
    # As many seconds later as make them too old for who asks for them.
    kept = app.extensions["desk_needs"]
    kept[acme.id] = (clock.now() - timedelta(seconds=20), kept[acme.id][1])
    with selects(app) as few:
        assert ask(lead, path, sign).status_code == 304
    kept.clear()
    with selects(app) as many:
        assert ask(lead, path, sign).status_code == 304
    assert len(many) - len(few) > 5, (few, many)
