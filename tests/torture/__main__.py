"""`python -m tests.torture`: torture an installation; exit code 1 if the checker finds anything."""

import argparse
import os
import secrets
import signal
import sys
import tempfile
from pathlib import Path

from tests.torture.checker import check
from tests.torture.report import lines
from tests.torture.run import torture

SECONDS = float(os.environ.get("DESK_TORTURE_SECONDS", "300"))


def main() -> int:
    given = _arguments()
    # So that a run that is asked to end takes its servers with it.
    signal.signal(signal.SIGTERM, lambda *_args: sys.exit(143))
    say(f"torture, seed {given.seed}, {given.seconds:.0f} s …")
    with tempfile.TemporaryDirectory(prefix="desk-torture-") as name:
        folder = Path(name)
        with torture(folder, seed=given.seed, seconds=given.seconds) as run:
            with run.world.connect() as connection:
                found = check(connection, run.world.evidence)
            for line in lines(run, found):
                say(line)
            if found and given.keep:
                _keep_logs(folder, given.keep)
    return 1 if found else 0


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def _keep_logs(folder: Path, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for log in folder.glob("*.log"):
        (to / log.name).write_bytes(log.read_bytes())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="how long the load and the faults last"
    )
    parser.add_argument(
        "--keep", type=Path, help="a folder for the processes' logs where something was found"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
