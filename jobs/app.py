"""The bare application of workers, scheduler and command line: configuration and database, no pages."""

from pathlib import Path

from flask import Flask
from flask_migrate import Migrate

from models import (
    attention,
    audit,
    audit_seals,
    bulk_operations,
    connectors,
    conversations,
    declarations,
    deliveries,
    endpoints,
    handling,
    idempotency,
    inbound_events,
    messages,
    once,
    operators,
    outbox,
    positions,
    purge_marks,
    second_factor,
    sweeps,
    tenants,
    tokens,
)
from models.automations import records as automations
from models.automations import resuming
from models.base import db
from models.followups import deferrals, records
from models.settings import Settings

# Every module with tables: importing them is what makes the metadata whole.
MIGRATIONS = Path(__file__).parent.parent / "migrations"
RECORDS = (
    attention,
    audit,
    audit_seals,
    automations,
    bulk_operations,
    connectors,
    conversations,
    declarations,
    deferrals,
    deliveries,
    endpoints,
    handling,
    idempotency,
    inbound_events,
    messages,
    once,
    operators,
    outbox,
    positions,
    purge_marks,
    records,
    second_factor,
    sweeps,
    tenants,
    tokens,
)


def make_app(settings: Settings) -> Flask:
    """A Flask application bound to the database of `settings`."""
    app = Flask("recovery-desk")
    configure(app, settings)
    return app


def configure(app: Flask, settings: Settings) -> None:
    """Bind `app` to the database: the part that the pages' application shares."""
    app.config.update(
        SECRET_KEY=settings.secret_key,
        SQLALCHEMY_DATABASE_URI=settings.database_url,
        # Parameters hold customers' words, which belong in no log and no run record.
        SQLALCHEMY_ENGINE_OPTIONS={"hide_parameters": True},
    )
    app.extensions["desk_settings"] = settings
    resuming.register()
    db.init_app(app)
    Migrate(app, db, directory=str(MIGRATIONS), compare_type=True)
