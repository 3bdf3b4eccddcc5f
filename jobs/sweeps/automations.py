"""The sweep over due executions."""

from datetime import datetime

from rq import get_current_job
from sqlalchemy.orm import Session

from jobs import executions
from models import clock, declarations
from models.automations import claiming, rules, upkeep
from models.sweeping import Counts
from models.transactions import commit, rollback


def run_executions(session: Session, *, now: datetime, limit: int) -> Counts:
    """Purge, say which runs were abandoned, and hand what is due to the workers.

    Within a job the ids go to the queue, and no row changes; inline the sweep works the rows itself.
    """
    began = clock.now()
    declared = declarations.current(session)
    rollback(session)
    purged = upkeep.purge(session, declared=declared, now=now, limit=limit)
    freed = rules.free_outdated(session, limit=limit)
    commit(session, "executions.free")
    upkeep.mark_abandoned(session, now=now, limit=limit)
    abandoned = claiming.count_abandoned(session, now)
    picked = claiming.pick(session, now=now, limit=limit)
    rollback(session)
    job = get_current_job()
    if job is not None:
        counts = Counts(examined=len(picked.ids))
        counts.add("enqueued", executions.dispatch(job.connection, picked.ids))
    else:
        counts = executions.run(session, picked.ids, clock=lambda: now + (clock.now() - began))
        counts.add("enqueued", 0)
    counts.add("purged", purged)
    counts.add("abandoned", abandoned)
    counts.add("freed", freed)
    counts.capped = picked.capped
    return counts
