"""Runs the processes of the Procfile under `desk up`: starts them, replaces what dies, stops them all."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import structlog

from jobs.redis import Embedded, NoServer, die_with_parent

STOPPED_WITHIN_S = 15
POLL_S = 0.2
# One that lives for less than this waits before it is started again, twice as long each time.
SHORT_LIFE_S = 10
LONGEST_WAIT_S = 30

log = structlog.get_logger(__name__)


@dataclass
class Child:
    """One process of the Procfile."""

    name: str
    command: list[str]
    env: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0
    short_lives: int = 0
    not_before: float = 0

    def start(self) -> None:
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            env=dict(self.env),
            # A Ctrl-C reaches only the supervisor, which stops the others in order.
            process_group=0,
            preexec_fn=die_with_parent(),
        )

    def has_died(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def plan_restart(self) -> float:
        """Forget the dead process; how many seconds until the next is started."""
        short = time.monotonic() - self.started_at < SHORT_LIFE_S
        self.short_lives = self.short_lives + 1 if short else 0
        wait = min(LONGEST_WAIT_S, 2 ** (self.short_lives - 1)) if self.short_lives else 0
        self.process, self.not_before = None, time.monotonic() + wait
        return wait


@dataclass
class Supervisor:
    """All children, and the embedded Redis where there is one."""

    children: list[Child]
    server: Embedded | None = None
    stopping: bool = field(default=False, init=False)

    def start(self) -> None:
        for child in self.children:
            child.start()

    def stop_on_signals(self) -> None:
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(signum, self._request_stop)

    def watch(self) -> None:
        """Replace what dies, saying so, until a signal asks to stop."""
        while not self.stopping:
            for child in self.children:
                self._look_after(child)
            if self.server is not None and not self.server.is_running():
                self._restart_server(self.server)
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Ask all children to end, end those that do not, and stop Redis last."""
        alive = [child.process for child in self.children if child.process and child.process.poll() is None]
        for process in alive:
            process.terminate()
        deadline = time.monotonic() + STOPPED_WITHIN_S
        for process in alive:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.server is not None:
            self.server.stop()

    def _request_stop(self, *_args: object) -> None:
        self.stopping = True

    def _look_after(self, child: Child) -> None:
        if child.has_died():
            assert child.process is not None
            ended = _how(child.process.returncode)
            wait = child.plan_restart()
            log.error("a process ended and is started again", name=child.name, ended=ended, in_seconds=wait)
        if child.process is None and time.monotonic() >= child.not_before:
            child.start()

    def _restart_server(self, server: Embedded) -> None:
        log.error("the embedded Redis ended and is started again")
        try:
            server.start()
        except NoServer as error:
            log.error("the embedded Redis does not start", error=str(error))
            time.sleep(1)


def children(procfile: Path, *, port: int, host: str, env: Mapping[str, str]) -> list[Child]:
    """The processes that the Procfile names, with `desk` run by this interpreter."""
    found = []
    for line in procfile.read_text().splitlines():
        name, separator, command = line.partition(":")
        if not separator or line.lstrip().startswith("#"):
            continue
        words = shlex.split(Template(command).safe_substitute(PORT=str(port)))
        if words[0] == "desk":
            words = [sys.executable, "-m", "desk_ui.cli", *words[1:]]
        if name.strip() == "web":
            words += ["--host", host]
        found.append(Child(name.strip(), words, {**os.environ, **env}))
    return found


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
