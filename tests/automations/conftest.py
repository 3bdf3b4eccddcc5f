"""What the tests of automations share: a world, checked for its audit when the test is over."""

from collections.abc import Iterator

import pytest
from sqlalchemy.orm import Session

from models.automations import resuming
from tests.automations.world import T0, World
from tests.support.create import create_tenant
from tests.support.recount import assert_executions_match


@pytest.fixture
def world(session: Session) -> Iterator[World]:
    """Tenant `acme` at T0. Whatever the test did, each change of state must have its one event."""
    resuming.register()
    world = World(session, create_tenant(session, now=T0))
    yield world
    session.rollback()
    assert_executions_match(session)
