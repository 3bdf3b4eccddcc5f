"""A tenant with a connector to a fake Chatwoot, on an application that may speak to this machine."""

import dataclasses
from collections.abc import Callable, Iterator

import pytest
from flask import Flask
from sqlalchemy.orm import Session

from models import connectors
from models.automations import resuming
from models.connectors import Opened
from models.settings import Settings
from models.tenants import Tenant
from models.transactions import commit, rollback
from tests.automations.world import T0
from tests.connectors.world import World
from tests.support.chatwoot import ACCOUNT, SECRET, TOKEN, Chatwoot, chatwoot
from tests.support.create import API, create_tenant
from tests.support.recount import assert_audit_matches

LOCAL = frozenset({"127.0.0.1", "localhost"})


@pytest.fixture
def settings(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The application's settings, with this machine allowed."""
    allowed = dataclasses.replace(app.extensions["desk_settings"], webhook_allowed_hosts=LOCAL)
    monkeypatch.setitem(app.extensions, "desk_settings", allowed)
    return allowed


@pytest.fixture
def fake() -> Iterator[Chatwoot]:
    with chatwoot() as running:
        yield running


@pytest.fixture
def tenant(session: Session) -> Tenant:
    return create_tenant(session, now=T0)


Connect = Callable[..., Opened]


@pytest.fixture
def connect(session: Session, settings: Settings, tenant: Tenant) -> Connect:
    """Set the tenant's connector to an address, and read it back."""

    def connect(url: str = "http://127.0.0.1:1", **given: str) -> Opened:
        values = {"account": ACCOUNT, "token": TOKEN, "secret": SECRET, **given}
        connectors.set_chatwoot(session, tenant, url=url, settings=settings, actor=API, now=T0, **values)
        commit(session, "tests.connect")
        opened = connectors.opened(session, tenant, settings)
        rollback(session)
        return opened

    return connect


@pytest.fixture
def world(session: Session, tenant: Tenant, settings: Settings) -> Iterator[World]:
    """Tenant `acme` at T0. Whatever the test did, each change of state must have its one event."""
    resuming.register()
    yield World(session, tenant, settings)
    session.rollback()
    assert_audit_matches(session)
