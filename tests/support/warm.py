"""What the processes of these tests are forked from: all is imported, as after one application was made."""

from desk_ui import create_app
from models.settings import from_env
from tests.jobs import acts as engine
from tests.kills import acts as all_else

create_app(
    from_env({"DATABASE_URL": "sqlite:////never-opened.db", "SECRET_KEY": "a-secret-key-for-the-tests-only"})
)

__all__ = ["all_else", "engine"]
