"""Races between real processes: all stand ready before any begins."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Database
from tests.followups.conftest import world
from tests.races import acts
from tests.support import forks, processes

__all__ = ["world"]  # its audit is recounted after each race

Race = Callable[..., list[Any]]


@pytest.fixture
def race(database: Database, session, tmp_path) -> Race:
    """`race(("book", [...]), ("fire", True))`: what came of each."""

    def run(*contenders: tuple[str, Any], **env: str) -> list[Any]:
        session.rollback()
        shared = processes.environment(tmp_path, database.url, **env)
        found = [(acts.contend, contender) for contender in contenders]
        return forks.together(found, env=shared, folder=tmp_path)

    return run
