"""Real processes that are hastier than those of an installation, or stand still."""

import os
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from jobs import logs, runner, schedule, scheduler, worker
from models import sweep_runs
from models.settings import settings
from models.sweeping import Counts


def hold_runs(held: str) -> None:
    """A worker whose runs stop in the middle until somebody kills them. Leases are short, to wait less.

    The file `held` gets the id of the process that runs.
    """

    def hold(_session: object, **_given: object) -> Counts:
        Path(held).write_text(str(os.getpid()))
        threading.Event().wait()
        return Counts()

    sweep_runs.LEASE = timedelta(seconds=3)
    runner.RENEW_EVERY_S = 1
    schedule.SWEEPS["fire_followups"] = replace(schedule.SWEEPS["fire_followups"], function=hold)
    logs.configure(settings(), "holding worker")
    worker.run(settings(), "sweeps")


def tell_soon() -> None:
    """A scheduler that calls a sweep late after five of its first ticks, and not after half a minute."""
    scheduler.QUIET_TICKS = 5
    logs.configure(settings(), "scheduler")
    scheduler.run(settings())
