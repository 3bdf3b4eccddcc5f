"""An application that may send to this machine, a sink to send to, and endpoints."""

import dataclasses
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
from flask import Flask
from sqlalchemy.orm import Session

from models import endpoints, outbox
from models.endpoints import WebhookEndpoint
from models.settings import Settings
from models.tenants import Tenant
from models.transactions import commit
from tests.support.create import API, create_tenant
from tests.support.sink import Sink, sink

LOCAL = frozenset({"127.0.0.1", "localhost"})


@pytest.fixture
def settings(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The application's settings, with this machine allowed."""
    allowed = dataclasses.replace(app.extensions["desk_settings"], webhook_allowed_hosts=LOCAL)
    monkeypatch.setitem(app.extensions, "desk_settings", allowed)
    return allowed


@pytest.fixture
def receiver() -> Iterator[Sink]:
    with sink() as running:
        yield running


@pytest.fixture
def tenant(session: Session, now: datetime) -> Tenant:
    return create_tenant(session, now=now)


AddEndpoint = Callable[..., tuple[WebhookEndpoint, str]]
Enqueue = Callable[..., list[int]]


@pytest.fixture
def add_endpoint(session: Session, settings: Settings, tenant: Tenant, now: datetime) -> AddEndpoint:
    def add(
        url: str, *, to: Tenant | None = None, event_types: tuple[str, ...] = ("*",), active: bool = True
    ) -> tuple[WebhookEndpoint, str]:
        made = endpoints.add(
            session,
            to or tenant,
            url=url,
            event_types=event_types,
            active=active,
            settings=settings,
            actor=API,
            now=now,
        )
        commit(session, "tests.create")
        return made

    return add


@pytest.fixture
def enqueue(session: Session, tenant: Tenant, now: datetime) -> Enqueue:
    def add(number: int = 1, *, to: Tenant | None = None, event_type: str = "followup.fired") -> list[int]:
        events = [
            outbox.enqueue(
                session,
                tenant_id=(to or tenant).id,
                event_type=event_type,
                aggregate=("followup", f"f-{n}"),
                payload={"followup_id": f"f-{n}", "arm": "schedule"},
                now=now,
            )
            for n in range(number)
        ]
        commit(session, "tests.create")
        return [event.id for event in events]

    return add
