"""The one reader of the system clock, and how times and durations are written and read."""

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import available_timezones

from models.errors import Invalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
LONGEST = timedelta(days=3_660)

# Python reads any sign between day and hour; ISO 8601 has a T, and RFC 3339 allows a space.
_TIME = re.compile(r"[0-9W-]+[Tt ][0-9:.,]+(?:[+-][0-9:.,]+|[Zz])?")
_DURATION = re.compile(r"([0-9]{1,9})([smhd])")


def now() -> datetime:
    """The current time, aware, in UTC, with microseconds."""
    return datetime.now(UTC)


@cache
def zones() -> frozenset[str]:
    """The names of all time zones. Looking for them reads some hundreds of files, so it is done once."""
    return frozenset(available_timezones())


def micros(at: datetime) -> int:
    """Microseconds since the epoch as an integer, without passing through a float."""
    return (at - EPOCH) // timedelta(microseconds=1)


def as_utc(value: datetime, field: str) -> datetime:
    """The same instant in UTC. Raises `Invalid` on `field` for a time without an offset."""
    if value.tzinfo is None or value.utcoffset() is None:
        raise Invalid(field, "needs an offset from UTC, such as 2031-08-14T12:00:00Z")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise Invalid(field, "is outside the years that can be stored") from None


def parse_time(text: str, field: str) -> datetime:
    """An ISO 8601 time with offset as UTC. Raises `Invalid` on `field`."""
    try:
        if _TIME.fullmatch(text.strip()) is None:
            raise ValueError
        value = datetime.fromisoformat(text.strip().upper())
    except ValueError:
        raise Invalid(field, "is not an ISO 8601 time such as 2031-08-14T12:00:00Z") from None
    return as_utc(value, field)


def parse_duration(text: str, field: str) -> timedelta:
    """`90s`, `15m`, `2h` or `3d` as a positive duration. Raises `Invalid` on `field`."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise Invalid(field, "is not a duration such as 90s, 15m, 2h or 3d")
    seconds = int(match[1]) * UNITS[match[2]]
    if seconds > LONGEST.total_seconds():
        raise Invalid(field, "is longer than ten years")
    return timedelta(seconds=seconds)


def iso(at: datetime | None) -> str | None:
    """UTC with `Z` and six digits of microseconds, as the API and the audit write times."""
    if at is None:
        return None
    # Not by strftime, which does not pad years before 1000.
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
