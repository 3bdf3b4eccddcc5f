"""Named points at which a test may end the process, to show what a crash there leaves behind."""

import os
import signal

_armed: dict[str, int] = {}


def reach(point: str) -> None:
    """End this process by SIGKILL if `DESK_FAULTS` names `point`; otherwise do nothing."""
    if point in _armed:
        _armed[point] -= 1
        if not _armed[point]:
            os.kill(os.getpid(), signal.SIGKILL)


def arm(points: str) -> None:
    """Name the points, divided by commas, at which this process ends: `point#3` is the third time there."""
    _armed.clear()
    for given in filter(None, points.split(",")):
        point, _sign, nth = given.partition("#")
        _armed[point] = int(nth or 1)


arm(os.environ.get("DESK_FAULTS", ""))
