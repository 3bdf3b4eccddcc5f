"""The served application on both databases, and clients that bear tokens."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.orm import Session

from desk_ui import create_app
from models import tokens
from models.base import db
from models.tenants import Tenant
from models.transactions import commit
from tests.conftest import Database, settings_for
from tests.support.api import Client
from tests.support.create import API, create_tenant

DECLARED = """
[agents.store-support.followup]
max_frequency = "2/24h"
silence_after_sends = 3
cancel_keywords = ["stop"]
"""


@pytest.fixture(scope="session")
def served(worker_folder: Path) -> Iterator[Callable[[str], Flask]]:
    """The application that `desk web` serves, made once for each database, since making it takes long."""
    made: dict[str, Flask] = {}

    def serve(url: str) -> Flask:
        if url not in made:
            made[url] = create_app(settings_for(url, worker_folder))
        return made[url]

    yield serve
    for app in made.values():
        with app.app_context():
            db.engine.dispose()


@pytest.fixture
def app(served: Callable[[str], Flask], database: Database, tmp_path: Path) -> Iterator[Flask]:
    """The served application, its context pushed, with a desk.toml of this test."""
    config = tmp_path / "desk.toml"
    config.write_text(DECLARED)
    app = served(database.url)
    app.extensions["desk_settings"] = replace(app.extensions["desk_settings"], config_file=config)
    with app.app_context():
        yield app
        db.session.remove()
        if database.dialect == "sqlite":
            # The next test's database is another file of the same name.
            db.engine.dispose()


@pytest.fixture
def session(app: Flask) -> Iterator[Session]:
    """A session of the test's own: a request closes the application's."""
    with db.session.session_factory() as own:
        yield own


@pytest.fixture
def now() -> datetime:
    """Calls read the clock, so what they meet is made at the same time."""
    from models import clock

    return clock.now()


@pytest.fixture
def acme(session: Session, now: datetime) -> Tenant:
    return create_tenant(session, now=now)


@pytest.fixture
def client_for(app: Flask, session: Session, now: datetime) -> Callable[..., Client]:
    """`client_for(tenant, "read", ...)`: a client with a token of its own."""
    made: list[Any] = []

    def make(tenant: Tenant, *scopes: str, assistant: str | None = None) -> Client:
        made.append(tenant)
        _token, secret = tokens.add(
            session,
            tenant,
            name=f"token {len(made)}",
            scopes=scopes or ("read", "ingest", "operate"),
            assistant=assistant,
            actor=API,
            now=now,
        )
        commit(session, "tests.create")
        return Client(app, secret)

    return make


@pytest.fixture
def api(acme: Tenant, client_for: Callable[..., Client]) -> Client:
    """A client of acme with all scopes."""
    return client_for(acme)
