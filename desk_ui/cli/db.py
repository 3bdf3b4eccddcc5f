"""`desk db`: the database's schema."""

import logging

import click
from flask import Flask
from flask_migrate import upgrade as migrate
from sqlalchemy import text

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import make_folder_of
from jobs.app import MIGRATIONS, make_app
from models.base import db
from models.database import is_current
from models.errors import Conflict
from models.settings import settings

# Any number that nothing else in this database locks; it keeps two upgrades apart.
UPGRADE_LOCK = 7_420_651


@click.group("db")
def db_group() -> None:
    """The database's schema."""


@db_group.command()
@json_option
def upgrade() -> None:
    """Apply the migrations that are missing; running it again changes nothing."""
    changed = upgrade_database(_app())
    text = "The database was brought up to date." if changed else "The database is up to date already."
    say(text, {"upgraded": changed})


@db_group.command()
@json_option
def check() -> None:
    """Say whether all migrations have been applied; exit code 1 if not."""
    with _app().app_context():
        if not _is_current():
            raise Conflict("The database is not up to date. Run: desk db upgrade", code="migrations")
    say("The database is up to date.", {"current": True})


def upgrade_database(app: Flask) -> bool:
    """Apply the missing migrations; whether there were any. Two processes at once wait for each other."""
    logging.getLogger("alembic").setLevel(logging.WARNING)
    with app.app_context():
        if _is_current():
            return False
        if db.engine.dialect.name == "sqlite":
            migrate()
            return True
        with db.engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": UPGRADE_LOCK})
            migrate()
            return True


def _app() -> Flask:
    here = settings()
    make_folder_of(here)
    return make_app(here)


def _is_current() -> bool:
    with db.engine.connect() as connection:
        return is_current(connection, str(MIGRATIONS))
