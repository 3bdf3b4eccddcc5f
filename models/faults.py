"""Named points at which a test may end the process, to show what a crash there leaves behind."""

import os
import signal

_armed: frozenset[str] = frozenset()


def reach(point: str) -> None:
    """End this process by SIGKILL if `DESK_FAULTS` names `point`; otherwise do nothing."""
    if point in _armed:
        os.kill(os.getpid(), signal.SIGKILL)


def arm(points: str) -> None:
    """Name the points, divided by commas, at which this process ends."""
    global _armed
    _armed = frozenset(filter(None, points.split(",")))


arm(os.environ.get("DESK_FAULTS", ""))
