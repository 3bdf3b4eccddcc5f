from datetime import timedelta

import pytest

from models import clock, operators
from models.operators import Operator
from tests.console.visiting import SETTER_UP, Visitor

WORDS = "quiet harbour lamp"


@pytest.fixture
def stranger(app):
    return Visitor(app)


def set_password(visitor, wanted=WORDS, **given):
    return visitor.press(visitor.open("/profile").form("/profile/password"), wanted=wanted, **given)


def give_password(visitor, password, email="lead@acme.test", **given):
    return visitor.press(visitor.open("/sign-in").form("/sign-in"), email=email, password=password, **given)


def test_link_only_shows_a_button_when_opened(desk, acme, stranger):
    desk.give("lead@acme.test", acme, "lead")
    link = desk.link("lead@acme.test")
    for _time in range(3):
        assert "Sign in as lead@acme.test" in stranger.open(link).text
    assert desk.audit("operator.signed_in") == []
    assert stranger.press(stranger.open(link).form(link)).status == 303
    assert stranger.open("/acme/followups").status == 200


def test_link_signs_in_once_when_pressed_twice(app, desk, acme, stranger):
    desk.give("lead@acme.test", acme, "lead")
    link = desk.link("lead@acme.test")
    form = stranger.open(link).form(link)
    assert stranger.press(form).status == 303
    other = Visitor(app)
    form = other.open("/sign-in").form("/sign-in")
    form.action = link
    assert other.press(form).status == 403
    assert other.open("/acme/followups").status == 303
    [event] = desk.audit("operator.signed_in")
    assert (event.result, event.purpose, event.actor_label) == ("success", "link", "lead@acme.test")


@pytest.mark.parametrize("made_ago", [timedelta(minutes=15), timedelta(days=1)])
def test_link_is_refused_when_it_is_too_old(desk, acme, stranger, made_ago):
    desk.give("lead@acme.test", acme, "lead")
    page = stranger.open(desk.link("lead@acme.test", made_ago=made_ago))
    assert page.status == 403
    assert "This link can't be used" in page.text


def test_link_answers_alike_when_unknown_or_of_an_account_switched_off(desk, acme, stranger):
    desk.give("lead@acme.test", acme, "lead")
    link = desk.link("lead@acme.test")
    desk.tell(lambda session: setattr(operators.by_email(session, "lead@acme.test"), "active", False))
    assert stranger.open(link).text == stranger.open("/sign-in/unknown").text


def test_secret_of_a_link_is_kept_only_as_a_digest(desk, acme):
    desk.give("lead@acme.test", acme, "lead")
    secret = desk.link("lead@acme.test").rpartition("/")[2]
    [kept] = desk.tell(lambda session: list(session.query(operators.SignInLink)))
    assert secret not in str(vars(kept))
    assert [event.detail for event in desk.audit("operator.link_made")] == [{}]


def test_password_signs_in_when_it_is_right(app, desk, lead, stranger):
    assert set_password(lead).status == 303
    answer = give_password(stranger, WORDS, email=" Lead@ACME.test ")
    assert answer.status == 303
    assert stranger.open("/acme/followups").status == 200
    assert [event.purpose for event in desk.audit("operator.signed_in")] == ["link", "password"]


def test_password_is_kept_as_an_argon2_hash(desk, lead):
    set_password(lead)
    found = desk.tell(lambda session: operators.by_email(session, "lead@acme.test"))
    assert found.password.startswith("$argon2id$")


def test_sign_in_answers_alike_when_the_address_or_the_password_is_wrong(desk, lead, visitor, stranger):
    set_password(lead)
    visitor("viewer")  # has no password
    answers = []
    for email in ("lead@acme.test", "viewer@acme.test", "nobody@acme.test"):
        page = give_password(stranger, "not the right one", email=email)
        answers.append((page.status, page.text))
    assert set(answers) == {answers[0]}
    assert answers[0][0] == 401
    assert [e.result for e in desk.audit("operator.signed_in") if e.purpose == "password"] == ["refused"] * 2


def test_sign_in_is_slowed_down_when_an_address_is_tried_too_often(lead, stranger):
    set_password(lead)
    statuses = [give_password(stranger, f"guess {n}").status for n in range(11)]
    assert statuses == [401] * 10 + [429]
    page = give_password(stranger, WORDS)
    assert page.status == 429
    assert "Too many tries" in page.text


@pytest.mark.parametrize(
    "wanted", ["https://evil.test/", "//evil.test/x", "/\\evil.test", "javascript:alert(1)", "/a\tb", ""]
)
def test_sign_in_leads_to_this_site_only_when_the_address_is_forged(lead, stranger, wanted):
    set_password(lead)
    answer = give_password(stranger, WORDS, to=wanted)
    assert answer.headers["Location"] == "/"


def test_sign_in_comes_back_to_the_page_that_was_asked_for(lead, stranger):
    set_password(lead)
    asked = stranger.open("/acme/followups?tab=blocked&agent=billing")
    page = stranger.follow(asked)
    assert page.form("/sign-in").fields["to"] == "/acme/followups?tab=blocked&agent=billing"
    answer = stranger.press(page.form("/sign-in"), email="lead@acme.test", password=WORDS)
    assert answer.headers["Location"] == "/acme/followups?tab=blocked&agent=billing"


def test_sign_in_is_refused_when_the_account_is_switched_off(desk, lead, stranger):
    set_password(lead)
    desk.tell(lambda session: setattr(operators.by_email(session, "lead@acme.test"), "active", False))
    assert give_password(stranger, WORDS).status == 401
    assert lead.open("/acme/followups").status == 303


def test_session_ends_when_it_is_older_than_the_setting(app, lead):
    hours = app.extensions["desk_settings"].session_hours
    with lead.client.session_transaction() as kept:
        kept["signed_in_at"] -= hours * 3_600 * 1_000_000 + 1
    assert lead.open("/acme/followups").headers["Location"].startswith("/sign-in")


def test_htmx_reloads_to_sign_in_and_comes_back_when_signed_out_meanwhile(desk, acme, lead):
    followup = desk.followup(acme)
    form = lead.open("/acme/followups?agent=store-support").form("/cancellation")
    lead.client.delete_cookie("desk")
    answer = lead.client.post(
        form.action,
        data=form.fields,
        headers={
            "HX-Request": "true",
            "HX-Current-URL": "http://localhost/acme/followups?agent=store-support",
        },
    )
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/sign-in?to=/acme/followups?agent%3Dstore-support"
    assert "You were signed out, so this was not done." in lead.open(answer.headers["HX-Redirect"]).text
    assert desk.read(acme, followup.id).status == "pending"


def test_sign_out_is_a_post_and_ends_the_session(lead):
    assert lead.open("/sign-out").status == 405
    answer = lead.press(lead.open("/acme/followups").form("/sign-out"))
    assert "You are signed out." in lead.follow(answer).text
    assert lead.open("/acme/followups").status == 303


def test_page_sets_no_cookie_again_when_nothing_of_the_session_changed(lead):
    lead.open("/acme/followups")
    assert "Set-Cookie" not in lead.open("/acme/followups").headers


def test_password_change_ends_all_other_sessions(desk, acme, lead, visitor):
    elsewhere = visitor("lead")
    assert set_password(lead).status == 303
    assert elsewhere.open("/acme/followups").status == 303
    assert lead.open("/acme/followups").status == 200
    [event] = desk.audit("operator.password_set")
    assert event.actor_label == "lead@acme.test"


def test_password_is_refused_when_it_is_short_or_the_present_one_is_wrong(lead, stranger):
    assert set_password(lead, "too short").status == 422
    set_password(lead)
    give_password(stranger, WORDS)
    page = set_password(stranger, "another fine one", present="wrong")
    assert page.status == 422
    assert "This is not your present password." in page.text
    assert set_password(stranger, "another fine one", present=WORDS).status == 303


def test_home_leads_to_the_tenant_that_was_seen_last(desk, acme, lead):
    other = desk.tenant("beta")
    desk.give("lead@acme.test", other, "viewer")
    assert lead.open("/").headers["Location"] == "/acme"
    lead.open("/beta/followups")
    assert lead.open("/").headers["Location"] == "/beta"


def test_home_says_so_when_the_person_has_no_tenant(desk, acme, lead):
    def leave(session):
        operator = operators.by_email(session, "lead@acme.test")
        session.delete(session.get_one(operators.Membership, (operator.id, acme.id)))

    desk.tell(leave)
    assert "You have no tenant yet" in lead.open("/").text
    assert lead.open("/acme/followups").status == 404


def test_add_changes_the_role_and_audits_it_once_when_repeated(desk, acme):
    for role in ("viewer", "viewer", "lead"):
        desk.give("New@acme.test", acme, role)
    assert [event.detail["role"] for event in desk.audit("operator.added")] == ["viewer"]
    [event] = desk.audit("operator.role_changed")
    assert event.detail == {"role_before": "viewer", "role": "lead"}
    assert desk.tell(lambda session: session.query(Operator).count()) == 1


def test_make_link_is_refused_when_the_account_is_switched_off(desk, acme):
    desk.give("lead@acme.test", acme, "lead")

    def make(session):
        operator = operators.by_email(session, "lead@acme.test")
        operator.active = False
        with pytest.raises(operators.Conflict):
            operators.make_link(session, operator, actor=SETTER_UP, now=clock.now())

    desk.tell(make)


@pytest.mark.parametrize("password", [WORDS, "wrong"])
def test_sign_in_shows_the_form_alone_when_asked_for_its_head(desk, lead, stranger, password):
    set_password(lead)
    before = len(desk.audit("operator.signed_in"))
    form = stranger.open("/sign-in").form("/sign-in").fields
    answer = stranger.client.head("/sign-in", data={**form, "email": "lead@acme.test", "password": password})
    assert (answer.status_code, answer.data) == (200, b"")
    assert len(desk.audit("operator.signed_in")) == before
    assert stranger.open("/acme/followups").status == 303


def test_link_is_not_used_when_asked_for_its_head(desk, acme, stranger):
    desk.give("lead@acme.test", acme, "lead")
    link = desk.link("lead@acme.test")
    assert stranger.client.head(link).status_code == 200
    assert stranger.client.head("/sign-in/unknown").status_code == 403
    assert stranger.open("/acme/followups").status == 303
    assert stranger.press(stranger.open(link).form(link)).status == 303


def test_form_leads_back_to_its_page_when_it_was_sent_without_a_session(desk, acme, lead):
    followup = desk.followup(acme)
    path = f"/acme/followups/{followup.id}"
    form = lead.open(path).form("/cancellation")
    form.fields.pop("back")
    lead.client.delete_cookie("desk")
    answer = lead.client.post(form.action, data=form.fields, headers={"Referer": f"http://localhost{path}"})
    assert answer.headers["Location"] == f"/sign-in?to={path}"
    assert "so this was not done" in lead.open(answer.headers["Location"]).text
    assert desk.read(acme, followup.id).status == "pending"


def test_link_tells_to_set_a_password_once_where_there_is_none(desk, acme, lead, visitor):
    page = lead.open("/acme")
    assert "Set a password , or you will need another link." in page.text
    assert page.links["Set a password"] == "/profile"
    assert "need another link" not in lead.open("/acme").text
    assert "You have no password yet." in lead.open("/profile").text
    set_password(lead)
    assert "You have no password yet." not in lead.open("/profile").text
    assert "need another link" not in visitor("lead").open("/acme").text
