"""The schedule as data: each sweep with its interval, queue and limit, as desk.toml may change them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy.orm import Session

from jobs.sweeps import audit, automations, bulk, deliveries, followups, inbound, retention
from models.clock import parse_duration
from models.declarations import Declared, Fault
from models.errors import Invalid
from models.sweeping import Counts
from models.sweeps import Cadence

SHORTEST, LONGEST = timedelta(seconds=1), timedelta(days=7)
HIGHEST_LIMIT = 1_000_000


class SweepFunction(Protocol):
    """A thin shell over a domain function."""

    def __call__(self, session: Session, *, now: datetime, limit: int) -> Counts: ...


@dataclass(frozen=True, slots=True)
class Sweep:
    """One sweep of the schedule. `limit` is the most rows of one run."""

    name: str
    interval: timedelta
    queue: str
    function: SweepFunction
    limit: int

    @property
    def cadence(self) -> Cadence:
        """Name and interval, by which the domain judges lateness."""
        return Cadence(self.name, self.interval)


SWEEPS: dict[str, Sweep] = {
    sweep.name: sweep
    for sweep in (
        Sweep("fire_followups", timedelta(seconds=30), "sweeps", followups.fire_followups, 20_000),
        Sweep("run_executions", timedelta(seconds=30), "sweeps", automations.run_executions, 1_000),
        Sweep("process_inbound", timedelta(seconds=5), "sweeps", inbound.process_inbound, 2_000),
        Sweep("deliver", timedelta(seconds=10), "delivery", deliveries.deliver, 500),
        # Long runs have a queue of their own, so that nothing due waits behind them.
        Sweep("run_bulk", timedelta(seconds=10), "runs", bulk.run_bulk, 5_000),
        Sweep("reconcile_chatwoot", timedelta(seconds=60), "runs", inbound.reconcile_chatwoot, 200),
        Sweep("seal_audit", timedelta(minutes=5), "runs", audit.seal_audit, 50_000),
        Sweep("retention", timedelta(days=1), "runs", retention.retention, 20_000),
    )
}


def sweeps(declared: Declared) -> dict[str, Sweep]:
    """The schedule in force. What is declared wrongly keeps its default (see `faults`)."""
    return _read(declared)[0]


def faults(declared: Declared) -> list[Fault]:
    """What is wrong in the `sweeps` tables of desk.toml, each with its path."""
    return _read(declared)[1]


def cadences(declared: Declared) -> list[Cadence]:
    """Names and intervals, for the domain's judgement of lateness."""
    return [sweep.cadence for sweep in sweeps(declared).values()]


def _read(declared: Declared) -> tuple[dict[str, Sweep], list[Fault]]:
    read, found = dict(SWEEPS), list[Fault]()
    for name, table in declared.table("sweeps").items():
        path = f"sweeps.{name}"
        if name not in SWEEPS:
            found.append(Fault(path, table, f"is not a sweep; there are {', '.join(sorted(SWEEPS))}"))
        elif not isinstance(table, Mapping):
            found.append(Fault(path, table, "must be a table"))
        else:
            read[name] = _overridden(SWEEPS[name], table, path, found)
    return read, found


def _overridden(sweep: Sweep, table: Mapping[str, Any], path: str, found: list[Fault]) -> Sweep:
    for field, value in table.items():
        reader = _READERS.get(field)
        if reader is None:
            found.append(Fault(f"{path}.{field}", value, "is not known; there are every and limit"))
            continue
        try:
            sweep = reader(sweep, value)
        except Invalid as fault:
            found.append(Fault(f"{path}.{field}", value, fault.detail.removeprefix(f"{fault.field} ")))
    return sweep


def _every(sweep: Sweep, value: Any) -> Sweep:
    if not isinstance(value, str):
        raise Invalid("every", "is not a duration such as 30s, 5m, 1h or 1d")
    every = parse_duration(value, "every")
    if not SHORTEST <= every <= LONGEST:
        raise Invalid("every", "must be from 1s to 7d")
    return replace(sweep, interval=every)


def _limit(sweep: Sweep, value: Any) -> Sweep:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= HIGHEST_LIMIT:
        raise Invalid("limit", f"must be a whole number from 1 to {HIGHEST_LIMIT}")
    return replace(sweep, limit=value)


_READERS: dict[str, Callable[[Sweep, Any], Sweep]] = {"every": _every, "limit": _limit}
