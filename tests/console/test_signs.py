"""What a refresh answers by: the sign of a page is another one whenever what it shows is."""

import os
import re
from datetime import timedelta
from itertools import count
from types import SimpleNamespace

import pytest

from models import bulk_operations, clock, deliveries, endpoints, handling, sweep_states, tenants
from models.followups import contacts, tasks, transitions
from models.followups.firing import fire_due
from models.followups.records import TaskStatus
from tests.bulk.working import LEAD, rows_of
from tests.console.counting import selects
from tests.console.test_handling import OTHER, make_overdue
from tests.console.test_list import LIST
from tests.console.test_refresh import ask
from tests.console.visiting import SETTER_UP
from tests.support.api import on_sqlite
from tests.support.create import create_followup, create_good_run
from tests.support.declare import declared
from tests.support.deliver import create_each_state, create_endpoint

POLICY = """
[agents.store-support.followup]
max_frequency = "2/24h"
silence_after_sends = 3
"""
QUIET = POLICY + '[agents.store-support.followup.quiet_hours]\ntimezone = "{}"\nstart = "{}"\nend = "{}"\n'
FOLLOWUP_TABS = ("pending", "overdue", "blocked", "fired", "cancelled")
DELIVERY_TABS = ("failing", "dead", "pending", "delivered")

HOUR = timedelta(hours=1)
BILLING = "\n[agents.billing.followup]\nsilence_after_sends = 3\n"

_stamps = count(10**6)


@pytest.fixture(autouse=True)
def hardly_any_time_passes(desk, monkeypatch):
    """So that nothing but what a test does changes a page."""
    now, passed = clock.now(), count()
    desk.tell(lambda session: create_good_run(session, "fire_followups", now=now))
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(microseconds=next(passed)))


class Doing:
    """What happens elsewhere while a page is open."""

    def __init__(self, app, desk, acme, lead, config):
        self.app, self.desk, self.acme, self.lead, self.config = app, desk, acme, lead, config
        self.settings = app.extensions["desk_settings"]

    def tell(self, work, *given, **named):
        """One verb of the domain, by somebody else."""
        named = {"actor": SETTER_UP, "now": clock.now(), **named}
        return self.desk.tell(lambda session: work(session, *given, **named))

    def hold(self, held=True, reason=None):
        self.tell(tenants.hold, self.acme, "store-support", held=held, reason=reason)

    def switch(self, on):
        self.tell(tenants.set_features, self.acme, {"followups": on})

    def pause(self):
        self.tell(sweep_states.pause, "fire_followups", known=["fire_followups"], reason="r")
        self.app.extensions["desk_sweep_lines"] = (clock.EPOCH, [])

    def resume(self):
        self.tell(sweep_states.resume, "fire_followups", known=["fire_followups"])
        self.app.extensions["desk_sweep_lines"] = (clock.EPOCH, [])

    def declare(self, text):
        self.config.write_text(text)
        os.utime(self.config, ns=(0, next(_stamps)))
        self.lead.open("/profile")

    def live_in(self, zone):
        self.lead.press(self.lead.open("/profile").form("/profile/timezone"), timezone=zone)

    def be(self, role):
        self.desk.give("lead@acme.test", self.acme, role)

    def revoke(self, customer):
        self.tell(contacts.revoke, self.acme, customer, by="operator")

    def cancel(self, id):
        self.tell(transitions.cancel, self.acme.id, id)

    def reschedule(self, id, hours):
        self.tell(transitions.reschedule, self.acme.id, id, clock.now() + timedelta(hours=hours))

    def rearm(self, id, hours):
        at = clock.now() + timedelta(hours=hours)
        return self.tell(transitions.rearm, self.acme, id, at, declared=declared()).id

    def take(self, kind, id, actor=OTHER, **given):
        self.tell(handling.take, self.acme, (kind, str(id)), refusal=None, actor=actor, **given)

    def let_go(self, kind, id, actor=LEAD):
        self.tell(handling.let_go, self.acme, (kind, str(id)), actor=actor)

    def move(self, endpoint_id, **given):
        self.tell(endpoints.update, self.acme.id, endpoint_id, settings=self.settings, **given)

    def add_endpoint(self, url):
        self.desk.tell(
            lambda session: create_endpoint(session, self.acme, self.settings, now=clock.now(), url=url)
        )


def make_ended(desk, acme):
    """One whose task nobody took for an hour, and one that was blocked, since nobody declared its agent."""
    ago = clock.now() - HOUR
    made = [
        desk.tell(
            lambda session, given=given: create_followup(session, acme, now=ago - HOUR, at=ago, **given)
        )
        for given in ({"customer": "c-fired"}, {"customer": "c-blocked", "agent": "nobody"})
    ]
    desk.tell(lambda session: fire_due(session, declared=declared(), now=ago, limit=10))
    return [desk.read(acme, one.id) for one in made]


@pytest.fixture
def doing(app, desk, acme, lead, config):
    return Doing(app, desk, acme, lead, config)


def read(person, path):
    """The page as a refresh meets it: its sign, what it shows without its signs and secrets, and its rows."""
    answer = ask(person, path)
    assert answer.status_code == 200, path
    text = re.sub(r'name="(csrf_token|once|seen)" value="[^"]*"', "", answer.text)
    text = re.sub(r'data-(sign|became|at)="[^"]*"', "", text)
    rows = {
        id: (v, shown)
        for id, v, shown in re.findall(r'<tr role="row" id="([^"]+)" data-v="([^"]+)"(.*?)</tr>', text, re.S)
    }
    return SimpleNamespace(
        sign=answer.headers["ETag"][3:-1],
        shown=re.sub(r'data-v="[^"]*"', "", text),
        rows=rows,
        became=re.findall(r'data-became="([^"]*)"', answer.text),
        answer=answer,
    )


def refreshed(person, path, before):
    """What a refresh says of a page that was read `before`: None where it says that nothing changed."""
    answer = ask(person, path, before.sign)
    return None if answer.status_code == 304 else answer.text


def check_signs(person, pages, changes):
    """Do each of `changes`: a page that shows another thing after it has another sign, and so has a row."""
    before = {path: read(person, path) for path in pages}
    moved = set()
    for name, change in changes:
        change()
        for path in pages:
            was, now = before[path], read(person, path)
            if was.shown != now.shown:
                moved.add(name)
                assert was.sign != now.sign, (name, path)
            for id in was.rows.keys() & now.rows.keys():
                if was.rows[id][1] != now.rows[id][1]:
                    assert was.rows[id][0] != now.rows[id][0], (name, path, id)
            before[path] = now
    # A change that shows nowhere proves nothing.
    assert moved == {name for name, _change in changes}


def test_list_of_followups_has_another_sign_when_it_shows_another_thing(desk, acme, doing):
    fired, _blocked = make_ended(desk, acme)
    late = make_overdue(desk, acme, customer="c-late")
    ahead = desk.followup(acme, customer="c-ahead", at=clock.now() + timedelta(hours=30))
    ended = desk.followup(acme, customer="c-ended")
    doing.cancel(ended.id)
    again = []

    def rearm_again():
        doing.cancel(again[-1])
        again.append(doing.rearm(ended.id, 6))

    night = {"start": "00:00", "end": "23:59"}
    changes = [
        ("held", doing.hold),
        ("released", lambda: doing.hold(False)),
        ("switched off", lambda: doing.switch(False)),
        ("switched on", lambda: doing.switch(True)),
        ("paused", doing.pause),
        ("resumed", doing.resume),
        ("quiet hours", lambda: doing.declare(QUIET.format("Asia/Tokyo", *night.values()))),
        ("other zone", lambda: doing.declare(QUIET.format("America/Lima", *night.values()))),
        ("no quiet hours", lambda: doing.declare(POLICY)),
        (
            "new agent",
            lambda: doing.declare(POLICY + BILLING),
        ),
        ("taken on", lambda: doing.take("followup", late.id)),
        ("taken over", lambda: doing.take("followup", late.id, actor=LEAD, instead_of=OTHER.id)),
        ("let go", lambda: doing.let_go("followup", late.id)),
        ("zone", lambda: doing.live_in("Asia/Tokyo")),
        ("role", lambda: doing.be("viewer")),
        ("role back", lambda: doing.be("lead")),
        ("re-armed", lambda: again.append(doing.rearm(ended.id, 5))),
        ("re-armed again", rearm_again),
        ("claimed", lambda: doing.tell(tasks.claim, acme.id, fired.task_id)),
        ("failed", lambda: doing.tell(tasks.report, acme.id, fired.task_id, TaskStatus.FAILED, reason="r")),
        ("put off", lambda: doing.reschedule(ahead.id, 40)),
        ("opted out", lambda: doing.revoke("c-ahead")),
    ]
    check_signs(doing.lead, [f"{LIST}?tab={tab}" for tab in FOLLOWUP_TABS], changes)


def test_list_of_deliveries_has_another_sign_when_it_shows_another_thing(desk, acme, doing):
    made = desk.tell(lambda session: create_each_state(session, acme, doing.settings, now=clock.now()))
    dead = made["dead"]
    by = {"reason": "r", "expected_version": None}
    changes = [
        ("moved", lambda: doing.move(made["taking"], url="https://moved.example/x")),
        ("paused", lambda: doing.move(made["taking"], active=False)),
        ("resumed", lambda: doing.move(made["taking"], active=True)),
        ("taken on", lambda: doing.take("delivery", dead)),
        ("taken over", lambda: doing.take("delivery", dead, actor=LEAD, instead_of=OTHER.id)),
        ("let go", lambda: doing.let_go("delivery", dead)),
        ("zone", lambda: doing.live_in("Asia/Tokyo")),
        ("role", lambda: doing.be("viewer")),
        ("role back", lambda: doing.be("lead")),
        ("another endpoint", lambda: doing.add_endpoint("https://another.example/")),
        ("re-armed", lambda: doing.tell(deliveries.rearm, acme.id, dead, **by)),
        ("removed", lambda: doing.tell(endpoints.remove, acme.id, made["taking"])),
    ]
    check_signs(doing.lead, [f"/acme/deliveries?tab={tab}" for tab in DELIVERY_TABS], changes)


def test_empty_list_of_deliveries_has_another_sign_when_an_endpoint_was_added(doing):
    before = read(doing.lead, "/acme/deliveries")
    assert "No endpoint yet" in before.shown
    doing.add_endpoint("https://first.example/")
    text = refreshed(doing.lead, "/acme/deliveries", before)
    assert "Nothing is failing" in text and 'id="nothing" data-v=' in text


def test_lists_have_another_sign_when_the_zone_of_the_person_is_another(desk, acme, doing):
    desk.followup(acme)
    given = {"confirmed": 10, "reason": "r", "actor": LEAD}
    doing.tell(bulk_operations.begin, acme.id, "followup.cancel", rows_of(acme), **given)
    pages = ["/acme/bulk", "/acme/sweeps", "/acme/sweeps/fire_followups"]
    check_signs(doing.lead, pages, [("zone", lambda: doing.live_in("Asia/Tokyo"))])
    before = {path: read(doing.lead, path) for path in pages}
    doing.live_in("America/Lima")
    assert all(refreshed(doing.lead, path, page) for path, page in before.items())


def test_notes_over_the_follow_ups_come_and_go_with_a_refresh(desk, acme, doing):
    before = read(doing.lead, LIST)
    doing.switch(False)
    doing.pause()
    text = refreshed(doing.lead, LIST, before)
    assert re.search(r' id="off" data-v="[0-9a-f]+"[^>]*>Follow-ups are switched off', text)
    assert re.search(r' id="halted" data-v="[0-9a-f]+"[^>]*>Firing has been paused', text)
    before = read(doing.lead, LIST)
    doing.switch(True)
    doing.resume()
    text = refreshed(doing.lead, LIST, before)
    assert 'id="off"' not in text and 'id="halted"' not in text


def beside(doing, path, change):
    """What the open page of one thing says of a change beside it; when that was, it does not say."""
    before = read(doing.lead, path)
    assert refreshed(doing.lead, path, before) is None
    change()
    text = refreshed(doing.lead, path, before)
    assert text, "nothing"
    assert "data-at" not in text[: text.index(">")]
    assert read(doing.lead, path).sign in text
    return re.search(r'data-became="([^"]*)"', text)[1]


def test_page_of_one_tells_of_what_changed_beside_it(desk, acme, doing):
    path = f"{LIST}/{desk.followup(acme, at=clock.now() + timedelta(hours=30)).id}"
    waits = "whether it waits"
    for change in (
        doing.hold,
        lambda: doing.hold(False),
        lambda: doing.switch(False),
        lambda: doing.switch(True),
        doing.pause,
        doing.resume,
    ):
        assert beside(doing, path, change) == waits
    night = QUIET.format("UTC", "00:00", "23:59")
    assert beside(doing, path, lambda: doing.declare(night)) == "the policy of its agent"
    assert "it would wait" in read(doing.lead, path).shown
    assert beside(doing, path, lambda: doing.live_in("Asia/Tokyo")) == "the zone of its times"
    assert beside(doing, path, lambda: doing.be("viewer")) == "what you may do"


def test_page_of_one_that_ended_tells_that_its_customer_opted_out(desk, acme, doing):
    ended = desk.followup(acme)
    doing.cancel(ended.id)
    path = f"{LIST}/{ended.id}"
    assert "The customer opted out" not in read(doing.lead, path).shown
    assert beside(doing, path, lambda: doing.revoke(ended.customer)) == "the customer&#39;s contact"
    assert "The customer opted out" in read(doing.lead, path).shown


def test_page_of_one_says_what_it_became_when_what_stands_beside_it_changed_too(desk, acme, doing):
    followup = desk.followup(acme)
    path = f"{LIST}/{followup.id}"
    before = read(doing.lead, path)
    doing.hold()
    doing.cancel(followup.id)
    assert 'data-became="cancelled" data-at="' in refreshed(doing.lead, path, before)


def test_page_of_one_is_not_told_of_another_agent_or_a_hold_that_changes_nothing(desk, acme, doing):
    followup, ended = desk.followup(acme), desk.followup(acme, customer="c-2")
    doing.cancel(ended.id)
    before = {id: read(doing.lead, f"{LIST}/{id}") for id in (followup.id, ended.id)}
    doing.declare(POLICY + BILLING)
    for id, page in before.items():
        assert refreshed(doing.lead, f"{LIST}/{id}", page) is None
    doing.hold()
    assert refreshed(doing.lead, f"{LIST}/{ended.id}", before[ended.id]) is None


@on_sqlite
@pytest.mark.parametrize("sign", ["", "-", "---", "x-y-z-a-b", "-" * 500, '"', "*"])
def test_page_of_one_is_read_whole_when_the_sign_is_none_of_its_own(desk, acme, doing, sign):
    path = f"{LIST}/{desk.followup(acme).id}"
    answer = ask(doing.lead, path, sign)
    assert answer.status_code == 200 and "data-at=" in answer.text


def test_page_of_a_delivery_tells_of_its_endpoint(desk, acme, doing):
    made = desk.tell(lambda session: create_each_state(session, acme, doing.settings, now=clock.now()))
    path = f"/acme/deliveries/{made['dead']}"
    # Of the address no more than the origin is shown, but it is the same address that an act is on.
    for given in ({"url": "https://moved.example/x"}, {"url": "https://moved.example/y"}, {"active": False}):
        assert beside(doing, path, lambda given=given: doing.move(made["taking"], **given)) == "its endpoint"
    assert beside(doing, path, lambda: doing.live_in("Asia/Tokyo")) == "the zone of its times"


@on_sqlite
def test_page_of_one_is_asked_by_two_statements_more_of_what_stands_beside_it(app, desk, acme, doing):
    path = f"{LIST}/{desk.followup(acme).id}"
    before = read(doing.lead, path)
    with selects(app) as seen:
        assert refreshed(doing.lead, path, before) is None
    assert len([one for one in seen if "FROM contact" in one or "FROM agent_hold" in one]) == 2
