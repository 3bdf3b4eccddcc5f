"""Who is on what needs a person: taken on, taken over, let go; shown in lists, pages and Overview."""

from datetime import timedelta
from uuid import uuid4

import pytest

from models import clock, handling
from models.actors import Actor
from models.deliveries import State
from models.followups import needs
from models.followups.standing import Standing
from models.operators import Role
from tests.conftest import settings_for
from tests.console.test_cancel import LIST
from tests.console.visiting import HTMX
from tests.support.api import on_sqlite
from tests.support.declare import declared
from tests.support.deliver import create_delivery, create_endpoint

OTHER = Actor.operator("99", "other@acme.test")
MINUTE = timedelta(minutes=1)


@pytest.fixture
def overdue(desk, acme):
    """Due for ten minutes, and taken by no run."""
    return make_overdue(desk, acme)


def make_overdue(desk, tenant, **given):
    from tests.support.create import create_followup

    ago = clock.now() - 20 * MINUTE
    return desk.tell(lambda session: create_followup(session, tenant, now=ago, at=ago + 10 * MINUTE, **given))


def take(desk, tenant, id, *, kind="followup", actor=OTHER, ago=4 * MINUTE):
    at = clock.now() - ago
    desk.tell(
        lambda session: handling.take(session, tenant, (kind, str(id)), refusal=None, actor=actor, now=at)
    )


def of(desk, tenant, id, kind="followup"):
    found = desk.tell(lambda session: handling.of(session, tenant.id, kind, [str(id)]))
    return found[str(id)].operator if found else None


def page_of(followup):
    return f"{LIST}/{followup.id}"


def form_at(person, path, ending):
    """A form of the page at `path`, sent elsewhere."""
    form = person.open("/profile").form("/sign-out")
    form.action = f"{path}{ending}"
    return form


def test_take_on_shows_who_is_on_it_on_the_page_in_the_list_and_to_others(desk, acme, lead, visitor, overdue):
    page = lead.open(page_of(overdue))
    assert "It needs a person, and nobody is on it." in page.text
    answer = lead.press(page.form("/handling"), htmx=True)
    assert answer.status == 200 and "followup" in answer.ids
    assert "You are on it," in answer.text and "You are on the follow-up to c-1 now." in answer.text
    assert of(desk, acme, overdue.id) == "lead@acme.test"
    [event] = desk.audit("followup.taken_on")
    assert (event.resource_id, event.result, event.actor_label) == (
        str(overdue.id),
        "success",
        "lead@acme.test",
    )
    assert "On it: you," in lead.open(f"{LIST}?tab=overdue").text
    other = visitor("marketer")
    assert "On it: lead@acme.test," in other.open(f"{LIST}?tab=overdue").text
    assert "On it: lead@acme.test," in other.open(LIST).text
    assert "lead@acme.test is on it," in other.open(page_of(overdue)).text
    assert "Taken on by lead@acme.test" in other.open(page_of(overdue)).text


def test_take_on_leads_back_to_the_page_when_there_is_no_script(desk, acme, lead, overdue):
    answer = lead.press(lead.open(page_of(overdue)).form("/handling"))
    assert (answer.status, answer.headers["Location"]) == (303, page_of(overdue))
    assert "You are on it," in lead.follow(answer).text


def test_take_on_acts_once_when_it_is_pressed_twice(desk, acme, lead, overdue):
    form = lead.open(page_of(overdue)).form("/handling")
    assert [lead.press(form, htmx=True).status for _press in range(2)] == [200, 200]
    assert len(desk.audit("followup.taken_on")) == 1


def test_take_on_is_refused_with_who_and_when_when_another_was_first(desk, acme, lead, overdue):
    form = lead.open(page_of(overdue)).form("/handling")
    take(desk, acme, overdue.id)
    answer = lead.press(form, htmx=True)
    assert answer.status == 409
    assert "other@acme.test took it on 4 min ago." in answer.text
    assert "Take it over" in answer.text
    assert of(desk, acme, overdue.id) == "other@acme.test"
    assert [event.result for event in desk.audit("followup.taken_on")] == ["success", "refused"]


@pytest.mark.parametrize("htmx", [True, False])
def test_take_over_is_asked_about_and_says_from_whom(desk, acme, lead, overdue, htmx):
    take(desk, acme, overdue.id)
    question = lead.open(lead.open(page_of(overdue)).links["Take it over"])
    assert "other@acme.test took it on 4 min ago." in question.text
    answer = lead.press(question.form("/handling"), htmx=htmx)
    assert answer.status == (200 if htmx else 303)
    assert "You are on it," in (answer if htmx else lead.follow(answer)).text
    assert of(desk, acme, overdue.id) == "lead@acme.test"
    event = desk.audit("followup.taken_on")[-1]
    assert event.detail == {"taken_over_from": "other@acme.test"}
    assert "Taken on by lead@acme.test, over from other@acme.test" in lead.open(page_of(overdue)).text


def test_take_over_is_asked_again_when_a_third_was_quicker(desk, acme, lead, overdue):
    take(desk, acme, overdue.id)
    form = lead.open(f"{page_of(overdue)}/handling").form("/handling")
    third = Actor.operator("77", "third@acme.test")
    desk.tell(
        lambda session: handling.take(
            session,
            acme,
            ("followup", str(overdue.id)),
            refusal=None,
            actor=third,
            now=clock.now(),
            instead_of="99",
        )
    )
    answer = lead.press(form, htmx=True)
    assert answer.status == 409
    assert "third@acme.test took it on" in answer.text
    assert of(desk, acme, overdue.id) == "third@acme.test"
    # The question now tells of the third, and can be answered.
    assert lead.press(answer.form("/handling"), htmx=True).status == 200
    assert of(desk, acme, overdue.id) == "lead@acme.test"


def test_let_go_leaves_it_to_others_and_writes_one_event(desk, acme, lead, overdue):
    lead.press(lead.open(page_of(overdue)).form("/handling"))
    form = lead.open(page_of(overdue)).form("/handling/end")
    answer = lead.press(form, htmx=True)
    assert "nobody is on it" in answer.text and "You let go of the follow-up to c-1." in answer.text
    assert lead.press(form, htmx=True).status == 200
    assert of(desk, acme, overdue.id) is None
    assert len(desk.audit("followup.let_go")) == 1


def test_let_go_is_refused_when_another_took_it_over(desk, acme, lead, overdue):
    lead.press(lead.open(page_of(overdue)).form("/handling"))
    form = lead.open(page_of(overdue)).form("/handling/end")
    me = desk.audit("followup.taken_on")[0].actor_id
    desk.tell(
        lambda session: handling.take(
            session,
            acme,
            ("followup", str(overdue.id)),
            refusal=None,
            actor=OTHER,
            now=clock.now(),
            instead_of=me,
        )
    )
    answer = lead.press(form, htmx=True)
    assert answer.status == 409 and "other@acme.test took it on" in answer.text
    assert of(desk, acme, overdue.id) == "other@acme.test"


@on_sqlite
def test_nobody_takes_on_what_needs_nobody(desk, acme, lead):
    followup = desk.followup(acme)
    assert "nobody is on it" not in lead.open(page_of(followup)).text
    answer = lead.press(form_at(lead, page_of(followup), "/handling"), htmx=True, shown="panel")
    assert answer.status == 409 and "needs nobody now" in answer.text
    assert of(desk, acme, followup.id) is None


@on_sqlite
def test_mark_is_history_when_it_needs_nobody_any_more(desk, acme, lead, overdue):
    take(desk, acme, overdue.id)
    lead.press(lead.open(page_of(overdue)).form("/cancellation"))
    assert "is on it" not in lead.open(page_of(overdue)).text
    assert "On it" not in lead.open(f"{LIST}?tab=cancelled").text
    assert "Somebody is on" not in lead.open("/acme").text


@on_sqlite
def test_acts_are_refused_for_what_was_done_not_for_who_is_on_it(desk, acme, lead, overdue):
    form = lead.open(page_of(overdue)).form("/cancellation")
    take(desk, acme, overdue.id)
    assert lead.press(form, htmx=True).status == 200


@on_sqlite
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("verb", ["", "/end"])
def test_taking_on_is_for_those_who_may_act(desk, acme, visitor, overdue, role, verb):
    person = visitor(role)
    answer = person.press(form_at(person, page_of(overdue), f"/handling{verb}"), htmx=True, shown="panel")
    allowed = role != Role.VIEWER
    assert answer.status == (200 if allowed else 403)
    if not allowed:
        [event] = desk.audit("followup.let_go" if verb else "followup.taken_on")
        assert (event.result, event.resource_id) == ("refused", str(overdue.id))
        assert "Your role in acme is viewer" in person.open(page_of(overdue)).text


@on_sqlite
def test_taking_on_finds_nothing_when_it_is_of_another_tenant(desk, acme, lead):
    theirs = make_overdue(desk, desk.tenant("other"))
    for id in (theirs.id, uuid4()):
        for verb in ("/handling", "/handling/end"):
            assert lead.press(form_at(lead, f"{LIST}/{id}", verb), htmx=True).status == 404
        assert lead.open(f"{LIST}/{id}/handling").status == 404
    assert desk.audit("followup.taken_on") == []


@on_sqlite
def test_overview_says_how_many_somebody_is_on(desk, acme, lead, overdue):
    make_overdue(desk, acme, customer="c-2")
    assert "Somebody is on" not in lead.open("/acme").text
    take(desk, acme, overdue.id)
    take(desk, acme, uuid4())
    assert "Somebody is on 1 of them." in lead.open("/acme").text
    for row in (overdue.id,):
        assert of(desk, acme, row) == "other@acme.test"


@pytest.fixture
def delivery(app, desk, acme, tmp_path, database):
    def make(session):
        settings = settings_for(database.url, tmp_path)
        endpoint, _secret = create_endpoint(session, acme, settings, now=clock.now())
        return create_delivery(session, acme, endpoint, now=clock.now(), state=State.DEAD).id

    return desk.tell(make)


def test_delivery_is_taken_on_and_let_go(desk, acme, lead, visitor, delivery):
    path = f"/acme/deliveries/{delivery}"
    assert "Somebody is on" not in lead.open("/acme").text
    answer = lead.press(lead.open(path).form("/handling"), htmx=True)
    assert answer.status == 200 and "You are on it," in answer.text
    assert of(desk, acme, delivery, "delivery") == "lead@acme.test"
    assert len(desk.audit("delivery.taken_on")) == 1
    assert "On it: lead@acme.test," in visitor("admin").open("/acme/deliveries?tab=dead").text
    assert "Somebody is on it." in lead.open("/acme").text
    assert lead.press(lead.open(path).form("/handling/end"), htmx=True).status == 200
    assert of(desk, acme, delivery, "delivery") is None
    assert len(desk.audit("delivery.let_go")) == 1


@on_sqlite
def test_delivery_is_for_leads_and_finds_nothing_elsewhere(desk, acme, lead, visitor, delivery):
    marketer = visitor("marketer")
    path = f"/acme/deliveries/{delivery}"
    assert marketer.press(form_at(marketer, path, "/handling"), htmx=True).status == 403
    outsider = desk.visitor("admin@other.test", desk.tenant("other"), "admin")
    assert outsider.press(form_at(outsider, f"/other/deliveries/{delivery}", "/handling")).status == 404
    take(desk, acme, delivery, kind="delivery")
    question = lead.open(lead.open(path).links["Take it over"])
    assert lead.press(question.form("/handling"), htmx=True).status == 200
    assert of(desk, acme, delivery, "delivery") == "lead@acme.test"


@on_sqlite
def test_only_what_needs_a_person_is_among_what_is_counted(desk, acme, overdue):
    pending, now = desk.followup(acme, customer="c-9"), clock.now()

    def among(session):
        standing = Standing.of(session, acme, declared(), timedelta(seconds=30), now)
        return needs.among(session, standing, [overdue.id, pending.id, uuid4()], before=now - 60 * MINUTE)

    assert desk.tell(among) == {overdue.id: "overdue"}


@on_sqlite
def test_page_left_open_is_told_when_somebody_takes_it_on(desk, acme, lead, overdue):
    signs = [lead.client.get(page_of(overdue), headers=HTMX).headers["ETag"]]
    take(desk, acme, overdue.id)
    signs.append(lead.client.get(page_of(overdue), headers=HTMX).headers["ETag"])
    assert signs[0] != signs[1]
    assert lead.client.get(page_of(overdue), headers=HTMX).headers["ETag"] == signs[1]


@on_sqlite
def test_list_changes_when_somebody_takes_a_row_on(desk, acme, lead, overdue):
    path = f"{LIST}?tab=overdue"
    before = lead.client.get(path, headers=HTMX).headers["ETag"]
    take(desk, acme, overdue.id)
    assert lead.client.get(path, headers=HTMX).headers["ETag"] != before
    rows = lead.block(f"{LIST}/rows?tab=overdue&id={overdue.id}")
    assert "On it: other@acme.test," in rows.text
