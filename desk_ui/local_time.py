"""Times as a browser's field gives them: without an offset, meant in the zone that the page names."""

from collections.abc import Mapping
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from models.clock import EPOCH, zones
from models.errors import Invalid

_SHAPES = ("%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")


def as_typed(name: str, value: str) -> str:
    """`2031-08-14T10:00` as it is written in addresses and fields; a day alone is its first minute.

    Raises `Invalid` on `name`.
    """
    return f"{_naive(name, value):%Y-%m-%dT%H:%M}"


def instant(name: str, value: str, zone: str) -> datetime:
    """The moment, in UTC, that the clocks of `zone` show `value`; where they show it twice, the first.

    Raises `Invalid` on `name` where `value` is no time, or one that the clocks of `zone` skip.
    """
    local = _naive(name, value).replace(tzinfo=ZoneInfo(zone))
    try:
        found = local.astimezone(UTC)
        there_and_back = found.astimezone(local.tzinfo)
    except OverflowError:
        raise Invalid(name, "is outside the years that can be stored") from None
    if there_and_back.replace(tzinfo=None) != local.replace(tzinfo=None):
        raise Invalid(name, f"does not exist in {zone}: the clocks go forward then. Give another time")
    return found


def bound(value: str, zone: str) -> datetime:
    """As `instant`, of what `as_typed` wrote, for the end of a range: one that is skipped is moved on."""
    try:
        return datetime.fromisoformat(value).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def typed(at: datetime, zone: str) -> str:
    """`at` as a field for a time in `zone` holds it, to the minute."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M}"


def shown_in(form: Mapping[str, str]) -> str | None:
    """The zone in which a form was shown, if it says one that there is."""
    given = form.get("shown_zone", "")
    return given if given in zones() else None


def choices() -> list[tuple[str, str]]:
    """The zones that a person can choose: UTC, and those that are named by a place."""
    named = sorted(zone for zone in zones() if "/" in zone and not zone.startswith("Etc/"))
    return [(zone, zone) for zone in ["UTC", *named]]


def _naive(name: str, value: str) -> datetime:
    for shape in _SHAPES:
        try:
            found = datetime.strptime(value.strip(), shape)  # noqa: DTZ007 (the zone is the caller's)
        except ValueError:
            continue
        if found.year >= EPOCH.year:
            return found
    raise Invalid(name, "is not a time such as 2031-08-14T10:00")
