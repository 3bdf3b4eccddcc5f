"""What the benchmarks share: servers, copies of a seeded database, timing and the table of results."""

import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from flask_migrate import upgrade

from bench import seeding
from jobs.app import make_app
from models.base import db
from models.settings import from_env
from tests.support import postgres

# The pages go by the clock, so that what is filled in is due, and was changed, as seen from now.
NOW = datetime.now(UTC).replace(microsecond=0)


@dataclass
class Result:
    """One figure: what was measured against what, the ratio, and the goal that it is held to."""

    what: str
    against: str
    ratio: float
    goal: str
    met: bool
    detail: dict[str, object] = field(default_factory=dict)


@contextmanager
def application(url: str) -> Iterator[None]:
    """The engine's application on the database `url`, its context pushed and its connections closed after."""
    app = make_app(from_env({"DATABASE_URL": url, "SECRET_KEY": "a-key-for-the-benchmarks"}))
    with app.app_context():
        try:
            yield
        finally:
            db.session.remove()
            db.engine.dispose()


def seed(server: str, name: str, *, rows: int, due: int, contacts: int) -> str:
    """A migrated database `name` with `rows` follow-ups, `due` of them due; its URL."""
    url = empty(server, name)
    with application(url):
        seeding.fill(db.session(), rows=rows, due=due, contacts=contacts, now=NOW)
    return url


def empty(server: str, name: str) -> str:
    """A migrated database `name` without rows; its URL."""
    postgres.execute(server, f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}")
    url = postgres.database_url(server, name)
    with application(url):
        upgrade()
    return url


def copy(server: str, template: str, name: str) -> str:
    """A fresh copy of the database `template`.

    No checkpoint comes after it: each page's first change would then write the whole page to the log, and
    all ways would be timed at that.
    """
    postgres.execute(server, f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name} TEMPLATE {template}")
    return postgres.database_url(server, name)


def timed(work: Callable[[], object]) -> float:
    """Seconds that `work` took."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def machine(server: str) -> dict[str, object]:
    """The machine and the versions that the figures were read on."""
    with psycopg.connect(server) as connection:
        version = connection.execute("SHOW server_version").fetchone()
    return {
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "postgresql": version[0] if version else "",
    }


def report(results: list[Result], about: dict[str, object], file: Path) -> None:
    """Print the results as a table and keep them as JSON in `file`."""
    print(" · ".join(f"{name} {value}" for name, value in about.items()))
    width = max(len(result.what) for result in results)
    for result in results:
        verdict = "met" if result.met else "MISSED"
        figure = f"{result.ratio:9.2f}  goal {result.goal:14}  {verdict:6}"
        print(f"{result.what:{width}}  {figure}  {result.against}")
        for name, value in result.detail.items():
            print(f"{'':{width}}    {name}: {value}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"about": about, "results": [asdict(r) for r in results]}, indent=2))
