"""The state of the database's schema: whether it is the one that this code expects."""

from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection


def is_current(connection: Connection, migrations: str) -> bool:
    """Whether the newest migration in the folder `migrations` has been applied."""
    heads = set(ScriptDirectory(migrations).get_heads())
    return set(MigrationContext.configure(connection).get_current_heads()) == heads
