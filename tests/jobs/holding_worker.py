"""A real worker whose runs stop in the middle until somebody kills them: `python -m ... FILE`.

The file gets the id of the process that runs. Its lease is short, so that a test needs not wait for long.
"""

import os
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from jobs import logs, runner, schedule, worker
from models import sweep_runs
from models.settings import settings
from models.sweeping import Counts


def hold(_session: object, **_given: object) -> Counts:
    Path(sys.argv[1]).write_text(str(os.getpid()))
    threading.Event().wait()
    return Counts()


sweep_runs.LEASE = timedelta(seconds=3)
runner.RENEW_EVERY_S = 1
schedule.SWEEPS["fire_followups"] = replace(schedule.SWEEPS["fire_followups"], function=hold)
logs.configure(settings(), "holding worker")
worker.run(settings(), "sweeps")
