"""Databases that are filled once in a run: what one worker filled, the others copy."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import make_url

from models.base import db
from tests.support import postgres

if TYPE_CHECKING:
    from tests.conftest import Database

# Where a run keeps what is filled; each run sets it anew.
FOLDER, SERVER = "DESK_TEST_FILLED", "DESK_TEST_POSTGRES"


def fill_once(database: "Database", name: str, fill: Callable[[], object]) -> None:
    """Let `database` hold what `fill` puts into an empty one, in the application's context."""
    kept = Path(os.environ[FOLDER]) / f"{name}_{database.dialect}"
    with _alone(kept.with_suffix(".lock")):
        if kept.exists():
            _take(database, kept)
            return
        database.reset()
        with database.app.app_context():
            fill()
            db.session.remove()
            db.engine.dispose()
        _keep(database, kept)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _keep(database: "Database", kept: Path) -> None:
    if database.dialect == "sqlite":
        # Closing the last connection put all into the one file.
        shutil.copyfile(_file(database), kept)
        return
    postgres.execute(os.environ[SERVER], f"CREATE DATABASE {kept.name} TEMPLATE {_name(database)}")
    kept.touch()


def _take(database: "Database", kept: Path) -> None:
    with database.app.app_context():
        db.session.remove()
        db.engine.dispose()
    if database.dialect == "sqlite":
        for suffix in ("-wal", "-shm"):
            Path(f"{_file(database)}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(kept, _file(database))
        return
    name = _name(database)
    anew = (f"DROP DATABASE {name} WITH (FORCE)", f"CREATE DATABASE {name} TEMPLATE {kept.name}")
    postgres.execute(os.environ[SERVER], *anew)


def _file(database: "Database") -> Path:
    return Path(database.url.removeprefix("sqlite:///"))


def _name(database: "Database") -> str:
    return str(make_url(database.url).database)
