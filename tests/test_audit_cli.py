"""`desk audit`: verify and export."""

import csv
import io
import json

import pytest
from sqlalchemy import text

from models import audit, audit_seals
from models.base import db
from models.transactions import commit
from tests.cli.conftest import desk  # noqa: F401
from tests.support.create import API, create_tenant


@pytest.fixture
def sealed(session, now):
    """Three sealed events, one of them of another tenant, and one that is not sealed."""
    create_tenant(session, "acme", now=now)
    for name in ("a", "=1+1"):
        audit.append(
            session, tenant_id=1, actor=API, action="contact.noted", resource=("contact", name), now=now
        )
    commit(session, "tests.create")
    audit_seals.seal(session, now=now, limit=100)
    audit.append(session, tenant_id=1, actor=API, action="contact.noted", resource=("contact", "b"), now=now)
    commit(session, "tests.create")


def test_verify_succeeds_when_the_chain_holds(desk, sealed):  # noqa: F811
    found = desk.ok("audit", "verify", "--json").json
    assert (found["ok"], found["sealed"], found["unsealed"], found["bad"]) == (True, 3, 1, None)
    assert "The audit holds: 3 events in 1 sealed range, 1 not sealed yet." in desk.ok("audit", "verify").out


def test_verify_fails_and_names_the_range_when_a_row_was_changed(desk, sealed):  # noqa: F811
    with db.engine.begin() as connection:
        if db.engine.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL session_replication_role = replica"))
        else:
            connection.execute(text("DROP TRIGGER audit_event_no_update"))
        connection.execute(text("UPDATE audit_event SET actor_label = 'nobody' WHERE position = 2"))
    ran = desk("audit", "verify")
    assert ran.code == 1
    assert "does NOT hold at positions 1 to 3" in ran.out
    ran = desk("audit", "verify", "--json")
    assert ran.code == 1
    assert (ran.json["ok"], ran.json["bad"]["first"], ran.json["bad"]["last"]) == (False, 1, 3)


def test_export_streams_one_tenants_events_when_asked_for_lines(desk, sealed):  # noqa: F811
    lines = desk.ok("audit", "export", "--tenant", "acme", "--format", "jsonl").out.splitlines()
    [event] = [json.loads(line) for line in lines]
    assert (event["tenant"], event["action"], event["position"]) == ("acme", "tenant.added", 1)
    assert event["at"] == "2031-08-14T12:00:00.000000Z"


def test_export_writes_no_formula_when_a_cell_looks_like_one(desk, sealed):  # noqa: F811
    rows = list(csv.DictReader(io.StringIO(desk.ok("audit", "export").out)))
    assert [row["resource_id"] for row in rows] == ["acme", "a", "'=1+1", "b"]
    assert json.loads(rows[0]["detail"])["name"] == "acme"
    assert [row["position"] for row in rows] == ["1", "2", "3", ""]


def test_export_fails_when_there_is_no_such_tenant(desk, sealed):  # noqa: F811
    ran = desk("audit", "export", "--tenant", "nobody")
    assert (ran.code, ran.out) == (1, "")
    assert "There is no such tenant." in ran.err
