"""Settings: tenants and switches, operators, tokens."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import update

from models import accounts, bulk, clock, operators, second_factor, tenants, tokens
from models.followups.records import FollowUp
from models.operators import Operator
from models.second_factor import RecoveryCode, SecondFactor
from models.tenants import Feature
from models.tokens import ApiToken
from tests.console.counting import selects
from tests.console.visiting import SETTER_UP, Visitor
from tests.support.rules import create_executions, create_rule

HOME = "/acme/settings"
PEOPLE = f"{HOME}/operators"
TOKENS = f"{HOME}/tokens"
LEAD = "lead@acme.test"


@pytest.fixture
def admin(visitor):
    return visitor("admin")


@pytest.fixture
def root(desk, acme):
    """An admin of platform who is a viewer of acme."""
    found = desk.visitor("root@platform.test", desk.tell(lambda s: tenants.get(s, None)), "admin")
    desk.give("root@platform.test", acme, "viewer")
    return found


def ask(visitor, path, ending=None):
    return visitor.open(path).form(ending or path.partition("?")[0])


def id_of(desk, email):
    return desk.tell(lambda session: operators.by_email(session, email)).id


def role_of(desk, tenant, email):
    person = desk.tell(lambda session: operators.by_email(session, email))
    held = desk.tell(lambda session: operators.memberships(session, person))
    return {one.key: role for one, role in held}.get(tenant.key)


def has(desk, feature=Feature.FOLLOWUPS):
    return desk.tell(lambda session: tenants.get(session, "acme").has(feature))


def events(desk, action):
    return [(event.result, event.resource_id, event.detail) for event in desk.audit(action)]


def overdue(desk, followup):
    due = update(FollowUp).where(FollowUp.id == followup.id).values(at=clock.now() - timedelta(minutes=4))
    desk.tell(lambda session: bulk.execute_unaudited(session, due))


# Tenants and their switches.


def test_index_shows_switches_and_own_tenants_to_every_role_and_offers_nothing_to_most(desk, acme, visitor):
    desk.tenant("beta")
    for role in ("viewer", "admin"):
        page = visitor(role).open(HOME)
        assert "Follow-ups" in page.text and "acme" in page.text
        assert "beta" not in page.text
        assert "Add a tenant" not in page.text
        assert "Only an admin of platform switches this" in page.text
        assert "Delayed automations" in page.text
        assert ("Operators and API tokens are for admins" in page.text) == (role == "viewer")


def test_index_shows_all_tenants_when_one_is_admin_of_platform(desk, root):
    desk.tenant("beta")
    page = root.open(HOME)
    assert "beta" in page.text and "you have no role" in page.text


def test_switching_off_says_how_many_wait_and_is_audited_once(desk, acme, root):
    for number in range(3):
        desk.followup(acme, customer=f"c-{number}")
    page = root.open(f"{HOME}/features/followups/switching")
    assert "3 follow-ups are pending. They stay so, and don't fire, until" in page.text
    answer = root.press(page.form("/switching"))
    assert "Switched off: Follow-ups of acme." in root.follow(answer).text
    assert not has(desk)
    [event] = desk.audit("tenant.feature_off")
    assert (event.actor_label, event.purpose) == ("root@platform.test", "followups")


def test_switching_on_says_how_many_are_due_and_that_customers_may_hear(desk, acme, root):
    desk.tell(
        lambda session: tenants.set_features(
            session, tenants.get(session, "acme"), {"followups": False}, actor=SETTER_UP, now=clock.now()
        )
    )
    overdue(desk, desk.followup(acme, customer="c-1"))
    page = root.open(f"{HOME}/features/followups/switching")
    assert "1 follow-up is due." in page.text and "can't be taken back" in page.text
    assert 'class="danger"' in page.html
    assert root.press(page.form("/switching")).status == 303
    assert has(desk)


def test_switching_is_a_conflict_when_it_was_switched_meanwhile(desk, acme, root):
    form = ask(root, f"{HOME}/features/followups/switching")
    desk.tell(
        lambda session: tenants.set_features(
            session, tenants.get(session, "acme"), {"followups": False}, actor=SETTER_UP, now=clock.now()
        )
    )
    answer = root.press(form)
    assert answer.status == 409
    assert len(events(desk, "tenant.feature_off")) == 1
    [(result, resource, _detail)] = events(desk, "tenant.feature_switched")
    assert (result, resource) == ("refused", "acme")


def test_switching_closes_the_dialog_by_loading_the_page_anew_when_htmx_asks(root):
    answer = root.press(ask(root, f"{HOME}/features/followups/switching"), htmx=True)
    assert answer.headers["HX-Redirect"] == HOME


def test_switching_is_refused_and_audited_when_one_is_admin_of_the_tenant_only(desk, admin):
    page = admin.open(f"{HOME}/features/followups/switching")
    assert "Only an admin of platform switches this" in page.text and 'aria-disabled="true"' in page.html
    answer = admin.press(page.form("/switching"))
    assert answer.status == 403
    assert has(desk)
    [(result, resource, _detail)] = events(desk, "tenant.feature_switched")
    assert (result, resource) == ("refused", "acme")


def test_switching_is_not_found_when_there_is_no_such_switch(root):
    assert root.open(f"{HOME}/features/nonsense/switching").status == 404


def test_switching_automations_says_how_many_wait_and_how_many_are_due(desk, acme, root):
    now = clock.now()
    rule = desk.tell(lambda session: create_rule(session, acme, now=now))
    desk.tell(lambda session: create_executions(session, rule, now=now, pending=2, executed=1))
    desk.tell(lambda session: create_executions(session, rule, now=now - timedelta(hours=2), pending=1))
    url = f"{HOME}/features/delayed_automations/switching"
    page = root.open(url)
    assert "3 executions wait. They stay so, and do nothing, until" in page.text
    assert "Rules without one go on." in page.text
    assert "Switched off: Delayed automations" in root.follow(root.press(page.form("/switching"))).text
    page = root.open(url)
    assert "1 execution is due, however long it waited." in page.text
    assert "What was sent can't be taken back." in page.text and 'class="danger"' in page.html


def test_tenant_is_added_with_whoever_adds_it_as_its_admin(desk, root):
    form = ask(root, f"{HOME}/tenants/adding")
    answer = root.press(form, key="globex", name="Globex", timezone="Europe/Berlin")
    assert answer.headers["Location"] == "/globex/settings"
    assert "Added the tenant globex." in root.follow(answer).text
    made = desk.tell(lambda session: tenants.get(session, "globex"))
    assert (made.name, made.timezone) == ("Globex", "Europe/Berlin")
    assert [e[:2] for e in events(desk, "tenant.added")][-1] == ("success", "globex")
    assert role_of(desk, made, "root@platform.test") == "admin"


@pytest.mark.parametrize(
    ("key", "status", "words"),
    [
        ("Not A Key", 422, "Must be 1 to 63 of a-z"),
        ("settings", 422, "which the addresses use"),
        ("acme", 409, "There is a tenant acme already."),
        ("<script>", 422, "Must be 1 to 63 of a-z"),
    ],
)
def test_tenant_is_refused_with_what_was_typed_when_the_key_can_not_be_used(root, key, status, words):
    answer = root.press(ask(root, f"{HOME}/tenants/adding"), key=key, name="Some name", timezone="UTC")
    assert answer.status == status
    assert words in answer.text
    assert 'value="Some name"' in answer.html


def test_tenant_is_refused_when_one_is_no_admin_of_platform(desk, admin, root):
    form = ask(root, f"{HOME}/tenants/adding")
    form.fields["csrf_token"] = admin.open(HOME).form("/sign-out").fields["csrf_token"]
    assert admin.open(f"{HOME}/tenants/adding").status == 403
    assert admin.press(form, key="globex").status == 403
    assert [result for result, *_rest in events(desk, "tenant.added")][-1] == "refused"


# Operators.


def test_operators_are_listed_with_role_last_sign_in_and_factor(desk, acme, lead, admin):
    desk.give("<b>odd</b>@acme.test".replace("<b>", "b").replace("</b>", "b"), acme, "viewer")
    desk.give("far@beta.test", desk.tenant("beta"), "admin")
    page = admin.open(PEOPLE)
    for words in (LEAD, "lead", "admin@acme.test (you)", "never", "boddb@acme.test"):
        assert words in page.text
    assert "far@beta.test" not in page.text


@pytest.mark.parametrize("role", ["viewer", "marketer", "lead"])
def test_operators_and_tokens_are_hidden_from_who_is_no_admin(visitor, role):
    for path in (PEOPLE, TOKENS, f"{PEOPLE}/adding", f"{TOKENS}/adding"):
        assert visitor(role).open(path).status == 403


def test_somebody_new_is_added_with_a_link_that_is_shown_once(app, desk, acme, admin):
    answer = admin.press(ask(admin, f"{PEOPLE}/adding"), email=" New@Acme.test ", role="marketer")
    assert answer.status == 200
    assert answer.check() and "The sign-in link of new@acme.test" in answer.text
    link = re.search(r'value="http://localhost(/sign-in/[^"]+)"', answer.html).group(1)
    newcomer = Visitor(app)
    assert newcomer.press(newcomer.open(link).form(link)).status == 303
    assert newcomer.open("/acme/followups").status == 200
    assert role_of(desk, acme, "new@acme.test") == "marketer"
    [*_others, added] = events(desk, "operator.added")
    assert added[2] == {"role_before": None, "role": "marketer"}
    assert desk.audit("operator.link_made")[-1].actor_label == "admin@acme.test"
    assert link not in admin.open(PEOPLE).html


def test_somebody_with_an_account_is_added_without_a_link(desk, acme, admin):
    desk.give("far@beta.test", desk.tenant("beta"), "admin")
    before = len(desk.audit("operator.link_made"))
    answer = admin.press(ask(admin, f"{PEOPLE}/adding"), email="far@beta.test", role="viewer")
    assert answer.status == 303
    assert "They have an account already" in admin.follow(answer).text
    assert role_of(desk, acme, "far@beta.test") == "viewer"
    assert len(desk.audit("operator.link_made")) == before


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"email": "no address", "role": "viewer"}, 422, "Is not a mail address"),
        ({"email": "", "role": "viewer"}, 422, "Must not be blank."),
        ({"email": "a\x00b@acme.test", "role": "viewer"}, 422, "can't be stored"),
        ({"email": "x" * 300 + "@acme.test", "role": "viewer"}, 422, "200 is the most"),
        ({"email": "new@acme.test", "role": "boss"}, 422, "Must be one of"),
        ({"email": LEAD, "role": "viewer"}, 409, "has the role lead here by now"),
    ],
)
def test_nobody_is_added_when_it_can_not_be_done(desk, acme, lead, admin, given, status, words):
    answer = admin.press(ask(admin, f"{PEOPLE}/adding"), **given)
    assert (answer.status, words in answer.text) == (status, True), answer.text
    assert role_of(desk, acme, LEAD) == "lead"
    assert desk.tell(lambda session: session.query(Operator).count()) == 2


def test_role_is_changed_as_it_was_shown(desk, acme, lead, admin):
    path = f"{PEOPLE}/{id_of(desk, LEAD)}/role"
    answer = admin.press(ask(admin, path), role="viewer")
    assert "lead@acme.test is viewer of acme now." in admin.follow(answer).text
    assert role_of(desk, acme, LEAD) == "viewer"
    [event] = events(desk, "operator.role_changed")
    assert event[2] == {"role_before": "lead", "role": "viewer"}


def test_role_is_a_conflict_when_it_was_changed_meanwhile(desk, acme, lead, admin):
    form = ask(admin, f"{PEOPLE}/{id_of(desk, LEAD)}/role")
    desk.give(LEAD, acme, "marketer")
    answer = admin.press(form, role="viewer")
    assert answer.status == 409
    assert "lead@acme.test has the role marketer here by now, so nothing was done." in answer.text
    assert role_of(desk, acme, LEAD) == "marketer"
    assert [event[0] for event in events(desk, "operator.role_changed")] == ["success", "refused"]


def test_role_is_taken_away_and_its_holder_sees_nothing_more(desk, acme, lead, admin):
    path = f"{PEOPLE}/{id_of(desk, LEAD)}/removal"
    form = ask(admin, path)
    answer = admin.press(form)
    assert "lead@acme.test has no role in acme any more." in admin.follow(answer).text
    assert lead.open("/acme/followups").status == 303
    assert len(desk.audit("operator.role_revoked")) == 1
    assert admin.press(form).status == 404


def test_account_is_emptied_when_its_last_role_is_taken_away(app, desk, acme, lead, admin):
    def set_up(session):
        person = operators.by_email(session, LEAD)
        accounts.set_password(session, person, "of its maker", actor=SETTER_UP, now=clock.now())
        session.add(
            SecondFactor(operator_id=person.id, secret="v1:", turned_on_at=clock.now(), last_counter=0)
        )
        session.add(RecoveryCode(operator_id=person.id, digest="0" * 64))
        return person

    desk.give(LEAD, desk.tenant("beta"), "viewer")
    before = desk.tell(set_up)
    link = desk.link(LEAD)
    path = f"{PEOPLE}/{before.id}/removal"
    assert "Their account stays, with their other roles." in admin.open(path).text
    desk.tell(
        lambda s: operators.revoke_role(
            s, s.get_one(Operator, before.id), tenant=tenants.get(s, "beta"), actor=SETTER_UP, now=clock.now()
        )
    )
    assert desk.tell(lambda s: s.get_one(Operator, before.id)).password == "of its maker"
    form = ask(admin, path)
    assert "It is their last role, so the account is emptied" in admin.open(path).text
    assert "It was their last role" in admin.follow(admin.press(form)).text
    after = desk.tell(lambda s: s.get_one(Operator, before.id))
    assert after.password is None and after.fs_uniquifier != before.fs_uniquifier
    for kind in (SecondFactor, RecoveryCode):
        assert desk.tell(lambda s, kind=kind: s.query(kind).count()) == 0
    assert Visitor(app).open(link).status == 403
    assert [event.detail.get("account") for event in desk.audit("operator.role_revoked")] == [None, "emptied"]
    assert desk.audit("operator.factor_reset") == []
    page = admin.follow(admin.press(ask(admin, f"{PEOPLE}/adding"), email=LEAD, role="viewer"))
    assert "without a password: they sign in by a link." in page.text


def test_question_warns_when_the_role_is_that_of_the_last_admin(desk, acme, admin):
    path = f"{PEOPLE}/{id_of(desk, 'admin@acme.test')}"
    warning = "Nobody else is an admin of acme: without one, only the command line can give roles there."
    for act in ("removal", "role"):
        assert warning in admin.open(f"{path}/{act}").text
    desk.give("two@acme.test", acme, "admin")
    for act in ("removal", "role"):
        assert warning not in admin.open(f"{path}/{act}").text
    desk.tell(
        lambda s: accounts.set_active(
            s, operators.by_email(s, "two@acme.test"), False, actor=SETTER_UP, now=clock.now()
        )
    )
    assert warning in admin.open(f"{path}/removal").text


def test_somebody_who_is_added_while_switched_off_is_said_to_be(desk, acme, admin):
    desk.give("far@beta.test", desk.tenant("beta"), "admin")
    desk.tell(
        lambda s: accounts.set_active(
            s, operators.by_email(s, "far@beta.test"), False, actor=SETTER_UP, now=clock.now()
        )
    )
    answer = admin.press(ask(admin, f"{PEOPLE}/adding"), email="far@beta.test", role="admin")
    said = "far@beta.test is admin of acme now, but the account is switched off."
    assert said in admin.follow(answer).text


def test_role_can_not_be_taken_when_it_is_the_last_admin_of_platform(desk, root):
    me = id_of(desk, "root@platform.test")
    platform = desk.tell(lambda session: tenants.get(session, None))
    for act, given in (("removal", {}), ("role", {"role": "viewer"}), ("switching", {})):
        path = f"/platform/settings/operators/{me}/{act}"
        answer = root.press(ask(root, path), **given)
        assert answer.status == 409
        assert "root@platform.test is the last admin of platform." in answer.text
    assert role_of(desk, platform, "root@platform.test") == "admin"
    assert desk.tell(lambda session: session.get_one(Operator, me)).active


def test_one_who_gives_up_ones_own_role_is_led_home(desk, acme, admin):
    answer = admin.press(ask(admin, f"{PEOPLE}/{id_of(desk, 'admin@acme.test')}/removal"))
    assert answer.headers["Location"] == "/"


def test_link_is_made_and_shown_once(app, desk, acme, lead, admin):
    answer = admin.press(ask(admin, f"{PEOPLE}/{id_of(desk, LEAD)}/link"), htmx=True)
    link = re.search(r'value="http://localhost(/sign-in/[^"]+)"', answer.html).group(1)
    other = Visitor(app)
    assert "Sign in as lead@acme.test" in other.open(link).text
    assert desk.audit("operator.link_made")[-1].actor_label == "admin@acme.test"


def turn_factor_on(desk, email):
    def work(session):
        person = operators.by_email(session, email)
        factor = SecondFactor(operator_id=person.id, secret="v1:", turned_on_at=clock.now(), last_counter=0)
        session.add(factor)

    desk.tell(work)


def test_factor_is_reset_and_the_sessions_end(desk, acme, lead, admin):
    turn_factor_on(desk, LEAD)
    page = admin.open(f"{PEOPLE}/{id_of(desk, LEAD)}")
    assert "Reset second factor" in page.links
    answer = admin.press(ask(admin, page.links["Reset second factor"]))
    assert "The second factor of lead@acme.test is off" in admin.follow(answer).text
    person = desk.tell(lambda session: operators.by_email(session, LEAD))
    assert not desk.tell(lambda session: second_factor.is_on(session, person))
    assert lead.open("/acme/followups").status == 303
    [event] = desk.audit("operator.factor_reset")
    assert event.actor_label == "admin@acme.test"


def test_account_is_switched_off_and_on(desk, acme, lead, admin):
    path = f"{PEOPLE}/{id_of(desk, LEAD)}/switching"
    assert "their sessions ended" in admin.follow(admin.press(ask(admin, path))).text
    assert lead.open("/acme/followups").status == 303
    page = admin.open(f"{PEOPLE}/{id_of(desk, LEAD)}")
    assert "Switched off, can't sign in" in page.text
    assert "The account is switched off." in page.text
    admin.press(ask(admin, path))
    assert desk.tell(lambda session: operators.by_email(session, LEAD)).active
    assert len(desk.audit("operator.switched_off")) == len(desk.audit("operator.switched_on")) == 1


@pytest.mark.parametrize(
    ("act", "action"),
    [
        ("link", "operator.link_made"),
        ("factor-reset", "operator.factor_reset"),
        ("switching", "operator.switched"),
    ],
)
def test_whole_account_is_out_of_reach_when_it_has_a_role_where_one_is_no_admin(
    desk, acme, lead, admin, act, action
):
    """Else an admin of one tenant could sign in as an admin of another, or of platform."""
    desk.give(LEAD, desk.tell(lambda session: tenants.get(session, None)), "admin")
    turn_factor_on(desk, LEAD)
    before = len(desk.audit(action))
    path = f"{PEOPLE}/{id_of(desk, LEAD)}/{act}"
    page = admin.open(path)
    assert "has a role in a tenant that you are no admin of" in page.text
    answer = admin.press(page.form(act))
    assert answer.status == 403
    assert [event.result for event in desk.audit(action)][before:] == ["refused"]
    person = desk.tell(lambda session: operators.by_email(session, LEAD))
    assert person.active and desk.tell(lambda session: second_factor.is_on(session, person))
    admin.press(ask(admin, f"{PEOPLE}/{id_of(desk, LEAD)}/removal"))
    assert role_of(desk, acme, LEAD) is None


@pytest.mark.parametrize("act", ["link", "factor-reset"])
def test_own_account_is_out_of_reach_when_the_act_asks_for_no_password(desk, acme, admin, act):
    """Else a stolen session of an admin would be as good as their password."""
    turn_factor_on(desk, "admin@acme.test")
    path = f"{PEOPLE}/{id_of(desk, 'admin@acme.test')}"
    assert "This is your own account." in admin.open(path).text
    page = admin.open(f"{path}/{act}")
    assert 'aria-disabled="true"' in page.html
    assert admin.press(page.form(act)).status == 403
    person = desk.tell(lambda session: operators.by_email(session, "admin@acme.test"))
    assert desk.tell(lambda session: second_factor.is_on(session, person))


@pytest.mark.parametrize("act", ["", "/role", "/removal", "/link", "/factor-reset", "/switching"])
def test_operator_is_not_found_when_they_have_no_role_in_the_tenant(desk, acme, lead, admin, act):
    desk.give("far@beta.test", desk.tenant("beta"), "viewer")
    assert admin.open(f"{PEOPLE}/{id_of(desk, 'far@beta.test')}{act}").status == 404
    assert admin.open(f"{PEOPLE}/2147483647{act}").status == 404
    assert admin.open(f"{PEOPLE}/9999999999999999999999{act}").status == 404
    if act:
        form = ask(admin, f"{PEOPLE}/{id_of(desk, LEAD)}{act}")
        form.action = f"{PEOPLE}/{id_of(desk, 'far@beta.test')}{act}"
        assert admin.press(form).status == 404


# Tokens.


def a_token(desk, tenant, name="shop"):
    return desk.tell(
        lambda session: tokens.add(
            session, tenant, name=name, scopes=["read"], actor=SETTER_UP, now=clock.now()
        )
    )[0]


def test_token_is_added_and_shown_once(app, desk, acme, admin):
    form = ask(admin, f"{TOKENS}/adding")
    answer = admin.press(form, name=" shop ", scopes=["read", "operate"])
    assert answer.status == 200
    secret = re.search(r'value="(desk_[^"]+)"', answer.html).group(1)
    found = desk.tell(lambda session: tokens.find(session, secret))
    assert (found[0].name, found[0].scopes, found[1].key) == ("shop", ["read", "operate"], "acme")
    page = admin.open(TOKENS)
    assert "shop" in page.text and secret not in page.html
    [event] = desk.audit("token.added")
    assert secret not in str(event.detail)


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"name": "", "scopes": ["read"]}, 422, "Must not be blank."),
        ({"name": "x", "scopes": None}, 422, "Must hold at least one of"),
        ({"name": "x", "scopes": ["all"]}, 422, "Can't hold"),
        ({"name": "x" * 201, "scopes": ["read"]}, 422, "200 is the most"),
        ({"name": "a\x00b", "scopes": ["read"]}, 422, "can't be stored"),
        ({"name": "shop", "scopes": ["read"]}, 409, "There is a token shop already."),
    ],
)
def test_token_is_refused_when_it_can_not_be_made(desk, acme, admin, given, status, words):
    a_token(desk, acme)
    answer = admin.press(ask(admin, f"{TOKENS}/adding"), **given)
    assert (answer.status, words in answer.text) == (status, True), answer.text
    assert desk.tell(lambda session: session.query(ApiToken).count()) == 1


def test_token_is_revoked_and_a_second_time_says_so(desk, acme, admin):
    token = a_token(desk, acme)
    first, second = (ask(admin, f"{TOKENS}/{token.id}/revocation") for _time in range(2))
    assert "Revoked the token shop." in admin.follow(admin.press(first)).text
    assert "The token shop was revoked already." in admin.follow(admin.press(second)).text
    assert len(desk.audit("token.revoked")) == 1
    assert "Revoked lately" in admin.open(TOKENS).text


def test_token_is_not_found_when_it_is_of_another_tenant(desk, acme, admin):
    other = a_token(desk, desk.tenant("beta"))
    own = a_token(desk, acme)
    assert admin.open(f"{TOKENS}/{other.id}/revocation").status == 404
    form = ask(admin, f"{TOKENS}/{own.id}/revocation")
    form.action = f"{TOKENS}/{other.id}/revocation"
    assert admin.press(form).status == 404
    assert desk.tell(lambda session: session.get_one(ApiToken, other.id)).revoked_at is None


def test_names_that_hold_markup_are_never_markup(desk, acme, admin):
    odd = '"><script>alert(1)</script>'
    token = a_token(desk, acme, name=odd)
    for path in (TOKENS, f"{TOKENS}/{token.id}/revocation"):
        page = admin.open(path)
        assert odd in page.text and "<script>alert" not in page.html


def test_lists_ask_the_same_number_of_queries_however_long_they_are(desk, acme, admin):
    def queries_of(path):
        with selects(desk.app) as found:
            admin.open(path)
        return sum("FROM operator JOIN" in one or "FROM api_token" in one for one in found)

    few = [queries_of(path) for path in (PEOPLE, TOKENS)]
    for number in range(10):
        desk.give(f"p{number}@acme.test", acme, "viewer")
        a_token(desk, acme, name=f"t-{number}")
    assert [queries_of(path) for path in (PEOPLE, TOKENS)] == few == [1, 2]
