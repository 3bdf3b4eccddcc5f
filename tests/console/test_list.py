import re
from datetime import timedelta
from html import escape, unescape

import pytest
from sqlalchemy import event, select, update

from desk_ui import paging, words
from desk_ui.followups import queries
from models import bulk, clock, tenants
from models.base import db
from models.followups import contacts, transitions
from models.followups.firing import fire_due
from models.followups.records import AgentTask, FollowUp
from tests.console.visiting import SETTER_UP
from tests.support.create import create_followup, create_good_run
from tests.support.declare import declared

LIST = "/acme/followups"
HOSTILE = "<script>alert('x')</script>\"'><img src=x onerror=alert(1)>"


def customers(page):
    """The customers of the rows, in their order."""
    return re.findall(r"data-focus>([^<]*)</a>", page.html)


def set_due(desk, followup, ago):
    """Make it due `ago`, as time would."""
    at = clock.now() - ago
    desk.tell(
        lambda session: bulk.execute_unaudited(
            session, update(FollowUp).where(FollowUp.id == followup.id).values(at=at)
        )
    )


def fire_all(desk):
    later = clock.now() + timedelta(hours=2)
    desk.tell(lambda session: fire_due(session, declared=declared(), now=later, limit=100))


def test_list_shows_the_soonest_first_when_pending(desk, acme, lead):
    for number, hours in enumerate((3, 1, 2)):
        desk.followup(acme, customer=f"c-{number}", at=clock.now() + timedelta(hours=hours))
    page = lead.open(LIST)
    assert customers(page) == ["c-1", "c-2", "c-0"]
    assert "3 rows, soonest first" in page.text


def test_list_shows_each_row_in_its_own_tab(desk, acme, lead):
    desk.followup(acme, customer="c-fires")
    desk.tell(
        lambda session: contacts.revoke(
            session, acme, "c-blocked", by="operator", actor=SETTER_UP, now=clock.now()
        )
    )
    late = desk.followup(acme, customer="c-late", at=clock.now() + timedelta(days=2))
    cancelled = desk.followup(acme, customer="c-cancelled")
    waits = desk.followup(acme, customer="c-waits", at=clock.now() + timedelta(days=2))
    desk.tell(
        lambda session: transitions.cancel(session, acme.id, cancelled.id, actor=SETTER_UP, now=clock.now())
    )
    unknown = desk.followup(acme, customer="c-unknown", agent="nobody")
    fire_all(desk)
    set_due(desk, late, timedelta(minutes=5))
    tabs = {tab: customers(lead.open(f"{LIST}?tab={tab}")) for tab in queries.Tab}
    assert tabs == {
        "pending": ["c-late", "c-waits"],
        "overdue": ["c-late"],
        "blocked": ["c-unknown"],
        "fired": ["c-fires"],
        "cancelled": ["c-cancelled"],
    }
    assert waits and unknown
    assert "the policy can't be used" in lead.open(f"{LIST}?tab=blocked").text


def test_list_of_another_tenant_is_never_shown(desk, acme, lead):
    desk.followup(desk.tenant("other"), customer="c-theirs")
    assert customers(lead.open(LIST)) == []
    assert customers(lead.open(f"{LIST}?customer=c-theirs")) == []


def test_row_is_overdue_when_three_intervals_have_passed(desk, acme, lead):
    near = desk.followup(acme, customer="c-near")
    far = desk.followup(acme, customer="c-far")
    set_due(desk, near, timedelta(seconds=60))
    set_due(desk, far, timedelta(seconds=100))
    desk.tell(lambda session: create_good_run(session, "fire_followups", now=clock.now()))
    page = lead.open(f"{LIST}?tab=overdue")
    assert customers(page) == ["c-far"]
    assert re.search(r"not taken yet; next run (in [0-9]+ s|now)", page.text)
    assert re.search(r"the next run, (in [0-9]+ s|now) , takes it", lead.open(LIST).text)


def test_row_says_nothing_of_the_next_run_when_that_is_in_doubt(app, desk, acme, lead):
    set_due(desk, desk.followup(acme, customer="c-near"), timedelta(seconds=60))
    set_due(desk, desk.followup(acme, customer="c-far"), timedelta(hours=1))
    desk.tell(lambda session: setattr(tenants.get(session, "platform"), "created_at", clock.EPOCH))
    app.extensions["desk_sweep_lines"] = (clock.EPOCH, [])
    page = lead.open(LIST)
    assert "the next run takes it" in page.text and "no run took it yet" in page.text
    assert "data-next-run" not in page.html


def test_row_is_not_overdue_when_its_agent_is_held(desk, acme, lead):
    followup = desk.followup(acme)
    set_due(desk, followup, timedelta(hours=1))
    desk.tell(
        lambda session: tenants.hold(
            session, acme, "store-support", held=True, reason=None, actor=SETTER_UP, now=clock.now()
        )
    )
    assert customers(lead.open(f"{LIST}?tab=overdue")) == []
    assert "the agent is on hold" in lead.open(LIST).text


def test_row_is_not_overdue_when_it_is_quiet_hours(desk, acme, lead, config):
    followup = desk.followup(acme)
    set_due(desk, followup, timedelta(hours=1))
    now = clock.now()
    start, end = (now - timedelta(hours=1)).strftime("%H:%M"), (now + timedelta(hours=1)).strftime("%H:%M")
    quiet = f'timezone = "UTC"\nstart = "{start}"\nend = "{end}"\n'
    config.write_text(config.read_text() + f"[agents.store-support.followup.quiet_hours]\n{quiet}")
    assert customers(lead.open(f"{LIST}?tab=overdue")) == []
    assert f"quiet hours now, until {end}" in lead.open(LIST).text


def test_nothing_is_overdue_and_the_page_says_so_when_follow_ups_are_switched_off(desk, acme, lead):
    followup = desk.followup(acme)
    set_due(desk, followup, timedelta(hours=1))
    desk.tell(
        lambda session: tenants.set_features(
            session, acme, {"followups": False}, actor=SETTER_UP, now=clock.now()
        )
    )
    page = lead.open(f"{LIST}?tab=overdue")
    assert customers(page) == []
    assert "Follow-ups are switched off for this tenant." in page.text


@pytest.mark.parametrize(
    ("name", "value"),
    [("agent", "billing"), ("arm", "B"), ("reason", "renewal & more"), ("customer", "c/1?x=1&y")],
)
def test_filter_narrows_and_stands_in_the_address_when_set(desk, acme, lead, name, value):
    wanted = desk.followup(acme, **{"customer": "c-wanted", name: value})
    desk.followup(acme, customer="c-other")
    page = lead.client.get(LIST, query_string={name: value})
    assert str(wanted.id) in page.text
    assert page.text.count('<tr role="row" id="followup-') == 1
    # Each way on keeps the filter, and the chip's own link drops it.
    shown = lead.open(page.request.full_path)
    form = shown.form(f"{wanted.id}/cancellation")
    assert lead.press(form).headers["Location"] == page.request.full_path
    assert f"<b>{escape(value)}</b>" in page.text


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("tab=foo", "There is no such tab, so the first one is shown."),
        ("blocked=foo", "The filter Blocked can't be used as it was given"),
        ("after=zz", "This place in the list can't be found, so the list begins at its start."),
        ("after=99999999999999999999999-00", "This place in the list can't be found"),
        ("customer=%00", "The filter Customer can't be used as it was given, so it was left out."),
        (f"arm={'x' * 201}", "The filter Arm can't be used"),
    ],
)
def test_list_says_what_it_could_not_use_when_an_argument_is_odd(desk, acme, lead, query, says):
    desk.followup(acme)
    page = lead.open(f"{LIST}?{query}")
    assert page.status == 200
    assert says in page.text
    assert customers(page) == ["c-1"]


def test_pages_hold_every_row_once_when_many_are_due_at_one_instant(desk, acme, lead):
    at = clock.now() + timedelta(hours=1)

    def book(session):
        for number in range(120):
            create_followup(session, acme, now=clock.now(), customer=f"c-{number}", at=at)

    desk.tell(book)
    seen, page = [], lead.open(LIST)
    while True:
        seen += customers(page)
        following = page.links.get("Later ones")
        if following is None:
            break
        page = lead.open(following)
    assert len(seen) == 120 == len(set(seen))


def test_page_goes_on_from_its_place_when_rows_before_it_left(desk, acme, lead):
    for number in range(51):
        desk.followup(acme, customer=f"c-{number}", at=clock.now() + timedelta(hours=1, minutes=number))
    page = lead.open(LIST)
    lead.press(page.form("/cancellation"))
    assert customers(lead.open(page.links["Later ones"])) == ["c-50"]


def test_counts_follow_the_filters_and_come_after_the_page(desk, acme, lead):
    desk.followup(acme, customer="c-1")
    desk.followup(acme, customer="c-2")
    page = lead.open(f"{LIST}?customer=c-1")
    asked_later = re.findall(r'hx-get="([^"]*)" hx-trigger="load, acted"', page.html)
    assert asked_later == ["/acme/needs", f"{LIST}/counts?customer=c-1"]
    counts = lead.block(f"{LIST}/counts?customer=c-1")
    assert counts.text.startswith("Pending 1 Overdue 0 Blocked 0 Fired 0 Cancelled 0")
    # From then on only an act asks for them again.
    assert 'hx-trigger="acted"' in counts.html


def test_counts_are_capped_when_there_are_too_many(desk, acme, lead, monkeypatch):
    for number in range(3):
        desk.followup(acme, customer=f"c-{number}")
    monkeypatch.setattr(queries, "MOST_COUNTED", 2)
    monkeypatch.setattr("desk_ui.words.MOST_COUNTED", 2)
    assert "Pending 2+" in lead.block(f"{LIST}/counts").text


def test_list_is_stopped_with_advice_when_it_takes_too_long(app, desk, acme, lead, monkeypatch):
    desk.followup(acme)

    def slow(*_args, **_more):
        raise paging.TooSlow("This took too long. Narrow it down with the filters.")

    monkeypatch.setattr(queries, "page", slow)
    page = lead.open(LIST)
    assert page.status == 200
    assert "Narrow it down" in page.text


def test_time_limit_stops_a_statement_that_runs_on(app):
    endless = {
        "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
        "postgresql": "SELECT pg_sleep(60)",
    }
    with app.app_context():
        session = db.session()
        dialect = session.get_bind().dialect.name
        with pytest.raises(paging.TooSlow), paging.time_limit(session, timedelta(milliseconds=50)):
            session.connection().exec_driver_sql(endless[dialect])
        # The session can be used again, without a limit.
        assert session.connection().exec_driver_sql("SELECT 1").scalar() == 1
        db.session.remove()


def test_empty_list_says_which_kind_of_empty_it_is(desk, acme, lead):
    assert "Nothing is waiting" in lead.open(LIST).text
    assert "Nothing is overdue" in lead.open(f"{LIST}?tab=overdue").text
    desk.followup(acme)
    page = lead.open(f"{LIST}?customer=c-nobody")
    assert "Nothing matches" in page.text
    assert customers(lead.open(page.links["Clear all filters"])) == ["c-1"]


def test_words_of_a_customer_are_never_markup(desk, acme, lead):
    followup = desk.followup(acme, reason=HOSTILE, customer=HOSTILE, agent=HOSTILE, arm=HOSTILE)
    for path in (LIST, f"{LIST}?agent={'%3Cscript%3E'}&tab=%3Cscript%3E", f"{LIST}/{followup.id}"):
        page = lead.open(path)
        assert "<script>alert" not in page.html and "<img" not in page.html
        assert page.inline == []
    toast = lead.press(lead.open(LIST).form("/cancellation"), htmx=True)
    assert "<img" not in toast.html and "<script" not in toast.html


def test_list_takes_as_many_queries_for_many_rows_as_for_one(app, desk, acme, lead):
    def queries_of(path):
        seen = []

        def note(_connection, _cursor, statement, *_more):
            seen.append(statement)

        with app.app_context():
            engine = db.engine
        event.listen(engine, "before_cursor_execute", note)
        try:
            lead.open(path)
        finally:
            event.remove(engine, "before_cursor_execute", note)
        return [statement for statement in seen if statement.lstrip().startswith("SELECT")]

    desk.followup(acme)
    lead.open(LIST)
    one = queries_of(LIST)
    for number in range(20):
        desk.followup(acme, customer=f"c-{number}", reason=str(number))
    assert len(queries_of(LIST)) == len(one) <= 8, one


def test_block_alone_is_given_to_htmx_and_the_page_to_a_restored_history(desk, acme, lead):
    assert "<html" not in lead.block(LIST).html
    restored = lead.client.get(LIST, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in restored.text
    assert "HX-Request" in restored.headers["Vary"]


def strand(desk, **values):
    """All tasks have been as they are for a quarter of an hour."""
    earlier = clock.now() - timedelta(minutes=16)
    desk.tell(lambda session: session.execute(update(AgentTask).values(updated_at=earlier, **values)))


def test_list_names_tasks_that_wait_when_nobody_took_them(desk, acme, lead):
    desk.followup(acme, customer="c-fires")
    fire_all(desk)
    assert "not taken" not in lead.open(LIST).text
    strand(desk)
    page = lead.open(LIST)
    assert "1 task not taken: store-support 1; waiting since" in page.text
    assert "Ask whoever runs the agent." in page.text
    assert "store-support, not taken, 16 min ago" in page.text


def test_list_counts_waiting_tasks_by_their_agents_and_kinds(desk, acme, lead):
    for number in range(3):
        desk.followup(acme, customer=f"c-{number}")
    fire_all(desk)
    strand(desk)

    def spread(session):
        first, second, _third = session.scalars(select(AgentTask).order_by(AgentTask.customer))
        first.agent = "billing"
        second.status = "dispatched"

    desk.tell(spread)
    says = "2 tasks not taken, 1 taken and not finished: store-support 2, billing 1;"
    assert says in lead.open(LIST).text
    # It keeps to what the list is about.
    assert "1 task not taken: billing 1;" in lead.open(f"{LIST}?agent=billing").text
    assert "1 task taken and not finished: store-support 1;" in lead.open(f"{LIST}?customer=c-1").text
    assert "waiting since" not in lead.open(f"{LIST}?customer=c-none").text


def test_fired_list_holds_only_those_whose_task_waits_when_it_is_narrowed_to_them(desk, acme, lead):
    desk.followup(acme, customer="c-waits")
    fire_all(desk)
    strand(desk)
    desk.followup(acme, customer="c-fresh")
    fire_all(desk)
    everything = lead.open(f"{LIST}?tab=fired")
    assert sorted(states(everything).items()) == [
        ("c-fresh", "Fired"),
        ("c-waits", "Not taken"),
    ]
    page = lead.open(f"{LIST}?tab=fired&task=unfinished")
    assert states(page) == {"c-waits": "Not taken"}
    assert "Task: not finished" in " ".join(page.text.split())
    assert f'href="{LIST}?tab=blocked"' in page.html
    desk.tell(lambda session: session.execute(update(AgentTask).values(status="done")))
    assert "Nothing matches" in lead.open(f"{LIST}?tab=fired&task=unfinished").text


def test_fired_list_tells_which_task_waits_since_when_the_longest_waiting_first(desk, acme, lead):
    for number in range(60):
        desk.followup(acme, customer=f"c-{number:02}")
    fire_all(desk)
    strand(desk)
    base = clock.now() - timedelta(days=1)

    def spread(session):
        for number in range(60):
            at, customer = base + timedelta(minutes=number), f"c-{number:02}"
            bulk.execute_unaudited(
                session, update(FollowUp).where(FollowUp.customer == customer).values(updated_at=at)
            )
        session.execute(update(AgentTask).where(AgentTask.customer == "c-00").values(status="dispatched"))
        session.execute(update(AgentTask).where(AgentTask.customer == "c-01").values(agent="billing"))

    desk.tell(spread)
    page = lead.open(f"{LIST}?tab=fired&task=unfinished")
    assert customers(page) == [f"c-{number:02}" for number in range(50)]
    assert "50 rows, longest waiting first" in page.text
    assert (states(page)["c-00"], states(page)["c-01"]) == ("Not finished", "Not taken")
    since = clock.now() - timedelta(minutes=16)
    assert re.search(rf"taken [\w ]+ {since:%H}:\d\d", page.text)
    assert page.text.count("no agent took it since then") == 49
    # The longest waiting are counted by the hundred, so that the second page knows of its own rows too.
    rest = lead.open(page.links["Later ones"])
    assert customers(rest) == [f"c-{number}" for number in range(50, 60)]
    assert set(states(rest).values()) == {"Not taken"}
    for agent in ("store-support", "billing"):
        assert page.links[agent] == f"/acme/agents/{agent}"


def test_row_says_when_it_was_due_only_where_that_is_not_when_it_fired(desk, acme, lead):
    on_time, late = desk.followup(acme, customer="c-1"), desk.followup(acme, customer="c-2")
    set_due(desk, on_time, timedelta())
    set_due(desk, late, timedelta(hours=3))
    desk.tell(lambda session: fire_due(session, declared=declared(), now=clock.now(), limit=100))
    assert lead.open(f"{LIST}?tab=fired").text.count("was due") == 1


def test_row_that_is_due_says_so_with_its_time(desk, acme, lead):
    followup = desk.followup(acme)
    assert "due in" not in lead.open(LIST).text
    set_due(desk, followup, timedelta(seconds=150))
    assert "due 2 min ago" in lead.open(LIST).text


def states(page):
    """The state in words of each row, by its customer."""
    found = re.findall(r'<span class="state[^"]*">(?:<svg.*?</svg>)?([^<]*)</span>', page.html, re.DOTALL)
    return dict(zip(customers(page), [one.strip() for one in found], strict=True))


def test_list_names_no_counts_by_agent_when_not_all_waiting_tasks_were_counted(desk, acme, lead, monkeypatch):
    for number in range(3):
        desk.followup(acme, customer=f"c-{number}")
    fire_all(desk)
    strand(desk)
    monkeypatch.setattr("desk_ui.followups.waiting.MOST_COUNTED", 2)
    monkeypatch.setattr("desk_ui.followups.waiting.MOST_SHOWN", 1)
    page = lead.open(LIST)
    assert "Many tasks not taken or not finished: store-support; waiting since" in page.text
    assert f'<a href="{LIST}?tab=fired&amp;task=unfinished">and many others</a>' in page.html


def test_strip_of_waiting_tasks_leads_to_the_others_of_its_agent(desk, acme, lead, monkeypatch):
    for number in range(3):
        desk.followup(acme, customer=f"c-{number}")
    fire_all(desk)
    strand(desk)
    monkeypatch.setattr("desk_ui.followups.waiting.MOST_SHOWN", 1)
    page = lead.open(f"{LIST}?tab=blocked&agent=store-support&reason=none")
    [found] = re.findall(r'<a href="([^"]+)">and 2 others</a>', page.html)
    path = unescape(found)
    assert path == f"{LIST}?tab=fired&agent=store-support&task=unfinished"
    assert sorted(customers(lead.open(path))) == ["c-0", "c-1", "c-2"]


def test_row_and_its_page_agree_when_its_time_is_in_quiet_hours(desk, acme, lead, config):
    at = clock.now() + timedelta(hours=3)
    followup = desk.followup(acme, at=at)
    start, end = ((at + timedelta(hours=step)).strftime("%H:%M") for step in (-1, 1))
    quiet = f'timezone = "UTC"\nstart = "{start}"\nend = "{end}"\n'
    config.write_text(config.read_text() + f"[agents.store-support.followup.quiet_hours]\n{quiet}")
    assert f"quiet hours then, until {end}" in lead.open(LIST).text
    until = words.day_and_time(at.replace(second=0, microsecond=0) + timedelta(hours=1), clock.now(), "UTC")
    text = lead.open(f"{LIST}/{followup.id}").text
    assert f"In quiet hours then: it waits until {until}." in text and "As things stand" not in text


def test_next_run_is_never_said_to_be_past(desk, acme, lead):
    desk.tell(lambda session: create_good_run(session, "fire_followups", now=clock.now()))
    page = lead.open(LIST)
    assert "data-expected" in page.html
    assert not re.search(r"Next run [^R]*ago", page.text)
