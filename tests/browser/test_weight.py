"""What a page weighs, and that nothing on it moves once it is drawn: one table, printed with `-s`."""

import gzip
from datetime import timedelta

import click
import pytest
from sqlalchemy import select

from jobs.schedule import SWEEPS
from models import clock, demo, operators
from models.automations.records import Execution
from models.conversations import Conversation
from models.demo_automations import ABANDONED
from models.followups.records import FollowUp, Status
from tests.browser.served import NARROW, SETTER_UP, WIDE
from tests.browser.test_accessibility import settled
from tests.support.create import create_followup, create_good_run
from tests.support.deliver import create_each_state
from tests.support.executions import create_execution, create_rule
from tests.support.sweeping import create_day

pytestmark = pytest.mark.slow

KB = 1_024
MOST_HTML, MOST_REST = 30 * KB, 100 * KB
# What shifted since the page was opened, and what of style and script it took.
MEASURED = """() => new Promise(done => {
  let shifted = 0;
  new PerformanceObserver(list => list.getEntries().forEach(entry => { shifted += entry.value; }))
    .observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => done(shifted)));
})"""


@pytest.fixture(scope="module")
def filled(desk):
    """A tenant with a full page of what waits, and an admin of it."""
    tenant, settings = desk.tenant("heavy"), desk.app.extensions["desk_settings"]
    desk.tell(lambda session: demo.fill(session, tenant, now=clock.now()))

    def book(session):
        for number in range(60):
            create_followup(session, tenant, now=clock.now(), customer=f"c-9{number}")

    desk.tell(book)
    desk.tell(lambda session: create_day(session, tenant, now=clock.now()))
    rule = desk.tell(lambda session: create_rule(session, tenant, now=clock.now()))
    for _number in range(45):
        desk.tell(lambda session: create_execution(session, tenant, now=clock.now(), rule=rule))

    def run(session):
        # One that became late between a page and what comes after it would be told so at another width.
        for name in SWEEPS:
            create_good_run(session, name, now=clock.now() + timedelta(minutes=10))

    desk.tell(run)
    desk.tell(lambda session: create_each_state(session, tenant, settings, now=clock.now()))
    desk.tell(
        lambda session: operators.add(
            session, "admin@heavy.test", tenant=tenant, role="admin", actor=SETTER_UP, now=clock.now()
        )
    )
    return tenant


def pages(desk, tenant):
    """The address of each kind of page."""

    def one(status):
        query = select(FollowUp.id).where(FollowUp.tenant_id == tenant.id, FollowUp.status == status.value)
        return desk.tell(lambda session: session.scalars(query.limit(1)).one())

    tabs = [f"followups?tab={tab}" for tab in ("overdue", "blocked", "fired", "cancelled")]
    asked = f"followups/{one(Status.BLOCKED)}/rearming"
    talk = select(Conversation.id).where(
        Conversation.tenant_id == tenant.id, Conversation.external_id == ABANDONED
    )
    abandoned = select(Execution.id).where(Execution.conversation_id == talk.scalar_subquery())
    run = f"executions/{desk.tell(lambda session: session.scalars(abandoned).one())}"
    return [
        *(
            "",
            "followups",
            *tabs,
            f"followups/{one(Status.PENDING)}",
            asked,
            "agents",
            "agents/store-support",
        ),
        *("executions", "executions?tab=waiting", run, f"{run}/settlement", f"{run}/rearming"),
        *("deliveries?tab=delivered", "deliveries?tab=dead", "endpoints", "sweeps", "sweeps/fire_followups"),
        *("audit", "bulk", "settings", "settings/tokens"),
    ]


def weigh(page, url):
    """Of the page at `url`: its HTML compressed, its style and script compressed, and how far it shifted."""
    html, rest = [], []

    def note(response):
        kind = response.request.resource_type
        if kind in ("document", "stylesheet", "script") and response.ok:
            (html if kind == "document" else rest).append(len(gzip.compress(response.body(), 6)))

    page.on("response", note)
    page.goto(url)
    settled(page)
    shifted = page.evaluate(MEASURED)
    page.remove_listener("response", note)
    return html[-1], sum(rest), shifted


def test_every_page_is_light_and_nothing_on_it_moves(desk, filled, open_page):
    lines, wrong = [], []
    for size in (WIDE, NARROW):
        with open_page(viewport=size) as page:
            desk.sign_in(page, "admin@heavy.test")
            # Kept files would hide what a first visit takes.
            session = page.context.new_cdp_session(page)
            session.send("Network.enable")
            session.send("Network.setCacheDisabled", {"cacheDisabled": True})
            # What is narrow weighs as much, so that a few tell whether anything moves there.
            for path in pages(desk, filled)[:: 1 if size is WIDE else 3]:
                html, rest, shifted = weigh(page, f"{desk.url}/heavy/{path}".rstrip("/"))
                shown = path if len(path) < 40 else path[:10] + "…" + path[-10:]
                weights = f"{html / KB:6.1f} KB {rest / KB:6.1f} KB"
                line = f"{size['width']:5} /{shown:40} {weights}  shift {shifted:.5f}"
                lines.append(line)
                if html >= MOST_HTML or rest >= MOST_REST or shifted > 0:
                    wrong.append(line)
    click.echo("\nwidth page: HTML, style with script, both compressed; layout shift\n" + "\n".join(lines))
    assert wrong == []
    assert len(lines) > 20


def test_overview_answers_in_one_screenful(desk, filled, open_page):
    with open_page(viewport=WIDE) as page:
        desk.sign_in(page, "admin@heavy.test")
        page.goto(f"{desk.url}/heavy")
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        assert page.locator("main a.button.primary").count() == 1
    with open_page(viewport=NARROW) as page:
        desk.sign_in(page, "admin@heavy.test")
        page.goto(f"{desk.url}/heavy")
        for what in ("h1", "main a.button.primary", ".need:last-child h3"):
            box = page.locator(what).bounding_box()
            assert box and box["y"] + box["height"] <= NARROW["height"], what
