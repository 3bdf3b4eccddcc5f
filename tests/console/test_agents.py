from datetime import timedelta
from urllib.parse import quote

import pytest
from sqlalchemy import update

from desk_ui.agents.addresses import AgentKey
from models import bulk, clock, tenants
from models.followups import contacts, transitions
from models.followups.firing import fire_due
from models.followups.records import FollowUp
from models.tenants import AgentHold
from tests.console.counting import selects
from tests.console.visiting import SETTER_UP
from tests.support.declare import declared

AGENTS = "/acme/agents"
HELD = {"reason": "the provider is down"}
ODD_KEYS = ["a/b", "..", ".", "a//b/", "hold", "a?b=c&d", "50 % ~ off", "é\n", "<b>x</b>", "x" * 200]


def ask(visitor, verb, agent="store-support"):
    return visitor.open(f"{AGENTS}/{agent}/{verb}")


def form_of(visitor, verb, agent="store-support"):
    return ask(visitor, verb, agent).form(f"/{verb}")


def hold_by(desk, acme, agent="store-support", *, held=True):
    desk.tell(
        lambda session: tenants.hold(
            session, acme, agent, held=held, reason="by hand", actor=SETTER_UP, now=clock.now()
        )
    )


def is_held(desk, acme, agent="store-support"):
    found = desk.tell(lambda session: session.get(AgentHold, (acme.id, agent)))
    return found is not None and found.held


def set_due(desk, ago):
    at = clock.now() - ago
    desk.tell(lambda session: bulk.execute_unaudited(session, update(FollowUp).values(at=at)))


def test_list_shows_each_declared_agent_and_each_that_has_rows(desk, acme, lead):
    desk.followup(acme, agent="nobody")
    desk.followup(desk.tenant("other"), agent="theirs")
    hold_by(desk, acme, "held-only")
    page = lead.open(AGENTS)
    assert [name for name in ("store-support", "nobody", "held-only", "theirs") if name in page.links] == [
        "store-support",
        "nobody",
        "held-only",
    ]
    assert "Agents: 2 can't send" in page.text
    for words in ("Not declared", "At most 2 messages a customer in 24 h; no quiet hours;", "At work"):
        assert words in page.text


def test_list_tells_the_whole_policy_with_its_zone(desk, acme, lead, config):
    config.write_text(
        config.read_text()
        + 'cancel_keywords = ["stop", "no more"]\n[agents.store-support.followup.quiet_hours]\n'
        + 'timezone = "America/Sao_Paulo"\nstart = "21:30"\nend = "09:00"\n'
    )
    says = (
        "At most 2 messages a customer in 24 h; quiet from 21:30 to 09:00 in America/Sao_Paulo; "
        "stops after 3 messages without a reply; 2 opt-out phrases."
    )
    assert says in lead.open(AGENTS).text
    page = lead.open(f"{AGENTS}/store-support")
    assert 'followup.cancel_keywords = ["stop", "no more"]' in page.html.replace("&#34;", '"')


def test_list_names_the_faults_of_a_policy_by_their_path(desk, acme, lead, config):
    config.write_text(config.read_text() + '[agents.broken.followup]\nmax_frequency = "2/3w"\n')
    for path in (AGENTS, f"{AGENTS}/broken"):
        page = lead.open(path)
        assert "agents.broken.followup.max_frequency" in page.text and "Policy can't be used" in page.text
    assert "blocked until desk.toml is put right" in page.text and "2/3w" in page.text


def test_list_counts_what_waits_and_what_is_overdue(desk, acme, lead):
    desk.followup(acme, customer="c-1")
    desk.followup(acme, customer="c-2")
    assert "2 pending" in lead.open(AGENTS).text and "overdue" not in lead.open(AGENTS).text
    set_due(desk, timedelta(hours=1))
    page = lead.open(AGENTS)
    assert page.links["2 overdue"] == "/acme/followups?agent=store-support&tab=overdue"
    hold_by(desk, acme)
    assert "overdue" not in lead.open(AGENTS).text


def test_counts_are_capped_when_there_are_too_many(desk, acme, lead, monkeypatch):
    for number in range(3):
        desk.followup(acme, customer=f"c-{number}")
    monkeypatch.setattr("desk_ui.capped.MOST_COUNTED", 2)
    monkeypatch.setattr("desk_ui.words.MOST_COUNTED", 2)
    assert "2+ pending" in lead.open(AGENTS).text
    assert "2+ pending follow-ups wait" in ask(lead, "hold").text


def test_page_of_one_counts_contacts_and_arms_and_links_to_the_lists(desk, acme, lead):
    for number, arm in enumerate(("A", "A", "B", "B")):
        followup = desk.followup(acme, customer=f"c-{number}", arm=arm)
    desk.tell(
        lambda session: transitions.cancel(session, acme.id, followup.id, actor=SETTER_UP, now=clock.now())
    )
    desk.tell(
        lambda session: contacts.revoke(session, acme, "c-9", by="operator", actor=SETTER_UP, now=clock.now())
    )
    page = lead.open(f"{AGENTS}/store-support")
    assert "May be contacted 4 Opted out 1 Not answering 0" in page.text
    assert "Arm Pending Fired Blocked Cancelled A 2 0 0 0 B 1 0 0 1" in page.text
    assert page.links["2"] == "/acme/followups?agent=store-support&arm=A"
    assert "arm=B&amp;tab=cancelled" in page.html


def test_page_is_not_found_when_nothing_names_the_agent(desk, acme, lead):
    desk.followup(desk.tenant("other"), agent="theirs")
    for key in ("theirs", "unknown", "a~ZZ", "a~2fb", "~00"):
        assert lead.open(f"{AGENTS}/{key}").status == 404
    assert lead.open(f"{AGENTS}/unknown/hold").status == 404


@pytest.mark.parametrize("key", ODD_KEYS)
def test_an_agent_of_any_name_has_a_page_and_can_be_held(desk, acme, lead, key):
    desk.followup(acme, agent=key)
    listed = lead.open(AGENTS)
    [url] = [url for url in listed.links.values() if url.startswith(f"{AGENTS}/") and "store" not in url]
    page = lead.open(url)
    assert page.status == 200 and "Not declared" in page.text and "<b>x</b>" not in page.html
    assert lead.press(lead.open(f"{url}/hold").form("/hold"), **HELD).status == 303
    assert is_held(desk, acme, key)


@pytest.mark.parametrize("key", [*ODD_KEYS, "~", "~2E", "%2F", "a.b"])
def test_address_of_an_agent_is_one_segment_that_reads_back(app, key):
    converter = AgentKey(app.url_map)
    segment = converter.to_url(key)
    assert quote(segment, safe="") == segment and segment.strip(".")
    assert converter.to_python(segment) == key


def test_hold_says_how_many_will_wait_when_opened(desk, acme, lead):
    desk.followup(acme, customer="c-1")
    desk.followup(acme, customer="c-2")
    assert (
        "2 pending follow-ups wait until it is released. None of them is due now." in ask(lead, "hold").text
    )
    set_due(desk, timedelta(seconds=1))
    assert "Due now: 2, which the next run would have taken." in ask(lead, "hold").text


def test_hold_stops_what_is_due_and_is_seen_with_its_reason(desk, acme, lead):
    followup = desk.followup(acme)
    answer = lead.press(form_of(lead, "hold"), **HELD)
    assert answer.headers["Location"] == f"{AGENTS}/store-support"
    page = lead.follow(answer)
    assert "Put store-support on hold." in page.text
    assert "by lead@acme.test. What is due waits. Because: the provider is down" in page.text
    later = clock.now() + timedelta(hours=2)
    desk.tell(lambda session: fire_due(session, declared=declared(), now=later, limit=100))
    assert desk.read(acme, followup.id).status == "pending"
    assert "On hold by lead@acme.test" in lead.open(AGENTS).text
    [event] = desk.audit("agent.held")
    assert (event.actor_label, event.purpose) == ("lead@acme.test", "the provider is down")


def test_release_says_what_is_due_at_once_and_lets_it_go(desk, acme, lead):
    desk.followup(acme)
    hold_by(desk, acme)
    set_due(desk, timedelta(seconds=1))
    page = ask(lead, "release")
    for words in ("1 follow-up is due at once, and the next run takes it.", "by hand", "tests"):
        assert words in page.text
    answer = lead.press(form_of(lead, "release"), htmx=True, reason="it is back")
    assert answer.headers["HX-Redirect"] == f"{AGENTS}/store-support"
    assert "Released store-support." in lead.open(answer.headers["HX-Redirect"]).text
    assert not is_held(desk, acme)
    assert [event.purpose for event in desk.audit("agent.released")] == ["it is back"]


def test_hold_names_the_field_when_there_is_no_reason(desk, acme, lead):
    answer = lead.press(form_of(lead, "hold"), reason=" ")
    assert answer.status == 422
    assert "Must not be blank." in answer.text
    assert not is_held(desk, acme)


def test_hold_is_off_when_it_is_on_hold_and_a_conflict_when_that_was_done_meanwhile(desk, acme, lead):
    form = form_of(lead, "hold")
    hold_by(desk, acme)
    assert "It is on hold already." in ask(lead, "hold").text
    answer = lead.press(form, **HELD)
    assert answer.status == 409
    assert "by tests, so nothing was done." in answer.text
    assert f'value="{HELD["reason"]}"' in answer.html
    assert [event.result for event in desk.audit("agent.held")] == ["success", "refused"]
    hold_by(desk, acme, held=False)
    assert "It is not on hold." in ask(lead, "release").text


@pytest.mark.parametrize("role", ["viewer", "marketer"])
def test_hold_is_refused_and_audited_when_the_role_may_only_look(desk, acme, visitor, role):
    person = visitor(role)
    page = person.open(f"{AGENTS}/store-support")
    assert "this needs a lead or admin. Ask an admin of acme." in page.text
    assert person.press(form_of(person, "hold"), **HELD).status == 403
    assert not is_held(desk, acme)
    [event] = desk.audit("agent.held")
    assert (event.result, event.resource_id) == ("refused", "store-support")


def test_hold_concerns_the_tenant_at_hand_alone(desk, acme, lead):
    other = desk.tenant("other")
    desk.followup(other)
    lead.press(form_of(lead, "hold"), **HELD)
    assert is_held(desk, acme) and not is_held(desk, other)


def test_pages_run_as_many_statements_whatever_there_is(app, desk, acme, lead):
    desk.followup(acme)
    lead.open(AGENTS)

    def number(path):
        with selects(app) as seen:
            lead.open(path)
        return len(seen)

    before = [number(AGENTS), number(f"{AGENTS}/store-support")]
    for n in range(12):
        desk.followup(acme, customer=f"d-{n}", arm=f"arm {n}")
        desk.followup(acme, customer=f"c-{n}", agent=f"agent-{n}")
    assert [number(AGENTS), number(f"{AGENTS}/store-support")] == before
    assert max(before) < 16


def test_list_goes_on_after_fifty_agents(desk, acme, lead, monkeypatch):
    monkeypatch.setattr("desk_ui.agents.routes.ROWS", 2)
    for n in range(3):
        desk.followup(acme, agent=f"agent-{n}")
    page = lead.open(AGENTS)
    assert "agent-1" in page.links and "agent-2" not in page.links
    following = lead.open(page.links["Further ones"])
    assert "agent-2" in following.links and "store-support" in following.links
    assert following.links["Back to the first ones"] == AGENTS
