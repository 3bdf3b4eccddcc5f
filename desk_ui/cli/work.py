"""What a command works with: the application, a session on a migrated database, now, and who acts."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session

from jobs import logs
from jobs.app import MIGRATIONS, make_app
from models import clock, declarations
from models.actors import Actor
from models.base import db, is_read_only
from models.database import is_current
from models.declarations import Declared
from models.errors import Conflict
from models.settings import Settings, settings
from models.transactions import rollback


@dataclass(frozen=True, slots=True)
class Work:
    """One command at work."""

    session: Session
    settings: Settings
    declared: Declared
    actor: Actor
    now: datetime


@contextmanager
def at_work() -> Iterator[Work]:
    """The surroundings of a command that needs a migrated database. No transaction is open at its begin.

    Raises `Conflict` where the database is not migrated. What the command did not commit is rolled back.
    Within `read_only` a changed desk.toml is left to others to adopt.
    """
    here = settings()
    logs.configure(here, "cli")
    app = make_app(here)
    make_folder_of(here)
    with app.app_context():
        session = db.session()
        now = clock.now()
        try:
            refuse_unmigrated(session)
            if not is_read_only():
                declarations.refresh(session, here.config_file, now)
            declared = declarations.current(session)
            rollback(session)
            yield Work(session, here, declared, at_command_line(), now)
        finally:
            db.session.remove()
            db.engine.dispose()


def at_command_line() -> Actor:
    """Who acts: the machine's user."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "somebody"
    return Actor.operator("cli", f"{user} at the command line")


def refuse_unmigrated(session: Session) -> None:
    """Raises `Conflict` with what to do where the schema is not the one that this code expects."""
    if not is_current(session.connection(), str(MIGRATIONS)):
        raise Conflict("The database is not up to date. Run: desk db upgrade", code="migrations")


def make_folder_of(here: Settings) -> None:
    """Make the folder of an SQLite file, which SQLite does not."""
    url = make_url(here.database_url)
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        Path(url.database).absolute().parent.mkdir(parents=True, exist_ok=True)
