"""The acts that a test does in a process of its own, and ends at a fault point."""

import json
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from io import BytesIO
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from desk_ui import cli, create_app
from desk_ui.cli.processes import _first_link
from jobs import bulk
from jobs.app import make_app
from jobs.sweeps.retention import retention as retention_sweep
from models import bulk_operations, clock, declarations, tenants
from models.base import db
from models.followups import retention, stranded
from models.followups.firing import fire_due
from models.followups.importing import import_file
from models.followups.reading import Format
from models.settings import settings
from tests.conftest import T
from tests.kills import pages
from tests.support.api import Client
from tests.support.create import API

IMPORTED = 700
HOUR = timedelta(hours=1)


def records() -> bytes:
    """A file of records that spans two batches, the same each time."""
    given = {"agent": "store-support", "at": T.isoformat(), "arm": "schedule", "reason": "imported"}
    ids = [str(uuid5(NAMESPACE_URL, f"record {number}")) for number in range(IMPORTED)]
    lines = [json.dumps({**given, "id": id, "customer": f"c-{n}"}) for n, id in enumerate(ids)]
    return "\n".join(lines).encode()


def fire() -> None:
    session = db.session()
    fire_due(session, declared=declarations.current(session), now=T + 2 * HOUR, limit=1_000)


def import_records() -> None:
    session = db.session()
    tenant = tenants.get(session, "acme")
    session.rollback()
    for _part in import_file(session, tenant, BytesIO(records()), format=Format.JSONL, actor=API, now=T):
        pass


def purge() -> None:
    session = db.session()
    at = T + timedelta(days=200)
    retention.purge(session, declared=declarations.current(session), now=at, limit=10_000)


def purge_all() -> None:
    retention_sweep(db.session(), now=clock.now() + timedelta(days=2), limit=10_000)


def attention() -> None:
    stranded.announce(db.session(), after=HOUR, now=T + 5 * HOUR)


def declare() -> None:
    declarations.refresh(db.session(), settings().config_file, T)


def go_on_in_bulk() -> None:
    """As a worker or the sweep does, whoever began it."""
    session = db.session()
    for operation_id, _tenant in bulk_operations.silent(session, now=clock.now() + timedelta(days=1)):
        session.rollback()
        bulk.go_on(session, operation_id, most=100)


DOMAIN: dict[str, Callable[[], None]] = {
    "fire": fire,
    "import": import_records,
    "purge": purge,
    "purge_all": purge_all,
    "declare": declare,
    "attention": attention,
    "bulk": go_on_in_bulk,
}


def domain(name: str) -> None:
    app = make_app(settings())
    with app.app_context():
        DOMAIN[name]()


def api(method: str, path: str, body: Any = None, key: str | None = None) -> None:
    given = {"json": body} if body is not None and not isinstance(body, str) else {"data": body}
    headers = {"Idempotency-Key": key} if key else {}
    client = Client(create_app(settings()), os.environ["DESK_TEST_TOKEN"])
    response = client.call(method, path, headers=headers, **given)
    print(response.status_code, response.text[:300])  # noqa: T201


def page(name: str, *given: str) -> None:
    print(getattr(pages, name)(*given))  # noqa: T201


def ask(link: str, path: str, *typed: list[str]) -> None:
    print(pages.ask_and_press(link, path, **dict(typed)))  # noqa: T201


def fill(link: str, path: str, *typed: list[str]) -> None:
    print(pages.fill_and_press(link, path, **dict(typed)))  # noqa: T201


def up_link() -> None:
    """The link that `desk up` prints, without all that `desk up` runs."""
    print(_first_link("http://127.0.0.1:1"))  # noqa: T201


KINDS: dict[str, Callable[..., None]] = {
    "domain": domain,
    "api": api,
    "page": page,
    "ask": ask,
    "fill": fill,
    "up_link": up_link,
    "desk": lambda *arguments: cli.main(arguments),
}


def do(act: Sequence[Any]) -> None:
    """Do `act`: its kind, and what that takes."""
    kind, *given = act
    KINDS[kind](*given)
