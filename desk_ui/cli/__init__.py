"""The command line: `desk`, a thin shell over the same functions as pages, API and jobs."""

from importlib import import_module
from typing import Any

import click
from sqlalchemy.exc import OperationalError

from desk_ui.cli.output import fault
from models.errors import DeskError
from models.settings import BadSetting

# Imported only when named, so that `desk --help` and each process start fast.
COMMANDS = {
    "audit": "desk_ui.cli.audit:audit",
    "connector": "desk_ui.cli.connectors:connector",
    "db": "desk_ui.cli.db:db_group",
    "demo": "desk_ui.cli.demo:demo_command",
    "doctor": "desk_ui.cli.doctor:doctor",
    "erase": "desk_ui.cli.erase:erase",
    "export": "desk_ui.cli.exporting:export",
    "import": "desk_ui.cli.importing:import_group",
    "operator": "desk_ui.cli.operators:operator",
    "scheduler": "desk_ui.cli.processes:scheduler",
    "sweep": "desk_ui.cli.processes:sweep",
    "tenant": "desk_ui.cli.tenants:tenant",
    "token": "desk_ui.cli.tokens:token",
    "up": "desk_ui.cli.processes:up",
    "web": "desk_ui.cli.processes:web",
    "worker": "desk_ui.cli.processes:worker",
}


class Desk(click.Group):
    """The group of all commands. A fault that a command names ends it with exit code 1, never a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        where = COMMANDS.get(name)
        if where is None:
            return None
        module, _, attribute = where.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DeskError as error:
            fault(error.detail, code=error.code)
        except BadSetting as error:
            fault(str(error), code="settings")
        except OperationalError as error:
            fault(f"The database can't be used: {error.orig}", code="database")
        return ctx.exit(1)


@click.group(cls=Desk, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="recovery-desk", message="%(version)s")
def main() -> None:
    """Recovery Desk: keeps promises to customers, visible, safe to act on and accountable.

    Settings are environment variables; docs/configuration.md lists them.
    """
