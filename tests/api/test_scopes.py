"""Every call without a token, with each scope, and from another tenant: one table, over the URL map."""

import re
from datetime import timedelta
from uuid import UUID, uuid4

import click
import pytest
from sqlalchemy import select

from desk_ui.api.operations import BASE, OPERATIONS
from models import tenants
from models.audit import AuditEvent
from models.followups.firing import fire_due
from models.followups.records import AgentTask
from models.tokens import Scope
from tests.support.api import Client, on_sqlite, read
from tests.support.create import create_followup, create_tenant
from tests.support.declare import declared

# Routes that tell nothing of any tenant.
PUBLIC = {"api.openapi", "api.docs"}
# Whose id need not be known: one's own row is made under it, or nothing is done.
MAKES_ITS_OWN = {"contacts.revoke", "conversations.put", "customers.erase"}
BODIES = {
    "agents.change": {"held": False},
    "endpoints.add": {"url": "https://sink.example.com/", "event_types": ["*"]},
    "followups.book": {"agent": "a", "customer": "c", "at": "+6h", "reason": "r"},
    "followups.rearm": {"at": "+6h"},
    "followups.reschedule": {"at": "+6h"},
    "messages.receive": {
        "id": "m", "conversation_id": "k", "direction": "incoming", "created_at": "2026-01-01T00:00:00Z",
    },
    "outcomes.record": {
        "id": "o", "agent": "a", "customer": "c", "kind": "k", "occurred_at": "2026-01-01T00:00:00Z",
    },
    "rules.create": {"name": "n", "event": "message_created", "actions": [{"name": "mute_conversation"}]},
}  # fmt: skip


@pytest.fixture
def theirs(session, acme, client_for, now):
    """What another tenant has, by the name of the path's parameter."""
    other = create_tenant(session, "other", now=now)
    followup_id = str(create_followup(session, other, now=now, customer="theirs").id)
    create_followup(session, other, now=now, customer="theirs", reason="fires", agent="their-agent")
    fire_due(session, declared=declared(), now=now + timedelta(hours=2), limit=1)
    create_followup(session, other, now=now, customer="theirs-2", reason="fires")
    fire_due(session, declared=declared(), now=now + timedelta(hours=2), limit=10)
    task_id = str(session.scalars(select(AgentTask.id)).first())
    session.rollback()
    owner = client_for(other)
    endpoint_id = owner.post("/endpoints", BODIES["endpoints.add"]).get_json()["id"]
    rule_id = owner.post("/rules", BODIES["rules.create"]).get_json()["id"]
    owner.post("/messages", {**BODIES["messages.receive"], "conversation_id": "their-conversation"})
    return {
        "followups": followup_id,
        "tasks": task_id,
        "endpoints": endpoint_id,
        "rules": rule_id,
        "customer": "theirs",
        "external_id": "their-conversation",
        "key": "their-agent",
        "name": "fire_followups",
    }


def path_of(operation, values):
    """The operation's path with the other tenant's ids, or with ids that nobody has."""
    area = operation.name.partition(".")[0]

    def fill(match):
        name = match[1]
        return values.get(area if name == "id" else name, str(UUID(int=7)))

    return re.sub(r"<(?:\w+:)?(\w+)>", fill, operation.path)


def test_every_route_of_the_api_declares_its_scope(app):
    declared_rules = {(one.method, BASE + one.path) for one in OPERATIONS.values()}
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/api") and rule.endpoint not in PUBLIC:
            [method] = rule.methods - {"HEAD", "OPTIONS"}
            assert (method, rule.rule) in declared_rules, f"{rule} goes round the decorator"
    assert all(one.scopes for one in OPERATIONS.values())


def test_every_call_is_refused_by_token_scope_and_tenant(app, client_for, acme, theirs, capsys):
    nobody, stale = Client(app, None), Client(app, "desk_" + "x" * 43)
    by_scope = {scope: client_for(acme, scope) for scope in Scope}
    every = client_for(acme)
    rows = []
    # What makes a row under another's id comes last, or the others would find it.
    for operation in sorted(OPERATIONS.values(), key=lambda one: (one.name in MAKES_ITS_OWN, one.name)):
        given = {"json": BODIES.get(operation.name, {})} if operation.writes else {}
        path = path_of(operation, {})
        row = [operation.name, nobody.call(operation.method, path, **given).status_code]
        row.append(stale.call(operation.method, path, **given).status_code)
        for scope, client in by_scope.items():
            status = client.call(operation.method, path, **given).status_code
            refused = scope not in operation.scopes or operation.only_platform
            assert (status == 403) == refused, (operation.name, scope, status)
            row.append(status)
        row.append(_from_another(every, operation, theirs, given))
        assert row[1] == row[2] == 401, row
        rows.append(row)
    with capsys.disabled():
        click.echo(
            f"\n{'call':26}{'none':>6}{'wrong':>6}{'read':>6}{'ingest':>7}{'operate':>8}  another tenant's"
        )
        for name, none, wrong, read_, ingest, operate, foreign in rows:
            click.echo(f"{name:26}{none:>6}{wrong:>6}{read_:>6}{ingest:>7}{operate:>8}  {foreign}")


def _from_another(every, operation, theirs, given):
    """The answer about another tenant's row; it must be what an id that nobody has is answered."""
    if operation.only_platform:
        return every.call(operation.method, path_of(operation, theirs), **given).status_code
    if "<" not in operation.path or operation.name in MAKES_ITS_OWN:
        response = every.call(operation.method, path_of(operation, theirs), **given)
        if operation.method == "GET":
            assert "their" not in response.text and theirs["followups"] not in response.text
        return f"{response.status_code}, own rows only"
    foreign = every.call(operation.method, path_of(operation, theirs), **given)
    missing = every.call(operation.method, path_of(operation, {}), **given)
    assert (foreign.status_code, foreign.get_json()) == (404, missing.get_json()), operation.name
    return 404


def test_erasing_and_revoking_leave_another_tenants_customer(every_of_other, api, theirs):
    before = every_of_other.get("/contacts/theirs").get_json()
    api.post("/contacts/theirs/revoke")
    assert api.delete("/customers/theirs").get_json()["followups"] == 0
    assert every_of_other.get("/contacts/theirs").get_json() == before
    assert every_of_other.get(f"/followups/{theirs['followups']}").status_code == 200


@pytest.fixture
def every_of_other(theirs, session, client_for):
    return client_for(tenants.get(session, "other"))


def test_a_cursor_of_another_tenant_shows_own_rows_only(every_of_other, api, theirs):
    cursor = every_of_other.get("/followups?limit=1").get_json()["next_cursor"]
    assert cursor
    assert api.get("/followups", query_string={"cursor": cursor}).get_json()["items"] == []


def test_an_assistants_token_reads_but_writes_nothing(client_for, acme, api):
    made = api.post("/followups", BODIES["followups.book"]).get_json()
    assistant = client_for(acme, "read", "ingest", "operate", assistant="clara")
    assert assistant.get(f"/followups/{made['id']}").status_code == 200
    for operation in OPERATIONS.values():
        if operation.writes:
            given = {"json": BODIES.get(operation.name, {})}
            assert assistant.call(operation.method, path_of(operation, {}), **given).status_code == 403


def test_a_refused_scope_is_audited_when_the_row_exists(client_for, acme, api, session):
    made = api.post("/followups", BODIES["followups.book"]).get_json()
    reader = client_for(acme, "read")
    assert reader.post(f"/followups/{made['id']}/cancel").status_code == 403
    assert reader.post(f"/followups/{uuid4()}/cancel").status_code == 403
    events = read(session, select(AuditEvent).where(AuditEvent.result == "refused"))
    assert [(one.action, one.resource_id, one.purpose) for one in events] == [
        ("followup.cancelled", made["id"], "forbidden")
    ]


@on_sqlite
def test_a_refused_scope_answers_403_when_the_path_is_no_row_at_all(client_for, acme, session):
    reader = client_for(acme, "read")
    for operation in OPERATIONS.values():
        if operation.writes:
            path = re.sub("<.*>", "no-such%00", operation.path)
            assert reader.call(operation.method, path, json={}).status_code == 403, operation.name
    # Only the tenant itself is a row.
    refused = select(AuditEvent.action).where(AuditEvent.result == "refused")
    assert read(session, refused) == ["tenant.changed"]


@on_sqlite
@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic abc",
        "Bearer a b",
        "bearer",
        "Bearer " + "x" * 5_000,
        "Bearer \xff\xfe",
    ],
)
def test_a_malformed_token_answers_401(app, header):
    response = app.test_client().get("/api/v1/followups", headers={"Authorization": header})
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert response.content_type == "application/problem+json"


def test_a_revoked_token_answers_401(session, acme, api, now):
    from models import tokens
    from models.transactions import commit
    from tests.support.create import API

    assert api.get("/followups").status_code == 200
    session.rollback()
    tokens.revoke(session, acme, "token 1", actor=API, now=now)
    commit(session, "tests.revoke")
    assert api.get("/followups").status_code == 401
