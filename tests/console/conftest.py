"""The served console on both databases, and visitors to it."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from flask import Flask

from desk_ui import create_app
from models import clock
from models.base import db
from models.clock import EPOCH
from models.tenants import Tenant
from tests.conftest import Database, settings_for
from tests.console.visiting import Desk, Visitor
from tests.support.create import create_good_run
from tests.support.executions import create_execution

DECLARED = """
[agents.store-support.followup]
max_frequency = "2/24h"
silence_after_sends = 3
"""


@pytest.fixture
def now() -> datetime:
    """Pages read the clock, so what they meet is made at the same time."""
    return clock.now()


@pytest.fixture
def config(worker_folder: Path) -> Path:
    path = worker_folder / "console" / "desk.toml"
    path.parent.mkdir(exist_ok=True)
    # A new file each time, so that it is read again.
    path.unlink(missing_ok=True)
    path.write_text(DECLARED)
    os.utime(path, ns=(0, next(_stamps)))
    return path


_stamps = count(1)
_served: dict[str, Flask] = {}


@pytest.fixture
def app(database: Database, config: Path) -> Iterator[Flask]:
    """The application that `desk web` serves. Its context is not pushed: each request has its own."""
    served = _served.get(database.dialect)
    if served is None:
        settings = settings_for(database.url, config.parent, DESK_CONFIG=str(config))
        served = _served[database.dialect] = create_app(settings)
        # One round of the hash that is meant to be slow: what is tested here is what surrounds it.
        served.extensions["security"].pwd_context.update(
            argon2__time_cost=1, argon2__memory_cost=8, argon2__parallelism=1
        )
    served.extensions["desk_limiter"].reset()
    served.extensions["desk_sweep_lines"] = (EPOCH, [])
    served.extensions["desk_needs"].clear()
    yield served
    with served.app_context():
        db.engine.dispose()


@pytest.fixture
def desk(app: Flask) -> Desk:
    return Desk(app)


@pytest.fixture
def acme(desk: Desk) -> Tenant:
    return desk.tenant("acme")


@pytest.fixture
def visitor(desk: Desk, acme: Tenant) -> Callable[[str], Visitor]:
    """`visitor("lead")`: somebody with that role in acme, signed in."""

    def make(role: str) -> Visitor:
        return desk.visitor(f"{role}@acme.test", acme, role)

    return make


@pytest.fixture
def lead(visitor: Callable[[str], Visitor]) -> Visitor:
    return visitor("lead")


@pytest.fixture
def made(desk: Desk, acme: Tenant) -> Callable[..., UUID]:
    """`made("abandoned")`: the id of an execution in that state. The sweep that runs them is on time."""
    desk.tell(lambda session: create_good_run(session, "run_executions", now=clock.now()))

    def make(state: str = "waiting", tenant: Tenant = acme, **given: Any) -> UUID:
        return desk.tell(lambda session: create_execution(session, tenant, state, now=clock.now(), **given))

    return make
