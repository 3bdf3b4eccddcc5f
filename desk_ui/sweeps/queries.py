"""What the sweeps pages read: runs by their keyset, rows that failed, and what waits while one is paused."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from desk_ui import filters
from desk_ui.paging import ROWS, Cursor, Page, time_limit
from desk_ui.sweeps.lines import Run
from models.deliveries import Delivery
from models.followups import needs
from models.needs import MOST
from models.sweeps import RunStatus, SlotKind, SlotState, SweepFault, SweepRun, SweepSlot
from models.tenants import Feature, Tenant, with_feature

MOST_FAULTS = 20
A_DAY = timedelta(days=1)
AN_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Filters(filters.Filters):
    """What narrows the runs of one sweep."""

    readers = {"status": filters.one_of(RunStatus)}

    status: RunStatus | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One row that failed, of the tenant `tenant`."""

    sweep: str
    tenant: str
    row: str
    error: str
    at: datetime

    @property
    def last_line(self) -> str:
        """What went wrong, without the way there."""
        lines = [line for line in self.error.splitlines() if line.strip()]
        return lines[-1] if lines else ""


def page(session: Session, name: str, filters: Filters, after: Cursor | None, limit: timedelta) -> Page[Run]:
    """One page of a sweep's runs, the newest first. Raises `TooSlow`."""
    query = select(SweepRun).where(SweepRun.name == name)
    if filters.status is not None:
        query = query.where(SweepRun.status == filters.status.value)
    if after is not None:
        query = query.where(after.after(SweepRun.started_at, SweepRun.id, newest_first=True))
    query = query.order_by(SweepRun.started_at.desc(), SweepRun.id.desc()).limit(ROWS + 1)
    with time_limit(session, limit):
        found = [Run.of(run) for run in session.scalars(query)]
    last = found[ROWS - 1] if len(found) > ROWS else None
    return Page(found[:ROWS], Cursor(last.started_at, last.id).encode() if last else None)


def faults(session: Session, tenant: Tenant | None, *, now: datetime, sweep: str | None) -> list[Fault]:
    """Up to `MOST_FAULTS` rows that failed within a day, newest first: of `tenant`, or with None of all."""
    query = (
        select(SweepFault.name, Tenant.key, SweepFault.row, SweepFault.error, SweepFault.at)
        .join(Tenant, Tenant.id == SweepFault.tenant_id)
        .where(SweepFault.at > now - A_DAY)
        .order_by(SweepFault.at.desc(), SweepFault.id.desc())
        .limit(MOST_FAULTS)
    )
    if tenant is not None:
        query = query.where(SweepFault.tenant_id == tenant.id)
    if sweep is not None:
        query = query.where(SweepFault.name == sweep)
    return [Fault(*row) for row in session.execute(query)]


def asked_for(session: Session) -> dict[str, datetime]:
    """The sweeps that a person asked for and no worker has started yet, each with when."""
    query = select(SweepSlot.name, func.min(SweepSlot.claimed_at)).where(
        SweepSlot.state == SlotState.WAITING.value, SweepSlot.kind == SlotKind.HAND.value
    )
    return {row[0]: row[1] for row in session.execute(query.group_by(SweepSlot.name))}


def will_wait(session: Session, name: str, now: datetime) -> int | None:
    """How many things of all tenants a pause of this sweep keeps waiting for an hour; None: it keeps none."""
    if name == "fire_followups":
        enabled = [tenant.id for tenant in with_feature(session, Feature.FOLLOWUPS)]
        return needs.due_before(session, enabled, now + AN_HOUR)
    if name == "deliver":
        waiting: Select[int] = (
            select(Delivery.id)
            .where(Delivery.next_attempt_at.is_not(None), Delivery.next_attempt_at < now + AN_HOUR)
            .limit(MOST + 1)
        )
        return session.scalars(select(func.count()).select_from(waiting.subquery())).one()
    return None
