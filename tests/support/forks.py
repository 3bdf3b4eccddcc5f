"""Processes forked from one that has imported all there is: real ones, which start in milliseconds."""

import multiprocessing
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models import faults
from tests.support.processes import inherited

WITHIN_S = 60

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.support.warm"])


def run(act: Callable[..., None], *given: Any, env: dict[str, str], log: Path) -> tuple[int, str]:
    """The return code of a process that does `act` and ends, and what it wrote. A signal is negative."""
    process = _context.Process(target=_begin, args=(act, given, inherited() | env, str(log)))
    process.start()
    process.join(WITHIN_S)
    if process.exitcode is None:
        process.kill()
        process.join()
    return process.exitcode, log.read_text(errors="replace")


def _begin(act: Callable[..., None], given: tuple[Any, ...], env: dict[str, str], log: str) -> None:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    faults.arm(env.get("DESK_FAULTS", ""))
    act(*given)
