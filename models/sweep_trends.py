"""The last 24 hours of each sweep by the hour: runs, those that failed, and rows that failed in them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Integer, case, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.functions import FunctionElement

from models.clock import EPOCH
from models.sweeps import RunStatus, SweepFault, SweepRun

HOUR = timedelta(hours=1)
HOURS = 24


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour from `at`: runs but those that were skipped, and rows that failed, as far as one may see."""

    at: datetime
    runs: int = 0
    failed: int = 0
    faults: int = 0

    @property
    def bad(self) -> bool:
        return bool(self.failed or self.faults)


class hour_of(FunctionElement[int]):
    """The hours from the epoch to a time, whole ones."""

    inherit_cache = True
    type = Integer()


@compiles(hour_of, "postgresql")
def _on_postgresql(element: hour_of, compiler: Any, **kw: Any) -> str:
    return f"floor(extract(epoch from {compiler.process(element.clauses, **kw)}) / 3600)::bigint"


@compiles(hour_of)
def _on_sqlite(element: hour_of, compiler: Any, **kw: Any) -> str:
    return f"CAST(strftime('%s', {compiler.process(element.clauses, **kw)}) AS INTEGER) / 3600"


def trends(
    session: Session, names: Iterable[str], *, now: datetime, tenant_id: int | None
) -> dict[str, list[Hour]]:
    """Of each sweep `HOURS` hours, the oldest first; the last is the one that is going on.

    Rows that failed are those of the tenant, or with None of all.
    """
    last = (now - EPOCH) // HOUR
    first = EPOCH + (last - HOURS + 1) * HOUR
    found = {name: [Hour(first + number * HOUR) for number in range(HOURS)] for name in names}
    for name, hour, runs, failed in session.execute(_runs(list(found), first)):
        _put(found[name], hour, last, runs=runs, failed=failed)
    for name, hour, faults in session.execute(_faults(first, tenant_id)):
        _put(found.get(name, []), hour, last, faults=faults)
    return found


def _put(hours: list[Hour], hour: int, last: int, **values: Any) -> None:
    place = hour - (last - HOURS + 1)
    if 0 <= place < len(hours):
        hours[place] = replace(hours[place], **values)


def _runs(names: list[str], first: datetime) -> Any:
    hour: ColumnElement[int] = hour_of(SweepRun.started_at)
    failed = func.sum(case((SweepRun.status == RunStatus.ERROR.value, 1), else_=0))
    return (
        select(SweepRun.name, hour, func.count(), failed)
        .where(
            SweepRun.name.in_(names),
            SweepRun.started_at >= first,
            SweepRun.status != RunStatus.SKIPPED.value,
        )
        .group_by(SweepRun.name, hour)
    )


def _faults(first: datetime, tenant_id: int | None) -> Any:
    hour: ColumnElement[int] = hour_of(SweepFault.at)
    query = select(SweepFault.name, hour, func.count()).where(SweepFault.at >= first)
    if tenant_id is not None:
        query = query.where(SweepFault.tenant_id == tenant_id)
    return query.group_by(SweepFault.name, hour)
