"""The follow-ups list over 1,000,000 rows against 1,000, and against one constant page of the same server."""

import re
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from flask.testing import FlaskClient
from sqlalchemy import event
from werkzeug.test import TestResponse

from bench.support import Result, application, timed
from desk_ui import create_app
from models import clock, operators, tenants
from models.actors import Actor
from models.base import db
from models.clock import iso
from models.settings import from_env
from models.transactions import commit
from tests.support import processes
from tests.support.waiting import eventually

Seen = tuple[str, object]

KEY = "a-key-for-the-benchmarks"
EMAIL = "lead@acme.test"
ROUNDS = 30
CLIENTS = 4
SECONDS = 8
PAGES = {
    "the list": "/acme/followups",
    "by agent and reason": "/acme/followups?agent=store-support&reason=reason+7",
    "by customer": "/acme/followups?customer=c-17&tab=fired",
    "what fired": "/acme/followups?tab=fired",
    "what fired, by agent and reason": "/acme/followups?tab=fired&agent=store-support&reason=reason+8",
    "the counts": "/acme/followups/counts",
}
# What is counted exactly, and so grows with what matches, up to 10,000.
QUESTION = "/acme/followups/bulk"
EXPORT = "/acme/followups/export.jsonl?tab=fired"


def run(large: str, small: str) -> list[Result]:
    """Two databases, of 1,000,000 and 1,000 rows."""
    many, few = measure(large), measure(small)
    worst = max(many[name].seconds / few[name].seconds for name in PAGES if name != "the counts")
    question, export = "the question of a bulk cancel", "the export of what fired"
    list_rate, constant_rate = rates(large)
    return [
        Result(
            "any list page over 1,000,000 rows",
            "over 1,000 (times slower, the worst of them)",
            worst,
            "at most 1.3",
            worst <= 1.3,
            {name: f"{many[name].told} against {few[name].told}" for name in (*PAGES, question)}
            | {f"plan of {name}": many[name].plan for name in PAGES},
        ),
        Result(
            "the export of a list of a tenant with 1,000,000 rows, per row",
            "of one with 1,000 (times slower)",
            many[export].seconds / few[export].seconds,
            "at most 1.3",
            many[export].seconds / few[export].seconds <= 1.3,
            {"rows a second": f"{1 / many[export].seconds:.0f} against {1 / few[export].seconds:.0f}"}
            | {"statements": f"{many[export].statements} against {few[export].statements}"},
        ),
        Result(
            "the list, 50 rows",
            "one constant page of the same server (share of its requests a second)",
            list_rate / constant_rate,
            "at least 0.25",
            list_rate / constant_rate >= 0.25,
            {"requests a second": f"{list_rate:.0f} against {constant_rate:.0f}"},
        ),
    ]


class Measured:
    """One page: the median seconds of a request, its statements, and the plan of the one that finds rows."""

    def __init__(self, seconds: float, statements: int, plan: str) -> None:
        self.seconds, self.statements, self.plan = seconds, statements, plan

    @property
    def told(self) -> str:
        return f"{self.seconds * 1000:.1f} ms, {self.statements} statements"


def measure(url: str) -> dict[str, Measured]:
    """Each page, asked for by a lead within this process."""
    app = create_app(from_env({"DATABASE_URL": url, "SECRET_KEY": KEY}))
    client = app.test_client()
    link = sign_in_link(url)
    token = re.search(r'name="csrf_token" value="([^"]+)"', client.get(link).text)
    assert token is not None
    client.post(link, data={"csrf_token": token[1]})
    with app.app_context():
        found = {name: _measure(partial(client.get, path)) for name, path in PAGES.items()}
        asked = {"csrf_token": _token(client), "do": "cancellation", "all": "1", "list": ""}
        found["the question of a bulk cancel"] = _measure(
            lambda: client.post(QUESTION, data={**asked, "seen": iso(clock.now())})
        )
        found["the export of what fired"] = _export(client)
        db.engine.dispose()
    return found


def _token(client: FlaskClient) -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(PAGES["the list"]).text)
    assert found is not None
    return found[1]


def _export(client: FlaskClient) -> Measured:
    """The seconds of one row, and the statements of all."""
    seen: list[Seen] = []
    rows = 0

    def get() -> None:
        nonlocal rows
        with client.get(EXPORT, buffered=False) as answer:
            rows = sum(part.count(b"\n") for part in answer.iter_encoded())

    with _noted(seen):
        seconds = timed(get)
    return Measured(seconds / rows, len(seen), "")


@contextmanager
def _noted(seen: list[Seen]) -> Iterator[None]:
    """Put each statement that is run, with what it is given, into `seen`."""

    def note(_connection: object, _cursor: object, statement: str, given: object, *_more: object) -> None:
        seen.append((statement, given))

    engine = db.engine
    event.listen(engine, "before_cursor_execute", note)
    yield
    event.remove(engine, "before_cursor_execute", note)


def _measure(ask: Callable[[], TestResponse]) -> Measured:
    seen: list[Seen] = []

    def get() -> None:
        answer = ask()
        assert answer.status_code == 200, answer.text

    get()
    with _noted(seen):
        get()
    seconds = sorted(timed(get) for _ in range(ROUNDS))[ROUNDS // 2]
    rows = next(one for one in seen if "FROM follow_up" in one[0])
    engine = db.engine
    with engine.connect() as connection:
        lines = connection.exec_driver_sql(f"EXPLAIN {rows[0]}", rows[1]).scalars().all()
    return Measured(seconds, len(seen), " / ".join(line.strip() for line in lines if "Scan" in line))


def sign_in_link(url: str) -> str:
    """The path of a link that signs a lead of acme in once."""
    lead, now = Actor.system("bench"), clock.now()
    with application(url):
        session = db.session()
        person, _new = operators.add(
            session, EMAIL, tenant=tenants.get(session, "acme"), role="lead", actor=lead, now=now
        )
        secret = operators.make_link(session, person, actor=lead, now=now)
        commit(session, "bench.link")
    return f"/sign-in/{secret}"


def rates(url: str) -> tuple[float, float]:
    """Requests a second of the list and of `/healthz`, by `desk web` as it comes, to four clients."""
    with served(url) as (here, cookie):
        found = [_rate(here, path, cookie) for path in ("/acme/followups", "/healthz")]
    return found[0], found[1]


@contextmanager
def served(url: str) -> Iterator[tuple[str, str]]:
    """A web process on the database `url`: its address, and the cookie of a lead."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = f"http://127.0.0.1:{port}"
    with (
        tempfile.TemporaryDirectory() as folder,
        processes.running(Path(folder), url, None, SECRET_KEY=KEY) as running,
    ):
        running.installed("web", "--port", str(port))
        eventually(lambda: _answers(here), within=60, what="the web process answers")
        with httpx.Client(base_url=here) as client:
            link = sign_in_link(url)
            token = re.search(r'name="csrf_token" value="([^"]+)"', client.get(link).text)
            assert token is not None
            client.post(link, data={"csrf_token": token[1]})
            # As a browser that was there before: the first page adds its tenant to the session.
            client.get(PAGES["the list"])
            yield here, "; ".join(f"{name}={value}" for name, value in client.cookies.items())


def _answers(here: str) -> bool:
    try:
        return httpx.get(f"{here}/healthz").status_code == 200
    except httpx.TransportError:
        return False


def _rate(here: str, path: str, cookie: str) -> float:
    """Answers a second to clients that each ask again as soon as they were answered."""
    asked = f"GET {path} HTTP/1.1\r\nHost: {urlsplit(here).netloc}\r\nCookie: {cookie}\r\n\r\n".encode()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda _n: _ask(here, asked, 1), range(CLIENTS)))
        started = time.perf_counter()
        answered = sum(pool.map(lambda _n: _ask(here, asked, SECONDS), range(CLIENTS)))
        return answered / (time.perf_counter() - started)


def _ask(here: str, asked: bytes, seconds: float) -> int:
    """How many answers one connection got; plain sockets, so that the clients cost next to nothing."""
    until, answers = time.monotonic() + seconds, 0
    place = urlsplit(here)
    with socket.create_connection((place.hostname, place.port)) as connection:
        reader = connection.makefile("rb")
        while time.monotonic() < until:
            connection.sendall(asked)
            status = reader.readline()
            assert b" 200 " in status, status
            length = 0
            while (line := reader.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            reader.read(length)
            answers += 1
    return answers
