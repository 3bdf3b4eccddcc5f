"""An engine for a test: a database of either kind, a Redis, a desk.toml with short intervals, processes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from jobs.redis import Embedded
from models import tenants
from models.base import db, read_only
from models.followups.records import FollowUp
from models.sweeps import SweepRun, SweepSlot
from models.transactions import commit, rollback
from tests.conftest import Database
from tests.jobs import acts
from tests.support import forks, processes, redis
from tests.support.create import create_followup, create_tenant
from tests.support.processes import Processes

T = TypeVar("T")

DESK_TOML = """
[agents.store-support.followup]
max_frequency = "2/24h"

[sweeps.fire_followups]
every = "2s"
[sweeps.run_executions]
every = "2s"
[sweeps.process_inbound]
every = "2s"
[sweeps.reconcile_chatwoot]
every = "3s"
[sweeps.deliver]
every = "2s"
[sweeps.seal_audit]
every = "3s"
[sweeps.run_bulk]
every = "3s"
"""


@dataclass
class Engine:
    """What a test holds in its hands."""

    database: Database
    redis: Embedded
    processes: Processes

    def ask(self, question: Callable[[Session], T]) -> T:
        """Read, in a transaction that is over when this returns."""
        with self.database.app.app_context(), read_only():
            answer = question(db.session())
            # Let go before the rollback, which would empty the rows.
            db.session().expunge_all()
            rollback(db.session())
            return answer

    def tell(self, work: Callable[[Session], T]) -> T:
        """Write, and commit."""
        with self.database.app.app_context():
            answer = work(db.session())
            commit(db.session(), "tests.tell")
            return answer

    def act(self, name: str, **env: str) -> tuple[int, str]:
        """The return code of one act in a process of its own, and what it wrote."""
        log = self.processes.folder / "act.log"
        return forks.run(acts.do, name, env={**self.processes.env, **env}, log=log)

    def book_due(self, customer: str = "c-1") -> str:
        """A follow-up that is due already; its id."""

        def book(session: Session) -> str:
            now = datetime.now(UTC)
            exists = session.scalars(select(tenants.Tenant).where(tenants.Tenant.key == "acme")).one_or_none()
            tenant = exists or create_tenant(session, now=now - timedelta(hours=2))
            followup = create_followup(
                session,
                tenant,
                now=now - timedelta(hours=1),
                at=now - timedelta(minutes=1),
                customer=customer,
            )
            return str(followup.id)

        return self.tell(book)

    def status_of(self, followup_id: str) -> str:
        return self.ask(
            lambda session: next(
                row.status for row in session.scalars(select(FollowUp)) if str(row.id) == followup_id
            )
        )

    def runs(self, name: str = "fire_followups") -> list[SweepRun]:
        query = select(SweepRun).where(SweepRun.name == name).order_by(SweepRun.id)
        return self.ask(lambda session: list(session.scalars(query)))

    def slots(self, name: str = "fire_followups") -> list[SweepSlot]:
        query = select(SweepSlot).where(SweepSlot.name == name).order_by(SweepSlot.slot_at)
        return self.ask(lambda session: list(session.scalars(query)))


@pytest.fixture
def engine(database: Database, tmp_path: Path) -> Iterator[Engine]:
    with running(database, tmp_path) as engine:
        yield engine


@pytest.fixture
def sqlite_engine(sqlite_database: Database, tmp_path: Path) -> Iterator[Engine]:
    """For what does not depend on the kind of database."""
    sqlite_database.reset()
    with running(sqlite_database, tmp_path) as engine:
        yield engine


@contextmanager
def running(database: Database, folder: Path) -> Iterator[Engine]:
    (folder / "desk.toml").write_text(DESK_TOML)
    with (
        redis.server(folder) as server,
        processes.running(folder, database.url, server.url) as started,
    ):
        yield Engine(database, server, started)
