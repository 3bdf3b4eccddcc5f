"""What the tests of bulk operations share: a world of follow-ups, and operations on them."""

import pytest

from tests.bulk.working import Bulk
from tests.followups.conftest import world

__all__ = ["world"]


@pytest.fixture
def bulk(world) -> Bulk:
    return Bulk(world)
