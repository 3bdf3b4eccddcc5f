"""Processes forked from one that has imported all there is: real ones, which start in milliseconds."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from jobs.redis import PR_SET_PDEATHSIG
from models import faults

WITHIN_S = 60
KEPT = frozenset({"PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH"})

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.support.warm"])


class Forked:
    """A process that does `act(*given)` and ends. It answers as `subprocess.Popen` does."""

    def __init__(
        self,
        act: Callable[..., object],
        *given: Any,
        env: dict[str, str],
        log: Path,
        errors: Path | None = None,
    ) -> None:
        """`env` adds to what a process of a test keeps of this shell's environment.

        `log` gets what it writes; with `errors`, its standard error goes there.
        """
        log.write_bytes(b"")
        begun = act, given, inherited() | env, str(log), str(errors or log)
        self._process = _context.Process(target=_begin, args=begun)
        self._process.start()
        self._log = log

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Negative for the signal that ended it; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Raises `subprocess.TimeoutExpired`."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self._log), timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        # It may have ended, and be reaped, before it is known here.
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(act: Callable[..., object], *given: Any, env: dict[str, str], log: Path) -> tuple[int, str]:
    """The return code of a process that does `act` and ends, and what it wrote. A signal is negative."""
    process = Forked(act, *given, env=env, log=log)
    try:
        code = process.wait(WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    return code, log.read_text(errors="replace")


def together(
    contenders: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]], *, env: dict[str, str], folder: Path
) -> list[Any]:
    """What each `act(ready, *given)` of `contenders` returns, in a process of its own.

    An act calls `ready()` when all that it needs is loaded; that returns when all the others are ready, too.
    """
    pipes, processes = [], []
    for number, (act, given) in enumerate(contenders):
        ours, theirs = _context.Pipe()
        log = folder / f"contender-{number}.log"
        processes.append((Forked(_contend, theirs, act, given, env=env, log=log), log))
        pipes.append(ours)
        theirs.close()
    try:
        for pipe, (_process, log) in zip(pipes, processes, strict=True):
            _received(pipe, log)
        for pipe in pipes:
            pipe.send("go")
        answers = [_received(pipe, log) for pipe, (_process, log) in zip(pipes, processes, strict=True)]
        assert [process.wait(WITHIN_S) for process, _log in processes] == [0] * len(processes)
        return answers
    finally:
        for process, _log in processes:
            process.kill()
            process.wait()


def _contend(pipe: Connection, act: Callable[..., Any], given: tuple[Any, ...]) -> None:
    def ready() -> None:
        pipe.send("ready")
        pipe.recv()

    pipe.send(act(ready, *given))


def _received(pipe: Connection, log: Path) -> Any:
    try:
        assert pipe.poll(2 * WITHIN_S), log.read_text()
        return pipe.recv()
    except EOFError:
        raise AssertionError(log.read_text()) from None


def inherited() -> dict[str, str]:
    """What of this shell's environment a process of a test keeps."""
    return {name: value for name, value in os.environ.items() if name in KEPT}


def _begin(
    act: Callable[..., object], given: tuple[Any, ...], env: dict[str, str], log: str, errors: str
) -> None:
    if sys.platform.startswith("linux"):
        # The process that it is forked from ends with the test run, however that ends.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    os.setpgid(0, 0)
    for stream, path in ((1, log), (2, errors)):
        output = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(output, stream)
        os.close(output)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    faults.arm(env.get("DESK_FAULTS", ""))
    act(*given)
