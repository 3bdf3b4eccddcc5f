"""The settings find their few rows among many of other tenants by an index, on both databases."""

from uuid import uuid4

import pytest
from sqlalchemy import event, insert, text

from desk_ui.settings import queries
from models import bulk, clock
from models.base import db, table_of
from models.followups.records import FollowUp
from models.operators import Membership, Operator
from models.tokens import ApiToken
from tests.support.plans import without

pytestmark = pytest.mark.slow

TENANTS, EACH, OWN = 30, 1_000, 40
OTHERS = TENANTS * EACH
LARGE = ("membership", "operator", "api_token", "follow_up")


@pytest.fixture
def session(app, desk, acme, monkeypatch):
    """Forty people, tokens and pending follow-ups of acme, and 1,000 each of thirty others."""
    # Rows made for their number only: the guard's bookkeeping is not what is tested here.
    monkeypatch.setattr(bulk.audit_guard, "note_changes", lambda *_args: None)
    others = [desk.tenant(f"other-{number}") for number in range(TENANTS)]
    now = clock.now()

    def fill(session):
        for number, tenant in enumerate([*others, acme]):
            first = number * EACH + 1
            ids = range(first, first + (OWN if tenant is acme else EACH))
            session.execute(insert(table_of(Operator)), [_operator(id, now) for id in ids])
            session.execute(insert(table_of(Membership)), [_membership(id, tenant, now) for id in ids])
            session.execute(insert(table_of(ApiToken)), [_token(id, tenant, now) for id in ids])
            rows = [_followup(id, tenant, now) for id in ids]
            bulk.insert_absent(session, FollowUp, rows, resource_type="followup")

    desk.tell(fill)
    with app.app_context():
        with db.engine.begin() as connection:
            connection.execute(text("ANALYZE"))
        yield db.session()
        db.session.remove()


def _operator(id, now):
    return {
        "id": id,
        "email": f"p{id}@acme.test",
        "active": True,
        "fs_uniquifier": uuid4().hex,
        "created_at": now,
    }


def _membership(id, tenant, now):
    return {"operator_id": id, "tenant_id": tenant.id, "role": "viewer", "created_at": now}


def _token(id, tenant, now):
    revoked = now if id % 2 else None
    return {
        "id": id,
        "tenant_id": tenant.id,
        "name": f"t{id}",
        "digest": uuid4().hex,
        "scopes": ["read"],
        "created_at": now,
        "revoked_at": revoked,
    }


def _followup(id, tenant, now):
    return {
        "id": uuid4(),
        "tenant_id": tenant.id,
        "agent": "a",
        "customer": f"c-{id}",
        "reason": "r",
        "arm": "x",
        "at": now,
        "status": "pending",
        "created_at": now,
        "updated_at": now,
        "attempts": 0,
        "version": 1,
    }


def plans_of(session, work):
    """The plan of each SELECT on a large table that `work` runs."""
    seen = []

    def note(_connection, _cursor, statement, parameters, *_more):
        if statement.startswith("SELECT") and any(name in statement for name in LARGE):
            seen.append((statement, parameters))

    engine = session.get_bind()
    event.listen(engine, "before_cursor_execute", note)
    work()
    event.remove(engine, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN"
    connection = session.connection()
    return [
        "\n".join(str(line[-1]) for line in connection.exec_driver_sql(f"{explain} {statement}", parameters))
        for statement, parameters in seen
    ]


def scans(plan):
    # SQLite shows a walk through an index as SCAN ... USING, which is one, too.
    return any(f"Seq Scan on {name}" in plan or f"SCAN {name}" in plan for name in LARGE)


READS = {
    "people": lambda session, tenant: queries.people(session, tenant),
    "person": lambda session, tenant: queries.person(session, tenant, OTHERS + 1),
    "tokens in use": lambda session, tenant: queries.tokens_in_use(session, tenant),
    "tokens revoked": lambda session, tenant: queries.tokens_revoked(session, tenant),
    "waiting": lambda session, tenant: queries.waiting(session, tenant, clock.now()),
}


def test_settings_scan_no_table(session, acme):
    for name, read in READS.items():
        found = plans_of(session, lambda: read(session, acme))  # noqa: B023
        assert found, name
        for plan in found:
            assert not scans(plan), (name, plan)


@pytest.mark.parametrize(
    ("name", "index"), [("people", "ix_membership_tenant_id"), ("tokens revoked", "ix_api_token_tenant_id")]
)
def test_plan_is_another_when_the_index_is_gone(session, acme, name, index):
    with without(session, index):
        plans = plans_of(session, lambda: READS[name](session, acme))
        assert not any(index in plan for plan in plans)
    assert any(index in plan for plan in plans_of(session, lambda: READS[name](session, acme)))
