"""`desk connector`, and what a connector keeps."""

import pytest
from sqlalchemy import select

from models import connectors, erasure, secrets, tenants
from models.audit import AuditEvent
from models.connectors import Connector
from models.errors import Invalid, NotFound
from models.transactions import commit
from tests.automations.world import T0
from tests.cli.conftest import desk as desk
from tests.support.create import API

GIVEN = {"url": "https://chat.example.com/", "account": "7", "token": "t-1", "secret": "s-1"}
SET = (
    "connector",
    "set",
    "chatwoot",
    "--tenant",
    "acme",
    "--url",
    "https://chat.example.com",
    "--account",
    "7",
)


def put(session, tenant, settings, **given):
    made = connectors.set_chatwoot(
        session, tenant, settings=settings, actor=API, now=T0, **{**GIVEN, **given}
    )
    commit(session, "tests.set")
    return made


def audited(session):
    query = select(AuditEvent).where(AuditEvent.resource_type == "connector").order_by(AuditEvent.id)
    return [(one.action, one.detail) for one in session.scalars(query)]


def test_connector_is_kept_with_its_secrets_encrypted(session, tenant, settings):
    row, changed = put(session, tenant, settings)
    assert (changed, row.url, row.account, row.version) == (True, "https://chat.example.com", "7", 1)
    assert "t-1" not in row.token and "s-1" not in row.secret
    opened = connectors.opened(session, tenant, settings)
    assert (opened.token, opened.secret, opened.tenant) == ("t-1", "s-1", "acme")


def test_audit_names_what_changed_and_no_secret(session, tenant, settings):
    put(session, tenant, settings)
    put(session, tenant, settings, token="t-2")
    events = audited(session)
    assert [detail["changed"] for _action, detail in events] == [
        ["account", "secret", "token", "url"],
        ["token"],
    ]
    assert {action for action, _detail in events} == {"connector.set"}
    assert all(secret not in str(events) for secret in ("t-1", "t-2", "s-1"))


def test_setting_the_same_again_changes_nothing(session, tenant, settings):
    put(session, tenant, settings)
    row, changed = put(session, tenant, settings, url="https://chat.example.com")
    assert (changed, row.version, len(audited(session))) == (False, 1, 1)


def test_connector_is_made_readable_again_when_the_secret_key_changed(session, tenant, settings):
    row, _changed = put(session, tenant, settings)
    row.token = row.secret
    commit(session, "tests.spoil")
    with pytest.raises(secrets.Unreadable):
        connectors.opened(session, tenant, settings)
    put(session, tenant, settings)
    assert connectors.opened(session, tenant, settings).token == "t-1"


def test_connector_is_of_its_tenant_alone(session, tenant, settings):
    put(session, tenant, settings)
    with pytest.raises(NotFound):
        connectors.get(session, tenants.get(session, None).id)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "ftp://chat.example.com"),
        ("url", "http://10.0.0.5"),
        ("url", "http://chatwoot:3000"),
        ("url", "https://chat.example.com/?a=b"),
        ("account", "seven"),
        ("account", "0"),
        ("account", "7/../8"),
        ("token", " "),
        ("token", "two words"),
        ("token", "line\nbreak"),
        ("secret", "caf\xe9"),
    ],
)
def test_connector_is_refused_when_a_value_can_t_be_used(session, tenant, settings, field, value):
    with pytest.raises(Invalid) as fault:
        put(session, tenant, settings, **{field: value})
    assert fault.value.field == field


def test_private_host_is_taken_when_it_is_allowed(session, tenant, settings):
    assert put(session, tenant, settings, url="http://127.0.0.1:3000")[1]


def test_connector_goes_when_its_tenant_is_erased(session, tenant, settings):
    put(session, tenant, settings)
    counts = erasure.erase_tenant(session, tenant, actor=API, now=T0)
    commit(session, "tests.erase")
    assert (counts["connectors"], session.scalars(select(Connector)).all()) == (1, [])
    assert audited(session)[-1][0] == "connector.removed"


def test_command_sets_a_connector_and_names_the_hook(desk):
    desk.ok("tenant", "add", "acme")
    ran = desk.ok(*SET, "--token", "t-1", "--secret", "s-1", "--json")
    assert {name: ran.json[name] for name in ("kind", "tenant", "account", "changed", "hook")} == {
        "kind": "chatwoot",
        "tenant": "acme",
        "account": "7",
        "changed": True,
        "hook": "/hooks/chatwoot/acme",
    }
    again = desk.ok(*SET, "--token", "t-1", "--secret", "s-1")
    assert "was so already" in again.out
    assert all(secret not in ran.out + again.out for secret in ("t-1", "s-1"))


def test_command_says_what_is_wrong(desk):
    assert desk(*SET, "--token", "t", "--secret", "s").code == 1
    desk.ok("tenant", "add", "acme")
    ran = desk(*SET[:-1], "seven", "--token", "t", "--secret", "s")
    assert ran.code == 1 and "account is the account's number" in ran.err
    assert desk("connector", "set", "chatwoot", "--tenant", "acme").code == 2
