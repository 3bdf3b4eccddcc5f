"""The settings find their few rows among many of other tenants by an index, on both databases."""

import pytest
from sqlalchemy import String, case, cast, literal

from desk_ui.settings import queries
from models import clock
from models.base import UtcDateTime, db
from tests.support import plans
from tests.support.filling import any_uuid, bare, fill, numbered
from tests.support.plans import analyze, scanned, without

pytestmark = pytest.mark.slow

TENANTS, EACH, OWN = 30, 1_000, 40
OTHERS = TENANTS * EACH
LARGE = ("membership", "operator", "api_token", "follow_up")


@pytest.fixture
def session(app, desk, acme):
    """Forty people, tokens and pending follow-ups of acme, and 1,000 each of thirty others."""
    others, now = [desk.tenant(f"other-{number}").id for number in range(TENANTS)], clock.now()
    with app.app_context():
        with db.engine.begin() as connection, bare(connection, *LARGE):
            for number, tenant_id in enumerate([*others, acme.id]):
                of_tenant = {"tenant_id": tenant_id, "created_at": now}
                rows, first = OWN if tenant_id == acme.id else EACH, number * EACH + 1
                for table, row in (
                    ("operator", _operator),
                    ("membership", _membership),
                    ("api_token", _token),
                    ("follow_up", _followup),
                ):
                    fill(connection, table, rows, lambda n: row(n, of_tenant), first=first)  # noqa: B023
        analyze(db.session())
        yield db.session()
        db.session.remove()


def _operator(n, of_tenant):
    return {
        "id": n,
        "email": numbered("p", n) + "@acme.test",
        "active": True,
        "fs_uniquifier": cast(any_uuid(), String),
        "created_at": of_tenant["created_at"],
    }


def _membership(n, of_tenant):
    return {**of_tenant, "operator_id": n, "role": "viewer"}


def _token(n, of_tenant):
    return {
        **of_tenant,
        "id": n,
        "name": numbered("t", n),
        "digest": cast(any_uuid(), String),
        "scopes": ["read"],
        "revoked_at": case((n % 2 == 1, literal(of_tenant["created_at"], UtcDateTime()))),
    }


def _followup(n, of_tenant):
    now = of_tenant["created_at"]
    return {
        **of_tenant,
        "id": any_uuid(),
        "agent": "a",
        "customer": numbered("c-", n),
        "reason": "r",
        "arm": "x",
        "at": now,
        "status": "pending",
        "updated_at": now,
        "attempts": 0,
        "version": 1,
    }


def plans_of(session, work):
    return plans.plans_of(session, work, *LARGE)


def scans(plan):
    # SQLite shows a walk through an index as SCAN ... USING, which is one, too.
    return scanned(plan, *LARGE)


READS = {
    "people": lambda session, tenant: queries.people(session, tenant),
    "person": lambda session, tenant: queries.person(session, tenant, OTHERS + 1),
    "tokens in use": lambda session, tenant: queries.tokens_in_use(session, tenant),
    "tokens revoked": lambda session, tenant: queries.tokens_revoked(session, tenant),
    "waiting": lambda session, tenant: queries.waiting(session, tenant, clock.now()),
}


def check_settings_scan_no_table(session, tenant):
    for name, read in READS.items():
        for plan in plans_of(session, lambda: read(session, tenant)):  # noqa: B023
            assert not scans(plan), (name, plan)


def check_plan_is_another_when_the_index_is_gone(session, tenant, name, index):
    def made():
        return plans_of(session, lambda: READS[name](session, tenant))

    with without(session, index):
        assert not any(index in plan for plan in made())
    assert any(index in plan for plan in made())


def test_every_read_of_the_settings_goes_by_its_indexes(session, acme):
    """One after the other, since filling the tables takes most of the time."""
    check_settings_scan_no_table(session, acme)
    check_plan_is_another_when_the_index_is_gone(session, acme, "people", "ix_membership_tenant_id")
    check_plan_is_another_when_the_index_is_gone(session, acme, "tokens revoked", "ix_api_token_tenant_id")
