"""What holds for every command: help, exit codes, and faults that are named."""

import click
import pytest

from desk_ui.cli import COMMANDS, main


def every_command(
    group: click.Group, path: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], click.Command]]:
    found = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            found += every_command(command, (*path, name))
        else:
            found.append(((*path, name), command))
    return found


def test_help_names_every_command():
    shown = main.get_help(click.Context(main, info_name="desk"))
    assert all(f"\n  {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize("path", [path for path, _command in every_command(main)], ids=" ".join)
def test_command_explains_itself_when_asked_for_help(path):
    command = dict(every_command(main))[path]
    assert command.help
    assert command.help.split("\n")[0].endswith((".", ":")), "the first line of a help text is a sentence"


def test_command_ends_with_2_when_used_wrongly(desk):
    assert desk("nonsense").code == 2
    assert desk("tenant", "add").code == 2
    assert desk("tenant", "feature", "platform", "nonsense", "on").code == 2


def test_command_names_the_variable_when_a_setting_is_bad(desk):
    desk.patch.setenv("DESK_SESSION_HOURS", "many")
    ran = desk("tenant", "list", "--json")
    assert ran.code == 1
    assert ran.error == {
        "code": "settings",
        "detail": "DESK_SESSION_HOURS must be a whole number from 1 to 2160, not many",
    }


def test_command_names_the_database_when_it_cannot_be_reached(desk):
    desk.patch.setenv("DATABASE_URL", "postgresql://desk@127.0.0.1:1/desk")
    ran = desk("tenant", "list", "--json")
    assert ran.code == 1
    assert ran.error["code"] == "database"


def test_command_says_what_to_run_when_the_database_is_not_migrated(desk, tmp_path):
    desk.patch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/new/desk.db")
    ran = desk("tenant", "list")
    assert (ran.code, ran.err) == (1, "The database is not up to date. Run: desk db upgrade\n")
