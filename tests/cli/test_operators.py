"""`desk operator`: roles given and taken away, and where a sign-in link leads."""

import pytest
from sqlalchemy import select

from desk_ui.cli.operators import address_file
from models import accounts, operators
from models.audit import AuditEvent
from models.second_factor import SecondFactor
from models.settings import settings
from models.transactions import commit
from tests.support.create import API


@pytest.fixture
def lead(desk):
    desk.ok("tenant", "add", "acme")
    desk.ok("operator", "add", "lead@acme.test", "--role", "lead", "--tenant", "acme")
    return "lead@acme.test"


def actions(session):
    query = select(AuditEvent.action).where(AuditEvent.resource_type == "operator")
    return session.scalars(query.order_by(AuditEvent.id)).all()


def test_revoke_role_takes_it_away_with_one_event_when_repeated(desk, lead, session):
    for changed in (True, False):
        ran = desk.ok("operator", "revoke-role", lead, "--tenant", "acme", "--json")
        assert ran.json == {"email": lead, "tenant": "acme", "changed": changed, "emptied": changed}
    assert actions(session) == ["operator.added", "operator.role_revoked"]
    event = session.scalars(select(AuditEvent).where(AuditEvent.action == "operator.role_revoked")).one()
    assert event.detail == {"role_before": "lead", "role": None, "account": "emptied"}
    session.rollback()
    [shown] = desk.ok("operator", "list", "--json").json["items"]
    assert (shown["email"], shown["roles"]) == (lead, {})


def test_last_admin_of_platform_stays_when_their_role_would_end(desk, session):
    desk.ok("operator", "add", "one@acme.test", "--role", "admin", "--tenant", "platform")
    revoke = ("operator", "revoke-role", "one@acme.test", "--tenant", "platform")
    change = ("operator", "add", "one@acme.test", "--role", "viewer", "--tenant", "platform")
    for ways in (revoke, change):
        ran = desk(*ways, "--json")
        assert (ran.code, ran.error["code"]) == (1, "conflict")
        assert "the last admin of platform" in ran.error["detail"]
    assert actions(session) == ["operator.added"]
    session.rollback()
    desk.ok("operator", "add", "two@acme.test", "--role", "admin", "--tenant", "platform")
    desk.ok(*revoke)
    assert desk("operator", "revoke-role", "two@acme.test", "--tenant", "platform").code == 1


def test_revoke_role_takes_the_last_admins_when_the_tenant_is_not_platform(desk, lead):
    desk.ok("operator", "add", lead, "--role", "admin", "--tenant", "acme")
    told = desk.ok("operator", "revoke-role", lead, "--tenant", "acme").out
    emptied = "It was the last one: the account is emptied, and all its sessions ended."
    assert told == f"{lead} has no role in acme any more. {emptied}\n"


def test_revoke_role_empties_no_account_when_it_has_another_role(desk, lead):
    desk.ok("tenant", "add", "beta")
    desk.ok("operator", "add", lead, "--role", "viewer", "--tenant", "beta")
    assert desk.ok("operator", "revoke-role", lead, "--tenant", "acme").out == (
        f"{lead} has no role in acme any more.\n"
    )


def test_add_says_so_when_the_account_is_switched_off(desk, lead, session, now):
    accounts.set_active(session, operators.by_email(session, lead), False, actor=API, now=now)
    commit(session, "tests.off")
    told = desk.ok("operator", "add", lead, "--role", "admin", "--tenant", "acme").out
    assert told == f"{lead} is admin of acme. But the account is switched off.\n"


def test_revoke_role_is_refused_when_person_or_tenant_is_unknown(desk, lead):
    assert desk("operator", "revoke-role", "nobody@acme.test", "--tenant", "acme").code == 1
    assert desk("operator", "revoke-role", lead, "--tenant", "nowhere").code == 1


def test_list_shows_roles_when_narrowed_to_a_tenant(desk, lead):
    desk.ok("operator", "add", "one@acme.test", "--role", "admin", "--tenant", "platform")
    everybody = desk.ok("operator", "list", "--json").json["items"]
    assert [one["email"] for one in everybody] == [lead, "one@acme.test"]
    told = desk.ok("operator", "list", "--tenant", "acme").out
    assert told == f"{lead}\tlead of acme\tlast signed in -\n"
    assert desk("operator", "list", "--tenant", "nowhere").code == 1


def test_link_leads_where_the_console_is_when_it_is_known(desk, lead):
    ran = desk.ok("operator", "link", lead)
    assert ran.out.startswith("http://127.0.0.1:8765/sign-in/")
    assert "is a guess; give --url" in ran.err
    address = address_file(settings())
    address.parent.mkdir(exist_ok=True)
    address.write_text("http://127.0.0.1:9123")
    running = desk.ok("operator", "link", lead)
    assert running.out.startswith("http://127.0.0.1:9123/sign-in/")
    assert running.err == ""
    desk.patch.setenv("DESK_PUBLIC_URL", "https://desk.example/")
    assert desk.ok("operator", "link", lead).out.startswith("https://desk.example/sign-in/")
    given = desk.ok("operator", "link", lead, "--url", "http://localhost:1/", "--json").json
    assert given["url"].startswith("http://localhost:1/sign-in/")


def test_reset_factor_turns_it_off_with_one_event_when_repeated(desk, lead, session, now):
    person = operators.by_email(session, lead)
    session.add(SecondFactor(operator_id=person.id, secret="v1:", turned_on_at=now, last_counter=0))
    commit(session, "tests.on")
    for changed in (True, False):
        ran = desk.ok("operator", "reset-factor", lead, "--json")
        assert ran.json == {"email": lead, "changed": changed}
    assert actions(session).count("operator.factor_reset") == 1
    session.rollback()
    assert desk("operator", "reset-factor", "nobody@acme.test").code == 1
