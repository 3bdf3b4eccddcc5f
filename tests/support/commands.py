"""The command line, for a process that is forked."""

import sys

from desk_ui.cli import main


def desk(*args: str) -> None:
    """Do what `desk ARGS` does, and end."""
    sys.argv = ["desk", *args]
    main(list(args), prog_name="desk")
