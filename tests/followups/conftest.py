"""What the tests of follow-ups share: a world, checked for its audit when the test is over."""

from collections.abc import Iterator
from datetime import datetime

import pytest
from sqlalchemy.orm import Session

from tests.followups.world import World
from tests.support.create import create_tenant
from tests.support.recount import assert_audit_matches, assert_each_fired_has_one_task


@pytest.fixture
def world(session: Session, now: datetime) -> Iterator[World]:
    """Tenant `acme` at T. Whatever the test did, each change of state must have its one event."""
    world = World(session, create_tenant(session, now=now), now)
    yield world
    session.rollback()
    assert_audit_matches(session)
    assert_each_fired_has_one_task(session)
