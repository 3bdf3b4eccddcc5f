"""A day of the sweeps as a page shows it: runs by the clock, of which some failed, and rows that failed."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from models.sweeps import RunStatus, SweepFault, SweepRun
from models.tenants import Tenant

EVERY = {
    "fire_followups": 240,
    "run_executions": 240,
    "process_inbound": 150,
    "deliver": 150,
    "reconcile_chatwoot": 300,
    "run_bulk": 150,
    "seal_audit": 300,
    "retention": 86_000,
}
DAY = 86_400


def create_day(session: Session, tenant: Tenant, *, now: datetime) -> None:
    """Runs of the last 24 hours, the newest a moment ago, and two rows of `tenant` that failed in it."""
    for name, every in EVERY.items():
        for seconds in range(8, DAY, every):
            failed = seconds % (every * 97) == 8 + every * 5
            session.add(_run(name, now - timedelta(seconds=seconds), failed=failed))
    session.flush()
    newest = session.query(SweepRun).filter_by(name="fire_followups").order_by(SweepRun.started_at.desc())
    for number, error in enumerate(("DataError: value too long", "KeyError: 'arm'")):
        session.add(
            SweepFault(
                run_id=newest[0].id,
                tenant_id=tenant.id,
                name="fire_followups",
                row=f"0b5c7e0a-0000-4000-8000-00000000000{number}",
                error=f'Traceback (most recent call last):\n  File "firing.py", line 131\n{error}',
                at=now - timedelta(minutes=7 * number),
            )
        )


def _run(name: str, at: datetime, *, failed: bool) -> SweepRun:
    return SweepRun(
        name=name,
        holder="worker-1",
        status=(RunStatus.ERROR if failed else RunStatus.OK).value,
        started_at=at,
        finished_at=at + timedelta(milliseconds=230),
        counts={} if failed else {"examined": 15, "changed": 15, "errors": 0, "fired": 12, "blocked": 3},
        error="Traceback (most recent call last):\nOperationalError: the disk is full" if failed else None,
    )
