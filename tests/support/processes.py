"""Real processes of the installation, started and ended by a test, each with its log in a file."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jobs.redis import die_with_parent
from tests.support import commands
from tests.support.forks import Forked, inherited

ENDED_WITHIN_S = 20


@dataclass
class Process:
    """One process and what it wrote."""

    name: str
    popen: subprocess.Popen[bytes] | Forked
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def is_alive(self) -> bool:
        return self.popen.poll() is None

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> int:
        """End it by SIGKILL; its return code."""
        self.popen.kill()
        return self.popen.wait(ENDED_WITHIN_S)

    def stop(self) -> int:
        """Ask it to end, and end it if it does not; its return code."""
        if self.is_alive:
            self.popen.send_signal(signal.SIGTERM)
        try:
            return self.popen.wait(ENDED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return self.popen.wait(ENDED_WITHIN_S)


@dataclass
class Processes:
    """The processes of one test, with the environment that they share."""

    folder: Path
    env: dict[str, str]
    all: list[Process] = field(default_factory=list)
    logs: int = 0

    def desk(self, *args: str, **env: str) -> Process:
        """Start `desk ARGS`, forked."""
        return self.fork(commands.desk, *args, **env)

    def fork(self, act: Callable[..., object], *args: str, **env: str) -> Process:
        """Start a process that does `act(*args)`; `env` adds to what the processes share."""
        log = self._log()
        popen = Forked(act, *args, env={**self.env, **env}, log=log)
        return self._keep(Process(" ".join((act.__name__, *args)), popen, log))

    def installed(self, *args: str, **env: str) -> Process:
        """Start `desk ARGS` as a person does, by an interpreter of its own."""
        log = self._log()
        with open(log, "wb") as output:
            popen = subprocess.Popen(
                [sys.executable, "-m", "desk_ui.cli", *args],
                env={**inherited(), **self.env, **env},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
                preexec_fn=die_with_parent(),
            )
        return self._keep(Process(" ".join(args), popen, log))

    def run(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run `desk ARGS` to its end."""
        log, errors = self._log(), self.folder / "errors.log"
        process = Forked(commands.desk, *args, env={**self.env, **env}, log=log, errors=errors)
        code = process.wait(60)
        return subprocess.CompletedProcess(args, code, log.read_text(), errors.read_text())

    def _log(self) -> Path:
        self.logs += 1
        return self.folder / f"process-{self.logs}.log"

    def _keep(self, process: Process) -> Process:
        self.all.append(process)
        return process

    def stop(self) -> None:
        for process in self.all:
            if process.is_alive:
                process.popen.send_signal(signal.SIGTERM)
        for process in self.all:
            process.stop()

    def dead(self) -> list[str]:
        """The names of those that ended, with what they wrote last."""
        return [
            f"{process.name} ended with {process.popen.returncode}: {process.output()[-2_000:]}"
            for process in self.all
            if not process.is_alive
        ]


@contextmanager
def running(folder: Path, database_url: str, redis_url: str | None, **env: str) -> Iterator[Processes]:
    """Processes on one database and Redis. All of them are stopped at the end."""
    processes = Processes(folder, environment(folder, database_url, redis_url, **env))
    try:
        yield processes
    finally:
        processes.stop()


def environment(folder: Path, database_url: str, redis_url: str | None = None, **env: str) -> dict[str, str]:
    """The settings of processes on one database and Redis, with their files in `folder`."""
    return {
        "DATABASE_URL": database_url,
        "DESK_VAR": str(folder),
        "DESK_CONFIG": str(folder / "desk.toml"),
        **({"SECRET_KEY": os.environ["SECRET_KEY"]} if "SECRET_KEY" not in env else {}),
        **({"REDIS_URL": redis_url} if redis_url else {}),
        **env,
    }
