"""Values as Chatwoot writes them, in JSON that was read with its fractions kept exact."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from models.clock import EPOCH, parse_time
from models.errors import Invalid

LONGEST_NAME = 200


def time_of(value: Any, field: str) -> datetime | None:
    """A time in any of the forms that Chatwoot writes, to the microsecond; None and 0 are none.

    Raises `Invalid` on `field`.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise Invalid(field, "is not a time")
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, int | Decimal):
        return _from_epoch(Decimal(value), field)
    if not isinstance(value, str):
        raise Invalid(field, "is not a time")
    written = value.strip()
    if written.replace(".", "", 1).isascii() and written.replace(".", "", 1).isdigit():
        return _from_epoch(Decimal(written), field)
    return parse_time(written.removesuffix(" UTC") + ("Z" if written.endswith(" UTC") else ""), field)


def _from_epoch(seconds: Decimal, field: str) -> datetime | None:
    """Whole microseconds, without passing through a float."""
    if not seconds.is_finite() or abs(seconds) > 253_402_300_799:
        raise Invalid(field, "is outside the years that can be stored")
    micros = int((seconds * 1_000_000).to_integral_value(ROUND_HALF_EVEN))
    return (EPOCH + timedelta(microseconds=micros)).astimezone(UTC) if micros else None


def whole(value: Any, field: str) -> int:
    """A positive whole number, also where it is written as text. Raises `Invalid` on `field`."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**63:
        raise Invalid(field, "must be a positive whole number")
    return value


def clean(value: Any) -> Any:
    """`value` as both databases can keep it: no NUL, no half of a surrogate pair, plain numbers."""
    if isinstance(value, str):
        return "".join("\ufffd" if c == "\x00" or "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {clean(str(name)): clean(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [clean(one) for one in value]
    return value


def plain(value: Any) -> Any:
    """A text, number or truth value; None for anything else."""
    if isinstance(value, str):
        return cut(clean(value)) if value.strip() else None
    return clean(value) if isinstance(value, int | Decimal) else None


def cut(value: str) -> str:
    """As much of a name or id as is kept of it."""
    return value[:LONGEST_NAME]
