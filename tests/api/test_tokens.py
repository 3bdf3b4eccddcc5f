import hashlib

import pytest
from sqlalchemy import select

from models import tokens
from models.audit import AuditEvent
from models.errors import Conflict, Invalid, NotFound
from models.tokens import ApiToken
from models.transactions import commit, rollback
from tests.support.api import on_sqlite, read
from tests.support.create import API


def add(session, tenant, now, **given):
    made = tokens.add(session, tenant, **{"name": "shop", "scopes": ["read"], **given}, actor=API, now=now)
    commit(session, "tests.create")
    return made


def test_add_keeps_only_the_digest(session, acme, now):
    token, secret = add(session, acme, now, scopes=["operate", "read"])
    assert secret.startswith("desk_") and len(secret) > 40
    assert token.digest == hashlib.sha256(secret.encode()).hexdigest()
    assert token.scopes == ["read", "operate"]
    events = read(session, select(AuditEvent).where(AuditEvent.resource_type == "token"))
    assert [(one.action, one.purpose) for one in events] == [("token.added", "shop")]
    assert secret not in str(events[0].detail)


@on_sqlite
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "n" * 201}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["all"]}, "scopes"),
        ({"assistant": " "}, "assistant"),
    ],
)
def test_add_refuses_what_cant_be_used(session, acme, now, given, field):
    with pytest.raises(Invalid) as refusal:
        add(session, acme, now, **given)
    assert refusal.value.field == field


def test_add_refuses_a_name_in_use_until_it_is_revoked(session, acme, now):
    add(session, acme, now)
    with pytest.raises(Conflict):
        add(session, acme, now)
    rollback(session)
    tokens.revoke(session, acme, "shop", actor=API, now=now)
    commit(session, "tests.revoke")
    add(session, acme, now)
    with pytest.raises(NotFound):
        tokens.revoke(session, acme, "other", actor=API, now=now)


def test_use_is_noted_to_the_hour(session, acme, api, now):
    api.get("/followups")
    [first] = read(session, select(ApiToken.last_used_at))
    assert first >= now
    api.get("/followups")
    api.post("/followups", {})
    assert read(session, select(ApiToken.last_used_at)) == [first]
