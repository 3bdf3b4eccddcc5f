"""The command line, run within this process on each database."""

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
from click.testing import CliRunner

from desk_ui.cli import main
from jobs import logs
from models import declarations
from models.settings import settings
from tests.conftest import Database


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        return json.loads(self.err.splitlines()[-1])["error"]


class Desk:
    """`desk`, with the settings of a folder of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.var = folder / "var"
        self.config = folder / "desk.toml"
        self.patch = patch

    def __call__(self, *args: str, input: str | None = None) -> Ran:
        settings.cache_clear()
        result = CliRunner().invoke(main, list(args), input=input, prog_name="desk")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    def ok(self, *args: str, input: str | None = None) -> Ran:
        """Run a command that is to succeed."""
        ran = self(*args, input=input)
        assert ran.code == 0, ran.err
        return ran


@pytest.fixture
def desk(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in ("REDIS_URL", "DESK_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", database.url)
    monkeypatch.setenv("DESK_VAR", str(tmp_path / "var"))
    monkeypatch.setenv("DESK_CONFIG", str(tmp_path / "desk.toml"))
    monkeypatch.setenv("SECRET_KEY", os.environ["SECRET_KEY"])
    # What this process knows of files and versions belongs to the databases of other tests.
    monkeypatch.setattr(declarations, "_seen_files", {})
    monkeypatch.setattr(declarations, "_parsed", {})
    monkeypatch.setattr(logs, "configure", lambda *_args: None)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield Desk(tmp_path, monkeypatch)
    structlog.reset_defaults()
    settings.cache_clear()
