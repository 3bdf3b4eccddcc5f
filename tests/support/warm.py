"""What the processes of the tests are forked from: all is imported, as after one application was made."""

from importlib import import_module

from desk_ui import create_app
from desk_ui.cli import COMMANDS
from models.settings import from_env

ACTS = (
    "tests.automations.acts",
    "tests.jobs.acts",
    "tests.jobs.own_processes",
    "tests.kills.acts",
    "tests.races.acts",
    "tests.races.executions",
)
PROCESSES = ("desk_ui.serving", "jobs.scheduler", "jobs.worker")

for name in (*ACTS, *PROCESSES, *(where.partition(":")[0] for where in COMMANDS.values())):
    import_module(name)
create_app(
    from_env({"DATABASE_URL": "sqlite:////never-opened.db", "SECRET_KEY": "a-secret-key-for-the-tests-only"})
)
