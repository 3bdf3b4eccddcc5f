"""Go on with bulk operations whose runner died."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from jobs import bulk
from models import bulk_operations, clock
from models.sweeping import Counts
from models.transactions import rollback

# The next run starts at once where this one was not enough, so that none of them is late.
AT_ONCE = timedelta(seconds=20)


def run_bulk(session: Session, *, now: datetime, limit: int) -> Counts:
    """Go on with bulk operations whose runner died, or was never woken."""
    counts, until = Counts(), clock.now() + AT_ONCE
    waiting = bulk_operations.silent(session, now=now)
    rollback(session)
    for operation_id, tenant_id in waiting:
        try:
            ran = bulk.go_on(session, operation_id, most=limit - counts.examined, until=until)
        except Exception as error:  # noqa: BLE001  one that can't go on keeps no other waiting
            rollback(session)
            counts.failed(tenant_id, f"bulk {operation_id}", error)
            continue
        counts.examined += ran.examined
        counts.changed += ran.done
        counts.add("not_done", ran.not_done)
        if not ran.over:
            counts.capped = True
            break
    return counts
