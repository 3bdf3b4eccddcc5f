"""A rule's window: the minutes of the day within which it may act, in a zone."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)


def next_start(now: datetime, start: int, end: int, zone: ZoneInfo) -> datetime | None:
    """When the window opens next, in UTC; None while it is open.

    `start` and `end` are minutes since midnight on the wall clock of `zone`, the start within the window and
    the end not. On a day whose clock skips the start, the window opens where the clock goes on.
    """
    local = now.astimezone(zone)
    minutes = local.hour * 60 + local.minute
    if start <= minutes < end:
        return None
    day = local.date()
    opens = _at(day, start, zone)
    if opens <= now:
        opens = _at(day + timedelta(days=1), start, zone)
    return opens


def _at(day: date, minutes: int, zone: ZoneInfo) -> datetime:
    wall = datetime.combine(day, time(minutes // 60, minutes % 60), zone)
    # By way of UTC, a time that the clock skips becomes the one that it stands for after the skip.
    return wall.astimezone(ZoneInfo("UTC"))
