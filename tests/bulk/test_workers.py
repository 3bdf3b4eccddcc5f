"""A bulk operation of 3,412 with one worker killed in the middle: each row is accounted for exactly once."""

import os
import signal
from datetime import timedelta
from json import dumps
from pathlib import Path
from uuid import UUID

import pytest
from redis import Redis
from sqlalchemy import func, select

from jobs import queues
from models import bulk_operations, clock
from models.bulk_operations import BulkItem, BulkOperation
from models.clock import iso
from models.followups import contacts, in_bulk
from models.followups.importing import import_records
from models.followups.records import FollowUp
from tests.bulk.working import LEAD, WHY, assert_accounted, rows_of
from tests.conftest import Database
from tests.jobs.conftest import Engine, running
from tests.support.create import API, create_tenant
from tests.support.recount import assert_audit_matches
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

ROWS = 3_412


@pytest.fixture
def engine(postgresql_database: Database, tmp_path: Path):
    postgresql_database.reset()
    with running(postgresql_database, tmp_path) as engine:
        yield engine


def begin(engine: Engine) -> UUID:
    now = clock.now()

    def fill(session):
        tenant = create_tenant(session, now=now)
        contacts.consent(session, tenant, "c-1", actor=API, now=now)
        given = {"agent": "store-support", "customer": "c-1", "arm": "schedule"}
        at = iso(now + timedelta(hours=1))
        lines = (
            dumps({**given, "id": str(UUID(int=n + 1)), "at": at, "reason": f"r{n}"}) for n in range(ROWS)
        )
        import_records(session, tenant, list(lines), actor=API, now=now)
        rows = rows_of(tenant, in_bulk.cancellable())
        given = {"confirmed": ROWS, "reason": WHY, "actor": LEAD, "now": now}
        return bulk_operations.begin(session, tenant.id, in_bulk.CANCEL.name, rows, **given).id

    return engine.tell(fill)


def done(engine: Engine) -> int:
    return engine.ask(lambda session: session.scalars(select(BulkOperation.done)).one())


def kill_with_its_job(process) -> None:
    """The worker first, so that it tells nobody of its job's end, then the process of the job."""
    horses = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    for horse in horses:
        os.kill(int(horse), signal.SIGKILL)


def test_all_are_accounted_once_when_a_worker_was_killed_in_the_middle(engine: Engine):
    id = begin(engine)
    queues.enqueue(Redis.from_url(engine.redis.url), "runs", queues.RUN_BULK, str(id), job_id="bulk")
    first = engine.processes.desk("worker", "--queue", "runs")
    eventually(lambda: done(engine) >= 500, within=90, what="some of them are done")
    kill_with_its_job(first)
    left = done(engine)
    assert left < ROWS
    later = iso(clock.now() + timedelta(minutes=1))
    # Two go on with it at once, as where a worker and the sweep meet.
    sweeps = [engine.processes.desk("sweep", "run_bulk", "--at", later, "--json") for _ in range(2)]
    eventually(lambda: all(not one.is_alive for one in sweeps), within=90, what="two sweeps went on with it")
    while engine.ask(lambda session: bulk_operations.silent(session, now=clock.now() + timedelta(hours=1))):
        later = iso(clock.now() + timedelta(minutes=1))
        assert engine.processes.desk("sweep", "run_bulk", "--at", later).popen.wait(90) == 0
    states = select(BulkItem.state, func.count()).group_by(BulkItem.state)
    assert engine.ask(lambda session: [tuple(row) for row in session.execute(states)]) == [("done", ROWS)]
    rows = select(FollowUp.status, func.count()).group_by(FollowUp.status)
    assert engine.ask(lambda session: [tuple(row) for row in session.execute(rows)]) == [("cancelled", ROWS)]
    engine.tell(lambda session: (assert_accounted(session, id), assert_audit_matches(session)))
