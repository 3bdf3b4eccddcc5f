"""Races between real processes: all stand ready before any begins."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Database
from tests.followups.conftest import world

__all__ = ["world"]  # its audit is recounted after each race

Race = Callable[..., list[Any]]


@pytest.fixture
def race(database: Database, session, tmp_path) -> Race:
    """`race(("book", [...]), ("fire", True))`: what each contender printed last."""

    def run(*contenders: tuple[str, Any], **env: str) -> list[Any]:
        session.rollback()
        shared = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "SECRET_KEY") if name in os.environ},
            "DATABASE_URL": database.url,
            "DESK_VAR": str(tmp_path),
            "DESK_CONFIG": str(tmp_path / "desk.toml"),
            **env,
        }
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.races.acts", json.dumps(contender)],
                env=shared,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for contender in contenders
        ]
        try:
            for process in processes:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n", process.communicate()[1]
            for process in processes:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            return [_answer(process) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()

    return run


def _answer(process: subprocess.Popen[str]) -> Any:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    lines = [line for line in output.splitlines() if line != "null"]
    return json.loads(lines[-1]) if lines else None
