"""Alembic's environment: the metadata and the database of the application that calls it."""

from alembic import context
from flask import current_app

target = current_app.extensions["migrate"].db


def run() -> None:
    # Through the application's own engine, so that its connection settings and BEGIN hold here too.
    with target.engine.connect() as connection:
        context.configure(connection=connection, target_metadata=target.metadata, compare_type=True)
        with context.begin_transaction():
            context.run_migrations()


run()
