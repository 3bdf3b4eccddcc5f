import dataclasses
import re
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select, update

from desk_ui import words
from models import bulk, clock, endpoints, sweep_states, tenants
from models.actors import Actor
from models.base import db
from models.clock import EPOCH
from models.deliveries import Delivery
from models.followups import contacts, tasks
from models.followups.firing import fire_due
from models.followups.foresight import foresee
from models.followups.records import AgentTask, Block, Contact, FollowUp, TaskStatus
from models.outbox import OutboxEvent
from tests.console.visiting import SETTER_UP
from tests.support.declare import declared

LIST = "/acme/followups"


def opt_out(desk, tenant, customer):
    return desk.tell(
        lambda session: contacts.revoke(
            session, tenant, customer, by="operator", actor=SETTER_UP, now=clock.now()
        )
    )


def make_due(desk, followup, at):
    desk.tell(
        lambda session: bulk.execute_unaudited(
            session, update(FollowUp).where(FollowUp.id == followup.id).values(at=at)
        )
    )


def fire_all(desk, at=None):
    later = at or clock.now() + timedelta(hours=2)
    desk.tell(lambda session: fire_due(session, declared=declared(), now=later, limit=100))


def test_page_tells_what_each_gate_would_say_when_pending(desk, acme, lead):
    followup = desk.followup(acme, reason="pix pending", customer="c-1042")
    page = lead.open(f"{LIST}/{followup.id}")
    assert page.title == "pix pending, c-1042 · Recovery Desk"
    assert "As things stand it would fire." in page.text
    assert page.text.count("Lets through") == 8
    assert "0 fired in the last 24 h, limit 2" in page.text
    assert "0 of 3 fired without a reply" in page.text and "Consent on record" in page.text


def test_page_shows_the_gates_after_the_one_that_stops_as_not_reached(desk, acme, lead):
    followup = desk.followup(acme)
    desk.tell(lambda session: bulk.execute_unaudited(session, update(Contact).values(sends_without_reply=3)))
    other = desk.followup(acme, customer="c-2", agent="nobody")
    page = lead.open(f"{LIST}/{other.id}")
    assert "It would be blocked" in page.text
    assert "This agent is not declared in desk.toml." in page.text
    assert page.text.count("There is no policy") == 2
    assert (page.text.count("Stops it"), page.text.count("Not reached")) == (1, 7)
    assert "3 of 3" in lead.open(f"{LIST}/{followup.id}").text


def test_page_tells_who_did_what_and_why_when_it_is_over(desk, acme, lead):
    followup = desk.followup(acme, customer="c-1042")
    opt_out(desk, acme, "c-1042")
    page = lead.open(f"{LIST}/{followup.id}")
    assert "Booked by tests over the API" in page.text
    assert "Cancelled by tests: the customer opted out" in page.text
    assert "Opted out" in page.text
    assert page.text.index("Booked by") < page.text.index("Cancelled by tests")
    assert "If it fired now" not in page.text
    assert not [form for form in page.forms if form.action.endswith("/cancellation")]


def fired(desk, tenant, **given):
    """A follow-up that fired at once."""
    followup = desk.followup(tenant, **given)
    make_due(desk, followup, clock.now() - timedelta(minutes=1))
    fire_all(desk, clock.now())
    return desk.read(tenant, followup.id)


def task_moves(desk, tenant, followup, *steps, ago=timedelta(0)):
    """The runtime takes the task of `followup` and reports, some time ago."""

    def move(session):
        now, runtime = clock.now() - ago, Actor.api("runtime", "shop runtime")
        given = {"actor": runtime, "now": now}
        tasks.claim(session, tenant.id, followup.task_id, **given)
        for outcome, reason in steps:
            tasks.report(session, tenant.id, followup.task_id, outcome, reason=reason, **given)

    desk.tell(move)


def test_page_tells_when_it_fired_and_that_nobody_took_its_task(desk, acme, lead):
    followup = fired(desk, acme)
    page = lead.open(f"{LIST}/{followup.id}")
    assert "Its task waits: no agent took it." in page.text
    assert "was asked" not in page.text
    assert "Fired by the sweep “Firing”" in page.text
    assert str(followup.task_id) in page.text and "not taken, made just now" in page.text.replace(
        "made 1 s ago", "made just now"
    )
    assert "Not taken" not in page.text


def test_page_marks_a_task_that_waits_for_longer_than_it_may(desk, acme, lead):
    followup = fired(desk, acme)
    earlier = clock.now() - timedelta(days=7)
    desk.tell(lambda session: session.execute(update(AgentTask).values(updated_at=earlier)))
    page = lead.open(f"{LIST}/{followup.id}")
    assert "Not taken" in page.text and "not taken, made 7 d ago" in page.text


@pytest.mark.parametrize(
    ("steps", "lead_says", "timeline_says", "marked"),
    [
        ([], "Its task was taken 3 h ago, and is not finished.", "Task taken by shop runtime", (True, False)),
        (
            [(TaskStatus.DONE, None)],
            "Its task was done 3 h ago.",
            "Task done by shop runtime",
            (False, False),
        ),
        (
            [(TaskStatus.FAILED, "no answer from the model")],
            "Its task failed 3 h ago.",
            "Task failed by shop runtime : no answer from the model",
            (False, True),
        ),
    ],
)
def test_page_tells_how_far_the_task_has_come(desk, acme, lead, steps, lead_says, timeline_says, marked):
    followup = fired(desk, acme)
    task_moves(desk, acme, followup, *steps, ago=timedelta(hours=3))
    text = lead.open(f"{LIST}/{followup.id}").text
    assert lead_says in text.replace(" ,", ",").replace(" .", ".")
    assert ("Not finished" in text, "Task failed" in text.partition("Timeline")[0]) == marked
    assert timeline_says.replace(" :", ":") in text.replace(" :", ":")


def test_page_tells_that_the_task_was_cancelled_when_the_customer_opted_out(desk, acme, lead):
    followup = fired(desk, acme, customer="c-1042")
    opt_out(desk, acme, "c-1042")
    text = lead.open(f"{LIST}/{followup.id}").text
    assert "Its task was cancelled" in text and ": the customer opted out." in text.replace(" :", ":")
    assert text.index("Fired by") < text.index("Task cancelled by tests: the customer opted out")


def test_page_shows_a_refused_cancel_on_the_timeline(desk, acme, lead, visitor):
    followup = desk.followup(acme)
    viewer = visitor("viewer")
    form = viewer.open(LIST).form("/sign-out")
    form.action = f"{LIST}/{followup.id}/cancellation"
    viewer.press(form, version="1")
    page = lead.open(f"{LIST}/{followup.id}")
    assert "Cancel refused by viewer@acme.test: role does not allow it" in page.text


def pause_firing(desk):
    desk.tell(
        lambda session: sweep_states.pause(
            session,
            "fire_followups",
            known=["fire_followups"],
            reason="looking into it",
            actor=SETTER_UP,
            now=clock.now(),
        )
    )
    desk.app.extensions["desk_sweep_lines"] = (EPOCH, [])


def test_page_and_row_say_that_firing_is_paused_when_it_is(desk, acme, lead):
    followup = desk.followup(acme)
    path = f"{LIST}/{followup.id}"
    assert "paused" not in lead.open(path).text
    assert "paused" not in lead.open(LIST).text
    pause_firing(desk)
    assert "Firing is paused, so it waits." in lead.open(path).text
    assert "As things stand" not in lead.open(path).text
    page = lead.open(LIST)
    # Of a row that is not due yet, something else may matter more; the note over the list tells of the pause.
    assert "firing is paused" not in page.text
    assert "Firing has been paused since " in page.text
    assert page.links["Show Firing"] == "/acme/sweeps/fire_followups"
    make_due(desk, followup, clock.now() - timedelta(minutes=1))
    assert "firing is paused" in lead.open(LIST).text


def test_page_names_who_holds_the_agent_and_leads_to_it_and_to_what_is_kept_of_the_customer(desk, acme, lead):
    followup = fired(desk, acme, customer="c-1042", agent="store-support")
    page = lead.open(f"{LIST}/{followup.id}")
    assert page.links["store-support"] == "/acme/agents/store-support"
    assert page.links["c-1042"] == f"{LIST}?tab=fired&customer=c-1042"
    pending = desk.followup(acme, customer="c-1042", reason="again")
    desk.tell(
        lambda session: tenants.hold(
            session, acme, "store-support", held=True, reason="new prompt", actor=SETTER_UP, now=clock.now()
        )
    )
    page = lead.open(f"{LIST}/{pending.id}")
    assert re.search(r"Its agent was put on hold \w+.* by tests: new prompt. So it waits.", page.text)
    assert page.links["Show the agent"] == "/acme/agents/store-support"
    assert page.links["c-1042"] == f"{LIST}?customer=c-1042"


def hold(desk, acme):
    desk.tell(
        lambda session: tenants.hold(
            session, acme, "store-support", held=True, reason=None, actor=SETTER_UP, now=clock.now()
        )
    )


def switch_off(desk, acme):
    desk.tell(
        lambda session: tenants.set_features(
            session, acme, {"followups": False}, actor=SETTER_UP, now=clock.now()
        )
    )


@pytest.mark.parametrize(
    ("stop", "says"),
    [
        (hold, "Held: it would fire when released"),
        (switch_off, "Switched off: it would fire when switched on"),
        (lambda desk, _acme: pause_firing(desk), "Firing is paused: it would fire when resumed"),
    ],
    ids=["held", "switched off", "paused"],
)
def test_page_has_one_verdict_when_somebody_stopped_it(desk, acme, lead, stop, says):
    path = f"{LIST}/{desk.followup(acme).id}"
    text = lead.open(path).text
    assert "If it fired now It would fire" in text
    stop(desk, acme)
    text = lead.open(path).text
    assert f"What the gates say {says}" in text
    assert "It would fire" not in text and "fired now" not in text


def night_around(config, at, hours):
    """Quiet hours of the usual agent from so many `hours` before and until after `at`."""
    start, end = (f"{at + step:%H:%M}" for step in (-hours, hours))
    quiet = f'timezone = "UTC"\nstart = "{start}"\nend = "{end}"\n'
    config.write_text(config.read_text() + f"[agents.store-support.followup.quiet_hours]\n{quiet}")


def test_page_names_no_end_of_quiet_hours_that_comes_before_it_is_due(desk, acme, lead, config):
    now = clock.now()
    night_around(config, now, timedelta(hours=2))
    later = desk.followup(acme, at=now + timedelta(hours=8))
    text = lead.open(f"{LIST}/{later.id}").text
    assert "As things stand it would fire." in text
    assert "it would wait for the end" not in text
    days_later = desk.followup(acme, customer="c-2", at=now + timedelta(days=5))
    text = lead.open(f"{LIST}/{days_later.id}").text
    end = words.day_and_time((now + timedelta(days=5, hours=2)).replace(second=0), now, "UTC")
    assert f"In quiet hours then: it waits until {end}." in text
    assert "As things stand" not in text and text.count("it waits until") == 1
    due = desk.followup(acme, customer="c-3")
    make_due(desk, due, now - timedelta(minutes=1))
    end = words.day_and_time((now + timedelta(hours=2)).replace(second=0), now, "UTC")
    says = f"As things stand it would wait for the end of quiet hours, {end}."
    assert says in lead.open(f"{LIST}/{due.id}").text


def test_page_leads_back_to_the_list_that_was_left(desk, acme, lead):
    followup = desk.followup(acme, agent="billing")
    shown = lead.open(f"{LIST}?agent=billing")
    page = lead.open(shown.links["c-1"])
    assert page.links["Follow-ups, pending"] == f"{LIST}?agent=billing"
    answer = lead.press(page.form("/cancellation"))
    assert answer.headers["Location"].startswith(f"{LIST}/{followup.id}?list=")
    assert lead.follow(answer).links["Follow-ups, pending"] == f"{LIST}?agent=billing"


def test_page_is_not_found_when_unknown_or_another_tenants(desk, acme, lead):
    theirs = desk.followup(desk.tenant("other"))
    lead.open(LIST)  # what is said once after signing in
    pages = [lead.open(f"{LIST}/{id}") for id in (theirs.id, uuid4())]
    texts = [page.text.replace(page.headers["X-Request-ID"], "") for page in pages]
    assert texts[0] == texts[1]
    assert [page.status for page in pages] == [404, 404]
    assert lead.open(f"{LIST}/not-an-id").status == 404


def test_page_shows_what_was_told_to_other_systems(app, desk, acme, lead):
    settings = dataclasses.replace(
        app.extensions["desk_settings"], webhook_allowed_hosts=frozenset({"127.0.0.1"})
    )
    followup = desk.followup(acme)
    assert "Told to other systems" not in lead.open(f"{LIST}/{followup.id}").text

    def publish(session):
        now = clock.now()
        given = {"event_types": ["*"], "settings": settings, "actor": SETTER_UP, "now": now}
        endpoint, _secret = endpoints.add(session, acme, url="http://127.0.0.1:9/secret-path", **given)
        event = session.scalars(select(OutboxEvent)).first()
        session.add(
            Delivery(
                tenant_id=acme.id,
                endpoint_id=endpoint.id,
                event_id=event.id,
                state="failed",
                attempts=2,
                next_attempt_at=now,
                last_status=503,
                created_at=now,
                updated_at=now,
            )
        )

    desk.tell(publish)
    text = lead.open(f"{LIST}/{followup.id}").text
    assert "A follow-up was booked http://127.0.0.1:9" in text and "secret-path" not in text
    assert "failed, will be tried again, 2 attempts, last answer 503" in text


CASES = {
    "nothing": (None, {}),
    "opted out": (Block.REVOKED, {"state": "revoked"}),
    "silent": (Block.UNAVAILABLE, {"state": "unavailable"}),
    "no contact": (Block.CONSENT, {"contact": None}),
    "undeclared": (Block.POLICY_INVALID, {"agent": "nobody"}),
    "older twin": (Block.DEDUP, {"twin": True}),
    "ceiling": (Block.FREQUENCY, {"fires": 2}),
    "below the ceiling": (None, {"fires": 1}),
}


@pytest.mark.parametrize("case", list(CASES))
def test_foresight_agrees_with_the_sweep(app, desk, acme, case):
    expected, given = CASES[case]
    for number in range(given.get("fires", 0)):
        desk.followup(acme, reason=f"earlier {number}")
    fire_all(desk)
    followup = desk.followup(
        acme, agent=given.get("agent", "store-support"), at=clock.now() + timedelta(hours=2)
    )
    now = clock.now() + timedelta(hours=3)
    if "twin" in given:
        twin = desk.followup(acme, reason="twin")
        desk.tell(
            lambda session: bulk.execute_unaudited(
                session, update(FollowUp).where(FollowUp.id == twin.id).values(reason=followup.reason)
            )
        )
    if "state" in given:
        desk.tell(
            lambda session: bulk.execute_unaudited(session, update(Contact).values(state=given["state"]))
        )
    if "contact" in given:
        desk.tell(lambda session: [session.delete(row) for row in session.query(Contact)])
    with app.app_context():
        row = db.session.get_one(FollowUp, (acme.id, followup.id))
        seen = foresee(db.session(), row, declared=declared(), now=now)
        db.session.remove()
    fire_all(desk, now)
    after = desk.read(acme, followup.id)
    assert seen.verdict.block == expected
    assert after.status == ("blocked" if expected else "fired")
    assert after.blocked_reason == (expected.value if expected else None)
    stops = [gate.block for gate in seen.gates if not gate.passes]
    assert stops == ([expected] if expected else [])
